"""grpcio, which learns the methods by reflection: WHAT ADDRESS [CA [TOKEN]]; prints one line of JSON."""

import json
import sys

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

what, address, authority, token = (sys.argv[1:] + ["", ""])[:4]
if authority:
    with open(authority, "rb") as file:
        channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(file.read()))
else:
    channel = grpc.insecure_channel(address)
metadata = [("authorization", f"Bearer {token}")] if token else []


class WithToken(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor, grpc.StreamStreamClientInterceptor):
    def add(self, go_on, details, request):
        return go_on(details._replace(metadata=metadata), request)

    intercept_unary_unary = intercept_unary_stream = intercept_stream_stream = add


channel = grpc.intercept_channel(channel, WithToken())


class Mint:
    """A method of the service for each attribute, its request's fields as arguments."""

    def __init__(self):
        self.database = ProtoReflectionDescriptorDatabase(channel)
        self.service = DescriptorPool(self.database).FindServiceByName("mintage.v1.Mint")

    def __getattr__(self, name):
        method = self.service.FindMethodByName(name)
        asked, answered = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        kind = channel.unary_stream if method.server_streaming else channel.unary_unary
        call = kind(
            f"/mintage.v1.Mint/{name}",
            request_serializer=asked.SerializeToString,
            response_deserializer=answered.FromString,
        )
        return lambda compression=None, timeout=30, **fields: call(
            asked(**fields), compression=compression, timeout=timeout
        )


def refusal(call, *arguments, **fields):
    """The status, the reason that every face has for it, and whether there is a message."""
    from google.rpc import error_details_pb2, status_pb2

    try:
        for _ in [answer] if hasattr(answer := call(*arguments, **fields), "DESCRIPTOR") else answer:
            pass
    except grpc.RpcError as error:
        details = dict(error.trailing_metadata()).get("grpc-status-details-bin", b"")
        info = error_details_pb2.ErrorInfo()
        for detail in status_pb2.Status.FromString(details).details:
            detail.Unpack(info)
        return [error.code().name, info.reason, error.details()]
    return ["OK", "", ""]


