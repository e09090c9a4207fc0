"""What a stock redis-py with hiredis does against the server: argument 1 is the port."""

import sys
import threading

import redis

PORT = int(sys.argv[1])


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
