"""Stock thriftpy2 against the server: PORT, then `check`, or `mint N`, which prints N ids over every loss of the server."""

import pathlib
import sys
import time

import thriftpy2
from thriftpy2.protocol import TBinaryProtocolFactory
from thriftpy2.rpc import make_client
from thriftpy2.thrift import TApplicationException, TException
from thriftpy2.transport import TBufferedTransportFactory, TFramedTransportFactory

import thrift_decoded

PORT = int(sys.argv[1])
HERE = pathlib.Path(__file__).parent
IDL = thriftpy2.load(str(HERE / "snowflake.thrift"), module_name="snowflake_thrift")


def connect(transport, strict):
    protocol = TBinaryProtocolFactory(strict_read=strict, strict_write=strict)
    return make_client(IDL.Newer, "127.0.0.1", PORT, trans_factory=transport, proto_factory=protocol, timeout=5000)


def check():
    for transport in [TFramedTransportFactory(), TBufferedTransportFactory()]:
        for strict in [True, False]:
            client = connect(transport, strict)
            thrift_decoded.check_client(
                client, TApplicationException, lambda error: error.type, lambda error: error.message
            )
            client.close()
    print("thriftpy2", thriftpy2.__version__, "ok")


def mint(count):
    client, made, lost, tries = None, 0, 0, 0
    while made < count:
        try:
            client = client or connect(TFramedTransportFactory(), True)
            print(client.get_id("web-1"), flush=made % 100 == 0)
            made, tries = made + 1, 0
        except TApplicationException as refused:
            # The server is there, and has no window yet: the connection goes on.
            assert refused.type == 6 and refused.message.startswith("not available"), refused
            tries += 1
            time.sleep(0.01)
        except (TException, OSError, EOFError):
            lost += client is not None
            client, tries = None, tries + 1
            assert tries < 2000, "the server stays away"
            time.sleep(0.01)
    print("lost", lost)


if sys.argv[2] == "check":
    check()
else:
    mint(int(sys.argv[3]))
