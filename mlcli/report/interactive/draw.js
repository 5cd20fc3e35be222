"use strict";
/* Draws the rows that the page holds as data: over the axes and in the colors that the reader chooses. */
const data = JSON.parse(document.getElementById("data").textContent);
const bytes = text => Uint8Array.from(atob(text), char => char.charCodeAt(0)).buffer;
const axes = data.axes.map(axis => new Float64Array(bytes(axis.values)));
const codes = data.labels.map(label => new Uint32Array(bytes(label.codes)));
const rows = new Uint32Array(bytes(data.rows));
const FEW = 1000; /* rows that are drawn as SVG */
const NARROW = 640; /* pixels of a screen that has no room for a legend beside the points */
const FLAT = { circle: "circle", square: "square", triangle: "triangle-up", diamond: "diamond" };
const DEEP = { ...FLAT, triangle: "cross" };
const darkness = matchMedia("(prefers-color-scheme: dark)");
const chosen = name => Number(document.getElementById(name).value);
/* Plotly reads texts as markup: names are none. */
const plain = text => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const shown = (values, places) => Array.from(places, place => values[place]);
const all = Uint32Array.from(rows.keys());

const named = axis => data.axes[axis].title;

function told(place) {
  const labels = data.labels.map((label, i) => `${plain(label.name)}: ${plain(label.texts[codes[i][place]])}`);
  const numbers = axes.map((values, i) => `${data.axes[i].name}: ${values[place].toPrecision(6)}`);
  return [`<b>${plain(data.ids[place])}</b>`, ...labels, ...numbers].join("<br>");
}
const texts = Array.from(all, told);

function trace(places, marker, name) {
  const [x, y, z] = ["x", "y", "z"].map(chosen), deep = z >= 0;
  const up = y >= 0 ? shown(axes[y], places) : Array.from(places, place => 1 + rows[place]);
  const small = rows.length > 5000, size = deep ? (small ? 2 : 4) : (small ? 3 : 6);
  return {
    type: deep ? "scatter3d" : rows.length > FEW ? "scattergl" : "scatter", mode: "markers", name,
    x: shown(axes[x], places), ...(deep ? { y: shown(axes[z], places), z: up } : { y: up }), /* z points up */
    text: shown(texts, places), hovertemplate: "%{text}<extra></extra>",
    marker: { size, opacity: small && !deep ? 0.5 : 1, line: { width: 0 }, ...marker, /* none hides all others */
      symbol: deep && small ? "square" : (deep ? DEEP : FLAT)[marker.symbol] }, /* two triangles turn fastest */
  };
}

function traces(dark) {
  const label = data.labels[chosen("color")];
  const painted = (of, group) => ({ color: of.colors[group][dark], symbol: of.shapes[group] });
  if (!label) return [{ ...trace(all, painted(data.plain, 0), ""), showlegend: false }];
  if (label.groups) {
    const groups = new Uint8Array(bytes(label.groups));
    return label.names.map((name, group) => trace(all.filter(place => groups[place] === group),
      painted(label, group), `${plain(name)}`)).filter(part => part.x.length);
  }
  const numbers = new Float64Array(bytes(label.numbers)), ramp = data.ramps[dark];
  const known = all.filter(place => numbers[place] === numbers[place]);
  const scale = ramp.map((color, step) => [step / (ramp.length - 1), color]);
  const bar = { color: shown(numbers, known), colorscale: scale, symbol: "circle",
    colorbar: { title: { text: plain(label.name) } } };
  const absent = all.filter(place => numbers[place] !== numbers[place]);
  return [{ ...trace(known, bar, ""), showlegend: false },
    trace(absent, painted(label, label.colors.length - 1), "no number")].filter(part => part.x.length);
}

function layout(dark) {
  const ink = dark ? "#d5d9e0" : "#333333", line = dark ? "#3a414d" : "#d5d9e0";
  const styled = text => ({ title: { text }, gridcolor: line, zerolinecolor: ink, color: ink });
  const [x, y, z] = ["x", "y", "z"].map(chosen);
  const across = styled(named(x)), up = styled(y >= 0 ? named(y) : "row"), label = data.labels[chosen("color")];
  const spans = [x, y].filter(axis => axis >= 0).map(axis => axes[axis].reduce((most, value) => Math.max(most, value),
    -Infinity) - axes[axis].reduce((least, value) => Math.min(least, value), Infinity));
  const narrow = innerWidth < NARROW, away = narrow ? 2.6 : 1.25; /* of the eye from the middle */
  const alike = y >= 0 && Math.max(...spans) <= 4 * Math.min(...spans); /* as Plotly has it for three axes */
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink }, hovermode: "closest",
    margin: z >= 0 ? { l: 0, r: 0, t: 34, b: 20 } : { l: 60, r: 20, t: 34, b: 50 },
    hoverlabel: { align: "left", namelength: -1 }, uirevision: `${x} ${y} ${z}`,
    modebar: { bgcolor: "rgba(0,0,0,0)", color: line, activecolor: ink },
    legend: { title: { text: label ? plain(label.name) : "" }, itemsizing: "constant",
      ...(narrow ? { orientation: "h", y: -0.12, yanchor: "top" } : {}) },
    ...(z >= 0 ? { scene: { xaxis: across, yaxis: styled(named(z)), zaxis: up, aspectmode: "auto",
      camera: { eye: { x: away, y: away, z: away } } } }
      : { xaxis: across, yaxis: { ...up, ...(alike ? { scaleanchor: "x" } : {}) } }),
  };
}

function draw() {
  const dark = darkness.matches ? 1 : 0;
  return Plotly.react("plot", traces(dark), layout(dark), {
    responsive: true, displaylogo: false, scrollZoom: true, doubleClickDelay: 500,
    showSendToCloud: false, plotlyServerURL: "", modeBarButtonsToRemove: ["sendDataToCloud", "sendChartToCloud"],
  }); /* data is sent nowhere */
}

function offer(name, options, first) {
  const select = document.getElementById(name);
  for (const [value, text] of options) select.add(new Option(text, value, value === first, value === first));
  select.addEventListener("change", draw);
}

const listed = data.axes.map((axis, i) => [i, named(i)]);
offer("x", listed, 0);
offer("y", axes.length > 1 ? listed : [[-1, "row"]], axes.length > 1 ? 1 : -1);
offer("z", [[-1, "none"], ...listed], axes.length > 2 ? 2 : -1);
offer("color", [[-1, "none"], ...data.labels.map((label, i) => [i, label.name])], data.labels.length ? 0 : -1);
darkness.addEventListener("change", draw);
draw();
