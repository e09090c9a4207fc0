"""What a stock redis-py does with scripts: it asks EVALSHA, loads upon NOSCRIPT, and asks again.

Arguments: `check PORT`, or `take PORT...`: takes numbers by script from these servers in turn until standard input
ends, going on when one is away, and prints each as a line."""

import select
import sys
import time

import redis

NEXT = """
-- the next id
return redis.call('INCR', KEYS[1]);
"""
RANGE = "local last = redis.call('incrby', KEYS[1], ARGV[1]); return {last - ARGV[1] + 1, last}"


def client_of(port, protocol=2):
    return redis.Redis(host="127.0.0.1", port=port, protocol=protocol, decode_responses=True, socket_timeout=5)


def check(port):
    for protocol in (2, 3):
        client = client_of(port, protocol)
        client.script_flush()
        following, ranged = client.register_script(NEXT), client.register_script(RANGE)
        key = f"py{protocol}"
        assert client.script_exists(following.sha, ranged.sha) == [False, False]
        assert [following(keys=[key]) for _ in range(3)] == [1, 2, 3]
        assert ranged(keys=[key], args=[10]) == [4, 13]
        assert client.script_exists(following.sha, ranged.sha) == [True, True]
        # Forgotten in the middle: the client does its dance again.
        client.script_flush()
        assert following(keys=[key]) == 14
        pipe = client.pipeline()
        for _ in range(100):
            following(keys=[key], client=pipe)
        assert pipe.execute() == list(range(15, 115))
        try:
            client.register_script("return redis.call('decr', KEYS[1])")(keys=[key])
            raise AssertionError("Lua was run")
        except redis.ResponseError as refused:
            assert "runs no Lua" in str(refused), refused
        try:
            client.evalsha("0" * 40, 1, key)
            raise AssertionError("nobody's script was run")
        except redis.exceptions.NoScriptError:
            pass
        assert client.function_list() == []
    print("redis-py", redis.__version__, "ok")


def is_to_end():
    return bool(select.select([sys.stdin], [], [], 0)[0])


def take(ports):
    clients = [client_of(port) for port in ports]
    scripts = [(client.register_script(NEXT), client.register_script(RANGE)) for client in clients]
    turn = 0
    while not is_to_end():
        turn += 1
        following, ranged = scripts[turn % len(scripts)]
        try:
            if turn % 3:
                print(following(keys=["taken"]), flush=True)
            else:
                first, last = ranged(keys=["taken"], args=[5])
                print(*range(first, last + 1), sep="\n", flush=True)
        except (redis.ConnectionError, redis.TimeoutError):
            time.sleep(0.02)
        except redis.ResponseError as error:
            if not str(error).startswith("TRYAGAIN"):
                raise
            time.sleep(0.02)


if sys.argv[1] == "check":
    check(int(sys.argv[2]))
else:
    take([int(port) for port in sys.argv[2:]])
