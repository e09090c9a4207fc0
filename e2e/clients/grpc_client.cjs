// @grpc/grpc-js with the .proto file: ADDRESS PROTO [CA]; prints one line of JSON.
const fs = require("fs");
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

const [address, proto, authority] = process.argv.slice(2);
const described = loader.loadSync(proto, { keepCase: true, longs: String, arrays: true });
const { Mint } = grpc.loadPackageDefinition(described).mintage.v1;
const credentials = authority ? grpc.credentials.createSsl(fs.readFileSync(authority)) : grpc.credentials.createInsecure();
const mint = new Mint(address, credentials);

const call = (method, asked) =>
  new Promise((well, ill) => mint[method](asked, (error, answer) => (error ? ill(error) : well(answer))));

const blocks = (method, asked) =>
  new Promise((well, ill) => {
    const all = [];
    mint[method](asked)
      .on("data", (block) => all.push(block))
      .on("error", ill)
      .on("end", () => well(all));
  });

(async () => {
  const said = {
    next: (await call("Next", { name: "orders", count: 3 })).ids,
    many: (await Promise.all(Array.from({ length: 200 }, () => call("Next", { name: "orders" })))).length,
    blocks: (await blocks("NextStream", { name: "orders", count: 2500 })).reduce((sum, b) => sum + Number(b.count), 0),
    uuids: (await blocks("IdStream", { format: "uuid7", count: 3 }))[0].ids.length,
    created: (await call("CreateSequence", { name: "bills", definition: { start: "9007199254740993" } })).start,
    refused: await call("ShowSequence", { name: "nobody" }).catch((error) => [error.code, error.details]),
  };
  console.log(JSON.stringify(said));
  mint.close();
})();
