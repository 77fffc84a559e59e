// Makes pictures small: as few colours as a palette has, and compressed as well as can be. Without a library, as there is little
// to it: Chromium writes 8 bits for each channel, not interlaced.

import zlib from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COLOURS_MAX = 256;

function chunks(png) {
  const found = [];
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    found.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) });
    at += length + 12;
  }
  return found;
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length);
  body.copy(framed, 4);
  framed.writeUInt32BE(zlib.crc32(body), body.length + 4);
  return framed;
}

/** The pixels, with `channels` bytes each (PNG, section 9: filters are undone). */
function pixels(data, width, height, channels) {
  const stride = width * channels;
  const out = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = data[y * (stride + 1)];
    for (let x = 0; x < stride; x += 1) {
      const left = x >= channels ? out[y * stride + x - channels] : 0;
      const up = y > 0 ? out[(y - 1) * stride + x] : 0;
      const corner = x >= channels && y > 0 ? out[(y - 1) * stride + x - channels] : 0;
      const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
      out[y * stride + x] = data[y * (stride + 1) + 1 + x] + predicted;
    }
  }
  return out;
}

function paeth(left, up, corner) {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

/** A palette of the most frequent colours, and of each colour its nearest place in it. */
function palette(counts) {
  const colours = [...counts].sort(([, one], [, other]) => other - one).slice(0, COLOURS_MAX).map(([colour]) => colour);
  const parts = (colour) => [colour >> 16, (colour >> 8) & 255, colour & 255];
  const known = colours.map(parts);
  const places = new Map(colours.map((colour, index) => [colour, index]));
  for (const colour of counts.keys()) {
    if (places.has(colour)) continue;
    const [red, green, blue] = parts(colour);
    const distances = known.map(([r, g, b]) => (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2);
    places.set(colour, distances.indexOf(Math.min(...distances)));
  }
  return { colours: known, places };
}

/** The same picture, small. */
export function small(png) {
  const found = chunks(png);
  const head = found.find(({ type }) => type === 'IHDR').data;
  const [width, height, channels] = [head.readUInt32BE(0), head.readUInt32BE(4), head[9] === 6 ? 4 : 3];
  const data = zlib.inflateSync(Buffer.concat(found.filter(({ type }) => type === 'IDAT').map((one) => one.data)));
  const all = pixels(data, width, height, channels);
  const counts = new Map();
  const at = (index) => all.readUIntBE(index * channels, 3);
  for (let index = 0; index < width * height; index += 1) counts.set(at(index), (counts.get(at(index)) ?? 0) + 1);
  const { colours, places } = palette(counts);
  const rows = Buffer.alloc((width + 1) * height);
  for (let index = 0; index < width * height; index += 1) rows[index + Math.floor(index / width) + 1] = places.get(at(index));
  const header = Buffer.from(head);
  header[8] = 8;
  header[9] = 3;
  return Buffer.concat([
    SIGNATURE, chunk('IHDR', header), chunk('PLTE', Buffer.from(colours.flat())), chunk('IDAT', zlib.deflateSync(rows, { level: 9 })), chunk('IEND', Buffer.alloc(0)),
  ]);
}
