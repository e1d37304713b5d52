// Pictures for documents: at most 256 colours, which screens of text hardly miss, in a third of the bytes.

import zlib from 'node:zlib';

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);

/// The same picture with a palette. Takes what Chromium makes: 8 bits of red, green, blue, and perhaps alpha.
export function small(png) {
  const { width, height, channels, rows } = decode(png);
  for (let bits = 8; ; bits -= 1) {
    const made = indexed(rows, width, height, channels, bits);
    if (made) return encode(width, height, made);
  }
}

function decode(png) {
  const [width, height, channels] = [png.readUInt32BE(16), png.readUInt32BE(20), png[25] === 6 ? 4 : 3];
  const parts = [];
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const raw = zlib.inflateSync(Buffer.concat(parts));
  const size = width * channels;
  const rows = Buffer.alloc(size * height);
  for (let y = 0; y < height; y += 1) unfilter(rows, raw, y, size, channels);
  return { width, height, channels, rows };
}

/// A row says how it differs from the bytes on its left and above.
function unfilter(rows, raw, y, size, channels) {
  const kind = raw[y * (size + 1)];
  for (let x = 0; x < size; x += 1) {
    const at = y * size + x;
    const left = x >= channels ? rows[at - channels] : 0;
    const up = y ? rows[at - size] : 0;
    const corner = x >= channels && y ? rows[at - size - channels] : 0;
    rows[at] = raw[y * (size + 1) + 1 + x] + [0, left, up, (left + up) >> 1, paeth(left, up, corner)][kind];
  }
}

function paeth(left, up, corner) {
  const guess = left + up - corner;
  const [byLeft, byUp, byCorner] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (byLeft <= byUp && byLeft <= byCorner) return left;
  return byUp <= byCorner ? up : corner;
}

/// Every point as the number of its colour, if so many bits of each part give few enough colours.
function indexed(rows, width, height, channels, bits) {
  const places = new Map();
  const palette = [];
  const lines = Buffer.alloc((width + 1) * height);
  for (let point = 0; point < width * height; point += 1) {
    const colour = [0, 1, 2].map((part) => rows[point * channels + part]);
    const key = colour.reduce((sum, part) => (sum << 8) | (part >> (8 - bits)), 0);
    if (!places.has(key)) {
      if (palette.length === 256) return null;
      places.set(key, palette.length);
      palette.push(colour);
    }
    lines[point + 1 + Math.floor(point / width)] = places.get(key);
  }
  return { palette, lines };
}

function encode(width, height, { palette, lines }) {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const data = zlib.deflateSync(lines, { level: 9, memLevel: 9 });
  return Buffer.concat([SIGNATURE, chunk('IHDR', head), chunk('PLTE', Buffer.from(palette.flat())), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

function chunk(kind, data) {
  const out = Buffer.alloc(data.length + 12);
  out.writeUInt32BE(data.length, 0);
  out.write(kind, 4, 'latin1');
  data.copy(out, 8);
  out.writeUInt32BE(crc(out.subarray(4, data.length + 8)), data.length + 8);
  return out;
}

/// The checksum that PNG asks for; node has it only in newer versions.
function crc(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return (sum ^ 0xffffffff) >>> 0;
}
