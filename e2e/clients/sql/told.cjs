// What every SQL client in Node does alike. Arguments: PORT USER PASSWORD. Each number that it is given is printed as
// `NAME NUMBER`, and must be above the last; a client that has seen everything ends with `ok`.
const assert = require('node:assert/strict');

const [port, user, password] = process.argv.slice(2);
exports.where = { host: '127.0.0.1', port: Number(port), user, password, database: 'ids' };
// Whose certificates are good, where TLS is wanted.
const authority = process.env.SQL_CA;
if (authority) exports.where.ssl = { ca: require('node:fs').readFileSync(authority) };

const last = { orders: 0n, tickets: 0n };
exports.last = last;

// Numbers come as text, as JavaScript's own numbers or as BigInt: all the same here.
exports.got = (number, name = 'orders') => {
  const whole = BigInt(number);
  assert(whole > last[name], `${name}: ${number} after ${last[name]}`);
  last[name] = whole;
  console.log(name, String(whole));
};

exports.refused = async (promise) => {
  let answer;
  try {
    answer = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`expected an error, got ${JSON.stringify(answer)}`);
};

exports.run = (main) => main().then(() => console.log('ok'), (error) => {
  console.error(error);
  process.exit(1);
});