def everything():
    mint = Mint()
    health = health_pb2_grpc.HealthStub(channel)
    status = lambda **asked: health.Check(health_pb2.HealthCheckRequest(**asked)).status
    watched = health.Watch(health_pb2.HealthCheckRequest())
    said = {
        "services": sorted(mint.database.get_services()),
        "next": list(mint.Next(name="orders", count=3).ids),
        "range": MessageToDict(mint.Next(name="orders", count=5, contiguous=True).range),
        "blocks": [[b.first, b.count, b.increment] for b in mint.NextStream(name="orders", count=2500)],
        "uuids": [[b.count, b.ids.hex()] for b in mint.IdStream(format="uuid7", count=5, block=2)],
        "snowflakes": [len(b.ids) for b in mint.IdStream(format="snowflake", count=10)],
        "typeids": list(mint.MakeIds(format="typeid", count=2, options={"prefix": "user"}).ids),
        "numbers": len(set(mint.MakeSnowflakes(pool="default", count=100).ids)),
        "created": MessageToDict(mint.CreateSequence(name="steps", definition={"start": 100, "increment": 5})),
        "stepped": list(mint.Next(name="steps", count=2).ids),
        "altered": mint.AlterSequence(name="steps", definition={"increment": 10}).increment,
        "restarted": mint.RestartSequence(name="steps", value=500).last,
        "listed": [sequence.name for sequence in mint.ListSequences(prefix="st").sequences],
        "pool": mint.CreatePool(name="sony", definition={"preset": "sonyflake"}).kind,
        "avoids": mint.AlterPool(name="sony", patch={"avoid": "1-9"}).avoid,
        "pools": [pool.name for pool in mint.ListPools().pools],
        "windows": len(mint.ShowPool(name="default").windows),
        "readings": mint.Inspect(id="01890a5d-ac96-774b-bcce-b302099a8057").readings[0].fields["rand_a"],
        "series": list(mint.ShowNamedSeries(name="seq_1_to_15_step_3").values),
        "dates": list(mint.ShowSeries(**{"from": "2024-02-28", "to": "2024-03-01"}).values),
        "formats": len(mint.ListFormats().formats) > 20,
        "presets": len(mint.ListPresets().presets) > 20,
        "health": [status(), status(service="orders"), next(watched).status],
        "refusals": {
            "name": refusal(mint.Next, name=""),
            "count": refusal(mint.Next, name="orders", count=10**9),
            "missing": refusal(mint.ShowSequence, name="nobody"),
            "no path": refusal(mint.ShowSequence),
            "another": refusal(mint.CreateSequence, name="steps", definition={"start": 7}),
            "back": refusal(mint.RestartSequence, name="steps", value=1),
            "format": refusal(mint.MakeIds, format="no"),
            "text": refusal(mint.IdStream, format="nanoid"),
            "pool of none": refusal(mint.IdStream, format="uuid4", pool="default"),
            "option": refusal(mint.IdStream, format="ulid", options={"no": "1"}),
            "block": refusal(mint.NextStream, name="orders", block=10**6),
            "none": refusal(mint.NextStream, name="orders", count=0),
            "long": refusal(mint.Next, name="x" * 100_000),
            "compressed": refusal(mint.Next, name="a" * 200, compression=grpc.Compression.Gzip),
            "health": refusal(health.Check, health_pb2.HealthCheckRequest(service="nobody")),
            "method": refusal(
                channel.unary_unary("/mintage.v1.Mint/No", lambda text: text, lambda text: text), b""
            ),
        },
    }
    watched.cancel()
    lent = mint.LendWindow(name="default", borrower={"name": "me"})
    held = {"name": "default", "worker": lent.worker, "owner": lent.owner}
    renewed = mint.RenewWindow(**held, version=lent.version)
    said["renewed"] = renewed.until_tick > lent.from_tick
    said["lost"] = refusal(mint.RenewWindow, **held, version=lent.version)
    tries = [mint.RenewWindow(**held, version=renewed.version, attempt="a-random-attempt") for _ in range(3)]
    said["repeated"] = all((one.version, one.until_tick) == (renewed.version + 1, tries[0].until_tick) for one in tries)
    said["ticks"] = [lent.tick_ns, lent.from_tick <= lent.now_tick <= lent.until_tick]
    said["counted"] = refusal(mint.RenewWindow, **held, version=renewed.version + 1, attempt="2")
    mint.EndWindow(**held, version=renewed.version + 1)
    said["dropped"] = list(mint.DropSequence(name="steps").pending)
    said["pool dropped"] = refusal(lambda: mint.DropPool(name="sony"))[0]
    return said


def one():
    return list(Mint().Next(name="orders").ids)


def rights():
    mint = Mint()
    return [refusal(mint.Next, name=name)[:2] for name in ("orders", "bills")] + [
        refusal(mint.CreateSequence, name="orders")[:2],
        [sequence.name for sequence in mint.ListSequences().sequences],
    ]


def wrong():
    call = channel.unary_unary("/mintage.v1.Mint/Next", lambda text: text, lambda text: text)
    return refusal(call, b"\x0a\x06orders")


def greedy():
    mint, answers = Mint(), set()
    # However slow this is, the bucket is empty some time.
    for _ in range(10_000):
        answers.add(refusal(mint.Next, name="orders")[1])
        if "RATE_LIMITED" in answers:
            break
    streamed = refusal(mint.NextStream, name="orders")
    return [sorted(answers), streamed]


def stream():
    """Prints blocks until the server ends the stream, and how it does."""

    def blocks():
        for block in Mint().NextStream(name="orders", block=10, timeout=None):
            print(block.first, block.count, flush=True)
        return []

    return refusal(blocks)


def stalled():
    """Begins a stream and does not read it, while another call of the same connection is answered."""
    import time

    mint = Mint()
    blocks = iter(mint.IdStream(format="uuid4", block=4000))
    next(blocks)
    numbers = []
    for _ in range(40):
        numbers += mint.Next(name="orders").ids
        time.sleep(0.1)

    def rest():
        for _ in range(1_000):
            next(blocks)
        return []

    return [numbers, refusal(rest)[0]]


print(json.dumps(globals()[what]()))
