/** Draws a ThumbHash: about 25 bytes that stand for a picture until it is there. See `foja.pure.models.images.thumbhash`. */

const SIDE = 32;

/** Return the pixels of a hash: width, height, and red, green, blue, opacity of each. */
export function pixelsOf(hash) {
  const first = hash[0] | (hash[1] << 8) | (hash[2] << 16);
  const second = hash[3] | (hash[4] << 8);
  const clear = first >> 23;
  const landscape = second >> 15;
  const most = clear ? 5 : 7;
  const wide = Math.max(3, landscape ? most : second & 7);
  const high = Math.max(3, landscape ? second & 7 : most);
  const read = nibbles(hash, clear ? 6 : 5);
  const light = channel(read, (first & 63) / 63, ((first >> 18) & 31) / 31, wide, high);
  const yellow = channel(read, ((first >> 6) & 63) / 31.5 - 1, (((second >> 3) & 63) / 63) * 1.25, 3, 3);
  const red = channel(read, ((first >> 12) & 63) / 31.5 - 1, (((second >> 9) & 63) / 63) * 1.25, 3, 3);
  const opacity = clear ? channel(read, (hash[5] & 15) / 15, (hash[5] >> 4) / 15, 5, 5) : () => 1;
  const ratio = (landscape ? most : second & 7) / (landscape ? second & 7 : most);
  const width = Math.round(ratio > 1 ? SIDE : SIDE * ratio);
  const height = Math.round(ratio > 1 ? SIDE / ratio : SIDE);
  const data = new Uint8ClampedArray(width * height * 4);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 4) {
      const [l, p, q, a] = [light, yellow, red, opacity].map((each) => each((x + 0.5) / width, (y + 0.5) / height));
      const b = l - (2 / 3) * p;
      const r = (3 * l - b + q) / 2;
      data.set([r * 255, (r - q) * 255, b * 255, a * 255], at);
    }
  }
  return { width, height, data };
}

/** Return a reader of half bytes, the lower half first. */
function nibbles(bytes, start) {
  let at = 0;
  return () => (bytes[start + (at >> 1)] >> ((at++ & 1) << 2)) & 15;
}

/** Return one channel as a function of the place, from 0 to 1: the mean and a few cosines. */
function channel(read, mean, scale, wide, high) {
  const terms = [];
  for (let y = 0; y < high; y++) {
    for (let x = y ? 0 : 1; x * high < wide * (high - y); x++) terms.push([x, y, (read() / 7.5 - 1) * scale]);
  }
  return (left, top) =>
    terms.reduce((sum, [x, y, part]) => sum + part * Math.cos(Math.PI * x * left) * Math.cos(Math.PI * y * top) * 2, mean);
}

/** Draw the hash of an element into it, behind its picture. */
export function draw(element) {
  const hash = Uint8Array.from(atob(element.dataset.thumbhash), (each) => each.charCodeAt(0));
  const { width, height, data } = pixelsOf(hash);
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  canvas.setAttribute("aria-hidden", "true");
  canvas.getContext("2d").putImageData(new ImageData(data, width, height), 0, 0);
  element.prepend(canvas);
}
