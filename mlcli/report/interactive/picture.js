"use strict";
/* The points as pixels. A frame counts the points of each pixel and keeps the color of the last one, or of the nearest
 * one in three dimensions: this takes some 20 ms for a million points without a graphics processor, where WebGL in
 * software takes half a second. Few points are drawn as shapes with smooth edges. */
const FEW = 20000; /* points that are drawn as shapes */
const SHAPED = 1000; /* points up to which shapes tell groups apart */
const HIDDEN = 255, DIM = 254; /* codes of colors: not drawn, and not among the selected */
const LEVELS = 16, MOST_COUNTED = 1023; /* of opacity, and of the points in a pixel */
const LEAST = 0.5; /* opacity of a pixel with one point */
const DENSE = 0.999; /* share of the pixels with points that are less than opaque */
const SHARP = 3; /* pixels between two steps of the lattice at the largest zoom */
const SLOW = 60; /* milliseconds of a frame above which fewer points are drawn while it moves */
const RATIO = 2.4; /* of the ranges of two axes, up to which they have the same scale, as in report.html */
const DEEP_RATIO = 4; /* the same of three axes, which are a cube else */
const MARGIN = { left: 62, right: 14, top: 12, bottom: 44 };

const canvas = document.getElementById("plot");
const pen = canvas.getContext("2d", { willReadFrequently: true }); /* pixels in main memory, where they are written */
const view = { /* what is seen */
  axes: [], /* columns across, up, and deep where there are three */
  slots: [], /* their codes in the order of slots */
  codes: new Uint8Array(n), /* the color of each slot, or HIDDEN */
  selected: null, /* 1 for each slot of the selection; null without one */
  colors: [], /* of each code, as red, green, blue */
  shapes: [], ground: [255, 255, 255], ink: "#333333", line: "#dfe3e8",
  x: 0, y: 0, zoom: 1, yaw: 0.6, pitch: 0.35, /* the middle in codes or pixels, and the turn in radians */
  share: 1, /* of the points that are drawn while it moves */
  most: 0, /* points of a pixel from which on it is opaque; 0 where they are drawn as shapes, or by depth */
};
let buffer = new Uint32Array(0), image = null, pixels = null, wide = 0, tall = 0, ratio = 1;
let counted = n; /* points in view at the last frame */

const deep = () => view.axes.length > 2;
const inner = () => ({ left: MARGIN.left * ratio, top: MARGIN.top * ratio,
  width: Math.max(wide - (MARGIN.left + MARGIN.right) * ratio, 10),
  height: Math.max(tall - (MARGIN.top + MARGIN.bottom) * ratio, 10) });

function resize() {
  ratio = Math.min(devicePixelRatio || 1, 2);
  wide = canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  tall = canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  buffer = new Uint32Array(wide * tall);
  image = pen.createImageData(wide, tall);
  pixels = new Uint32Array(image.data.buffer);
}

/* Pixels of a step of each axis when the whole picture is seen; of axes that are alike the same length. */
function scales() {
  const spans = view.axes.map(spanOf), room = inner(), tops = view.axes.map(axis => Math.max(axis.top, 1));
  const least = Math.min(...spans), most = Math.max(...spans);
  const alike = least > 0 && most <= (deep() ? DEEP_RATIO : RATIO) * least;
  if (deep()) {
    const side = 0.72 * Math.min(room.width, room.height);
    return tops.map((top, axis) => side * (alike ? spans[axis] / most : 1) / top);
  }
  const fit = [0.94 * room.width / tops[0], 0.94 * room.height / tops[1]];
  if (!alike) return fit;
  const unit = Math.min(fit[0] * tops[0] / spans[0], fit[1] * tops[1] / spans[1]); /* pixels of a unit */
  return [unit * spans[0] / tops[0], unit * spans[1] / tops[1]];
}

/* Coefficients of the codes in x, y and depth of the screen, each [across, up, deep, constant]. */
function projection() {
  const room = inner(), [a, b, c] = scales().map(scale => scale * view.zoom);
  const middle = [room.left + room.width / 2, room.top + room.height / 2];
  if (!deep()) {
    return { x: [a, 0, 0, middle[0] - a * view.x], y: [0, -b, 0, middle[1] + b * view.y], depth: [0, 0, 0, 0] };
  }
  const [cos, sin, up, down] = [Math.cos(view.yaw), Math.sin(view.yaw), Math.cos(view.pitch), Math.sin(view.pitch)];
  const rows = { x: [a * cos, 0, -c * sin], y: [a * sin * down, -b * up, c * cos * down],
    depth: [-a * sin * up, -b * down, -c * cos * up] };
  const centers = view.axes.map(axis => axis.top / 2);
  const moved = { x: middle[0] + view.x, y: middle[1] + view.y, depth: 0 };
  return Object.fromEntries(Object.entries(rows).map(([name, row]) => [name,
    [...row, moved[name] - row[0] * centers[0] - row[1] * centers[1] - row[2] * centers[2]]]));
}

