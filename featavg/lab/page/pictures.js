"use strict";
// Draws a state that Python computed, as SVG; nothing is computed here but where things lie.
const byId = (id) => document.getElementById("lab-" + id);
let shown = null;  // the state
let looked = 28;  // of the radius that is looked at, among those of the curve

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

// Colours are names, so that a change of paper needs no new drawing.
const ink = (name) => `var(--${name})`;

// From `low` through `mid` to `high` as the share goes from -1 to 1.
const blend = (share) =>
  `color-mix(in srgb, ${ink(share < 0 ? "low" : "high")} ${(100 * Math.min(Math.abs(share), 1)).toFixed(1)}%, ${ink("mid")})`;

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
  values.forEach((row, r) => row.forEach((value, c) => {
    const at = { x: LEFT + c * cell, y: TOP + r * tall, width: cell + 0.3, height: tall + 0.3 };
    make("title", {}, make("rect", { ...at, fill: blend(value) }, svg), `neuron ${r}, feature ${c}: ${value}`);
    if (cell > 24 && tall > 14)
      make("text", { x: at.x + cell / 2, y: at.y + tall / 2 + 3.5, "text-anchor": "middle", "font-size": 10,
        fill: Math.abs(value) > 0.6 ? ink("paper") : ink("ink") }, svg,
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
  make("text", { x: right + 28, y: TOP + 10, fill: ink("ink") }, svg, "1");
  make("text", { x: right + 28, y: below, fill: ink("ink") }, svg, "−1");
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
    entries.push([`${line.name}: ${line.y[looked].toFixed(2)}`, look]);
  }
  marks.forEach(({ x, name }, number) => {
    const [at, top] = place(x, 1);
    make("line", { x1: at, x2: at, y1: top, y2: HEIGHT - BOTTOM, stroke: ink("soft"), "stroke-dasharray": "3 3" }, svg);
    const late = at > WIDTH * 0.6;
    make("text", { x: late ? at + 4 : at - 4, y: HEIGHT - BOTTOM - 8 - 14 * number, "text-anchor": late ? "start" : "end",
      fill: ink("soft"), "font-size": 11 }, svg, name.split(",")[0]);
  });
  const [at, top] = place(radii[looked], 1);
  make("line", { x1: at, x2: at, y1: top, y2: HEIGHT - BOTTOM, stroke: ink("ink"), "stroke-width": 1.2, class: "radius" }, svg);
  legend(svg, entries, LEFT, HEIGHT + 10);
  caption("curve", `Share of test points whose class survives every perturbation of a size; the numbers are at ${short(radii[looked])}. ` +
    (lines.some((line) => line.kind === "exact") ? "The solid line is proved; an attack can only lie above it."
      : "Attacks alone: the truth lies on or below each of these lines."));
}

function drawSlice(cut, reach) {
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
  const frame = make("clipPath", { id: "lab-frame" }, svg);
  make("rect", { x: middle[0] - room, y: TOP, width: 2 * room, height: 2 * room }, frame);
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
  if (reach > 0 && reach < 1.4 * end)
    make("circle", { cx: x, cy: y, r: reach / end * room, fill: "none", stroke: ink("ink"), "stroke-width": 1.2, "clip-path": "url(#lab-frame)",
      class: "radius" }, svg);
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
  make("text", { x: WIDTH / 2, y: HEIGHT - 8, "text-anchor": "middle", fill: ink("soft"), "font-size": 11 }, svg,
    `circles: nearest adversarial point ${short(radius)} (dashed), looked at ${short(reach)}`);
  caption("slice", "● a typical test point, × the nearest adversarial point, " +
    (universal === null ? "" : "△ where the universal direction fools, ") + "the line is the decision boundary.");
}
