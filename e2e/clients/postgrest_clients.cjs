// Stock @supabase/postgrest-js and postgrest-client.
//
//     postgrest_clients.cjs calls URL    every kind of call; tokens `all` (admin) and `some` (allocate) are configured
//     postgrest_clients.cjs large URL    prints the numbers of `large` as JavaScript has them
//     postgrest_clients.cjs take URL     prints numbers of `orders` until its input ends, whatever happens to the server
"use strict";

const assert = require("node:assert");
const { PostgrestClient } = require("@supabase/postgrest-js");
const Api = require("postgrest-client");

function client(url, token, schema) {
  const headers = token ? { apikey: token, Authorization: `Bearer ${token}` } : {};
  return new PostgrestClient(url, { headers, schema });
}

async function refused(code, call) {
  const answer = await call;
  assert.strictEqual(answer.error?.code, code, JSON.stringify(answer));
  assert.strictEqual(answer.data, null);
  return answer;
}

async function calls(url) {
  const all = client(url, "all");
  const given = async (call) => {
    const { data, error, count, status } = await call;
    assert.strictEqual(error, null, JSON.stringify(error));
    assert.strictEqual(status, 200);
    return count === null ? data : [data, count];
  };
  const orders = { seq: "orders" };
  assert.strictEqual(await given(all.rpc("setval", { ...orders, value: 40 })), 40);
  assert.strictEqual(await given(all.rpc("nextval", orders)), 41);
  assert.deepStrictEqual(await given(all.rpc("nextval", orders, { count: "exact" })), [42, 1]);
  assert.deepStrictEqual(await given(all.rpc("nextvals", { ...orders, n: 2 })), [43, 44]);
  assert.strictEqual(await given(all.rpc("nextval", orders).single()), 45);
  assert.strictEqual(await given(all.rpc("nextvals", { ...orders, n: 1 }).single()), 46);
  assert.strictEqual(await given(all.rpc("next_invoice")), 1);
  assert.strictEqual(await given(client(url, "some", "api").rpc("nextval", orders)), 47);
  assert.strictEqual(await given(all.schema("api").rpc("nextval", orders)), 48);

  await refused("PGRST116", all.rpc("nextvals", { ...orders, n: 2 }).single());
  const get = await refused("25006", all.rpc("nextval", orders, { get: true }));
  assert.strictEqual(get.status, 405);
  const head = await all.rpc("nextval", orders, { head: true, count: "exact" });
  assert.strictEqual(head.status, 405);
  const schema = await refused("PGRST106", all.schema("shop").rpc("nextval", orders));
  assert.strictEqual(schema.error.hint, "Only the following schemas are exposed: public, api");
  const none = await refused("42P01", all.rpc("nextval", { seq: "nothing" }));
  assert.strictEqual(none.error.message, 'relation "nothing" does not exist');
  const near = await refused("PGRST202", all.rpc("nextvall", orders));
  assert.strictEqual(near.error.hint, "Perhaps you meant to call the function public.nextval(seq)");
  await refused("PGRST205", all.from("orders").select());
  await refused("42501", client(url, "some").rpc("setval", { ...orders, value: 100 }));
  await refused("PGRST302", client(url).rpc("nextval", orders));
  await refused("PGRST301", client(url, "other").rpc("nextval", orders));
  // What JavaScript may have rounded moves nothing.
  await refused("PGRST102", all.rpc("setval", { ...orders, value: 9007199254740993 }));
  await refused("PGRST122", all.rpc("nextval", orders).setHeader("prefer", "handling=strict, x=1"));

  // Its elder, which knows one verb.
  const api = new Api(url);
  const old = await api.post("/rpc/nextval").auth("some").send(orders);
  assert.strictEqual(JSON.stringify(old), "49");
  await assert.rejects(api.post("/rpc/nextval").auth("some").send({ seq: "nothing" }), /404|Not Found/);
  console.log("@supabase/postgrest-js: rpc, count, single, get, head, schema, auth, errors ok; postgrest-client: rpc ok");
}

async function large(url) {
  const all = client(url, "all");
  const numbers = [];
  for (let at = 0; at < 3; at++) {
    numbers.push((await all.rpc("nextval", { seq: "large" }).throwOnError()).data);
  }
  console.log(JSON.stringify(numbers));
}

async function take(url) {
  process.stdin.on("end", () => process.exit(0)).resume();
  const all = client(url);
  for (;;) {
    const { data, error } = await all.rpc("nextvals", { seq: "orders", n: 3 });
    if (error) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    } else {
      console.log(data.join("\n"));
    }
  }
}

({ calls, large, take })[process.argv[2]](process.argv[3]).catch((error) => {
  console.error(error);
  process.exit(1);
});
