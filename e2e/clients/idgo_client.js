// Numbers of idgo through stock ioredis and node-redis: the arguments are ports of servers over one store.
'use strict';
const Redis = require('ioredis');
const { createClient } = require('redis');

const ports = process.argv.slice(2).map(Number);
const EACH = 1200;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// A client that is cut off while it connects again may never settle what it was asked: it is asked anew.
const limited = (answer) => Promise.race([answer, pause(5000).then(() => { throw new Error('no answer'); })]);

async function patiently(ask) {
  for (let tries = 0; ; tries++) {
    try {
      return await limited(ask());
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
    let node;
    gets.push(async () => {
      if (!node) {
        const made = createClient({ url: `redis://127.0.0.1:${port}`, socket: { reconnectStrategy: false } });
        made.on('error', () => {});
        await limited(made.connect());
        node = made;
      }
      try {
        return await limited(node.get('orders'));
      } catch (refused) {
        const broken = node;
        node = undefined;
        if (broken.isOpen) broken.destroy();
        throw refused;
      }
    });
    ends.push(() => node && node.isOpen && node.destroy());
  }
  const first = new Redis(ports[0], '127.0.0.1');
  if ((await first.set('orders', '0')) !== 'OK') throw new Error('SET was refused');
  if ((await first.get('unknown')) !== null) throw new Error('an unknown key has a number');
  first.disconnect();
  for (let at = 0; at < EACH; at++) {
    for (const get of gets) console.log(await patiently(get));
  }
  ends.forEach((end) => end());
  // Limits that were not reached are still running.
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
