"use strict";
/* What the reader does: axes, colors, legend, search, selection, pointer and keyboard. */
const byId = name => document.getElementById(name);
const STEPS = held.ramps[0].length; /* colors of the scale of numbers */
const NEAR = 12, TOUCH = 24; /* pixels from the pointer or the finger to a point that is told */
const NAMED_POINTS = 25; /* points in view up to which their ids stand beside them */
const SETTLED = 140, TYPED = 180; /* milliseconds until a moved picture, or a typed search, is done */
const NATURAL = new Intl.Collator("en", { numeric: true }); /* site 2 before site 10 */
const darkness = matchMedia("(prefers-color-scheme: dark)");
const columns = [...held.columns, ...held.axes];
let ids = null, color = null, off = new Set(), range = null; /* the column of colors, and what the legend leaves out */
let names = [], lasso = null, painted = []; /* names in their places, corners of a loop, and colors as texts */

/* The groups of the column of colors: their names, rows and colors; of numbers the steps of the scale. */
function groupsOf(column) {
  if (!column) return null;
  if (column.known) {
    const { groups, absent, known } = column, others = absent - groups, none = known.length - absent;
    return { names: [...Array.from({ length: groups }, (_, i) => visible(known.at(i))),
      `${others.toLocaleString("en")} others`, "no label"], codeOf: code => code < groups ? code
      : code < absent ? groups : groups + 1, shown: [...Array(groups).fill(true), others > 0, none > 0] };
  }
  const scale = STEPS / (column.top + 1);
  return { names: null, codeOf: code => code === ABSENT ? STEPS : code * scale | 0 };
}

/* Gives each slot the code of its color: hidden are groups and numbers that the legend leaves out. */
function recolor() {
  const groups = groupsOf(color), { codes } = view;
  if (!groups) { codes.fill(0); refresh(); return; }
  const values = color.values, table = groups.names ? Uint8Array.from({ length: color.known.length },
    (_, code) => off.has(groups.codeOf(code)) ? HIDDEN : groups.codeOf(code)) : new Uint8Array(65536).fill(HIDDEN);
  if (!groups.names) {
    for (let code = range[0]; code <= range[1]; code++) table[code] = groups.codeOf(code);
    if (!off.has(STEPS)) table[ABSENT] = STEPS;
  }
  for (let slot = 0, row = 0; slot < n; slot++) {
    codes[slot] = table[values[row]];
    row += stride;
    if (row >= n) row -= n;
  }
  refresh();
}

const rgb = text => [1, 3, 5].map(place => parseInt(text.slice(place, place + 2), 16));

function restyle(paper = false) {
  const dark = darkness.matches && !paper ? 1 : 0, style = getComputedStyle(document.documentElement);
  const ink = name => style.getPropertyValue(name).trim();
  view.ground = rgb(held.ground[dark]);
  [view.ink, view.line] = [ink("--text"), ink("--line")];
  const inks = !color ? [held.plain[dark]] : color.known ? color.colors.map(pair => pair[dark])
    : [...held.ramps[dark], held.other[dark]];
  painted = inks;
  view.colors = inks.map(rgb);
  view.shapes = color?.known ? color.shapes : [];
  view.colors[DIM] = rgb(held.other[dark]);
}

/* Draws what is there in the next frame, and finds places for the names once it is at rest. */
let started = false, asked = false, rest = false, timer = 0;
function refresh(moving = false) {
  clearTimeout(timer);
  if (moving) timer = setTimeout(refresh, SETTLED);
  rest ||= !moving;
  if (asked || !started) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    if (rest) { settle(); return; }
    draw(true);
    if (!deep()) drawNames(names);
    drawLasso();
  });
}

function settle() {
  rest = false;
  names = [];
  if (byId("names").checked) {
    const groups = groupsOf(color);
    if (groups?.names) names = places(color.groups, group => cut(groups.names[group]));
  }
  draw();
  if (byId("names").checked && counted <= NAMED_POINTS) namePoints();
  drawNames(names);
  drawLasso();
  tellShades();
}

