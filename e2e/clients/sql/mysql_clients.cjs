// Stock mysql2, mysql and mariadb of npm: PORT USER PASSWORD NAME. Text and prepared statements, several at once, pools,
// CHANGE_USER, PING.
const assert = require('node:assert/strict');
const { promisify } = require('node:util');
const { got, last, refused, run, where } = require('./told.cjs');

const TICKET = "REPLACE INTO tickets (stub) VALUES ('a')";
const NEXT = 'SELECT NEXTVAL(orders) AS n';

// `query` returns rows, or what the driver says of a change; `execute` prepares where it can.
async function use(query, execute) {
  for (let n = 0; n < 3; n++) {
    got((await query(TICKET)).insertId, 'tickets');
    assert.equal(BigInt((await query('SELECT LAST_INSERT_ID() AS n'))[0].n), last.tickets);
    got((await execute('REPLACE INTO tickets (stub) VALUES (?)', ['a'])).insertId, 'tickets');
    got((await query(NEXT))[0].n);
    got((await execute(NEXT, []))[0].n);
  }
  assert.equal(BigInt((await execute('SELECT LASTVAL(orders) AS n', []))[0].n), last.orders);
  for (const way of [query, execute]) {
    const error = await refused(way('SELECT NEXTVAL(nosuch)', []));
    assert.deepEqual([error.errno, error.sqlState], [4091, '42S02']);
  }
  got((await query(NEXT))[0].n);
  await query('BEGIN');
  got((await query(NEXT))[0].n);
  await query('ROLLBACK');
  for (const row of await query('SELECT NEXTVAL(orders) AS n FROM seq_1_to_5')) got(row.n);
}

async function mysql2() {
  const { createConnection, createPool } = require('mysql2/promise');
  const connection = await createConnection({ ...where, multipleStatements: true });
  const query = async (...words) => (await connection.query(...words))[0];
  const execute = async (...words) => (await connection.execute(...words))[0];
  await use(query, execute);
  (await query(`${NEXT}; ${NEXT}`)).forEach(([row]) => got(row.n));
  await connection.ping();
  await connection.changeUser({});
  assert.equal((await query('SELECT LASTVAL(orders) AS n'))[0].n, null);
  got((await execute(NEXT))[0].n);
  await connection.reset();
  got((await execute(NEXT))[0].n);
  await connection.end();
  const pool = createPool({ ...where, connectionLimit: 2 });
  for (let n = 0; n < 4; n++) got((await pool.execute(NEXT))[0][0].n);
  await pool.end();
}

async function mysql() {
  const { createConnection, createPool } = require('mysql');
  const connection = createConnection({ ...where, multipleStatements: true });
  const call = (name) => promisify(connection[name]).bind(connection);
  const query = call('query');
  await use(query, query);
  (await query(`${NEXT}; ${NEXT}`)).forEach(([row]) => got(row.n));
  await call('ping')();
  await call('changeUser')({});
  assert.equal((await query('SELECT LASTVAL(orders) AS n'))[0].n, null);
  got((await query(NEXT))[0].n);
  await call('end')();
  const pool = createPool({ ...where, connectionLimit: 2 });
  for (let n = 0; n < 4; n++) got((await promisify(pool.query).call(pool, NEXT))[0].n);
  await promisify(pool.end).call(pool);
}

async function mariadb() {
  const { createConnection, createPool } = require('mariadb');
  // Of its own it waits for a second, which is little where the machine does much else.
  const patient = { ...where, connectTimeout: 20000 };
  const connection = await createConnection({ ...patient, multipleStatements: true, pipelining: true });
  const query = (...words) => connection.query(...words);
  await use(query, (...words) => connection.execute(...words));
  (await query(`${NEXT}; ${NEXT}`)).forEach(([row]) => got(row.n));
  const together = await Promise.all(Array.from({ length: 10 }, () => query(NEXT)));
  together.forEach(([row]) => got(row.n));
  const prepared = await connection.prepare(NEXT);
  for (let n = 0; n < 3; n++) got((await prepared.execute())[0].n);
  prepared.close();
  await connection.ping();
  await connection.reset();
  assert.equal((await query('SELECT LASTVAL(orders) AS n'))[0].n, null);
  await connection.changeUser({ user: where.user, password: where.password });
  got((await query(NEXT))[0].n);
  await connection.end();
  const pool = createPool({ ...patient, connectionLimit: 2, resetAfterUse: true });
  for (let n = 0; n < 4; n++) got((await pool.query(NEXT))[0].n);
  await pool.end();
}

run({ mysql2, mysql, mariadb }[process.argv[5]]);
