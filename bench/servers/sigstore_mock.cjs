// The authority of @sigstore/mock behind HTTP: `node sigstore_mock.cjs PACKAGE`; prints its port.
// The package takes JSON requests and has no server. Its root certificate is at /root.
const http = require("node:http");
const path = require("node:path");
const { generateKeyPairSync } = require("node:crypto");
const { initializeTSA, tsaHandler } = require(path.join(process.argv[2], "dist", "timestamp"));

async function main() {
  const authority = await initializeTSA(generateKeyPairSync("ec", { namedCurve: "prime256v1" }));
  const { fn } = tsaHandler(authority);
  const server = http.createServer((request, response) => {
    if (request.url === "/root") return response.end(authority.rootCertificate);
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", async () => {
      const answer = await fn(Buffer.concat(parts));
      response.writeHead(answer.statusCode === 201 ? 200 : answer.statusCode);
      response.end(answer.response);
    });
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}
main();
