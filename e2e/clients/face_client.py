"""What stock clients of other systems do against their faces: FACE URL COUNT. Prints every id as `KIND NUMBER` until there
are COUNT of each, or until the server is gone."""

import sys

import requests

FACE, URL, COUNT = sys.argv[1], sys.argv[2].rstrip("/"), int(sys.argv[3])


def say(kind, number):
    print(kind, number, flush=True)


def leaf(session):
    for kind in ("segment", "snowflake"):
        answer = session.get(f"{URL}/api/{kind}/get/order")
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "text/plain;charset=UTF-8", answer.headers
        say(kind, int(answer.text))


def leaf_once(session):
    batch = session.get(f"{URL}/api/segment/get/order", params={"count": 3}).text
    for line in batch.splitlines():
        say("segment", int(line))
    unknown = session.get(f"{URL}/api/segment/get/nothing")
    assert unknown.status_code == 500, unknown.text
    assert unknown.json()["message"] == "Result{id=-2, status=EXCEPTION}", unknown.text
    for page in ("cache", "db"):
        assert "<title>Leaf</title>" in session.get(f"{URL}/{page}").text


def sonyflake(session):
    from sonyflake import SonyFlake

    answer = session.get(f"{URL}/")
    assert answer.headers["content-type"] == "application/json; charset=utf-8", answer.headers
    told = answer.json()
    found = SonyFlake.decompose(told["id"])
    found["machine-id"] = found.pop("machine_id")
    assert told == found, (told, found)
    say("sonyflake", told["id"])


def number(_):
    from snowflake.client import SnowflakeClient

    host, port = URL.removeprefix("http://").split(":")
    client = SnowflakeClient(host, port)
    say("number", client.get_guid())
    stats = client.get_stats()
    assert stats["last_timestamp"] <= stats["timestamp"] + 10 and stats["errors"] == 0, stats


def gosnowflake(session):
    answer = session.get(f"{URL}/worker/7")
    assert answer.headers["content-type"] == "application/json; charset=utf-8", answer.headers
    say("gosnowflake", answer.json()["id"])


def main():
    session = requests.Session()
    session.trust_env = False
    try:
        if FACE == "leaf":
            leaf_once(session)
        for _ in range(COUNT):
            globals()[FACE](session)
    except requests.exceptions.RequestException as gone:
        print("gone", type(gone).__name__, file=sys.stderr)


main()
