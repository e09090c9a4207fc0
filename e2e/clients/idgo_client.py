"""Numbers of idgo through a stock redis-py: the arguments are ports of servers over one store. Prints every number."""

import sys

import redis

PORTS = [int(port) for port in sys.argv[1:]]
EACH = 2500


def connect(port, protocol):
    return redis.Redis(
        host="127.0.0.1", port=port, protocol=protocol, socket_timeout=20
    )


def patiently(ask):
    """Asks again where the server was killed or its store is not there yet."""
    for _ in range(400):
        try:
            return ask()
        except (redis.ConnectionError, redis.TimeoutError, redis.ResponseError) as refused:
            last = refused
            import time

            time.sleep(0.05)
    raise last


first = connect(PORTS[0], 2)
assert first.get("unknown") is None
assert patiently(lambda: first.set("orders", 100)) is True
assert first.exists("orders") == 1
clients = [connect(port, protocol) for port in PORTS for protocol in (2, 3)]
for at in range(EACH):
    for client in clients:
        print(int(patiently(lambda: client.get("orders"))), flush=at % 50 == 0)


def pipelined(client):
    pipe = client.pipeline(transaction=False)
    for _ in range(100):
        pipe.get("orders")
    return pipe.execute()


for client in clients:
    for number in patiently(lambda: pipelined(client)):
        print(int(number))