/* Draws a part of the points into the buffer, and returns how many are seen and, where they are few, which. */
function count(project, slots, only) {
  const [X, Y, Z] = view.slots, { codes, selected } = view, [ax, bx, cx, dx] = project.x, [ay, by, cy, dy] = project.y;
  const few = new Uint32Array(FEW), side = sideOf(counted);
  const low = -side, right = wide, under = tall, [az, bz, cz, dz] = project.depth;
  const reach = 2 * Math.hypot(wide, tall) * view.zoom, far = 4095 / (2 * reach);
  let seen = 0;
  for (let slot = 0; slot < slots; slot++) {
    const code = codes[slot];
    if (code === HIDDEN || (only !== null && selected[slot] !== only)) continue;
    const u = X[slot], v = Y[slot], w = Z === undefined ? 0 : Z[slot];
    const x = ax * u + bx * v + cx * w + dx, y = ay * u + by * v + cy * w + dy;
    if (!(x > low && x < right && y > low && y < under)) continue;
    if (seen < FEW) few[seen] = slot;
    seen++;
    const kind = only === 0 ? DIM : code, left = x | 0, top = y | 0;
    if (Z === undefined) {
      for (let row = top; row < top + side && row < tall; row++)
        for (let at = row * wide + left, end = row * wide + Math.min(left + side, wide); at < end; at++)
          buffer[at] = (buffer[at] & 0xffffff00) + 256 | kind;
    } else {
      const near = 1 + Math.max(0, Math.min(4094, (az * u + bz * v + cz * w + dz + reach) * far | 0));
      const value = ((near + (only === 1 ? 4096 : 0)) << 8 | kind) >>> 0;
      for (let row = top; row < top + side && row < tall; row++)
        for (let at = row * wide + left, end = row * wide + Math.min(left + side, wide); at < end; at++)
          if (value > buffer[at]) buffer[at] = value;
    }
  }
  return { seen, few: seen <= FEW ? few.subarray(0, seen) : null };
}

/* The side of a point in pixels: the more there are, the smaller. */
const sideOf = seen => Math.max(1, Math.round((seen > 200000 ? 1 : 2) * ratio));

function draw(moving = false) {
  const start = performance.now(), project = projection();
  const slots = moving ? Math.ceil(n * view.share) : n;
  let parts, before;
  do {
    before = sideOf(counted);
    buffer.fill(0);
    parts = view.selected ? [count(project, slots, 0), count(project, slots, 1)] : [count(project, slots, null)];
    counted = parts.reduce((sum, part) => sum + part.seen, 0) * n / slots;
  } while (!moving && sideOf(counted) !== before);
  const few = counted <= FEW && parts.every(part => part.few);
  paint(few);
  drawAxes(project);
  if (few) drawShapes(project, parts);
  const spent = performance.now() - start;
  if (moving || spent > SLOW) view.share = Math.min(1, Math.max(0.02, slots / n * SLOW / spent));
}

/* Colors the pixels of the buffer. */
function paint(empty) {
  const { ground, colors } = view, base = word(ground);
  view.most = 0;
  if (empty) { pixels.fill(base); pen.putImageData(image, 0, 0); return; }
  const level = deep() ? byDepth() : byCount(), table = new Uint32Array(LEVELS * 256);
  for (let step = 0; step < LEVELS; step++) {
    const opacity = LEAST + (1 - LEAST) * step / (LEVELS - 1);
    for (let code = 0; code < 256; code++) {
      const color = colors[code] ?? ground, strength = code === DIM ? opacity * 0.6 : opacity;
      table[step * 256 + code] = word(ground.map((part, i) => part + (color[i] - part) * strength));
    }
  }
  const last = level.length - 1;
  for (let at = 0; at < buffer.length; at++) {
    const value = buffer[at];
    pixels[at] = value ? table[level[Math.min(value >>> 8, last)] << 8 | value & 255] : base;
  }
  pen.putImageData(image, 0, 0);
}

