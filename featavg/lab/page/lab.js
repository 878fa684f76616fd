// Where states come from: the server that sent this page, for every setting, or the page itself, for those inside it.
const root = document.getElementById("lab");

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
  byId("range-radius").dispatchEvent(new Event("input"));  // whose place now means another radius
}

// The two pictures that know a radius.
function look() {
  drawCurve(shown.curve);
  drawSlice(shown.slice, shown.curve.radii[looked]);
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

// A saved picture has its colours as numbers, since it leaves the page that names them.
function saveFigure(id) {
  const svg = byId(id).querySelector("svg"), copy = svg.cloneNode(true), drawn = svg.querySelectorAll("*");
  const plain = (colour) => colour.replace(/^color\(srgb ([\d.]+) ([\d.]+) ([\d.]+).*$/,
    (all, ...parts) => `rgb(${parts.slice(0, 3).map((part) => Math.round(255 * part))})`);
  copy.querySelectorAll("*").forEach((one, number) => {
    for (const name of ["fill", "stroke"])
      if (one.hasAttribute(name)) one.setAttribute(name, plain(getComputedStyle(drawn[number])[name]));
  });
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
  Object.assign(input, { type: "range", name, min: low, max: high, step, id: "lab-range-" + name });
  label.htmlFor = input.id;
  input.value = value;
  const tell = () => { output.textContent = told(Number(input.value)); input.setAttribute("aria-valuetext", output.textContent); };
  input.addEventListener("input", tell);
  tell();
  return input;
}

// How far one looks: moves in the pictures alone.
function radius(form) {
  const told = (index) => (shown ? short(shown.curve.radii[index]) : "");
  const input = range(form, "radius", "radius that is looked at", 0, 80, 1, looked, told);
  input.addEventListener("input", () => { looked = Number(input.value); if (shown) look(); });
}

// Live: the latest setting is asked for as soon as the answer to an earlier one is here.
function live(content) {
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
  radius(form);
  async function ask() {
    if (busy) { waiting = true; return; }
    busy = true;
    root.classList.add("waiting");
    try {
      const answer = await fetch("state", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(setting) });
      const found = await answer.json();
      trouble(found.impossible ? `${found.impossible}. The pictures are of the setting before.` : "");
      if (!found.impossible) show(found);
    } catch {
      trouble("The server does not answer; start `featavg lab` again and open the address that it prints.");
    }
    busy = false;
    root.classList.remove("waiting");
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

function walk(ways) {
  const form = byId("controls"), choice = html("fieldset", form);
  html("legend", choice, "Walk through");
  const sliders = html("div", form);
  radius(form);
  ways.forEach((way, number) => {
    const label = html("label", choice);
    label.className = "way";
    const button = html("input", label);
    Object.assign(button, { type: "radio", name: "lab-walk", checked: number === 0, value: number });
    label.append(" " + way.title);
    button.addEventListener("change", () => enter(way));
  });
  function enter(way) {
    sliders.replaceChildren();
    const inputs = way.fields.map(({ name, text, told, first }) =>
      range(sliders, name, text, 0, told.length - 1, 1, first, (index) => told[index]));
    // States lie in the order of the fields, the last one moving first.
    const number = () => inputs.reduce((found, input, field) => found * way.fields[field].told.length + Number(input.value), 0);
    const move = () => show(way.states[number()]);
    inputs.forEach((input) => input.addEventListener("input", move));
    move();
  }
  enter(ways[0]);
}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

byId("save").addEventListener("click", () => { if (shown) download("featavg-state.json", "application/json", JSON.stringify(shown, null, 1)); });
byId("copy").addEventListener("click", async () => {
  try { await navigator.clipboard.writeText(byId("code").textContent); byId("copy").textContent = "Copied"; }
  catch { root.querySelector("details").open = true; getSelection().selectAllChildren(byId("code")); byId("copy").textContent = "Selected; copy it by keyboard"; }
});
{
  const content = JSON.parse(byId("content").textContent);
  if (content.live) live(content);
  else unpacked(content.packed).then((states) => walk(states.ways));
}
