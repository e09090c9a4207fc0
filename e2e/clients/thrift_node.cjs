// Apache's library for Node against the server: its port, and the folder of what `thrift --gen js:node,es6` wrote.
const assert = require("node:assert");
const path = require("node:path");
const thrift = require("thrift");

const [port, folder] = [Number(process.argv[2]), process.argv[3]];
const Newer = require(path.join(folder, "Newer.js"));
const EPOCH_MS = 1288834974657n;

// Its numbers are doubles: an id is read by its octets.
const exactly = (number) => BigInt("0x" + number.toOctetString());

class OldHeader extends thrift.TBinaryProtocol {
  constructor(transport) {
    super(transport, false, false);
  }
}

async function refused(call, type, message) {
  try {
    await call;
  } catch (error) {
    assert.strictEqual(error.type, type, error.message);
    assert.strictEqual(error.message, message);
    return;
  }
  assert.fail("was answered");
}

async function check(transport, protocol) {
  const connection = thrift.createConnection("127.0.0.1", port, { transport, protocol });
  await new Promise((connected, failed) => connection.on("connect", connected).on("error", failed));
  const client = thrift.createClient(Newer, connection);
  const [datacenter, worker] = [exactly(await client.get_datacenter_id()), exactly(await client.get_worker_id())];
  // All at once: a pipeline.
  const ids = (await Promise.all(Array.from({ length: 500 }, () => client.get_id("web-1")))).map(exactly);
  for (const [at, id] of ids.entries()) {
    assert(at === 0 || id > ids[at - 1], `${id} after ${ids[at - 1]}`);
    assert.deepStrictEqual([(id >> 17n) & 31n, (id >> 12n) & 31n], [datacenter, worker]);
    const made = Number((id >> 22n) + EPOCH_MS);
    assert(Math.abs(made - Date.now()) < 10000, `${id} is of ${made}`);
  }
  const agent = "useragent must begin with a letter and go on with letters, digits and -";
  await refused(client.get_id("1asdf"), 6, agent);
  await refused(client.get_shard(7), 1, "Invalid method name: 'get_shard'");
  assert(exactly(await client.get_id("web-1")) > ids[ids.length - 1]);
  connection.end();
}

(async () => {
  for (const transport of [thrift.TFramedTransport, thrift.TBufferedTransport]) {
    for (const protocol of [thrift.TBinaryProtocol, OldHeader]) {
      await check(transport, protocol);
    }
  }
  console.log("thrift of Apache in Node ok");
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
