"""Segments of tinyid as its Java client takes them: the arguments are ports of servers over one store. Prints every id."""

import random
import sys
import time
import urllib.request

PORTS = [int(port) for port in sys.argv[1:]]
SEGMENTS = 60


def segment(port):
    """current, loading, max, delta, remainder; an empty text is the only sign of a failure."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/tinyid/id/nextSegmentIdSimple?token=any&bizType=orders",
        data=b"",
        method="POST",
        headers={
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "text/html, image/gif, image/jpeg, */*; q=0.2",
        },
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read().decode()


def patiently(ask):
    for _ in range(400):
        try:
            text = ask()
            if text:
                return text
        except OSError:
            pass
        time.sleep(0.05)
    raise SystemExit("no segment")


for _ in range(SEGMENTS):
    port = random.choice(PORTS)
    current, loading, last, delta, remainder = map(int, patiently(lambda: segment(port)).split(","))
    assert current < loading <= last and 0 <= remainder < delta
    # It adds before it issues, and stops behind the last.
    at = current
    while at + delta <= last:
        at += delta
        assert at % delta == remainder
        print(at)
    sys.stdout.flush()