const word = color => (0xff000000 | color[2] << 16 | color[1] << 8 | color[0]) >>> 0; /* of an image's data */

/* Levels of opacity by the logarithm of the number of points in a pixel. */
function byCount() {
  const sizes = new Uint32Array(MOST_COUNTED + 1), level = new Uint8Array(MOST_COUNTED + 1);
  for (let at = 0; at < buffer.length; at++) sizes[Math.min(buffer[at] >>> 8, MOST_COUNTED)]++;
  const there = sizes.reduce((sum, size) => sum + size, 0) - sizes[0];
  let most = 1;
  for (let sum = sizes[1]; most < MOST_COUNTED && sum < DENSE * there;) sum += sizes[++most];
  view.most = most;
  for (let size = 1; size <= MOST_COUNTED; size++)
    level[size] = most < 2 ? LEVELS - 1 : Math.min(1, Math.log(size) / Math.log(most)) * (LEVELS - 1);
  return level;
}

/* Levels of opacity by depth: what is far is paler; the selected are all in front. */
function byDepth() {
  let near = 1, far = 4096;
  for (let at = 0; at < buffer.length; at++) {
    const depth = buffer[at] >>> 8 & 4095;
    if (depth > near) near = depth;
    if (depth && depth < far) far = depth;
  }
  return Uint8Array.from({ length: 8192 }, (_, depth) =>
    Math.max(0, Math.min(1, ((depth & 4095) - far) / Math.max(1, near - far))) * (LEVELS - 1));
}

/* Few points as shapes, the far ones first. */
function drawShapes(project, parts) {
  const size = (n <= 300 ? 4.5 : n <= 3000 ? 3.5 : 2.5) * ratio, sprites = new Map();
  const outline = `rgb(${view.ground})`;
  parts.forEach(({ few }, part) => {
    const order = deep() ? Uint32Array.from(few).sort((a, b) => at(project.depth, a) - at(project.depth, b)) : few;
    for (const slot of order) {
      const code = view.selected && part === 0 ? DIM : view.codes[slot];
      if (!sprites.has(code)) sprites.set(code, sprite(code, size, outline));
      const drawn = sprites.get(code);
      pen.drawImage(drawn, at(project.x, slot) - drawn.width / 2, at(project.y, slot) - drawn.height / 2);
    }
  });
}

function sprite(code, size, outline) {
  const drawn = document.createElement("canvas"), middle = Math.ceil(size * 1.5) + 1;
  drawn.width = drawn.height = 2 * middle;
  const brush = drawn.getContext("2d"), shape = n <= SHAPED ? view.shapes[code] : "circle";
  brush.fillStyle = `rgb(${view.colors[code]})`;
  brush.strokeStyle = outline;
  brush.lineWidth = (size > 3 * ratio ? 0.8 : 0.4) * ratio;
  brush.globalAlpha = code === DIM ? 0.5 : 1;
  brush.beginPath();
  if (shape === "square") brush.rect(middle - 0.9 * size, middle - 0.9 * size, 1.8 * size, 1.8 * size);
  else if (shape === "triangle" || shape === "diamond") {
    const corners = {
      diamond: [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]],
      triangle: [[0, -1.2], [1.1, 0.8], [-1.1, 0.8]],
    };
    corners[shape].forEach(([x, y], i) => brush[i ? "lineTo" : "moveTo"](middle + x * size, middle + y * size));
    brush.closePath();
  } else brush.arc(middle, middle, size, 0, 2 * Math.PI);
  brush.fill();
  brush.stroke();
  return drawn;
}

/* Where a slot is on the screen along one of the project's rows. */
function at(row, slot) {
  const [X, Y, Z] = view.slots;
  return row[0] * X[slot] + row[1] * Y[slot] + (Z ? row[2] * Z[slot] : 0) + row[3];
}

/* Round numbers between two ends, about as many as there is room for. */
function ticks(low, high, most) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find(part => part * power >= rough) * power;
  if (!(step > 0 && Number.isFinite(step))) return [];
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high && found.length < 50; i++) found.push(i * step);
  return found.map(value => [value, Number(value.toPrecision(12)).toString().replace("-", "−")]);
}

