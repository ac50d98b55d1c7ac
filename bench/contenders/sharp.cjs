// sharp as a contender: node sharp.cjs VARIANTS FILE..., with sharp in NODE_PATH. It decodes once.
const { readFileSync } = require("node:fs");
const sharp = require("sharp");

sharp.concurrency(1);
sharp.cache(false);
const [variants, ...files] = process.argv.slice(2);
const wanted = JSON.parse(variants);

async function render(file) {
  const data = readFileSync(file);
  const [largest] = wanted[0];
  const fit = { fit: "inside", withoutEnlargement: true, kernel: "lanczos3" };
  let image = await sharp(data, { failOn: "truncated", limitInputPixels: 1e8 })
    .autoOrient()
    .resize({ width: largest, height: largest, ...fit })
    .toColourspace("srgb")
    .raw()
    .toBuffer({ resolveWithObject: true });
  const sizes = [];
  for (const [side, quality, effort] of wanted) {
    const { width, height, channels } = image.info;
    const raw = sharp(image.data, { raw: { width, height, channels } });
    if (Math.max(width, height) > side) {
      image = await raw.resize({ width: side, height: side, ...fit }).raw().toBuffer({ resolveWithObject: true });
    }
    const small = sharp(image.data, { raw: { width: image.info.width, height: image.info.height, channels } });
    sizes.push((await small.webp({ quality, effort }).toBuffer()).length);
  }
  return sizes;
}

(async () => {
  if (files.length > 1) await render(files[0]);
  const before = process.cpuUsage();
  const sizes = [];
  for (const file of files) sizes.push(await render(file));
  const { user, system } = process.cpuUsage(before);
  const peak = process.resourceUsage().maxRSS;
  console.log(JSON.stringify({ seconds: (user + system) / 1e6, peak, sizes, versions: sharp.versions }));
})();
