// What stock ioredis and node-redis do against the server: argument 2 is the port.
"use strict";

const assert = require("node:assert");
const Redis = require("ioredis");
const { createClient } = require("redis");

const port = Number(process.argv[2]);
const names = ["{acct}:seq", "shop/orders", "svc@prod:id", "ids#order", "Seq Invoice", "inc:заказ"];
const upTo = (n) => Array.from({ length: n }, (_, i) => i + 1);

async function ioredis() {
  const client = new Redis({ host: "127.0.0.1", port, retryStrategy: null });
  const chain = client.multi();
  for (let i = 0; i < 1000; i++) chain.incr("io");
  const answers = await chain.exec();
  assert.deepStrictEqual(answers.map(([error, n]) => (assert.strictEqual(error, null), n)), upTo(1000));

  const mixed = await client.multi().incr("io").incrby("io", "abc").get("io").exec();
  assert.strictEqual(mixed[0][1], 1001);
  assert.match(mixed[1][0].message, /not an integer/);
  assert.strictEqual(mixed[2][1], "1001");

  // Without a pipeline each command is sent, and answered, by itself.
  await client.multi({ pipeline: false });
  assert.strictEqual(await client.incr("io"), "QUEUED");
  assert.deepStrictEqual(await client.exec(), [[null, 1002]]);
  await client.multi({ pipeline: false });
  await client.incr("io");
  assert.strictEqual(await client.discard(), "OK");

  await assert.rejects(client.multi().incr("io").call("NOSUCH").exec(), /EXECABORT/);
  assert.strictEqual(await client.get("io"), "1002");

  assert.strictEqual(await client.set("io:zero", 0, "NX"), "OK");
  assert.strictEqual(await client.get("io:zero"), "0");
  assert.strictEqual(await client.incr("io:zero"), 1);
  assert.strictEqual(await client.setnx("io:zero", 0), 0);
  await assert.rejects(client.decr("io:zero"), /never goes back/);
  await assert.rejects(client.expire("io:zero", 10), /never expires/);
  for (const name of names) assert.deepStrictEqual([await client.incr(`io ${name}`), await client.incr(`io ${name}`)], [1, 2]);
  await client.quit();
}

async function nodeRedis(RESP) {
  const client = createClient({ RESP, socket: { host: "127.0.0.1", port, reconnectStrategy: false } });
  client.on("error", (error) => { throw error; });
  await client.connect();
  const key = `node${RESP}`;
  const chain = client.multi();
  for (let i = 0; i < 1000; i++) chain.incr(key);
  assert.deepStrictEqual(await chain.exec(), upTo(1000));
  assert.deepStrictEqual(await client.multi().incr(key).get(key).exec(), [1001, "1001"]);
  const failed = await client.multi().incr(key).incrBy(key, "abc").get(key).exec().catch((error) => error);
  assert.match(failed.replies[1].message, /not an integer/);
  assert.deepStrictEqual([failed.replies[0], failed.replies[2]], [1002, "1002"]);
  await assert.rejects(client.multi().incr(key).addCommand(["NOSUCH"]).exec());
  assert.strictEqual(await client.get(key), "1002");

  assert.strictEqual(await client.set(`${key}:zero`, 0, { NX: true }), "OK");
  assert.strictEqual(await client.get(`${key}:zero`), "0");
  assert.strictEqual(await client.incr(`${key}:zero`), 1);
  assert.strictEqual(await client.ttl(`${key}:zero`), -1);
  for (const name of names) assert.deepStrictEqual([await client.incr(`${key} ${name}`), await client.incr(`${key} ${name}`)], [1, 2]);
  client.destroy();
}

async function main() {
  await ioredis();
  for (const RESP of [2, 3]) await nodeRedis(RESP);
  const version = (name) => `${name} ${require(`${name}/package.json`).version}`;
  console.log(version("ioredis"), version("redis"), "ok");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
