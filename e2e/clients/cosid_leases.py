"""The life of a lease in CosId's REST proxy, with its exceptions; the argument is the server's port. A line `kill` asks
for the server to be killed and started again."""

import sys
import time

import requests

PORT = int(sys.argv[1])
# Seconds: longer than a server takes to start on a busy machine.
LEASE = 15
MACHINES = f"http://127.0.0.1:{PORT}/machines/few"


def lease(instance, stable="false"):
    return requests.post(
        MACHINES,
        params=dict(machineBit=1, instanceId=instance, stable=stable, safeGuardDuration=f"PT{LEASE}S"),
        timeout=20,
    )


def guard(instance):
    parameters = dict(instanceId=instance, stable="false", safeGuardDuration=f"PT{LEASE}S")
    return requests.patch(MACHINES, params=parameters, timeout=20)


def code(answer):
    assert answer.status_code == 400 and list(answer.json()) == ["code", "msg", "errors"], answer.text
    return answer.json()["code"]


def kill():
    print("kill", flush=True)
    assert sys.stdin.readline() == "killed\n"


assert lease("a").json() == {"machineId": 0, "lastTimeStamp": 0}
assert lease("b", stable="true").json() == {"machineId": 1, "lastTimeStamp": 0}
assert code(lease("c")) == "M-01"
kill()
# The lease is as long as it was, whoever was killed.
assert code(lease("c")) == "M-01"
assert lease("a").json()["machineId"] == 0
guarded_at = time.monotonic()
assert guard("a").status_code == 200
assert code(guard("c")) == "M-02"
while time.monotonic() - guarded_at < 2 * LEASE:
    before_ms = time.time_ns() // 1_000_000
    answer = lease("c")
    if answer.status_code == 200:
        break
    assert code(answer) == "M-01"
    time.sleep(0.2)
waited = time.monotonic() - guarded_at
after_ms = time.time_ns() // 1_000_000
assert answer.json()["machineId"] == 0, "the one that is stable stays"
assert waited >= LEASE, waited
last_ms = answer.json()["lastTimeStamp"]
assert before_ms - 5_000 < last_ms < after_ms + 5_000, "a clock that is behind must not start"
assert code(guard("a")) == "M-03"
assert code(lease("a")) == "M-01"
kill()
assert code(guard("a")) == "M-03"
assert lease("b", stable="true").json()["machineId"] == 1
assert requests.delete(MACHINES, params=dict(instanceId="c", stable="false"), timeout=20).content == b""
assert code(guard("c")) == "M-02"
assert code(lease("a")) == "M-01"
print("ok", flush=True)
