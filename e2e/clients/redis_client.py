"""What a stock redis-py with hiredis does against the server: argument 1 is the port."""

import sys
import threading

import redis

PORT = int(sys.argv[1])
NAMES = ["{acct}:seq", "shop/orders", "svc@prod:id", "ids#order", "Seq Invoice", "inc:заказ"]


def check(protocol):
    client = redis.Redis(host="127.0.0.1", port=PORT, protocol=protocol, decode_responses=True)
    assert client.ping() is True
    key = f"py{protocol}"
    assert [client.incr(key) for _ in range(3)] == [1, 2, 3]
    assert client.incrby(key, 10) == 13
    assert client.get(key) == "13"
    assert client.exists(key) == 1
    assert client.mget(key, "nothing") == ["13", None]
    assert client.type(key) == "string"
    assert client.set(key, 20) is True
    try:
        client.set(key, 5)
        raise AssertionError("SET went back")
    except redis.ResponseError as refused:
        assert str(refused) == f"mint: {key} is at 20, SET only moves forward", refused
    pipe = client.pipeline(transaction=False)
    for _ in range(1000):
        pipe.incr(key)
    assert pipe.execute() == list(range(21, 1021))
    pipe = client.pipeline(transaction=False)
    pipe.incr(key).incrby(key, "abc").get(key)
    answers = pipe.execute(raise_on_error=False)
    assert answers[0] == 1021 and answers[2] == "1021"
    assert "not an integer" in str(answers[1])
    # The default is a transaction.
    pipe = client.pipeline()
    for _ in range(1000):
        pipe.incr(key)
    assert pipe.execute() == list(range(1022, 2022))
    pipe = client.pipeline()
    pipe.incr(key).incrby(key, "abc").get(key)
    answers = pipe.execute(raise_on_error=False)
    assert answers[0] == 2022 and answers[2] == "2022"
    assert "not an integer" in str(answers[1])
    pipe = client.pipeline()
    pipe.incr(key).execute_command("NOSUCH")
    try:
        pipe.execute()
        raise AssertionError("a transaction with an unknown command was run")
    except redis.ResponseError as refused:
        assert "unknown command" in str(refused), refused
    assert client.get(key) == "2022"
    try:
        client.transaction(lambda pipe: pipe.multi(), key)
        raise AssertionError("WATCH was taken")
    except redis.ResponseError as refused:
        assert "sequences cannot be watched" in str(refused), refused
    # What Spring's RedisAtomicLong does in its constructor.
    counter = f"spring{protocol}"
    assert client.set(counter, 0, nx=True) is True
    assert client.set(counter, 0, nx=True) is None
    assert client.get(counter) == "0"
    assert client.incrby(counter, 0) == 0
    assert client.incr(counter) == 1
    assert client.setnx(counter, 0) is False
    assert client.ttl(counter) == -1
    for name in NAMES:
        name = f"{name}{protocol}"
        assert [client.incr(name), client.incr(name)] == [1, 2], name
        assert client.get(name) == "2" and client.exists(name) == 1, name
        assert name in list(client.scan_iter(match="*")), name
        assert client.delete(name) == 1, name
    assert key in client.keys("py*")
    assert key in list(client.scan_iter(match="py*"))
    assert client.dbsize() >= 1
    assert client.info()["redis_mode"] == "standalone"
    assert client.config_get("maxmemory-policy").get("maxmemory-policy", "noeviction") == "noeviction"
    ids = client.execute_command("MINT.ID", "uuid7", "COUNT", 100)
    assert len(set(ids)) == 100 and ids == sorted(ids)
    numbers = client.execute_command("MINT.SNOWFLAKE", "default", "COUNT", 100)
    assert len({str(n) for n in numbers}) == 100
    assert client.delete(key) == 1
    assert client.exists(key) == 0
    seconds, micros = client.time()
    assert seconds > 1_600_000_000 and 0 <= micros < 1_000_000


def from_threads():
    """One pool, many threads: every number once."""
    client = redis.Redis(host="127.0.0.1", port=PORT)
    taken, lock = [], threading.Lock()

    def take():
        mine = [client.incr("threads") for _ in range(500)]
        with lock:
            taken.extend(mine)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(1, 2001))


for protocol in (2, 3):
    check(protocol)
from_threads()
print("redis-py", redis.__version__, "ok")
