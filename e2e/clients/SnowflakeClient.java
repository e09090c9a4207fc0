import org.apache.thrift.TApplicationException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.transport.layered.TFramedTransport;

/** Apache's Java library against the server: its port. */
public class SnowflakeClient {
    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        for (boolean framed : new boolean[] {true, false}) {
            for (boolean strict : new boolean[] {true, false}) {
                TTransport transport = new TSocket("127.0.0.1", port, 5000);
                if (framed) {
                    transport = new TFramedTransport(transport);
                }
                transport.open();
                check(new Newer.Client(new TBinaryProtocol(transport, strict, strict)));
                transport.close();
            }
        }
        System.out.println("libthrift-java ok");
    }

    static void check(Newer.Client client) throws Exception {
        long last = 0;
        long worker = client.get_worker_id();
        long datacenter = client.get_datacenter_id();
        for (int n = 0; n < 200; n++) {
            long id = client.get_id("web-1");
            expect(id > last, id + " after " + last);
            expect((id >> 17 & 31) == datacenter && (id >> 12 & 31) == worker, id + " has another worker");
            long made = (id >> 22) + 1288834974657L;
            expect(Math.abs(made - System.currentTimeMillis()) < 10_000, id + " is of " + made);
            last = id;
        }
        expect(Math.abs(client.get_timestamp() - System.currentTimeMillis()) < 10_000, "another time");
        try {
            client.get_id("1asdf");
            throw new AssertionError("a bad agent was taken");
        } catch (TApplicationException refused) {
            expect(refused.getType() == 6, "type " + refused.getType());
            expect(refused.getMessage().startsWith("useragent must begin with a letter"), refused.getMessage());
        }
        expect(client.get_id("web-1") > last, "after a refusal");
        try {
            client.get_shard(7);
            throw new AssertionError("there is no such method");
        } catch (TApplicationException refused) {
            expect(refused.getType() == 1, "type " + refused.getType());
            expect(refused.getMessage().equals("Invalid method name: 'get_shard'"), refused.getMessage());
        }
        expect(client.get_id("web-1") > last, "after an unknown method");
    }

    static void expect(boolean holds, String words) {
        if (!holds) {
            throw new AssertionError(words);
        }
    }
}