/* How many points a pixel has at which shade, of the picture at rest. */
function tellShades() {
  const box = byId("shades"), [bar, said] = box.children, ink = rgb(view.ink);
  box.hidden = view.most < 2;
  bar.style.backgroundImage = `linear-gradient(90deg,rgb(${ink},${LEAST}),rgb(${ink}))`;
  said.textContent = `1 to ${view.most.toLocaleString("en")} or more points in a pixel, of `
    + `${Math.round(counted).toLocaleString("en")} in view`;
}
const cut = text => text.length > 32 ? `${text.slice(0, 16)}…${text.slice(-15)}` : text;

/* Ids beside the points in view, where they are few. */
function namePoints() {
  const project = projection(), room = inner();
  pen.font = `${11 * ratio}px system-ui,sans-serif`;
  pen.textAlign = "left";
  pen.fillStyle = view.ink;
  for (let slot = 0; slot < n; slot++) {
    if (view.codes[slot] === HIDDEN) continue;
    const x = at(project.x, slot), y = at(project.y, slot);
    const seen = x > room.left && x < room.left + room.width && y > room.top && y < room.top + room.height;
    if (!seen || !ids) continue;
    const text = cut(visible(ids.at(rowOf(slot)))), apart = 7 * ratio, long = pen.measureText(text).width;
    pen.fillText(text, x + apart + long < wide ? x + apart : x - apart - long, y + 4 * ratio);
  }
}

/* The legend: a button for each group, or the ends of the numbers that are shown. */
function legend() {
  const box = byId("legend"), groups = groupsOf(color);
  box.replaceChildren();
  box.hidden = !groups;
  if (!groups) return;
  box.append(element("h2", visible(color.title)));
  if (!groups.names) { numbersLegend(box); return; }
  const counts = new Uint32Array(color.known.length), sizes = new Uint32Array(groups.names.length);
  for (let row = 0; row < n; row++) counts[color.values[row]]++;
  counts.forEach((size, code) => { sizes[groups.codeOf(code)] += size; });
  const all = element("button", "all"), none = element("button", "none");
  all.onclick = () => leaveOut([]);
  none.onclick = () => leaveOut(groups.names.keys());
  const both = element("p");
  both.append(all, " ", none);
  box.append(both);
  const list = element("ul");
  const order = Array.from(groups.names.keys()).filter(group => groups.shown[group]);
  if (color.groups > color.colored) { /* more than the report tells apart: by name */
    order.sort((a, b) => Math.max(a - color.groups, -1) - Math.max(b - color.groups, -1)
      || NATURAL.compare(groups.names[a], groups.names[b]));
  }
  for (const group of order) {
    const name = groups.names[group], button = element("button"), item = element("li");
    button.value = group;
    button.append(swatch(group), element("span", name), element("small", sizes[group].toLocaleString("en")));
    button.setAttribute("aria-pressed", String(!off.has(group)));
    button.title = "Click to hide or show, double-click to show alone";
    button.onclick = event => toggle(group, event.detail > 1 || event.shiftKey, groups);
    item.append(button);
    list.append(item);
  }
  box.append(list);
}

function toggle(group, alone, groups) {
  if (alone) leaveOut(Array.from(groups.names.keys()).filter(other => other !== group));
  else leaveOut(off.has(group) ? Array.from(off).filter(other => other !== group) : [...off, group]);
}

function leaveOut(groups) {
  off = new Set(groups);
  for (const button of byId("legend").querySelectorAll("li button"))
    button.setAttribute("aria-pressed", String(!off.has(Number(button.value))));
  recolor();
}

function swatch(group) {
  const box = element("i"), shape = n <= SHAPED ? view.shapes[group] : "circle";
  box.className = shape;
  box.style.backgroundColor = painted[group];
  return box;
}

function numbersLegend(box) {
  const bar = element("div");
  bar.className = "ramp";
  bar.style.backgroundImage = `linear-gradient(90deg,${painted.slice(0, STEPS).join()})`;
  box.append(bar);
  const said = element("p"), ends = ["lowest", "highest"].map((name, end) => {
    const slider = element("input");
    Object.assign(slider, { type: "range", min: 0, max: color.top, value: range[end] });
    slider.setAttribute("aria-label", `${name} number that is shown`);
    slider.oninput = () => {
      range[end] = Number(slider.value);
      if (range[0] > range[1]) range[1 - end] = ends[1 - end].value = range[end];
      tell();
      recolor();
    };
    return slider;
  });
  const tell = () => { said.textContent = `${written(color, range[0])} to ${written(color, range[1])}`; };
  tell();
  box.append(...ends, said);
  if (!color.values.includes(ABSENT)) return;
  const button = element("button");
  button.append(swatch(STEPS), element("span", "no number"));
  button.setAttribute("aria-pressed", String(!off.has(STEPS)));
  button.onclick = () => { if (!off.delete(STEPS)) off.add(STEPS); legend(); recolor(); };
  box.append(button);
}

