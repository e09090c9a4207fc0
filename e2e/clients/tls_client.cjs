// ioredis and node-redis over TLS: PORT CA [CERT KEY], each number on a line of its own.
const fs = require('fs');
const Redis = require('ioredis');
const { createClient } = require('redis');

const [port, authority, cert, key] = process.argv.slice(2);
const read = (file) => (file ? fs.readFileSync(file) : undefined);
const tls = { ca: read(authority), cert: read(cert), key: read(key), servername: 'localhost' };

async function main() {
    const first = new Redis({ host: '127.0.0.1', port: Number(port), tls, maxRetriesPerRequest: 0, retryStrategy: null });
    console.log(await first.incr('orders'));
    await first.quit();
    const second = createClient({ socket: { host: '127.0.0.1', port: Number(port), tls: true, ...tls, reconnectStrategy: false } });
    await second.connect();
    console.log(await second.incr('orders'));
    await second.close();
}

main().catch((error) => {
    console.error(error.message);
    process.exit(1);
});
