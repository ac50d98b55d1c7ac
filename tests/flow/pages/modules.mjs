/** Runs a module of the pages on what is given as JSON: digests of pieces, or the pixels of a ThumbHash. */
import { createRequire } from "node:module";

const [, , what, module, packages] = process.argv;
let text = "";
for await (const piece of process.stdin) text += piece;
const given = JSON.parse(text);

if (what === "sha256") {
  const { Sha256 } = await import(module);
  const digest = (pieces) => pieces.reduce((hash, each) => hash.update(Buffer.from(each, "base64")), new Sha256()).digest();
  console.log(JSON.stringify(given.map(digest)));
} else {
  const { pixelsOf } = await import(module);
  const { thumbHashToRGBA } = createRequire(packages)("thumbhash");
  const compare = (hash) => {
    const bytes = Buffer.from(hash, "base64");
    const [ours, theirs] = [pixelsOf(bytes), thumbHashToRGBA(bytes)];
    const far = Math.max(...Array.from(ours.data, (each, at) => Math.abs(each - theirs.rgba[at])));
    return [ours.width === theirs.w && ours.height === theirs.h, far];
  };
  console.log(JSON.stringify(given.map(compare)));
}
