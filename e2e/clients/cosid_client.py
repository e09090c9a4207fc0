"""CosId's REST proxy as its Java client uses it: the arguments are ports of servers over one store. Machines lease their
numbers, guard them and are leased them again while servers are killed; prints every id."""

import random
import sys
import time

import requests

PORTS = [int(port) for port in sys.argv[1:]]
ROUNDS = 120
MACHINES = 12
STEP = 25
session = requests.Session()


def patiently(method, path, **parameters):
    """Any server, until one answers; a number that was taken for an answer nobody read is a gap."""
    for _ in range(400):
        url = f"http://127.0.0.1:{random.choice(PORTS)}{path}"
        try:
            answer = session.request(method, url, params=parameters, timeout=20)
            if answer.status_code == 200:
                return answer
            assert answer.status_code == 500 and answer.json()["code"] == "500", answer.text
        except requests.exceptions.RequestException:
            pass
        time.sleep(0.05)
    raise SystemExit(f"no answer to {method} {path}")


def lease(instance, bits=10, stable="false"):
    answer = patiently(
        "POST",
        "/machines/dev",
        machineBit=bits,
        instanceId=instance,
        stable=stable,
        safeGuardDuration="PT5M",
    )
    assert answer.headers["content-type"] == "application/json"
    state = answer.json()
    assert list(state) == ["machineId", "lastTimeStamp"]
    return state["machineId"], state["lastTimeStamp"]


def starts(last_ms, clock_ms):
    """What the client does before it mints: a clock that is behind by more is refused."""
    return last_ms - clock_ms <= 500


def now_ms():
    return time.time_ns() // 1_000_000


def base62(text):
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    number = 0
    for digit in text:
        number = number * 62 + digits.index(digit)
    return number


patiently("POST", "/segments/distributor/dev/order", offset=1000, step=STEP)
numbers = {}
for at in range(ROUNDS):
    instance = f"10.0.0.{at % MACHINES}:8080"
    number, last_ms = lease(instance)
    assert numbers.setdefault(instance, number) == number, f"{instance} moved from {numbers[instance]} to {number}"
    if at >= MACHINES:
        assert starts(last_ms, now_ms())
        assert not starts(last_ms, now_ms() - 10_000), "a clock that is 10 s behind"
    guarded = patiently("PATCH", "/machines/dev", instanceId=instance, stable="false", safeGuardDuration="PT5M")
    assert guarded.content == b""
    last = int(patiently("PATCH", "/segments/dev/order", step=STEP).text)
    assert last > 1000
    for number in range(last - STEP + 1, last + 1):
        print(number)
    for _ in range(3):
        print(int(patiently("GET", "/ids").text))
        text = patiently("GET", "/ids/as-string").text
        assert len(text) == 11
        print(base62(text))
    sys.stdout.flush()
assert len(set(numbers.values())) == MACHINES, numbers
assert max(numbers.values()) < MACHINES, "the lowest come first"