function drawAxes(project) {
  pen.font = `${11 * ratio}px system-ui,sans-serif`;
  pen.lineWidth = ratio;
  if (deep()) { drawDirections(project); return; }
  const room = inner(), bottom = room.top + room.height, right = room.left + room.width, [across, up] = view.axes;
  pen.fillStyle = `rgb(${view.ground})`;
  pen.fillRect(0, 0, room.left, tall);
  pen.fillRect(0, bottom, wide, tall - bottom);
  pen.fillRect(right, 0, wide - right, tall);
  pen.fillRect(0, 0, wide, room.top);
  pen.strokeStyle = view.line;
  pen.strokeRect(room.left + 0.5, room.top + 0.5, room.width, room.height);
  pen.fillStyle = view.ink;
  const valueOf = (axis, code) => axis.low * (1 - code / LAST) + axis.high * (code / LAST);
  const codeOf = (axis, value) => axis.high === axis.low ? 0
    : LAST * (value / 2 - axis.low / 2) / (axis.high / 2 - axis.low / 2);
  const ends = [[room.left, right], [bottom, room.top]];
  const codes = [project.x, project.y].map((row, i) => ends[i].map(pixel => (pixel - row[3]) / row[i]));
  pen.textAlign = "center";
  for (const [value, text] of ticks(...codes[0].map(code => valueOf(across, code)), room.width / (90 * ratio))) {
    const x = project.x[0] * codeOf(across, value) + project.x[3];
    pen.fillText(text, x, bottom + 16 * ratio);
    pen.fillRect(x, bottom, ratio, 4 * ratio);
  }
  pen.fillText(across.title, room.left + room.width / 2, bottom + 34 * ratio, room.width);
  pen.textAlign = "right";
  for (const [value, text] of ticks(...codes[1].map(code => valueOf(up, code)), room.height / (60 * ratio))) {
    const y = project.y[1] * codeOf(up, value) + project.y[3];
    pen.fillText(text, room.left - 7 * ratio, y + 4 * ratio, room.left - 22 * ratio);
    pen.fillRect(room.left - 4 * ratio, y, 4 * ratio, ratio);
  }
  pen.save();
  pen.translate(14 * ratio, room.top + room.height / 2);
  pen.rotate(-Math.PI / 2);
  pen.textAlign = "center";
  pen.fillText(up.title, 0, 0, room.height);
  pen.restore();
}

/* The edges of the box of all points, and three lines in the corner of the picture with the names of the axes. */
function drawDirections(project) {
  const ends = view.axes.map(axis => [0, axis.top]);
  const seen = corner => [project.x, project.y].map(row =>
    row[3] + corner.reduce((sum, code, i) => sum + row[i] * code, 0));
  pen.strokeStyle = view.line;
  pen.beginPath();
  for (let axis = 0; axis < 3; axis++) for (let other = 0; other < 4; other++) {
    const corner = [0, 1, 2].map(i => ends[i][i === axis ? 0 : (i === (axis + 1) % 3 ? other : other >> 1) & 1]);
    pen.moveTo(...seen(corner));
    pen.lineTo(...seen(corner.map((code, i) => i === axis ? ends[i][1] : code)));
  }
  pen.stroke();
  const long = 46 * ratio, x = 74 * ratio, y = tall - 70 * ratio;
  const size = scales().map(scale => scale * view.zoom);
  pen.strokeStyle = pen.fillStyle = view.ink;
  view.axes.forEach((axis, i) => {
    const end = [x + long * project.x[i] / size[i], y + long * project.y[i] / size[i]];
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(...end);
    pen.stroke();
    const left = end[0] < x - 1;
    pen.textAlign = left ? "right" : "left";
    pen.fillText(axis.name, end[0] + (left ? -4 : 4) * ratio, end[1] + (end[1] > y ? 12 : -3) * ratio, 170 * ratio);
  });
}

/* The slot nearest to a place on the screen within a number of pixels, or -1; of equally near ones the front one. */
function nearest(x, y, within) {
  const project = projection(), [X, Y, Z] = view.slots, { codes } = view;
  const [ax, bx, cx, dx] = project.x, [ay, by, cy, dy] = project.y;
  let best = -1, least = within * within;
  for (let slot = 0; slot < n; slot++) {
    if (codes[slot] === HIDDEN) continue;
    const u = X[slot], v = Y[slot], w = Z === undefined ? 0 : Z[slot];
    const right = ax * u + bx * v + cx * w + dx - x, down = ay * u + by * v + cy * w + dy - y;
    const away = right * right + down * down;
    if (away < least || (away === least && best >= 0 && at(project.depth, slot) > at(project.depth, best))) {
      least = away;
      best = slot;
    }
  }
  return best;
}

