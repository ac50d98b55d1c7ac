// Judge Sigstore bundles with @sigstore/verify: `node verify.cjs FOLDER_WITH_NODE_MODULES < cases.json`.
// A case is {bundle, file (base64), trustedRoot, key (PEM)}; prints a list of null or an error.
const { createRequire } = require("node:module");
const path = require("node:path");
const crypto = require("node:crypto");
const load = createRequire(path.join(process.argv[2], "node_modules", "@sigstore", "verify", "package.json"));
const { Verifier, toTrustMaterial, toSignedEntity } = load("@sigstore/verify/dist/index.js");
const { bundleFromJSON } = load("@sigstore/bundle");
const { TrustedRoot } = load("@sigstore/protobuf-specs");

function judge({ bundle, file, trustedRoot, key }) {
  try {
    const find = () => ({ publicKey: crypto.createPublicKey(key), validFor: () => true });
    const material = toTrustMaterial(TrustedRoot.fromJSON(trustedRoot), find);
    const verifier = new Verifier(material, { tlogThreshold: 1, ctlogThreshold: 0, tsaThreshold: 1 });
    verifier.verify(toSignedEntity(bundleFromJSON(bundle), Buffer.from(file, "base64")));
    return null;
  } catch (error) {
    return `${error.code || error.name}: ${error.message}`;
  }
}

const parts = [];
process.stdin.on("data", (part) => parts.push(part));
process.stdin.on("end", () => {
  const cases = JSON.parse(Buffer.concat(parts).toString());
  console.log(JSON.stringify(cases.map(judge)));
});
