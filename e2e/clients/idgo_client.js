// Numbers of idgo through stock ioredis and node-redis: the arguments are ports of servers over one store.
'use strict';
const Redis = require('ioredis');
const { createClient } = require('redis');

const ports = process.argv.slice(2).map(Number);
const EACH = 1200;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function patiently(ask) {
  for (let tries = 0; ; tries++) {
    try {
      return await ask();
    } catch (refused) {
      if (tries >= 400) throw refused;
      await pause(50);
    }
  }
}

async function main() {
  const gets = [];
  const ends = [];
  for (const port of ports) {
    const io = new Redis(port, '127.0.0.1', { retryStrategy: () => 50, maxRetriesPerRequest: null, db: 3 });
    io.on('error', () => {});
    gets.push(() => io.get('orders'));
    ends.push(() => io.disconnect());
    const node = createClient({ url: `redis://127.0.0.1:${port}`, socket: { reconnectStrategy: () => 50 } });
    node.on('error', () => {});
    await node.connect();
    gets.push(() => node.get('orders'));
    ends.push(() => node.destroy());
  }
  const first = new Redis(ports[0], '127.0.0.1');
  if ((await first.set('orders', '0')) !== 'OK') throw new Error('SET was refused');
  if ((await first.get('unknown')) !== null) throw new Error('an unknown key has a number');
  first.disconnect();
  for (let at = 0; at < EACH; at++) {
    for (const get of gets) console.log(await patiently(get));
  }
  ends.forEach((end) => end());
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