function element(name, text) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  return made;
}

/* The selection: of a search, or of a loop around points. */
function select(marks, found, how) {
  view.selected = found || how ? marks : null;
  byId("save").disabled = byId("clear").disabled = !found;
  byId("said").textContent = how ? `${found.toLocaleString("en")} of ${n.toLocaleString("en")} rows ${how}` : "";
  refresh();
}

const clear = () => { byId("search").value = ""; select(null, 0, ""); };

function search(text) {
  if (!text) { select(null, 0, ""); return; }
  const marks = new Uint8Array(n), rows = new Uint8Array(n);
  const pattern = () => new RegExp(text.replace(/[\\^$.*+?()[\]{}|\/]/g, "\\$&"), "giu");
  for (const row of ids?.matches(pattern()) ?? []) rows[row] = 1;
  for (const column of held.columns.filter(other => other.known)) {
    const hits = new Uint8Array(column.known.length);
    const places = column.known.matches(pattern());
    if (!places.length) continue;
    for (const code of places) hits[code] = 1;
    for (let row = 0; row < n; row++) rows[row] |= hits[column.values[row]];
  }
  let found = 0;
  for (let slot = 0; slot < n; slot++) found += marks[slot] = rows[rowOf(slot)];
  select(marks, found, "match");
}

/* The ids of the selection as a file, by RFC 4180. */
function save() {
  const quoted = text => /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const rows = new Uint8Array(n), parts = ["id\r\n"];
  for (let slot = 0; slot < n; slot++) rows[rowOf(slot)] = view.selected[slot];
  for (let row = 0; row < n; row++) if (rows[row]) parts.push(`${quoted(ids.at(row))}\r\n`);
  const link = element("a");
  link.href = URL.createObjectURL(new Blob(parts, { type: "text/csv" }));
  link.download = "selection.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/* What is told of a row: its id, its labels and numbers, its place. */
function told(row) {
  const lines = columns.filter(column => column.values).map(column => [column.name, column.known
    ? visible(column.known.at(column.values[row])) : written(column, column.values[row])]);
  return [ids ? visible(ids.at(row)) : "", ...lines.map(([name, text]) => `${name}: ${text}`)];
}

function tell(x, y, within) {
  const slot = nearest(x * ratio, y * ratio, within * ratio), tip = byId("tip");
  tip.hidden = slot < 0;
  if (slot < 0) return;
  tip.replaceChildren(...told(rowOf(slot)).map((line, i) => element(i ? "div" : "b", line)));
  const left = x + 16 + tip.offsetWidth > canvas.clientWidth ? Math.max(0, x - 16 - tip.offsetWidth) : x + 16;
  tip.style.left = `${left}px`;
  tip.style.top = `${Math.max(0, Math.min(y + 12, canvas.clientHeight - tip.offsetHeight))}px`;
}

function reset() {
  Object.assign(view, { zoom: 1, yaw: 0.6, pitch: 0.35, x: deep() ? 0 : view.axes[0].top / 2,
    y: deep() ? 0 : view.axes[1].top / 2 });
  refresh();
}

/* Moves the picture by pixels, or turns it. */
function move(right, down, turn = deep()) {
  if (turn) {
    view.yaw += right / 150;
    view.pitch = Math.max(-1.57, Math.min(1.57, view.pitch + down / 150));
  } else if (deep()) {
    view.x += right;
    view.y += down;
  } else {
    const project = projection();
    view.x -= right / project.x[0];
    view.y -= down / project.y[1];
  }
  refresh(true);
}

/* Zooms so that the place under the pointer stays. */
function zoom(factor, x = wide / 2, y = tall / 2) {
  const before = projection(), most = deep() ? 40 : SHARP * ratio / Math.min(...scales());
  const [u, v] = deep() ? [0, 0] : [(x - before.x[3]) / before.x[0], (y - before.y[3]) / before.y[1]];
  const next = Math.max(0.2, Math.min(Math.max(most, 2), view.zoom * factor)), done = next / view.zoom;
  view.zoom = next;
  if (deep()) {
    const room = inner(), [mx, my] = [room.left + room.width / 2, room.top + room.height / 2];
    view.x = (x - mx) - (x - mx - view.x) * done;
    view.y = (y - my) - (y - my - view.y) * done;
  } else {
    const after = projection();
    view.x += u - (x - after.x[3]) / after.x[0];
    view.y += v - (y - after.y[3]) / after.y[1];
  }
  refresh(true);
}

function drawLasso() {
  if (!lasso?.length) return;
  pen.beginPath();
  lasso.forEach(([x, y], i) => pen[i ? "lineTo" : "moveTo"](x, y));
  pen.closePath();
  pen.strokeStyle = view.ink;
  pen.lineWidth = 1.5 * ratio;
  pen.setLineDash([5 * ratio, 4 * ratio]);
  pen.stroke();
  pen.setLineDash([]);
}

function loop(corners) {
  const marks = new Uint8Array(n);
  byId("search").value = "";
  select(marks, inside(corners, marks), "selected");
}

/* Selects the points inside the frame: a loop for the keyboard. */
function selectView() {
  const { left, top, width, height } = inner();
  loop([[left, top], [left + width, top], [left + width, top + height], [left, top + height]]);
}

/* The pointer: one finger or button moves, turns or draws a loop, two fingers zoom. */
const fingers = new Map();
let pinch = null, hovered = null;
function placeOf(event) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.x, event.clientY - box.y];
}

