"""Makes a client of what a server says of itself, with a stock generator, and uses it."""

import pathlib
import subprocess
import sys
import tempfile
import urllib.request

from openapi_spec_validator import OpenAPIV31SpecValidator, validate
import json

url = sys.argv[1]
text = urllib.request.urlopen(url + "/openapi.json").read()
document = json.loads(text)
assert document["openapi"].startswith("3.1"), document["openapi"]
validate(document, cls=OpenAPIV31SpecValidator)

folder = pathlib.Path(tempfile.mkdtemp())
(folder / "openapi.json").write_bytes(text)
(folder / "config.yaml").write_text("post_hooks: []\npackage_name_override: mint_client\ncontent_type_overrides:\n  application/x-ndjson: text/plain\n")
made = subprocess.run(
    [sys.executable, "-m", "openapi_python_client", "generate", "--path", folder / "openapi.json",
     "--config", folder / "config.yaml", "--meta", "none", "--output-path", folder / "mint_client", "--fail-on-warning"],
    capture_output=True, text=True,
)
assert made.returncode == 0, made.stdout + made.stderr
sys.path.insert(0, str(folder))

from mint_client import Client
from mint_client.api.sequences import alter_sequence, create_sequence, list_sequences, next_, restart_sequence, show_sequence
from mint_client.api.ids import make_ids
from mint_client.api.inspect import inspect
from mint_client.api.pools import create_pool, end_window, lend_window, renew_window, show_pool
from mint_client.api.formats import list_formats
from mint_client.models import Borrower, Held, NextAs, PoolDefinition, Problem, Restart, SequenceDefinition

client = Client(base_url=url)

made = create_sequence.sync("shop/orders", client=client, body=SequenceDefinition(start=5, max_="9007199254740993"))
assert (made.name, made.start, made.max_) == ("shop/orders", "5", "9007199254740993"), made
assert next_.sync("shop/orders", client=client, count=3).ids == ["5", "6", "7"]
run = next_.sync("shop/orders", client=client, count=10, as_=NextAs.RANGE)
assert (run.first, run.last, run.increment) == ("8", "17", "1"), run
assert show_sequence.sync("shop/orders", client=client).last == "17"
assert [one.name for one in list_sequences.sync(client=client).sequences] == ["shop/orders"]
assert alter_sequence.sync("shop/orders", client=client, body=SequenceDefinition(cycle=True)).cycle
assert restart_sequence.sync("shop/orders", client=client, body=Restart(value="100")).last == "100"
assert next_.sync("shop/orders", client=client).cycle

refused = show_sequence.sync("nothing", client=client)
assert isinstance(refused, Problem) and (refused.status, refused.code) == (404, "not_found"), refused
refused = next_.sync("shop/orders", client=client, count=0)
assert isinstance(refused, Problem) and refused.code == "invalid_count", refused

ids = make_ids.sync("typeid", client=client, count=2, prefix="user").ids
assert len(ids) == 2 and all(one.startswith("user_") for one in ids), ids
read = inspect.sync("017f22e2-79b0-7cc3-98c4-dc0c0c07398f", client=client).readings[0]
assert (read.format_, read.version, read.time) == ("uuid", 7, "2022-02-22T19:22:22.000Z"), read
assert any(row.name == "uuid7" and row.characters.min_ == 36 for row in list_formats.sync(client=client).formats)

assert create_pool.sync("eu", client=client, body=PoolDefinition(preset="discord")).layout
lent = lend_window.sync("eu", client=client, body=Borrower(name="generated"))
held = Held(owner=lent.owner, version=lent.version)
renewed = renew_window.sync("eu", str(lent.worker), client=client, body=held)
assert renewed.worker == lent.worker and renewed.version != lent.version, renewed
assert [one.name for one in show_pool.sync("eu", client=client).windows] == ["generated"]
ended = end_window.sync_detailed("eu", str(lent.worker), client=client, body=Held(owner=lent.owner, version=renewed.version))
assert ended.status_code == 204, ended

print(f"{len(document['paths'])} paths ok")
