"""Stock postgrest-py.

    postgrest_client.py calls URL       every kind of call; tokens `all` (admin) and `some` (allocate) are configured
    postgrest_client.py take URL        prints numbers of `orders` until its input ends, whatever happens to the server
"""

import select
import sys
import time

import httpx
from postgrest import SyncPostgrestClient
from postgrest.exceptions import APIError


def refused(code, call):
    try:
        answer = call.execute()
    except APIError as error:
        assert error.code == code, (error.code, code, error.message)
        return error
    raise AssertionError(f"expected {code}, got {answer.data!r}")


def calls(url):
    client = SyncPostgrestClient(url).auth("all")
    assert client.rpc("setval", {"seq": "orders", "value": 40}).execute().data == 40
    answer = client.rpc("nextval", {"seq": "orders"}).execute()
    assert (answer.data, answer.count) == (41, None), answer
    answer = client.rpc("nextval", {"sequence_name": "public.orders"}, count="exact").execute()
    assert (answer.data, answer.count) == (42, 1), answer
    answer = client.rpc("nextvals", {"seq": "orders", "n": 3}, count="planned").execute()
    assert (answer.data, answer.count) == ([43, 44, 45], 3), answer
    assert client.rpc("next_invoice", {}).execute().data == 1

    # One row as an object, as its builder of tables asks for it.
    single = client.rpc("nextvals", {"seq": "orders", "n": 1})
    single.request.headers["Accept"] = "application/vnd.pgrst.object+json"
    assert single.execute().data == 46
    many = client.rpc("nextvals", {"seq": "orders", "n": 2})
    many.request.headers["Accept"] = "application/vnd.pgrst.object+json"
    error = refused("PGRST116", many)
    assert error.details == "The result contains 2 rows", error.details

    # Reading calls are refused and take nothing; the code of HEAD comes from Proxy-Status.
    refused("25006", client.rpc("nextval", {"seq": "orders"}, get=True))
    refused("25006", client.rpc("nextval", {"seq": "orders"}, head=True, count="exact"))
    assert client.rpc("nextval", {"seq": "orders"}).execute().data == 47

    # Schemas.
    api = SyncPostgrestClient(url, schema="api").auth("some")
    assert api.rpc("nextval", {"seq": "orders"}).execute().data == 48
    error = refused("PGRST106", client.schema("shop").rpc("nextval", {"seq": "orders"}))
    assert error.hint == "Only the following schemas are exposed: public, api", error.hint

    # Errors as typed errors, with all their parts.
    some = SyncPostgrestClient(url).auth("some")
    error = refused("42P01", some.rpc("nextval", {"seq": "nothing"}))
    assert error.message == 'relation "nothing" does not exist', error.message
    error = refused("PGRST202", some.rpc("nextvall", {"seq": "orders"}))
    assert error.hint == "Perhaps you meant to call the function public.nextval(seq)", error.hint
    assert error.details.startswith("Searched for the function public.nextvall"), error.details
    refused("PGRST102", some.rpc("nextvals", {"seq": "orders", "n": 0}))
    refused("PGRST205", some.from_("orders").select("*"))
    assert some.rpc("nextvals", {"seq": "short", "n": 2}).execute().data == [1, 2]
    error = refused("2200H", some.rpc("nextval", {"seq": "short"}))
    assert error.message == 'nextval: reached maximum value of sequence "short" (2)', error.message

    # Tokens.
    refused("42501", some.rpc("setval", {"seq": "orders", "value": 100}))
    refused("PGRST302", SyncPostgrestClient(url).rpc("nextval", {"seq": "orders"}))
    refused("PGRST301", SyncPostgrestClient(url).auth("other").rpc("nextval", {"seq": "orders"}))

    # Python keeps what JavaScript rounds.
    assert client.rpc("setval", {"seq": "large", "value": "9007199254740992"}).execute().data == 2**53
    assert client.rpc("nextval", {"seq": "large"}).execute().data == 2**53 + 1
    print("postgrest-py: rpc, count, single, get, head, schema, auth, errors ok")


def take(url):
    client = SyncPostgrestClient(url)
    while not select.select([sys.stdin], [], [], 0)[0]:
        try:
            print(client.rpc("nextval", {"seq": "orders"}).execute().data, flush=True)
            for number in client.rpc("nextvals", {"seq": "orders", "n": 3}).execute().data:
                print(number, flush=True)
        except (APIError, httpx.HTTPError):
            time.sleep(0.02)


{"calls": calls, "take": take}[sys.argv[1]](sys.argv[2])