/* How far apart two fingers are, and the place between them. */
function pinchOf() {
  const [a, b] = Array.from(fingers.values(), finger => finger.place);
  return { long: Math.hypot(a[0] - b[0], a[1] - b[1]), middle: [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2] };
}

canvas.addEventListener("pointerdown", event => {
  canvas.setPointerCapture(event.pointerId);
  const place = placeOf(event);
  fingers.set(event.pointerId, { place, from: place, button: event.button });
  byId("tip").hidden = true;
  lasso = fingers.size === 1 && (event.shiftKey || byId("lasso").getAttribute("aria-pressed") === "true")
    ? [place.map(part => part * ratio)] : null;
  pinch = fingers.size === 2 ? pinchOf() : null;
});

canvas.addEventListener("pointermove", event => {
  const place = placeOf(event), finger = fingers.get(event.pointerId);
  if (!finger) {
    if (!hovered) requestAnimationFrame(() => { const last = hovered; hovered = null; tell(...last, NEAR); });
    hovered = place;
    return;
  }
  const [right, down] = [place[0] - finger.place[0], place[1] - finger.place[1]];
  finger.place = place;
  if (lasso) { lasso.push(place.map(part => part * ratio)); refresh(true); return; }
  if (pinch) {
    const { long, middle } = pinchOf();
    move((middle[0] - pinch.middle[0]) * ratio, (middle[1] - pinch.middle[1]) * ratio, false);
    zoom(long / Math.max(pinch.long, 1), middle[0] * ratio, middle[1] * ratio);
    pinch = { long, middle };
  } else move(right * ratio, down * ratio, deep() && finger.button === 0);
});

for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, event => {
  const finger = fingers.get(event.pointerId), corners = lasso;
  fingers.delete(event.pointerId);
  lasso = pinch = null;
  if (!finger) return;
  const moved = Math.hypot(finger.place[0] - finger.from[0], finger.place[1] - finger.from[1]);
  if (corners && corners.length > 2) loop(corners);
  else if (name === "pointerup" && moved < 4) tell(...finger.place, event.pointerType === "touch" ? TOUCH : NEAR);
});
canvas.addEventListener("pointerleave", event => {
  hovered = null;
  if (event.pointerType !== "touch") byId("tip").hidden = true; /* a finger leaves with every tap */
});
canvas.addEventListener("contextmenu", event => { if (deep()) event.preventDefault(); });
canvas.addEventListener("dblclick", reset);
canvas.addEventListener("wheel", event => {
  event.preventDefault();
  byId("tip").hidden = true;
  const lines = event.deltaY * (event.deltaMode === 1 ? 16 : 1), [x, y] = placeOf(event);
  zoom(Math.exp(-Math.max(-200, Math.min(200, lines)) / 300), x * ratio, y * ratio);
}, { passive: false });

