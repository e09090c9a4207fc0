"""Names of every kind on every face: HTTP at $HTTP, the Redis protocol at $RESP, the command `mint`.

What each name has given out is kept in ./names.json; called again, every name must go on above that.
With the argument `sequences` no ids of pools are taken, which a restored store does not give out at once.
"""

import http.client
import json
import os
import socket
import subprocess
import sys
import urllib.parse

LONGEST = "🦀" * 63 + "abc"
NAMES = [
    "{acct}:seq", "shop/orders", "svc@prod:id", "ids#order", "Seq Invoice", "inc:заказ", ".", "..", "%41", LONGEST, "A",
    "a", "a ", " a", "a/b", "a-b", "seq/seq/a", 'say "\\"', "-n",
]
BAD = ["", "a\tb", "\x7f", "\x85", "x" * 256]


def http_call(method, path, body=None):
    url = urllib.parse.urlsplit(os.environ["HTTP"])
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    headers = {"content-type": "application/json"} if body is not None else {}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, json.loads(text) if text.startswith(("{", "[")) else text


def path(kind, name, more=""):
    # quote() leaves dots as they are, and so does http.client: what is sent arrives.
    return f"/v1/{kind}/{urllib.parse.quote(name, safe='')}{more}"


class Resp:
    def __init__(self):
        self.file = socket.create_connection(("127.0.0.1", int(os.environ["RESP"])), 30).makefile("rwb")

    def ask(self, *words):
        words = [str(word).encode() for word in words]
        self.file.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        self.file.flush()
        return self.reply()

    def reply(self):
        line = self.file.readline()[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest.decode()


def mint(*words):
    done = subprocess.run(["mint", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def listed(kind, limit):
    names, after = [], ""
    while True:
        status, page = http_call("GET", f"/v1/{kind}?limit={limit}{after}")
        assert status == 200, page
        names += [one["name"] for one in page[kind]]
        if page["next"] is None:
            return names
        after = "&after=" + urllib.parse.quote(page["next"], safe="")


def sequences(resp, known):
    for name in NAMES:
        # After a restart another store of a set may be taken from, with a lower share: then order begins anew.
        numbers = [resp.ask("INCR", name)]
        status, answer = http_call("POST", path("sequences", name, "/next"))
        assert status == 200, (name, answer)
        numbers.append(int(answer["ids"][0]))
        numbers += [int(line) for line in mint("seq", "next", "-n", "2", "--", name).split()]
        assert numbers == sorted(set(numbers)), (name, numbers)
        assert not set(numbers) & set(known.get(name, [])), (name, numbers, known[name])
        assert resp.ask("GET", name) == str(numbers[-1]), name
        status, shown = http_call("GET", path("sequences", name))
        assert (status, shown["name"]) == (200, name), shown
        assert json.loads(mint("seq", "show", "--json", "--", name))["name"] == name
        known[name] = known.get(name, []) + numbers
    wanted = sorted(NAMES, key=str.encode)
    for limit in (3, 1000):
        assert [name for name in listed("sequences", limit) if name in NAMES] == wanted
    shown = [json.loads(line)["name"] for line in mint("seq", "list", "--json").splitlines()]
    assert [name for name in shown if name in NAMES] == wanted, shown
    seen, cursor = [], "0"
    while True:
        cursor, page = resp.ask("SCAN", cursor, "COUNT", 5)
        seen += page
        if cursor == "0":
            break
    assert sorted(name for name in seen if name in NAMES) == sorted(NAMES), seen
    _, metrics = http_call("GET", "/metrics")
    for name in NAMES:
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        assert f'name="{escaped}"' in metrics, name
    # The name dropped and made again goes on above its numbers.
    for name in NAMES[::2]:
        status, answer = http_call("DELETE", path("sequences", name))
        assert status in (200, 204), (name, answer)
        assert resp.ask("EXISTS", name) == 0, name
        number = resp.ask("INCR", name)
        assert number > known[name][-1], (name, number)
        known[name].append(number)


def pools(resp, known):
    held = {}
    for name in NAMES:
        if name not in known:
            mint("pool", "create", "--preset", "twitter", "--", name)
        ids = [known.get(name, 0)]
        ids += [int(resp.ask("MINT.SNOWFLAKE", name))]
        status, answer = http_call("POST", path("snowflakes", name, "?count=2"))
        assert status == 200, (name, answer)
        ids += [int(number) for number in answer["ids"]]
        assert len(set(ids)) == 4, (name, ids)
        known[name] = max(ids)
        status, lent = http_call("POST", path("pools", name, "/windows"), {"name": "borrower"})
        assert status == 201, (name, lent)
        held[name] = lent["worker"]
    for name in NAMES:
        shown = json.loads(mint("pool", "show", "--json", "--", name))
        workers = [window["worker"] for window in shown["windows"]]
        assert shown["name"] == name and held[name] in workers, shown
        assert len(workers) == len(set(workers)), shown
    wanted = sorted(NAMES, key=str.encode)
    assert [name for name in listed("pools", 4) if name in NAMES] == wanted


def refused(resp):
    for name in BAD:
        assert str(resp.ask("INCR", name)).startswith("ERR mint: name "), name
        if name:
            status, problem = http_call("POST", path("sequences", name, "/next"))
            assert (status, problem["code"]) == (400, "invalid_name"), problem


def main():
    try:
        with open("names.json", encoding="utf-8") as file:
            known = json.load(file)
    except FileNotFoundError:
        known = {"sequences": {}, "pools": {}}
    resp = Resp()
    sequences(resp, known["sequences"])
    if sys.argv[1:] != ["sequences"]:
        pools(resp, known["pools"])
    assert set(known["pools"]) <= set(listed("pools", 1000))
    refused(resp)
    with open("names.json", "w", encoding="utf-8") as file:
        json.dump(known, file)


main()
