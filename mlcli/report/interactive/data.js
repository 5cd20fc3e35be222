"use strict";
/* The columns that the page holds, unpacked when they are needed. Points are drawn in the order of their slots, in
 * which any first part is spread evenly over the rows. */
const held = JSON.parse(document.getElementById("data").textContent);
const n = held.rows;
const LAST = 65534, ABSENT = 65535; /* the last code of a number, and that of a missing one */

const divisor = (a, b) => b ? divisor(b, a % b) : a;
const stride = (() => {
  let step = Math.max(1, Math.floor(n * 0.618));
  while (divisor(step, n) > 1) step++;
  return step;
})();
const rowOf = slot => slot * stride % n;

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

async function inflate(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* Whole numbers from their planes of bytes. */
async function unpack(packed, Kind) {
  const planes = await inflate(packed.bytes), count = planes.length / packed.width;
  const values = new (Kind ?? { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[packed.width])(count);
  for (let byte = 0, from = 0; byte < packed.width; byte++, from += count)
    for (let i = 0; i < count; i++) values[i] |= planes[from + i] << 8 * byte;
  return values;
}

/* Texts one after the other in one string, which takes little memory and is searched at once. */
class Texts {
  static async unpack(packed) {
    const texts = new Texts();
    const [bytes, lengths] = await Promise.all([inflate(packed.bytes), unpack(packed.lengths)]);
    texts.whole = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    texts.ends = new Uint32Array(lengths.length);
    for (let i = 0, end = 0; i < lengths.length; i++) texts.ends[i] = end += lengths[i];
    return texts;
  }

  get length() { return this.ends.length; }

  at(place) { return this.whole.slice(place ? this.ends[place - 1] : 0, this.ends[place]); }

  /* Places of the texts that a pattern matches. */
  matches(pattern) {
    const found = [];
    for (let place = 0, hit; (hit = pattern.exec(this.whole)) !== null;) {
      while (this.ends[place] <= hit.index) place++;
      const inside = hit.index + hit[0].length <= this.ends[place];
      if (inside) found.push(place);
      pattern.lastIndex = inside ? this.ends[place] : hit.index + 1; /* not across two texts */
    }
    return found;
  }
}

/* Ids that are whole numbers. */
class Numbers {
  static async unpack(packed) {
    const numbers = new Numbers();
    numbers.values = await unpack(packed, Int32Array);
    for (let i = 1; i < numbers.values.length; i++) numbers.values[i] += numbers.values[i - 1];
    return numbers;
  }

  get length() { return this.values.length; }

  at(place) { return String(this.values[place]); }

  matches(pattern) {
    const found = [];
    for (let place = 0; place < this.length; place++) {
      pattern.lastIndex = 0;
      if (pattern.test(this.at(place))) found.push(place);
    }
    return found;
  }
}

const unpackIds = ids => ids.increments ? Numbers.unpack(ids.increments) : Texts.unpack(ids.texts);

/* The values of a column, (n) codes in the order of rows; of texts also the different ones. */
function load(column) {
  column.loading ??= (async () => {
    if (column.texts) column.known = await Texts.unpack(column.texts);
    column.values = await unpack(column.codes);
    column.texts = column.codes = null;
  })();
  return column.loading;
}

function inSlots(values) {
  const found = new values.constructor(n);
  for (let slot = 0, row = 0; slot < n; slot++) {
    found[slot] = values[row];
    row += stride;
    if (row >= n) row -= n;
  }
  return found;
}

const numberAt = (column, code) => column.whole ? column.low + code
  : column.low * (1 - code / LAST) + column.high * (code / LAST);
const spanOf = column => numberAt(column, column.top) - column.low;

/* A number in as many digits as its lattice tells apart, at most six. */
function written(column, code) {
  if (code === ABSENT) return "";
  const value = numberAt(column, code);
  if (column.whole) return String(value);
  const step = column.high / LAST - column.low / LAST;
  const digits = Math.ceil(Math.log10(Math.abs(value) / step)) || 1;
  return String(Number(value.toPrecision(Math.min(6, Math.max(1, digits)))));
}

/* A name in one line, without characters that are not seen or that change the order of others. */
function visible(text) {
  const short = text.length > 80 ? Array.from(text.slice(0, 200)) : null;
  const cut = short && (short.length > 80 || text.length > 200) ? `${short.slice(0, 79).join("")}…` : text;
  return cut.replace(/[\p{C}\p{Z}]/gu, letter => {
    const code = letter.codePointAt(0), digits = (mark, wide) => `\\${mark}${code.toString(16).padStart(wide, "0")}`;
    return letter === " " ? " " : code < 256 ? digits("x", 2) : code < 65536 ? digits("u", 4) : digits("U", 8);
  });
}
