"""Apache's Python library against the server: PORT, and the folder of what `thrift --gen py` wrote."""

import sys

PORT = int(sys.argv[1])
sys.path.insert(0, sys.argv[2])

import thrift_decoded  # noqa: E402
from snowflake import Newer  # noqa: E402
from thrift.protocol.TBinaryProtocol import TBinaryProtocol, TBinaryProtocolAccelerated  # noqa: E402
from thrift.Thrift import TApplicationException  # noqa: E402
from thrift.transport import TSocket, TTransport  # noqa: E402

for transport in [TTransport.TFramedTransport, TTransport.TBufferedTransport]:
    for protocol in [TBinaryProtocol, TBinaryProtocolAccelerated]:
        for strict in [True, False]:
            socket = TSocket.TSocket("127.0.0.1", PORT)
            socket.setTimeout(5000)
            opened = transport(socket)
            client = Newer.Client(protocol(opened, strictRead=strict, strictWrite=strict))
            opened.open()
            thrift_decoded.check_client(
                client, TApplicationException, lambda error: error.type, lambda error: error.message
            )
            opened.close()
print("thrift of Apache in Python ok")