/* Marks the slots inside a polygon of places on the screen, and returns how many there are. */
function inside(corners, marks) {
  const project = projection(), xs = corners.map(corner => corner[0]), ys = corners.map(corner => corner[1]);
  const left = Math.min(...xs), right = Math.max(...xs), top = Math.min(...ys), bottom = Math.max(...ys);
  let found = 0;
  for (let slot = 0; slot < n; slot++) {
    if (view.codes[slot] === HIDDEN) continue;
    const x = at(project.x, slot), y = at(project.y, slot);
    if (x < left || x > right || y < top || y > bottom) continue;
    let odd = false;
    for (let i = 0, j = xs.length - 1; i < xs.length; j = i++)
      if (ys[i] > y !== ys[j] > y && x < (xs[j] - xs[i]) * (y - ys[i]) / (ys[j] - ys[i]) + xs[i]) odd = !odd;
    if (odd) found += marks[slot] = 1;
  }
  return found;
}

/* Places for the names of groups: of each the mean of the fullest cell in its densest part in view, the largest group
 * first. A name that would cover another is left out until there is room. */
const CELL = 28, NAMED = 120; /* pixels of a cell, and the most names */
function places(groups, wordOf) {
  const project = projection(), side = CELL * ratio, columns = Math.ceil(wide / side) + 2;
  const cells = columns * (Math.ceil(tall / side) + 2), room = inner();
  const [right, bottom] = [room.left + room.width, room.top + room.height];
  const counts = new Uint32Array(groups * cells), sums = new Uint32Array(groups), best = new Int32Array(groups);
  const around = [-columns - 1, -columns, -columns + 1, -1, 0, 1, columns - 1, columns, columns + 1];
  const eachInView = work => {
    for (let slot = 0; slot < n; slot++) {
      const code = view.codes[slot];
      if (code >= groups || (view.selected && !view.selected[slot])) continue;
      const x = at(project.x, slot), y = at(project.y, slot);
      if (x < room.left || y < room.top || x >= right || y >= bottom) continue;
      work(code, ((y / side | 0) + 1) * columns + (x / side | 0) + 1, x, y);
    }
  };
  eachInView((code, cell) => { counts[code * cells + cell]++; sums[code]++; });
  const order = Array.from(sums.keys()).filter(group => sums[group]).sort((a, b) => sums[b] - sums[a]);
  for (const group of order) {
    for (let cell = columns + 1, most = 0; cell < cells - columns - 1; cell++) {
      let sum = 0;
      for (const step of around) sum += counts[group * cells + cell + step];
      if (sum > most) { most = sum; best[group] = cell; }
    }
    best[group] += around.reduce((most, step) => counts[group * cells + best[group] + step]
      > counts[group * cells + best[group] + most] ? step : most, 0);
  }
  const means = new Float64Array(3 * groups);
  eachInView((code, cell, x, y) => {
    if (cell !== best[code]) return;
    means[3 * code]++; means[3 * code + 1] += x; means[3 * code + 2] += y;
  });
  const taken = [], found = [];
  pen.font = NAME_FONT();
  for (const group of order) {
    if (found.length >= NAMED) break;
    const text = wordOf(group), half = pen.measureText(text).width / 2 + 4 * ratio, high = 9 * ratio;
    const mean = part => means[3 * group + part] / means[3 * group]; /* moved so that the name is inside */
    const x = Math.max(room.left + half, Math.min(right - half, mean(1)));
    const y = Math.max(room.top + high, Math.min(bottom - high, mean(2)));
    const box = [x - half, y - high, x + half, y + high];
    if (taken.some(other => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
    taken.push(box);
    found.push({ text, place: [x, y], x: (x - project.x[3]) / project.x[0], y: (y - project.y[3]) / project.y[1] });
  }
  return found;
}
const NAME_FONT = () => `600 ${12.5 * ratio}px system-ui,sans-serif`;

/* Draws names where they were placed; a plane's move with the points. */
function drawNames(names) {
  const project = projection();
  pen.font = NAME_FONT();
  pen.textAlign = "center";
  pen.lineJoin = "round";
  pen.lineWidth = 4 * ratio;
  pen.strokeStyle = `rgba(${view.ground},0.85)`;
  pen.fillStyle = view.ink;
  for (const name of names) {
    const [x, y] = deep() ? name.place : [name.x * project.x[0] + project.x[3], name.y * project.y[1] + project.y[3]];
    pen.strokeText(name.text, x, y + 4 * ratio);
    pen.fillText(name.text, x, y + 4 * ratio);
  }
}