const STEP = 40, NEARER = 1.25; /* pixels that a key moves the picture, and the factor by which one enlarges it */
const KEYS = { ArrowLeft: () => move(STEP * ratio, 0), ArrowRight: () => move(-STEP * ratio, 0),
  ArrowUp: () => move(0, STEP * ratio), ArrowDown: () => move(0, -STEP * ratio), "+": () => zoom(NEARER),
  "=": () => zoom(NEARER), "-": () => zoom(1 / NEARER), 0: reset, Home: reset };
const ANYWHERE = { "/": () => byId("search").focus(), l: () => byId("lasso").click(),
  v: () => byId("inview").click(), s: () => byId("save").click(), Escape: clear };
document.addEventListener("keydown", event => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox";
  if (event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== "Escape")) return;
  const done = ANYWHERE[event.key] ?? (event.target === canvas ? KEYS[event.key] : undefined);
  if (!done) return;
  event.preventDefault();
  done();
});

/* The columns that can be chosen. */
function offer(name, options, first, change) {
  const box = byId(name);
  for (const [value, text] of options) box.add(new Option(text, value, value === first, value === first));
  box.addEventListener("change", change);
}

async function setAxes() {
  const places = ["x", "y", "z"].map(name => Number(byId(name).value));
  const [x, y, z] = places.map(place => held.axes[place]), axes = z ? [x, y, z] : [x, y];
  await Promise.all(axes.map(load));
  view.axes = axes;
  view.slots = axes.map(axis => inSlots(axis.values));
  reset();
}

async function setColor() {
  const column = columns[Number(byId("color").value)] ?? null;
  if (column) await load(column);
  color = column;
  off = new Set();
  range = column && !column.known ? [0, column.top] : null;
  restyle();
  legend();
  recolor();
}

async function start() {
  const listed = held.axes.map((axis, i) => [i, axis.title]), only = held.single;
  offer("x", only ? listed.slice(0, 1) : listed, 0, setAxes);
  offer("y", only ? listed.slice(1) : listed, 1, setAxes);
  offer("z", [[-1, "none"], ...(only ? [] : listed)], held.axes.length > 2 ? 2 : -1, setAxes);
  offer("color", [[-1, "none"], ...columns.map((column, i) => [i, column.title])], held.columns.length ? 0 : -1,
    setColor);
  await Promise.all([setAxes(), setColor()]);
  byId("still").hidden = true;
  byId("shown").hidden = false;
  resize(); /* beside the legend */
  draw();
  started = true;
  refresh();
  performance.mark("first frame");
  document.documentElement.dataset.state = "drawn";
  ids = await unpackIds(held.ids);
  for (const column of columns) await load(column);
  document.documentElement.dataset.state = "ready";
  refresh();
}

byId("names").addEventListener("change", () => refresh());
byId("whole").addEventListener("click", reset);
byId("clear").addEventListener("click", clear);
byId("inview").addEventListener("click", selectView);
byId("save").addEventListener("click", save);
byId("lasso").addEventListener("click", () => {
  const on = byId("lasso").getAttribute("aria-pressed") !== "true";
  byId("lasso").setAttribute("aria-pressed", String(on));
  canvas.classList.toggle("loop", on);
});
let typed = 0;
byId("search").addEventListener("input", () => {
  clearTimeout(typed);
  typed = setTimeout(() => search(byId("search").value), TYPED);
});
darkness.addEventListener("change", () => { restyle(); legend(); refresh(); });
addEventListener("beforeprint", () => { restyle(true); settle(); });
addEventListener("afterprint", () => { restyle(); settle(); });
new ResizeObserver(() => {
  if (!started) return;
  resize(); /* which empties the canvas */
  draw(true);
  refresh();
}).observe(canvas);
start().catch(error => {
  byId("shown").hidden = true;
  byId("failed").hidden = false;
  byId("failed").append(` ${error.message}`);
});
