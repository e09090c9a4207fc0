"""What every SQL client in Python does alike. Arguments: PORT USER PASSWORD. Each number that it is given is printed as
`NAME NUMBER`, and must be above the last; a client that has seen everything ends with `ok`."""

import os
import sys

HOST = "127.0.0.1"
PORT = int(sys.argv[1])
USER, PASSWORD = sys.argv[2:4]
DATABASE = "ids"
# Whose certificates are good, where TLS is wanted and the environment has no name of its own for that.
CA = os.environ.get("SQL_CA")

last = {"orders": 0, "tickets": 0}


def got(number, name="orders"):
    assert type(number) is int, (name, number)
    assert number > last[name], f"{name}: {number} after {last[name]}"
    last[name] = number
    print(name, number, flush=True)


def same(found, expected):
    assert found == expected, f"{found!r}, not {expected!r}"


def refused(kind, call):
    """The error with which a call must end."""
    try:
        answer = call()
    except kind as error:
        return error
    raise AssertionError(f"expected {kind.__name__}, got {answer!r}")


def ok():
    print("ok")
