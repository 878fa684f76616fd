"use strict";
// Only draws: every number comes from Python, either inside this page or from the server that sent it.
const content = JSON.parse(document.getElementById("content").textContent);
const byId = (id) => document.getElementById(id);
let shown = null;

function make(tag, attributes, parent, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

function html(tag, parent, text) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const parts = (hex) => [1, 3, 5].map((place) => parseInt(hex.slice(place, place + 2), 16));

// From `low` through `mid` to `high` as the share goes from -1 to 1.
function blend(share) {
  const end = parts(ink(share < 0 ? "low" : "high")), middle = parts(ink("mid"));
  const weight = Math.min(Math.abs(share), 1);
  return "#" + middle.map((m, i) => Math.round(m + weight * (end[i] - m)).toString(16).padStart(2, "0")).join("");
}

function short(value) {
  if (value === null) return "none";
  if (value !== 0 && (Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

// Numbers at an axis: a handful of round ones.
function rounds(low, high) {
  const raw = (high - low) / 5 || 1, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw) * power;
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step)
    found.push(Math.abs(value) < step * 1e-9 ? 0 : value);
  return found;
}

const WIDTH = 440, HEIGHT = 300, LEFT = 58, BOTTOM = 44, TOP = 10, RIGHT = 12;

function begin(id, label, height = HEIGHT) {
  const svg = byId(id).querySelector("svg");
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
  svg.setAttribute("aria-label", label);
  make("rect", { width: WIDTH, height, fill: ink("card") }, svg);
  return svg;
}

// Axes with numbers; returns where a pair of numbers lies.
function axes(svg, [x0, x1], [y0, y1], xName, yName) {
  const atX = (x) => LEFT + (x - x0) / (x1 - x0 || 1) * (WIDTH - LEFT - RIGHT);
  const atY = (y) => HEIGHT - BOTTOM - (y - y0) / (y1 - y0 || 1) * (HEIGHT - BOTTOM - TOP);
  for (const x of rounds(x0, x1)) {
    make("line", { x1: atX(x), x2: atX(x), y1: TOP, y2: HEIGHT - BOTTOM, stroke: ink("faint"), "stroke-width": 0.7 }, svg);
    make("text", { x: atX(x), y: HEIGHT - BOTTOM + 15, "text-anchor": "middle", fill: ink("ink") }, svg, short(x));
  }
  for (const y of rounds(y0, y1)) {
    make("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: atY(y), y2: atY(y), stroke: ink("faint"), "stroke-width": 0.7 }, svg);
    make("text", { x: LEFT - 5, y: atY(y) + 4, "text-anchor": "end", fill: ink("ink") }, svg, short(y));
  }
  make("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle", fill: ink("ink") }, svg, xName);
  make("text", { x: -(HEIGHT - BOTTOM + TOP) / 2, y: 13, "text-anchor": "middle", transform: "rotate(-90)",
    fill: ink("ink") }, svg, yName);
  return (x, y) => [atX(x), atY(y)];
}

function path(svg, place, xs, ys, look) {
  const points = xs.map((x, i) => place(x, ys[i]).map((v) => v.toFixed(1)).join(" "));
  make("path", { d: "M" + points.join("L"), fill: "none", "stroke-linejoin": "round", ...look }, svg);
}

function legend(svg, entries, x, y) {
  entries.forEach(([text, look], number) => {
    const line = y + 15 * number;
    make("line", { x1: x, x2: x + 22, y1: line - 2, y2: line - 2, ...look }, svg);
    make("text", { x: x + 27, y: line + 2, fill: ink("ink") }, svg, text);
  });
}

function caption(id, text) {
  const place = byId(id).querySelector("figcaption");
  place.replaceChildren();
  const button = html("button", place, "SVG");
  button.type = "button";
  button.setAttribute("aria-label", "Save the picture " + id + " as SVG");
  button.addEventListener("click", () => saveFigure(id));
  place.append(text);
}

function drawAlignment({ values, rows, columns }) {
  const cell = Math.min((WIDTH - LEFT - 70) / columns.length, 26), tall = Math.min(cell, 250 / rows.length);
  const height = Math.max(TOP + rows.length * tall + BOTTOM, 120);
  const svg = begin("alignment", `Cosines of ${rows.length} neurons with ${columns.length} features`, height);
  const largest = Math.max(...values.flat().map(Math.abs), 1e-12);
  values.forEach((row, r) => row.forEach((value, c) => {
    const at = { x: LEFT + c * cell, y: TOP + r * tall, width: cell + 0.3, height: tall + 0.3 };
    make("title", {}, make("rect", { ...at, fill: blend(value / largest) }, svg), `neuron ${r}, feature ${c}: ${value}`);
    if (cell > 24 && tall > 14)
      make("text", { x: at.x + cell / 2, y: at.y + tall / 2 + 3.5, "text-anchor": "middle", "font-size": 10,
        fill: Math.abs(value) > 0.6 * largest ? ink("paper") : ink("ink") }, svg,
        value.toFixed(2).replace("-0.00", "0.00").replace("-", "−").replace("0.", "."));
  }));
  const edge = { stroke: ink("ink"), "stroke-width": 1.4 }, right = LEFT + columns.length * cell;
  rows.forEach((label, r) => { if (r && label !== rows[r - 1])
    make("line", { x1: LEFT, x2: right, y1: TOP + r * tall, y2: TOP + r * tall, ...edge }, svg); });
  columns.forEach((label, c) => { if (c && label !== columns[c - 1])
    make("line", { x1: LEFT + c * cell, x2: LEFT + c * cell, y1: TOP, y2: TOP + rows.length * tall, ...edge }, svg); });
  const below = TOP + rows.length * tall;
  make("text", { x: (LEFT + right) / 2, y: below + 18, "text-anchor": "middle", fill: ink("ink") }, svg, "features (clusters)");
  make("text", { x: -(TOP + below) / 2, y: LEFT - 12, "text-anchor": "middle", transform: "rotate(-90)",
    fill: ink("ink") }, svg, "neurons");
  for (let i = 0; i < 40; i++)
    make("rect", { x: right + 14, y: TOP + i * (below - TOP) / 40, width: 10, height: (below - TOP) / 40 + 0.5,
      fill: blend(1 - i / 19.5) }, svg);
  make("text", { x: right + 28, y: TOP + 10, fill: ink("ink") }, svg, largest.toFixed(2));
  make("text", { x: right + 28, y: below, fill: ink("ink") }, svg, "−" + largest.toFixed(2));
  caption("alignment", "Cosine of every neuron with every feature; lines part the labels that were trained on.");
}

function drawCoefficients({ steps, lines, kinds, neuron }) {
  const seen = ["own label", "own class", "other class"].filter((kind) => kinds.includes(kind));
  const svg = begin("coefficients", `Coefficients λ of neuron ${neuron} over training time`, HEIGHT + 15 * seen.length + 6);
  const all = lines.flat(), top = Math.max(...all, 1e-300), low = Math.min(...all, 0);
  const place = axes(svg, [0, steps.at(-1) || 1], [low, top * 1.05], "steps", "λ(t)");
  const looks = { "own label": { stroke: ink("two"), "stroke-width": 1.8 },
    "own class": { stroke: ink("three"), "stroke-width": 1.4, "stroke-dasharray": "6 3" },
    "other class": { stroke: ink("one"), "stroke-width": 1.2, "stroke-dasharray": "2 2" } };
  lines.forEach((line, number) => path(svg, place, steps, line, looks[kinds[number]]));
  legend(svg, seen.map((kind) => ["features of its " + kind.replace("other class", "rival class"), looks[kind]]), LEFT, HEIGHT + 10);
  caption("coefficients", `How much of each feature neuron ${neuron} holds. One bundle of lines that rises together is averaging.`);
}

function drawCurve({ radii, lines, marks }) {
  const svg = begin("curve", "Robust accuracy over the size of the perturbation", HEIGHT + 15 * lines.length + 6);
  const place = axes(svg, [0, radii.at(-1)], [0, 1.02], "size of the perturbation, ℓ2", "robust accuracy");
  const attacks = ["two", "three", "four"];
  const entries = [];
  for (const line of lines) {
    const look = { exact: { stroke: ink("one"), "stroke-width": 2.6 },
      theory: { stroke: ink("ink"), "stroke-width": 1.4, "stroke-dasharray": "2 3" },
      attack: { stroke: ink(attacks[entries.length % 3]), "stroke-width": 1.5, "stroke-dasharray": "7 3" } }[line.kind];
    if (line.lower) {
      const around = radii.map((x, i) => place(x, line.y[i])).concat(radii.map((x, i) => place(x, line.lower[i])).reverse());
      make("polygon", { points: around.map((p) => p.join(",")).join(" "), fill: ink("one"), opacity: 0.25 }, svg);
    }
    path(svg, place, radii, line.y, look);
    entries.push([line.name, look]);
  }
  marks.forEach(({ x, name }, number) => {
    const [at, top] = place(x, 1);
    make("line", { x1: at, x2: at, y1: top, y2: HEIGHT - BOTTOM, stroke: ink("soft"), "stroke-dasharray": "3 3" }, svg);
    const late = at > WIDTH * 0.6;
    make("text", { x: late ? at + 4 : at - 4, y: HEIGHT - BOTTOM - 8 - 14 * number, "text-anchor": late ? "start" : "end",
      fill: ink("soft"), "font-size": 11 }, svg, name.split(",")[0]);
  });
  legend(svg, entries, LEFT, HEIGHT + 10);
  caption("curve", "Share of test points whose class survives every perturbation of a size. " +
    (lines.some((line) => line.kind === "exact") ? "The solid line is proved; an attack can only lie above it."
      : "Attacks alone: the truth lies on or below each of these lines."));
}

function drawSlice(cut) {
  const svg = begin("slice", "The decision on a plane through a typical test point");
  if (!cut) {
    make("text", { x: WIDTH / 2, y: HEIGHT / 2, "text-anchor": "middle", fill: ink("ink") }, svg, "every test point is wrong already");
    caption("slice", "There is no boundary to look for around points that are wrong.");
    return;
  }
  const { places, margins, boundary, witness, radius, universal } = cut;
  const end = places.at(-1), room = (HEIGHT - BOTTOM - TOP) / 2, middle = [LEFT + room + 70, TOP + room];
  const place = (a, b) => [middle[0] + a / end * room, middle[1] - b / end * room];
  const size = 2 * room / places.length;
  margins.forEach((row, r) => {
    const levels = row.map((value) => Math.sign(value) * Math.ceil(Math.abs(value) * 5) / 5);
    for (let from = 0; from < row.length;) {
      let to = from;
      while (to < row.length && levels[to] === levels[from]) to++;
      make("rect", { x: middle[0] - room + from * size, y: middle[1] + room - (r + 1) * size, width: (to - from) * size + 0.3,
        height: size + 0.3, fill: blend(-0.15 * Math.sign(levels[from]) - 0.6 * levels[from]) }, svg);
      from = to;
    }
  });
  for (const line of boundary)
    make("path", { d: "M" + line.map(([a, b]) => place(a, b).map((v) => v.toFixed(1)).join(" ")).join("L"), fill: "none",
      stroke: ink("ink"), "stroke-width": 1.8 }, svg);
  const [x, y] = place(0, 0);
  if (radius !== null)
    make("circle", { cx: x, cy: y, r: radius / end * room, fill: "none", stroke: ink("ink"), "stroke-dasharray": "4 3" }, svg);
  make("line", { x1: x, y1: y, x2: place(end, 0)[0], y2: y, stroke: ink("ink"), "stroke-width": 1, "stroke-dasharray": "1 3" }, svg);
  make("circle", { cx: x, cy: y, r: 4.5, fill: ink("ink") }, svg);
  if (witness) {
    const [u, v] = place(...witness);
    make("path", { d: `M${u - 5} ${v - 5}L${u + 5} ${v + 5}M${u - 5} ${v + 5}L${u + 5} ${v - 5}`, stroke: ink("ink"), "stroke-width": 2.4 }, svg);
  }
  if (universal !== null) {
    const [u, v] = place(universal, 0);
    make("path", { d: `M${u} ${v - 7}L${u + 6} ${v + 5}L${u - 6} ${v + 5}Z`, fill: ink("paper"), stroke: ink("ink"), "stroke-width": 1.4 }, svg);
  }
  make("text", { x: middle[0], y: HEIGHT - 26, "text-anchor": "middle", fill: ink("ink") }, svg, "along the universal direction →");
  make("text", { x: -middle[1], y: middle[0] - room - 8, "text-anchor": "middle", transform: "rotate(-90)", fill: ink("ink") }, svg, "across it");
  make("text", { x: middle[0], y: HEIGHT - 8, "text-anchor": "middle", fill: ink("soft"), "font-size": 11 }, svg,
    `the circle is ${short(radius)}, the picture ${short(2 * end)} wide`);
  caption("slice", "● a typical test point, × the nearest adversarial point, " +
    (universal === null ? "" : "△ where the universal direction fools, ") + "the line is the decision boundary.");
}

const NAMES = { accuracy: "accuracy", median: "median radius", index: "averaging index", exact: "points proved",
  averaging_radius: "√(d/k)", optimal_radius: "√(d/2)", loss: "training loss" };

function show(state) {
  shown = state;
  byId("sentence").textContent = state.sentence;
  byId("code").textContent = state.code;
  const list = byId("numbers");
  list.replaceChildren();
  for (const [name, text] of Object.entries(NAMES)) {
    const pair = html("div", list);
    html("dt", pair, text);
    const value = html("dd", pair, name === "exact" ? `${state.numbers.exact} of ${state.numbers.points}` : short(state.numbers[name]));
    value.dataset.name = name;
    value.dataset.value = JSON.stringify(state.numbers[name]);
  }
  drawAlignment(state.alignment);
  drawCoefficients(state.coefficients);
  drawCurve(state.curve);
  drawSlice(state.slice);
}

function trouble(text) {
  byId("trouble").textContent = text;
  byId("trouble").hidden = !text;
}

function download(name, type, text) {
  const link = html("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function saveFigure(id) {
  const copy = byId(id).querySelector("svg").cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("font-family", "sans-serif");
  copy.setAttribute("font-size", "12");
  download(`featavg-${id}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(copy));
}

function range(form, name, text, low, high, step, value, told) {
  const label = html("label", form);
  html("span", label, text);
  const output = html("output", label);
  const input = html("input", label);
  // An output is labelable too, so the label must say whose it is.
  Object.assign(input, { type: "range", name, min: low, max: high, step, id: "range-" + name });
  label.htmlFor = input.id;
  input.value = value;
  const tell = () => { output.textContent = told(Number(input.value)); input.setAttribute("aria-valuetext", output.textContent); };
  input.addEventListener("input", tell);
  tell();
  return input;
}

// Live: the latest setting is asked for as soon as the answer to an earlier one is here.
function live() {
  const form = byId("controls"), setting = { ...content.setting };
  let busy = false, waiting = false, timer = 0;
  for (const slider of content.sliders) {
    const value = (place) => {
      const raw = slider.log ? 10 ** place : place;
      return slider.whole ? Math.round(raw) : Number(raw.toPrecision(3));
    };
    const now = slider.log ? Math.log10(setting[slider.name]) : setting[slider.name];
    const told = (place) => (slider.name === "dim" && value(place) >= 1e5 ? value(place).toExponential(1) : String(value(place)));
    const input = range(form, slider.name, slider.text, slider.low, slider.high, slider.log && slider.whole ? "any" : slider.step, now, told);
    if (slider.log && slider.whole) arrows(input, slider.step);
    input.addEventListener("input", () => {
      setting[slider.name] = value(Number(input.value));
      clearTimeout(timer);
      timer = setTimeout(ask, 40);
    });
  }
  async function ask() {
    if (busy) { waiting = true; return; }
    busy = true;
    document.body.classList.add("waiting");
    try {
      const answer = await fetch("state", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(setting) });
      const found = await answer.json();
      trouble(found.impossible || "");
      if (!found.impossible) show(found);
    } catch {
      trouble("The server does not answer; start `featavg lab` again and open the address that it prints.");
    }
    busy = false;
    document.body.classList.remove("waiting");
    if (waiting) { waiting = false; ask(); }
  }
  ask();
}

// A slider of any value has no step of its own for the keyboard.
function arrows(input, step) {
  input.addEventListener("keydown", (event) => {
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
    if (!way) return;
    event.preventDefault();
    input.value = Number(input.value) + way * step;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

function walk() {
  const form = byId("controls"), ways = html("fieldset", form);
  html("legend", ways, "Walk through");
  const place = html("div", form);
  content.walks.forEach((way, number) => {
    const label = html("label", ways);
    label.className = "way";
    const button = html("input", label);
    Object.assign(button, { type: "radio", name: "walk", checked: number === 0, value: number });
    label.append(" " + way.title);
    button.addEventListener("change", () => enter(way));
  });
  function enter(way) {
    place.replaceChildren();
    const last = way.states.length - 1;
    const told = (index) => String(way.states[index].setting[way.field]);
    const input = range(place, way.field, way.field, 0, last, 1, way.field === "labels" ? 0 : last, told);
    input.addEventListener("input", () => show(way.states[Number(input.value)]));
    show(way.states[Number(input.value)]);
  }
  enter(content.walks[0]);
}

for (const button of document.querySelectorAll("input[name=paper]"))
  button.addEventListener("change", () => { document.documentElement.dataset.paper = button.value; if (shown) show(shown); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (shown) show(shown); });
byId("save").addEventListener("click", () => { if (shown) download("featavg-state.json", "application/json", JSON.stringify(shown, null, 1)); });
byId("copy").addEventListener("click", async () => {
  try { await navigator.clipboard.writeText(byId("code").textContent); byId("copy").textContent = "Copied"; }
  catch { getSelection().selectAllChildren(byId("code")); byId("copy").textContent = "Selected; copy it by keyboard"; }
});
if (content.live) live(); else walk();
