// Stock node-postgres: simple and extended, named statements, its pool, and pg-cursor, which takes rows in portions.
const assert = require('node:assert/strict');
const { Client, Pool } = require('pg');
const Cursor = require('pg-cursor');
const { got, last, refused, run, where } = require('./told.cjs');

const NEXT = "SELECT nextval('orders')";

run(async () => {
  const client = new Client(where);
  await client.connect();
  const one = async (...query) => (await client.query(...query)).rows[0].nextval;
  got(await one(NEXT));
  for (let n = 0; n < 5; n++) got(await one('SELECT nextval($1)', ['orders']));
  for (let n = 0; n < 5; n++) {
    got(await one({ name: 'next', text: 'SELECT nextval($1)', values: ['orders'] }));
  }
  got((await client.query({ text: NEXT, rowMode: 'array' })).rows[0][0]);
  assert.equal((await client.query("SELECT currval('orders')")).rows[0].currval, String(last.orders));
  const many = await client.query("SELECT nextval('orders') FROM generate_series(1, $1)", [5]);
  assert.deepEqual([many.rowCount, many.command], [5, 'SELECT']);
  many.rows.forEach((row) => got(row.nextval));

  const error = await refused(client.query("SELECT nextval('nosuch')"));
  assert.deepEqual([error.code, error.message], ['42P01', 'relation "nosuch" does not exist']);
  assert.equal((await refused(client.query('SELECT nextval($1)', ['nosuch']))).code, '42P01');
  got(await one(NEXT));

  await client.query('BEGIN');
  got(await one(NEXT));
  await refused(client.query('SELECT nextval($1)', ['nosuch']));
  assert.equal((await refused(client.query(NEXT))).code, '25P02');
  await client.query('ROLLBACK');
  got(await one(NEXT));

  const cursor = client.query(new Cursor("SELECT nextval('orders') FROM generate_series(1, 7)"));
  for (let rows = await cursor.read(3); rows.length; rows = await cursor.read(3)) {
    rows.forEach((row) => got(row.nextval));
  }
  await cursor.close();
  // Several statements in one message.
  const [, second] = await client.query(`SELECT 1; ${NEXT}`);
  got(second.rows[0].nextval);
  await client.end();

  const pool = new Pool({ ...where, max: 2 });
  for (let n = 0; n < 5; n++) got((await pool.query('SELECT nextval($1)', ['orders'])).rows[0].nextval);
  await pool.end();
});
