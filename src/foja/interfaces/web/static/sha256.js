/** SHA-256 (FIPS 180-4) of data that comes in pieces. The browser's own `crypto.subtle` needs all of it at once. */

const K = constants(64, 1 / 3);
const START = constants(8, 1 / 2);
const BLOCK = 64;

/** The first 32 bits of the fractional parts of roots of the first primes. */
function constants(count, power) {
  const found = [];
  for (let n = 2; found.length < count; n++) {
    if (!found.some((prime) => n % prime.n === 0)) found.push({ n, bits: root(BigInt(n), power) });
  }
  return Int32Array.from(found, (each) => each.bits);
}

/** The bits of one root, by integers: a float has too few of them to be sure of the last one. */
function root(n, power) {
  const degree = power === 1 / 2 ? 2n : 3n;
  const wanted = n << (32n * degree);
  let low = 0n;
  let high = n << 32n;
  while (low < high) {
    const middle = (low + high + 1n) >> 1n;
    if (middle ** degree <= wanted) low = middle;
    else high = middle - 1n;
  }
  return Number(low & 0xffffffffn);
}

export class Sha256 {
  #state = START.slice();
  #words = new Int32Array(64);
  #rest = new Uint8Array(BLOCK);
  #kept = 0;
  #length = 0;

  /** Take the next bytes. */
  update(bytes) {
    let at = 0;
    this.#length += bytes.length;
    if (this.#kept) {
      at = Math.min(BLOCK - this.#kept, bytes.length);
      this.#rest.set(bytes.subarray(0, at), this.#kept);
      this.#kept += at;
      if (this.#kept < BLOCK) return this;
      this.#block(this.#rest, 0);
      this.#kept = 0;
    }
    for (; at + BLOCK <= bytes.length; at += BLOCK) this.#block(bytes, at);
    this.#rest.set(bytes.subarray(at));
    this.#kept = bytes.length - at;
    return this;
  }

  /** Return the digest in hexadecimal digits. No bytes can be taken after it. */
  digest() {
    const length = this.#length;
    const end = new Uint8Array(this.#kept < 56 ? 64 - this.#kept : 128 - this.#kept);
    end[0] = 0x80;
    const view = new DataView(end.buffer);
    view.setUint32(end.length - 8, Math.floor(length / 0x20000000));
    view.setUint32(end.length - 4, (length << 3) >>> 0);
    this.update(end);
    return Array.from(this.#state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }

  #block(bytes, start) {
    const w = this.#words;
    for (let i = 0, at = start; i < 16; i++, at += 4) {
      w[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
    }
    for (let i = 16; i < 64; i++) {
      const x = w[i - 15];
      const y = w[i - 2];
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
    }
    const state = this.#state;
    let a = state[0], b = state[1], c = state[2], d = state[3];
    let e = state[4], f = state[5], g = state[6], h = state[7];
    for (let i = 0; i < 64; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const one = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + one) | 0; d = c; c = b; b = a; a = (one + two) | 0;
    }
    state[0] += a; state[1] += b; state[2] += c; state[3] += d;
    state[4] += e; state[5] += f; state[6] += g; state[7] += h;
  }
}

/** Return the digest of a file of any size; `progress` is told the part that was read. */
export async function digestOf(file, progress = () => {}) {
  const hash = new Sha256();
  const reader = file.stream().getReader();
  let read = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    hash.update(next.value);
    read += next.value.length;
    progress(file.size ? read / file.size : 1);
  }
  return hash.digest();
}
