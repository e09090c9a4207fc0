// What stock ioredis (defineCommand) and node-redis (defineScript) do with scripts.
// Arguments: `check PORT`, or `take ioredis|node-redis PORT...`: takes numbers from these servers in turn until standard
// input ends, going on when one is away, and prints each as a line.
"use strict";

const assert = require("node:assert");
const { createHash } = require("node:crypto");
const Redis = require("ioredis");
const { createClient, defineScript } = require("redis");

const NEXT = "-- the next id\nreturn redis.call('INCR', KEYS[1]);\n";
const RANGE = "local last = redis.call('incrby', KEYS[1], ARGV[1]); return {last - ARGV[1] + 1, last}";
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const PATIENCE_MS = 1000;
const within = (ms, answer) =>
  Promise.race([answer, sleep(ms).then(() => Promise.reject(new Error("no answer in time")))]);
const sha1 = (text) => createHash("sha1").update(text).digest("hex");

function ioredisClient(port) {
  const client = new Redis({ host: "127.0.0.1", port, maxRetriesPerRequest: 0, retryStrategy: () => 20 });
  client.on("error", () => {});
  client.defineCommand("following", { numberOfKeys: 1, lua: NEXT });
  client.defineCommand("ranged", { numberOfKeys: 1, lua: RANGE });
  return {
    following: (key) => client.following(key),
    ranged: (key, count) => client.ranged(key, count),
    raw: (...words) => client.call(...words),
    many: async (key, count) => {
      const pipeline = client.pipeline();
      for (let i = 0; i < count; i++) pipeline.following(key);
      return (await pipeline.exec()).map(([error, n]) => (assert.strictEqual(error, null), n));
    },
    end: () => client.disconnect(),
  };
}

function nodeRedisClient(port) {
  const parseCommand = (parser, key, ...rest) => {
    parser.pushKey(key);
    parser.push(...rest.map(String));
  };
  const script = (SCRIPT) =>
    defineScript({ SCRIPT, NUMBER_OF_KEYS: 1, parseCommand, transformReply: (reply) => reply });
  const client = createClient({
    socket: { host: "127.0.0.1", port, reconnectStrategy: () => 20 },
    disableOfflineQueue: true,
    scripts: { following: script(NEXT), ranged: script(RANGE) },
  });
  client.on("error", () => {});
  const connected = client.connect();
  // What becomes of it is seen by the commands.
  connected.catch(() => {});
  return {
    connected,
    following: (key) => client.following(key),
    ranged: (key, count) => client.ranged(key, count),
    raw: (...words) => client.sendCommand(words),
    many: (key, count) => Promise.all(Array.from({ length: count }, () => client.following(key))),
    end: () => client.destroy(),
  };
}

const CLIENTS = { ioredis: ioredisClient, "node-redis": nodeRedisClient };

async function check(name, port) {
  const client = CLIENTS[name](port);
  await client.connected;
  await client.raw("SCRIPT", "FLUSH");
  assert.deepStrictEqual(await client.raw("SCRIPT", "EXISTS", sha1(NEXT), sha1(RANGE)), [0, 0]);
  const key = `scripts:${name}`;
  for (const n of [1, 2, 3]) assert.strictEqual(await client.following(key), n);
  assert.deepStrictEqual(await client.ranged(key, 10), [4, 13]);
  assert.deepStrictEqual(await client.raw("SCRIPT", "EXISTS", sha1(NEXT), sha1(RANGE)), [1, 1]);
  await client.raw("SCRIPT", "FLUSH");
  assert.strictEqual(await client.following(key), 14);
  assert.deepStrictEqual(await client.many(key, 100), Array.from({ length: 100 }, (_, i) => 15 + i));
  await assert.rejects(client.raw("EVAL", "return 1", "0"), /runs no Lua/);
  await assert.rejects(client.raw("EVALSHA", "0".repeat(40), "0"), /^(Reply)?(Error|SimpleError|ErrorReply)?:? ?NOSCRIPT/);
  client.end();
}

async function take(name, ports) {
  const clients = ports.map((port) => CLIENTS[name](port));
  const answered = ports.map(() => Date.now());
  let going = true;
  process.stdin.on("end", () => (going = false)).resume();
  for (let turn = 0; going; turn++) {
    const at = turn % ports.length;
    try {
      if (turn % 3) {
        process.stdout.write(`${await within(PATIENCE_MS, clients[at].following("taken"))}\n`);
      } else {
        const [first, last] = await within(PATIENCE_MS, clients[at].ranged("taken", 5));
        for (let n = first; n <= last; n++) process.stdout.write(`${n}\n`);
      }
      answered[at] = Date.now();
    } catch (error) {
      assert(!/Lua|ERR/.test(error.message), error);
      // node-redis 5 waits for ever, of Redis too, if a server is killed while it connects: a new client takes over.
      if (Date.now() - answered[at] >= PATIENCE_MS) {
        clients[at].end();
        clients[at] = CLIENTS[name](ports[at]);
        answered[at] = Date.now();
      }
      await sleep(20);
    }
  }
}

async function main([what, ...rest]) {
  if (what === "take") return take(rest[0], rest.slice(1).map(Number));
  for (const name of Object.keys(CLIENTS)) await check(name, Number(rest[0]));
  console.log("ioredis, node-redis ok");
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
