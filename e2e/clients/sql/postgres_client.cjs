// Stock postgres.js: statements are prepared and pipelined by themselves; array types, transactions, cursors.
const assert = require('node:assert/strict');
const postgres = require('postgres');
const { got, last, refused, run, where } = require('./told.cjs');

run(async () => {
  const sql = postgres({ ...where, username: where.user, max: 1 });
  got((await sql`SELECT nextval('orders')`)[0].nextval);
  for (let n = 0; n < 5; n++) got((await sql`SELECT nextval(${'orders'}::text)`)[0].nextval);
  got((await sql.unsafe("SELECT nextval('orders')"))[0].nextval);
  got((await sql`SELECT nextval('orders')`.simple())[0].nextval);
  assert.equal((await sql`SELECT currval('orders')`)[0].currval, String(last.orders));
  const together = await Promise.all(Array.from({ length: 20 }, () => sql`SELECT nextval('orders')`));
  together.forEach((rows) => got(rows[0].nextval));
  (await sql`SELECT nextval('orders') FROM generate_series(1, ${5}::int)`).forEach((row) => got(row.nextval));

  const error = await refused(sql`SELECT nextval('nosuch')`);
  assert.deepEqual([error.code, error.message], ['42P01', 'relation "nosuch" does not exist']);
  got((await sql`SELECT nextval('orders')`)[0].nextval);

  await sql.begin(async (sql) => {
    got((await sql`SELECT nextval('orders')`)[0].nextval);
    await refused(sql.savepoint((sql) => sql`SELECT nextval('nosuch')`));
    got((await sql`SELECT nextval('orders')`)[0].nextval);
  });
  await refused(sql.begin(async (sql) => {
    got((await sql`SELECT nextval('orders')`)[0].nextval);
    throw new Error('rolled back');
  }));
  await sql`SELECT nextval('orders') FROM generate_series(1, 7)`.cursor(3, (rows) => {
    rows.forEach((row) => got(row.nextval));
  });
  got((await sql`SELECT nextval('orders')`)[0].nextval);
  await sql.end();
});
