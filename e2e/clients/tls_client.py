"""redis-py over TLS: PORT CA [CERT KEY], each number on a line of its own."""

import sys

import redis

port, authority, *own = sys.argv[1:]
shown = {"ssl_certfile": own[0], "ssl_keyfile": own[1]} if own else {}
for protocol in (2, 3):
    client = redis.Redis(port=int(port), ssl=True, ssl_ca_certs=authority, protocol=protocol, **shown)
    print(client.incr("orders"))
    with client.pipeline(transaction=False) as pipeline:
        for _ in range(3):
            pipeline.incr("orders")
        print(*pipeline.execute(), sep="\n")
