"""Reads ids of Twitter's layout with arithmetic of its own: 41 bits of milliseconds, 5 of datacenter, 5 of worker, 12."""

import time

EPOCH_MS = 1288834974657


def check(number, datacenter, worker):
    assert 0 < number < 1 << 63, number
    made_ms = (number // 4194304) + EPOCH_MS
    assert abs(made_ms - time.time() * 1000) < 10_000, (number, made_ms)
    found = (number // 131072 % 32, number // 4096 % 32)
    assert found == (datacenter, worker), (number, found, datacenter, worker)


def check_client(client, refused, kind_of, text_of):
    """What every client must see: ids that rise and decode, refusals as exceptions, and going on after them."""
    ids = [client.get_id("web-1") for _ in range(200)]
    assert ids == sorted(set(ids)), ids
    datacenter, worker = client.get_datacenter_id(), client.get_worker_id()
    for number in ids:
        check(number, datacenter, worker)
    assert abs(client.get_timestamp() - time.time() * 1000) < 10_000
    for agent in ["1asdf", "", "a_b"]:
        try:
            client.get_id(agent)
            raise AssertionError(f"{agent!r} was taken")
        except refused as error:
            assert kind_of(error) == 6, error
            assert text_of(error) == "useragent must begin with a letter and go on with letters, digits and -", error
        assert client.get_id("web-1") > ids[-1]
    try:
        client.get_shard(7)
        raise AssertionError("there is no such method")
    except refused as error:
        assert (kind_of(error), text_of(error)) == (1, "Invalid method name: 'get_shard'"), error
    assert client.get_id("web-1") > ids[-1]
