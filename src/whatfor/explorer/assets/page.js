// The page to question an agent. All numbers are Python's: this script asks for them (or reads what a report holds), scales and draws.
"use strict";
(() => {
const $ = (id) => document.getElementById(id);
const fixed = (number, digits = 3) => (number === null ? "?" : (Math.abs(number) < 0.5 * 10 ** -digits ? 0 : number).toFixed(digits));
const NOTHING = 1e-9; // less than this is rounding
const told = (number) => (Math.abs(number) > NOTHING && Math.abs(number) < 5e-4 ? number.toExponential(1) : fixed(number)); // however small
const short = (number, signed) => {
  const text = number.toFixed(Math.abs(number) < 10 ? 2 : Math.abs(number) < 100 ? 1 : 0);
  return signed && number > 0 ? "+" + text : text;
};

// -- what a report holds, or whom to ask -------------------------------------------------

class Missing extends Error {}
let held = null; // a report: {parts, root: {dropped, answers}}, opened where it is needed
const asked = new Map(); // promises of answers by request
const unsettled = new Set(); // requests that are waited for
const MOST_ASKED = 400;
let leaving = new AbortController(); // ends the requests of a question that nobody waits for any more

async function openReport() {
  const letters = $("data").textContent.trim();
  if (!letters) return;
  const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  held = JSON.parse(await new Response(stream).text());
}

function meant(thing) { // a reference's part
  while (thing !== null && typeof thing === "object" && !Array.isArray(thing) && "~r" in thing) thing = held.parts[thing["~r"]];
  return thing;
}

function unpacked(thing) { // the reverse of packing.py
  thing = meant(thing);
  if (Array.isArray(thing)) return thing.map(unpacked);
  if (thing === null || typeof thing !== "object") return thing;
  const [how] = Object.keys(thing);
  if (how === undefined || !how.startsWith("~")) {
    return Object.fromEntries(Object.entries(thing).map(([name, one]) => [name, unpacked(one)]));
  }
  const of = meant(thing[how]).map(meant);
  if (how === "~t") {
    const names = unpacked(of[0]), columns = unpacked(of[1]);
    return columns[0].map((_, row) => Object.fromEntries(names.map((name, i) => [name, columns[i][row]])));
  }
  if (how === "~o") return Object.fromEntries(of.map((pair) => [unpacked(pair[0]), unpacked(pair[1])]));
  const [rows, columns, ...rest] = of;
  const flat = how === "~b" ? [...rest[0]].map((mark) => mark === "1") : new Array(rows * columns).fill(0);
  if (how === "~m") rest[0].forEach((place, i) => { flat[place] = rest[1][i]; });
  return Array.from({ length: rows }, (_, row) => flat.slice(row * columns, (row + 1) * columns));
}

function requestOf(what, given) { // as report.py writes it
  const names = Object.keys(given).filter((name) => given[name] !== null && given[name] !== undefined).sort();
  return what + "?" + names.map((name) => `${name}=${given[name]}`).join("&");
}

function ask(what, given = {}) { // a promise of the answer; kept, so that nothing is asked twice
  const request = requestOf(what, given);
  if (!asked.has(request)) keep(request, held ? opened(request) : fetched(what, given));
  return asked.get(request);
}
function keep(request, answer) {
  asked.set(request, answer);
  unsettled.add(request);
  answer.then(() => unsettled.delete(request), () => { if (asked.get(request) === answer) asked.delete(request); });
  if (asked.size > MOST_ASKED) asked.delete(asked.keys().next().value);
}
async function opened(request) {
  const answers = meant(meant(held.root).answers);
  if (!Object.hasOwn(answers, request)) throw new Missing("not in this report");
  return unpacked(answers[request]);
}
async function fetched(what, given) {
  const kept = Object.entries(given).filter(([, one]) => one !== null && one !== undefined);
  const reply = await fetch(`api/${what}?${new URLSearchParams(kept)}`, { signal: leaving.signal }).catch(() => { throw new Error("the server does not answer; is it still running?"); });
  const answer = await reply.json().catch(() => ({ error: `the server answered ${reply.status}` }));
  if (answer.error) throw new Error(answer.error);
  return answer;
}

// -- drawing -----------------------------------------------------------------------------

const dark = matchMedia("(prefers-color-scheme: dark)");
const LOOK = JSON.parse($("look").textContent); // the colours of pictures
const SCALES = {
  light: { ...LOOK.colours, line: "#c8cdd2", wall: "#222222", series: ["#3a87c0", "#e08214", "#7a8794", "#2a9d6f"] },
  dark: {
    yellow: ["#1d2127", "#3b3420", "#6b5512", "#c58b00", "#ffd860"], green: ["#1d2127", "#1c352b", "#1f5f46", "#2fae7c", "#b4f5d6"],
    blue: ["#1d2127", "#1b3145", "#245a86", "#4f9fda", "#cfe8ff"], signed: ["#ffc37a", "#c06a0a", "#5e3a12", "#1d2127", "#3a3560", "#8073c8", "#d9d2ff"],
    line: "#414952", wall: "#e8eaed", series: ["#4f9fda", "#e8963c", "#9aa5b1", "#2fae7c"],
  },
};
const look = () => SCALES[dark.matches ? "dark" : "light"];
const NAMESPACE = "http://www.w3.org/2000/svg";
const FAINT = LOOK.faint;
const SMALLEST = 0.74; // no answer's picture is scaled down further: where it is wider than the screen, it can be moved
const WRITTEN = 27; // pixels: a cell with room for its number; so many columns get it, however wide that makes them
const MOST_WRITTEN = 20;
const MOST_SLANTED = 12; // columns with long names: a name each, aslant; of more, every so many
let hatches = 0;

function el(name, attributes = {}, ...children) {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
const text = (x, y, said, more = {}) => el("text", { x, y, "font-size": 12, fill: "currentColor", "font-family": "system-ui, sans-serif", ...more }, said);

function html(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function mixed(colours, stops, at) {
  let i = 1;
  while (i < stops.length - 1 && at > stops[i]) i += 1;
  const share = Math.min(1, Math.max(0, (at - stops[i - 1]) / (stops[i] - stops[i - 1])));
  const part = (colour, n) => parseInt(colour.slice(1 + 2 * n, 3 + 2 * n), 16);
  return [0, 1, 2].map((n) => Math.round(part(colours[i - 1], n) + share * (part(colours[i], n) - part(colours[i - 1], n))));
}
function coloured(number, scale, colour) {
  const colours = look()[scale.diverging ? "signed" : colour];
  const rgb = scale.diverging
    ? mixed(colours, colours.map((_, i) => i / (colours.length - 1)), 0.5 + number / scale.size / 2)
    : mixed(colours, LOOK.stops, Math.max(0, number) / scale.size);
  return { fill: `rgb(${rgb})`, ink: 0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2] < 128 ? "#ffffff" : "#1d2126" };
}

function faint(number, scale) { return Math.abs(number) < FAINT * scale.size; } // nothing to see
function written(number, signed) { const words = short(number, signed); return /[1-9]/.test(words) ? words : ""; } // a zero says nothing
function cut(words, room, size = 6.6) { // in the middle: what tells names apart is often their end
  const most = Math.max(3, Math.floor(room / size)), tail = Math.floor(0.4 * most);
  return words.length > most ? `${words.slice(0, most - tail - 1)}…${words.slice(-tail)}` : words;
}

function leaves(layout) { return layout.layout === "panels" ? layout.panels.flatMap(leaves) : [layout]; }
function numbersOf(layout) {
  return leaves(layout).flatMap((leaf) => {
    if (leaf.layout === "board") return leaf.layers.flatMap((layer) => layer.cells.flat());
    if (leaf.layout === "grid") return leaf.numbers.flat();
    return leaf.series.flatMap((one) => [...one.numbers, ...(one.low || []), ...(one.high || [])]);
  });
}
function scaleOf(layout) {
  const numbers = numbersOf(layout);
  let low = 0, high = 0; // a call with all of them as arguments fails where there are many
  for (const number of numbers) { low = Math.min(low, number); high = Math.max(high, number); }
  const diverging = Boolean(leaves(layout)[0]?.diverging);
  return { low, high, size: Math.max(-low, high) || 1, diverging };
}

function hatched(svg) { // what is not known
  const id = `hatch${hatches += 1}`;
  svg.append(el("defs", {}, el("pattern", { id, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    el("rect", { width: 7, height: 7, fill: look().blue[0] }), el("line", { x1: 0, y1: 0, x2: 0, y2: 7, stroke: look().line, "stroke-width": 3 }))));
  return `url(#${id})`;
}

// A cell that can be pointed at: by mouse, or by arrow keys from cell to cell and Enter.
function pickable(group, row, column, state, words, marked, pick, meant = () => state) {
  group.setAttribute("role", "button");
  group.setAttribute("tabindex", marked ? 0 : -1);
  group.setAttribute("aria-label", words);
  group.dataset.row = row;
  group.dataset.column = column;
  group.dataset.state = state;
  group.style.cursor = "pointer";
  group.addEventListener("click", (event) => pick(keyOf(meant(event)) === null ? state : meant(event)));
  group.addEventListener("keydown", (event) => {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (by) group.parentNode.querySelector(`[data-row="${row + by[0]}"][data-column="${column + by[1]}"]`)?.focus();
    else if (event.key === "Enter" || event.key === " ") pick(state);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

function board(layout, { scale, places, pick, small }) {
  const size = 62, left = small ? 2 : 22, top = layout.title && small ? 22 : 4;
  const width = left + layout.columns * size + 4, height = top + layout.rows * size + (small ? 4 : 22);
  const group = el("g"), cells = el("g");
  const unknown = layout.unknown && layout.unknown.flat().some(Boolean) ? hatched(group) : null;
  if (small && layout.title) group.append(text(left, 15, layout.title, { "font-size": 15, "font-weight": 600 }));
  const shown = layout.layers.some((layer) => layer.cells.flat().some((number) => number !== 0));
  for (let row = 0; row < layout.rows; row += 1) {
    for (let column = 0; column < layout.columns; column += 1) {
      const x = left + column * size, y = top + row * size, cell = el("g");
      const numbers = layout.layers.map((layer) => layer.cells[row][column]);
      const never = layout.unknown?.[row][column], hidden = never && numbers.every((number) => faint(number, scale));
      if (never) cell.append(el("rect", { x, y, width: size, height: size, fill: unknown }));
      if (!hidden) {
        const corners = [[[0, 0], [1, 0], [0, 1]], [[1, 0], [1, 1], [0, 1]]];
        layout.layers.forEach((layer, i) => {
          const { fill, ink } = never ? { fill: "none", ink: "currentColor" } : coloured(numbers[i], scale, layer.colour);
          cell.append(el("polygon", { fill, points: corners[i].map(([u, v]) => `${x + u * size},${y + v * size}`).join(" ") }));
          if (!faint(numbers[i], scale)) {
            cell.append(text(x + (i ? size - 4 : 4), y + (i ? size - 5 : 14), written(numbers[i], layout.diverging),
              { "font-size": small ? 13 : 12, fill: ink, "text-anchor": i ? "end" : "start" }));
          }
        });
      }
      cell.append(el("rect", { x, y, width: size, height: size, fill: "none", stroke: look().line }));
      const said = hidden ? "no experience" : shown ? layout.layers.map((layer, i) => `${layer.name} ${fixed(numbers[i])}`).join(", ") : "";
      const words = `row ${row}, column ${column}${said ? ": " + said : ""}`;
      cell.append(el("title", {}, words));
      const here = layout.at && layout.at[0] === row && layout.at[1] === column;
      const more = Math.abs(numbers[1]) > Math.abs(numbers[0]) ? 1 : 0; // what the cell shows more of
      const half = (event) => { // where both halves show something, the one that is pointed at
        const box = cell.getBoundingClientRect(), lower = (event.clientX - box.left) / box.width + (event.clientY - box.top) / box.height > 1 ? 1 : 0;
        return places[event.detail > 0 && !faint(numbers[lower], scale) ? lower : more][row][column];
      };
      if (pick && places && keyOf(places[more][row][column]) !== null) pickable(cell, row, column, places[more][row][column], `${words}; ask about the ${layout.piece} here`, here, pick, half);
      cells.append(cell);
    }
  }
  group.append(cells);
  for (const [row, column] of layout.walls) {
    group.append(el("line", { x1: left + (column + 1) * size, x2: left + (column + 1) * size, y1: top + row * size, y2: top + (row + 1) * size, stroke: look().wall, "stroke-width": 5 }));
  }
  group.append(el("rect", { x: left, y: top, width: layout.columns * size, height: layout.rows * size, fill: "none", stroke: look().wall, "stroke-width": 3 }));
  const roles = [...new Set(layout.marks.map(([, , , role]) => role).filter(Boolean))].sort().reverse(); // told apart by colour
  for (const [letter, row, column, role] of layout.marks) { // in the corner that the two halves leave free
    const x = left + (column + 1) * size - 11, y = top + row * size + 11;
    const plate = role ? ["#1f4fd1", "#c4161c"][roles.indexOf(role)] : "#666666";
    group.append(el("rect", { x: x - 8, y: y - 8, width: 16, height: 16, rx: 3, fill: plate, "pointer-events": "none" }),
      text(x, y + 5, letter, { "text-anchor": "middle", "font-weight": 700, "font-size": 13, fill: "#ffffff", "pointer-events": "none" }));
  }
  if (layout.at) {
    const [row, column] = layout.at;
    group.append(el("rect", { x: left + column * size + 1.5, y: top + row * size + 1.5, width: size - 3, height: size - 3, fill: "none", stroke: look().series[0], "stroke-width": 3, "pointer-events": "none" }));
    if (!small && !shown) group.append(text(left + (column + 0.5) * size, top + (row + 1) * size - 10, layout.piece, { "text-anchor": "middle", "font-size": 12, "font-weight": 700, "pointer-events": "none" }));
  }
  if (!small) {
    for (let i = 0; i < layout.columns; i += 1) group.append(text(left + (i + 0.5) * size, height - 7, String(i), { "text-anchor": "middle", "font-size": 12 }));
    for (let i = 0; i < layout.rows; i += 1) group.append(text(left - 8, top + (i + 0.5) * size + 4, String(i), { "text-anchor": "end", "font-size": 12 }));
  }
  const key = small ? "" : roles.map((role, i) => `${["blue", "red"][i]}: ${role}`).join(" · ");
  if (key) group.append(text(left, height + 9, key, { "font-size": 12 }));
  return { group, width, height: height + (key ? 18 : 0), legend: shown ? layout.layers.map((layer) => [layer.name, layer.colour]) : [] };
}

function grid(layout, { scale, places, pick, small, most }) {
  const rows = layout.rows.length, columns = layout.columns.length;
  const longest = Math.max(...layout.rows.map((word) => word.length));
  const left = Math.min(small ? 200 : 0.4 * most, 12 + 6.1 * longest + (layout.row_axis ? 16 : 0)), top = (small && layout.title ? 22 : 6) + (layout.beside ? 14 : 0);
  const beside = layout.beside ? 62 : 0, room = small ? 300 : Math.min(620, most - left - beside - 6);
  const cell = Math.max(small ? 13 : columns <= MOST_WRITTEN ? WRITTEN : 20, Math.min(small ? 44 : 60, room / columns));
  const tall = Math.max(16, Math.min(cell, small ? 30 : 40));
  const widest = Math.max(...layout.columns.map((word) => word.length)), step = Math.ceil((widest * 6.2 + 4) / cell), slanted = step > 1 && columns <= MOST_SLANTED;
  const below = slanted ? 16 + 3.6 * widest : 14; // where the words of columns end
  const width = left + columns * cell + beside + 6, height = top + rows * tall + below + 24;
  const group = el("g"), cells = el("g"), roomy = cell >= WRITTEN, shown = layout.numbers.flat().some((number) => number !== 0);
  const unknown = layout.unknown && layout.unknown.flat().some(Boolean) ? hatched(group) : null;
  if (small && layout.title) group.append(text(4, 15, layout.title, { "font-size": 14, "font-weight": 600 }));
  layout.numbers.forEach((numbers, row) => numbers.forEach((number, column) => {
    const x = left + column * cell, y = top + row * tall, one = el("g");
    const never = layout.unknown?.[row][column], hidden = never && faint(number, scale);
    const { fill, ink } = never ? { fill: unknown, ink: "currentColor" } : coloured(number, scale, "blue");
    one.append(el("rect", { x, y, width: cell, height: tall, fill, stroke: look().line, "stroke-width": 0.6 }));
    if (roomy && !faint(number, scale)) one.append(text(x + cell / 2, y + tall / 2 + 4, written(number, layout.diverging), { "text-anchor": "middle", "font-size": cell < 32 ? 10 : 11, fill: ink }));
    const [letter, , , name] = layout.marks.find(([, r, c]) => r === row && c === column) ?? [];
    if (letter && (faint(number, scale) || cell >= 36)) { // a number keeps the middle
      const empty = faint(number, scale) || !roomy;
      one.append(text(x + (empty ? cell / 2 : 8), y + (empty ? tall / 2 + 5 : 12), letter, { "text-anchor": "middle", "font-size": empty ? Math.min(14, cell / 2) : 10, "font-weight": 700, fill: ink, opacity: 0.7 }));
    }
    const words = `${layout.row_axis} ${layout.rows[row]}, ${layout.column_axis} ${layout.columns[column]}${name ? ` (${name})` : ""}${hidden ? ": no experience" : shown ? `: ${fixed(number)}${never ? ", though it has no experience there" : ""}` : ""}`.trim();
    one.append(el("title", {}, words));
    const here = layout.marked && layout.marked[0] === row && layout.marked[1] === column;
    if (pick && places && keyOf(places[row][column]) !== null) pickable(one, row, column, places[row][column], `${words}; ask about this state`, here, pick);
    cells.append(one);
  }));
  group.append(cells);
  if (layout.marked) group.append(el("rect", { x: left + layout.marked[1] * cell, y: top + layout.marked[0] * tall, width: cell, height: tall, fill: "none", stroke: look().series[1], "stroke-width": 3, "pointer-events": "none" }));
  layout.rows.forEach((word, row) => group.append(el("g", {}, text(left - 6, top + (row + 0.5) * tall + 4, cut(word, left - (layout.row_axis ? 26 : 10), 6.1), { "text-anchor": "end", "font-size": 11 }), el("title", {}, word))));
  layout.columns.forEach((word, column) => {
    const x = left + (column + 0.5) * cell, y = top + rows * tall + 14;
    if (slanted) group.append(text(0, 0, word, { "text-anchor": "end", "font-size": 11, transform: `translate(${x + 4} ${y}) rotate(-35)` }));
    else if (column % step === 0) group.append(text(x, y, word, { "text-anchor": "middle", "font-size": 11 }));
  });
  const key = small ? [] : new Set(layout.marks.map(([letter, , , name]) => `${letter}: ${name}`));
  group.append(text(left + (columns * cell) / 2, top + rows * tall + below + 17, [layout.column_axis, ...key].join(" · "), { "text-anchor": "middle", "font-size": 11 }));
  if (layout.row_axis) group.append(text(0, 0, layout.row_axis, { "text-anchor": "middle", "font-size": 11, transform: `translate(11 ${top + (rows * tall) / 2}) rotate(-90)` }));
  if (layout.beside) {
    group.append(text(width - 8, top - 4, layout.beside.name, { "text-anchor": "end", "font-size": 11, "font-style": "italic" }));
    layout.beside.numbers.forEach((number, row) => group.append(text(width - 8, top + (row + 0.5) * tall + 4, fixed(number), { "text-anchor": "end", "font-size": 11 })));
  }
  return { group, width, height, legend: shown ? [[layout.quantity, "blue"]] : [] };
}

function bars(layout, { scale, small, most }) {
  const longest = Math.max(4, ...layout.names.map((name) => name.length));
  const left = Math.min(small ? 190 : 0.5 * most, 18 + 6.8 * longest), room = small ? 210 : Math.max(120, Math.min(360, most - left - 70)), thick = layout.series.length > 1 ? 13 : 18;
  const step = thick * layout.series.length + 8, top = small && layout.title ? 24 : 6;
  const legend = layout.series.length > 1 ? 20 : 0, height = top + Math.max(1, layout.names.length) * step + 24 + legend, width = left + room + 70;
  const group = el("g"), reach = scale.high - scale.low || 1, zero = left + (-scale.low / reach) * room;
  const at = (number) => left + ((number - scale.low) / reach) * room;
  if (small && layout.title) group.append(text(4, 15, layout.title, { "font-size": 14, "font-weight": 600 }));
  const unknown = layout.unknown?.some(Boolean) ? hatched(group) : null;
  if (!layout.names.length) group.append(text(left, top + 16, "none", { "font-style": "italic" }));
  layout.names.forEach((name, i) => {
    const y = top + i * step;
    group.append(text(left - 6, y + (thick * layout.series.length) / 2 + 4, cut(name, left - 12), { "text-anchor": "end" }).appendChild(el("title", {}, name)).parentNode);
    layout.series.forEach((series, k) => {
      const number = series.numbers[i], high = y + k * thick;
      const bar = el("rect", { x: Math.min(zero, at(number)), y: high, width: Math.abs(at(number) - zero), height: thick - 2, fill: layout.unknown?.[i] ? unknown : look().series[k], stroke: layout.unknown?.[i] ? look().line : "none" });
      bar.append(el("title", {}, `${name}, ${series.name}: ${told(number)}`));
      group.append(bar);
      let end = Math.max(zero, at(number));
      if (series.low && series.high) {
        const middle = high + thick / 2 - 1;
        group.append(el("line", { x1: at(series.low[i]), x2: at(series.high[i]), y1: middle, y2: middle, stroke: "currentColor", "stroke-width": 1.5 }));
        end = Math.max(end, at(series.high[i]));
      }
      group.append(text(end + 5, high + thick - 4, told(number), { "font-size": 11 }));
    });
  });
  group.append(el("line", { x1: zero, x2: zero, y1: top - 2, y2: height - 22 - legend, stroke: "currentColor" }));
  group.append(text(left + room / 2, height - 8 - legend, layout.axis, { "text-anchor": "middle", "font-size": 11 }));
  if (legend) layout.series.forEach((series, k) => group.append(el("rect", { x: left + k * 130, y: height - 16, width: 11, height: 11, fill: look().series[k] }), text(left + k * 130 + 16, height - 6, cut(series.name, 110), { "font-size": 11 })));
  return { group, width, height, legend: [] };
}

function lines(layout, { small }) {
  const width = small ? 400 : 560, height = small ? 220 : 240, left = 52, bottom = 40, top = small && layout.title ? 26 : 10;
  const group = el("g"), ys = layout.series.flatMap((one) => one.numbers);
  if (small && layout.title) group.append(text(4, 15, layout.title, { "font-size": 14, "font-weight": 600 }));
  const x0 = Math.min(...layout.x, 0), x1 = Math.max(...layout.x, 1), y0 = Math.min(0, ...ys), y1 = Math.max(...ys, y0 + 1e-12);
  const px = (x) => left + ((x - x0) / (x1 - x0 || 1)) * (width - left - 14), py = (y) => height - bottom - ((y - y0) / (y1 - y0)) * (height - bottom - top);
  group.append(el("path", { d: `M${left} ${top}V${height - bottom}H${width - 14}`, fill: "none", stroke: "currentColor" }));
  layout.series.forEach((one, k) => group.append(el("polyline", { points: one.numbers.map((y, i) => `${px(layout.x[i])},${py(y)}`).join(" "), fill: "none", stroke: look().series[k], "stroke-width": 2 })));
  group.append(text(left - 6, py(y1) + 5, short(y1), { "text-anchor": "end", "font-size": 11 }), text(left - 6, py(y0) + 4, short(y0), { "text-anchor": "end", "font-size": 11 }));
  group.append(text(left, height - bottom + 15, String(x0), { "font-size": 11 }), text(width - 14, height - bottom + 15, x1.toLocaleString("en"), { "text-anchor": "end", "font-size": 11 }));
  group.append(text((left + width) / 2, height - 8, layout.x_axis, { "text-anchor": "middle", "font-size": 11 }));
  group.append(text(0, 0, layout.y_axis, { "text-anchor": "middle", "font-size": 11, transform: `translate(13 ${(height - bottom + top) / 2}) rotate(-90)` }));
  return { group, width, height, legend: [] };
}

function panels(layout, { scale, places, pick, small }) {
  const heads = layout.column_heads.length || layout.row_heads.length;
  const made = layout.panels.map((panel, i) => KINDS[panel.layout](layout.row_heads.length || layout.column_heads.length ? { ...panel, title: "" } : panel,
    { scale: layout.shared ? scale : scaleOf(panel), places: places?.[i], pick: places ? pick : null, small: true }));
  const titles = heads ? [] : layout.panels.map((panel) => 8 + 8.4 * (panel.title?.length ?? 0)); // titles take their room, too
  const wide = Math.max(...made.map((one) => one.width), ...titles) + 14, left = layout.row_heads.length ? 110 : 0, group = el("g");
  const many = heads ? layout.columns : Math.max(1, Math.min(layout.columns, Math.floor($("answers").clientWidth / (SMALLEST * wide)))); // as many as can be read
  const above = small && layout.title ? 24 : 0;
  let y = above + (layout.column_heads.length ? 34 : 0);
  if (above) group.append(text(0, 16, layout.title, { "font-size": 17, "font-weight": 700 }));
  layout.column_heads.forEach((head, i) => head.split("\n").forEach((line, k) => group.append(text(left + (i + 0.5) * wide, above + 13 + 14 * k, line, { "text-anchor": "middle", "font-weight": 600 }))));
  for (let row = 0; row * many < made.length; row += 1) {
    const ones = made.slice(row * many, (row + 1) * many), tall = Math.max(...ones.map((one) => one.height)) + 8;
    (layout.row_heads[row] ?? "").split("\n").forEach((line, k) => group.append(text(left - 8, y + tall / 2 + 14 * k, line, { "text-anchor": "end", "font-weight": 600 })));
    ones.forEach((one, i) => {
      one.group.setAttribute("transform", `translate(${left + i * wide} ${y})`);
      group.append(one.group);
    });
    y += tall;
  }
  const legend = layout.shared ? made.find((one) => one.legend.length)?.legend ?? [] : [];
  return { group, width: left + Math.min(many, made.length) * wide, height: y, legend };
}
const KINDS = { board, grid, bars, lines, panels };

function drawn(layout, { places = null, pick = null, most, legible = true }) {
  const scale = scaleOf(layout), { group, width, height, legend } = KINDS[layout.layout](layout, { scale, places, pick, most });
  const foot = legend.length ? 34 : 0, each = 104 + 7.4 * Math.max(0, ...legend.map(([name]) => name.length)), total = Math.max(width, legend.length * each);
  const svg = el("svg", { viewBox: `0 0 ${total} ${height + foot}`, width: Math.min(most, total), role: pick ? "group" : "img", "aria-label": [layout.title, leaves(layout)[0]?.quantity ?? leaves(layout)[0]?.axis, layout.caption].filter(Boolean).join(". ") || "the state" });
  if (legible) svg.style.minWidth = `${SMALLEST * total}px`;
  svg.append(group);
  legend.forEach(([name, colour], i) => { // a key of colours: from nothing to the largest number
    const x = 4 + i * each, y = height + 6, steps = 24, low = scale.diverging ? -scale.size : 0;
    for (let k = 0; k < steps; k += 1) svg.append(el("rect", { x: x + k * 3.4, y, width: 3.6, height: 10, fill: coloured(low + ((scale.size - low) * k) / (steps - 1), scale, colour).fill }));
    svg.append(el("rect", { x, y, width: steps * 3.4, height: 10, fill: "none", stroke: look().line }),
      text(x, y + 23, short(low), { "font-size": 11 }), text(x + steps * 3.4, y + 23, short(scale.size), { "font-size": 11, "text-anchor": "end" }),
      text(x + steps * 3.4 + 6, y + 9, name, { "font-size": 12 }));
  });
  return svg;
}

// -- downloads -----------------------------------------------------------------------------

function fileOf(question) { return `whatfor-${question}-${here.state}-${about.actions[now.action].replace(/\W+/g, "-")}`; }
function offer(name, blob) {
  const link = html("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
function alone(svg, heads) { // a drawing that needs no page: it says itself what it shows
  const [, , across, down] = svg.getAttribute("viewBox").split(" ").map(Number), above = 10 + 18 * heads.length;
  const width = Math.max(across, 16 + 7.4 * Math.max(...heads.map((line) => line.length))), height = down + above;
  const copy = el("svg", { xmlns: NAMESPACE, viewBox: `0 0 ${width} ${height}`, width, height, color: getComputedStyle(document.documentElement).color },
    el("rect", { width, height, fill: getComputedStyle(document.documentElement).backgroundColor }),
    ...heads.map((line, i) => text(8, 20 + 18 * i, line, { "font-size": 13, "font-weight": i ? 400 : 700 })),
    el("g", { transform: `translate(0 ${above})` }, ...[...svg.childNodes].map((one) => one.cloneNode(true))));
  return { width, height, blob: new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }) };
}
async function asPng(svg, heads) {
  const { width, height, blob } = alone(svg, heads), image = new Image(), canvas = document.createElement("canvas");
  image.src = URL.createObjectURL(blob);
  await image.decode();
  canvas.width = 2 * width;
  canvas.height = 2 * height;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return new Promise((done) => { canvas.toBlob(done, "image/png"); });
}

// -- what is shown now ---------------------------------------------------------------------

const now = { state: null, action: null, instead: null, as_of: null, episode: null, step: 0 };
let about = null, here = null, episode = null, turn = 0, playing = null;
function nextTurn() {
  leaving.abort();
  leaving = new AbortController();
  for (const request of unsettled) asked.delete(request); // whoever asks again, asks anew
  unsettled.clear();
  $("answers").setAttribute("aria-busy", "true");
  return (turn += 1);
}

function linkOf() {
  const kept = Object.entries(now).filter(([, value]) => value !== null && value !== undefined);
  return "#" + kept.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
}
function fromLink() {
  return Object.fromEntries(location.hash.slice(1).split("&").filter((pair) => pair.includes("=")).map((pair) => {
    const at = pair.indexOf("=");
    try { return [pair.slice(0, at), decodeURIComponent(pair.slice(at + 1))]; } catch { return [pair.slice(0, at), ""]; }
  }));
}
function remember(anew) { // a new question can be left by going back; a step of an episode is the same one, moved
  const link = linkOf();
  $("link").setAttribute("href", link);
  try { history[anew && link !== location.hash ? "pushState" : "replaceState"](null, "", link); } catch { /* a page within a notebook has no address of its own */ }
}

async function show(change, anew = false) { // whether that could be shown; if not, what was asked before stays
  const before = { ...now };
  Object.assign(now, change);
  const mine = nextTurn();
  const done = await shown(mine, before, anew);
  if (mine === turn) $("answers").setAttribute("aria-busy", "false");
  return done;
}

async function shown(mine, before, anew) {
  try {
    const as_of = now.as_of === about.checkpoints.at(-1) ? null : now.as_of, { state, action, instead } = now;
    const first = !held && instead === null && /^\d+$/.test(state) ? ask("answer", { question: "intention", state, action, as_of }) : null; // on its way already
    const found = await ask("state", { state, as_of });
    if (first && action === null) keep(requestOf("answer", { question: "intention", state, action: found.best, as_of }), first);
    if (mine !== turn) return false;
    here = found;
    now.state = found.key;
    problem("");
    if (now.as_of === about.checkpoints.at(-1)) now.as_of = null; // that is the present
    if (episode && episode.steps[now.step]?.state !== now.state) {
      const at = episode.steps.findIndex((one) => one.state === now.state);
      if (at >= 0) now.step = at;
    }
    now.action ??= found.best;
    if (now.instead === now.action) now.instead = null;
  } catch (error) {
    if (mine !== turn) return false;
    Object.assign(now, before);
    problem(error.message);
    return false;
  }
  remember(anew);
  showQuestion();
  showEpisode();
  await showAnswers(mine);
  return true;
}

function problem(said) { $("problem").textContent = said; }
function trouble(error) {
  return html("p", { className: error instanceof Missing ? "missing" : "error" }, error.message);
}

function keepingFocus(within, work) { // what is drawn anew keeps the focus where it was
  const at = document.activeElement, mine = within.contains(at) && at !== within;
  const which = !mine ? null : at.type === "radio" ? `input[name="${at.name}"][value="${at.value}"]` : at.dataset.row !== undefined ? `[data-row="${at.dataset.row}"][data-column="${at.dataset.column}"]` : at.id ? `#${CSS.escape(at.id)}` : null;
  work();
  if (which) within.querySelector(which)?.focus({ preventScroll: true });
}

function showQuestion() {
  $("state").value = here.seen ?? here.words;
  $("here").textContent = here.words + (here.seen ? `; it sees ${here.seen}` : "");
  keepingFocus($("actions"), () => $("actions").tBodies[0].replaceChildren(...about.actions.map((name, action) => {
    const untried = here.tried !== null && here.tried[action] === 0;
    const pick = (kind, label) => {
      const input = html("input", { type: "radio", name: kind, value: action, checked: now[kind] === action, disabled: kind === "instead" && now.action === action });
      input.setAttribute("aria-label", label);
      input.addEventListener("change", () => show({ [kind]: action }, true));
      return html("td", { className: "pick" }, input);
    };
    const value = untried && !about.trust ? "no experience" : fixed(here.values[action], 4);
    const head = html("th", { scope: "row" }, name);
    return html("tr", { className: [action === here.best && !(untried && !about.trust) && "best", untried && "unknown"].filter(Boolean).join(" ") }, head,
      html("td", { className: "number value" }, value), html("td", { className: "number" }, here.tried === null ? "?" : here.tried[action].toLocaleString("en")),
      pick("action", `why ${name}`), pick("instead", `instead of ${name}`));
  })));
  const points = about.checkpoints;
  if (points.length) {
    const as_of = now.as_of ?? points.at(-1);
    $("when").textContent = as_of === points.at(-1) ? `the end, episode ${as_of.toLocaleString("en")}` : `episode ${as_of.toLocaleString("en")}`;
    const nearest = points.reduce((best, one, i) => (Math.abs(one - as_of) < Math.abs(points[best] - as_of) ? i : best), 0);
    $("time").value = nearest;
    $("time").setAttribute("aria-valuetext", $("when").textContent);
    $("any-time").value = as_of;
    showCurve(as_of);
  }
}

function showCurve(as_of) {
  if (!about.curve) return;
  const { episodes, returns } = about.curve, width = 340, height = 84;
  const last = Math.log1p(episodes.at(-1)), low = Math.min(...returns), high = Math.max(...returns, low + 1e-9);
  const px = (x) => 6 + (Math.log1p(x) / last) * (width - 12), py = (y) => 6 + ((high - y) / (high - low)) * (height - 42);
  const svg = el("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": `mean returns along training, from ${fixed(low, 1)} to ${fixed(high, 1)}` });
  svg.append(el("polyline", { points: episodes.map((x, i) => `${px(x)},${py(returns[i])}`).join(" "), fill: "none", stroke: look().series[2], "stroke-width": 1.5 }),
    el("line", { x1: px(as_of), x2: px(as_of), y1: 2, y2: height - 22, stroke: look().series[1], "stroke-width": 2 }),
    ...about.checkpoints.map((point) => el("circle", { cx: px(point), cy: height - 24, r: 2.5, fill: "currentColor" })),
    text(6, height - 4, `mean returns, ${fixed(low, 1)} to ${fixed(high, 1)}; episodes on a log scale`, { "font-size": 10 }));
  $("curve").replaceChildren(svg);
}

// -- the episode -----------------------------------------------------------------------------

async function openEpisode(key) {
  stop();
  const mine = nextTurn();
  try {
    const found = await ask("episode", { key });
    if (mine !== turn) return false;
    episode = found;
    now.episode = key;
    if (![...$("episodes").options].some((option) => option.value === key)) $("episodes").append(html("option", { value: key }, episode.title));
    $("scrubber").max = Math.max(0, episode.steps.length - 1);
    return true;
  } catch (error) {
    if (mine !== turn) return false;
    problem(`${key.replace(/^past:/, "episode ")}: ${error.message}`);
    $("answers").setAttribute("aria-busy", "false");
    return false;
  } finally {
    if (mine === turn) $("episodes").value = now.episode;
  }
}
async function replay(key) { if (await openEpisode(key)) await goTo(0, true); }
function goTo(step, anew = false) {
  if (!episode?.steps.length) return Promise.resolve();
  const at = Math.max(0, Math.min(episode.steps.length - 1, step)), one = episode.steps[at];
  return show({ step: at, state: one.state, action: now.as_of === null ? one.action : null }, anew); // of an earlier time, what was best then
}
function showEpisode() {
  keepingFocus($("board"), () => $("board").replaceChildren(here.picture ? drawn(here.picture, { places: here.places, pick: choose, most: 330, legible: false }) : "", html("p", { className: "small" }, here.picture?.title ?? "")));
  const one = episode?.steps[now.step], on = one && one.state === now.state;
  $("scrubber").value = now.step;
  if (!episode?.steps.length) { $("step").textContent = ""; return; }
  const last = now.step === episode.steps.length - 1, more = episode.length - episode.steps.length;
  const ending = !last ? "" : episode.ending === null ? `; ${more.toLocaleString("en")} more steps are not shown` : `; then: ${episode.ending}`;
  const whose = now.as_of !== null && episode.key.startsWith("greedy:") ? " (as it plays now)" : "";
  $("step").textContent = on ? `step ${now.step + 1} of ${episode.steps.length}: ${about.actions[one.action]}, paid ${short(one.reward, true)}${ending}${whose}` : "off the episode";
  $("scrubber").setAttribute("aria-valuetext", $("step").textContent);
}
let keys = null; // of a report: the keys of its states by their indices
function keyOf(state) { // how to ask about a state that a cell stands for; null: there is none, or this report does not hold it
  if (state < 0) return null;
  if (!held || holds("state", { state: String(state) })) return String(state);
  keys ??= new Map(statesHeld().map((one) => [one.state, one.key]));
  return keys.get(state) ?? null;
}
function choose(state) {
  stop();
  show({ state: keyOf(state), action: null }, true);
}
function stop() {
  if (playing === null) return;
  clearTimeout(playing.timer);
  playing = null;
  $("play").textContent = "play";
  $("play").setAttribute("aria-pressed", "false");
}
function play() {
  if (playing !== null) { stop(); return; }
  if (!episode?.steps.length) return;
  $("play").textContent = "pause";
  $("play").setAttribute("aria-pressed", "true");
  const mine = (playing = { timer: null });
  const on = async (step) => {
    await goTo(step);
    if (playing !== mine) return;
    if (now.step < episode.steps.length - 1) mine.timer = setTimeout(() => on(now.step + 1), 700);
    else stop();
  };
  on(now.step >= episode.steps.length - 1 ? 0 : now.step + 1);
}

// -- the answers -----------------------------------------------------------------------------

async function showAnswers(mine) {
  const foil = now.instead !== null, common = { state: now.state, action: now.action, as_of: now.as_of };
  const first = foil ? "contrast" : "intention";
  const order = [first, ...Object.keys(about.questions).filter((question) => question !== "intention" && question !== "contrast")];
  const articles = order.map((question) => articleOf(question));
  for (const old of [...$("answers").children]) if (!articles.includes(old)) old.remove();
  articles.forEach((article, i) => { if ($("answers").children[i] !== article) $("answers").insertBefore(article, $("answers").children[i] ?? null); });
  const load = async (question, article) => {
    const said = givenTo(question), given = { question, ...common, ...said };
    article.setAttribute("aria-busy", "true");
    let content;
    try {
      if (about.without[question]) throw new Missing(about.without[question]);
      const open = about.questions[question].parameters.find((one) => one.needed && said[one.name] === null);
      if (open) throw new Missing(`say ${open.says}`);
      const found = await ask("answer", given);
      if (mine !== turn) return;
      content = answered(question, found);
    } catch (error) {
      if (mine !== turn) return;
      content = [html("header", {}, html("h2", {}, titleOf(question))), formOf(question), trouble(error)];
    }
    keepingFocus(article, () => article.replaceChildren(...content));
    for (const one of article.querySelectorAll("figure")) one.classList.toggle("wide", one.scrollWidth > one.clientWidth + 1);
    article.setAttribute("aria-busy", "false");
    article.dataset.request = requestOf("answer", given);
  };
  await load(order[0], articles[0]);
  if (mine !== turn) return;
  await Promise.all(order.slice(1).map((question, i) => load(question, articles[i + 1])));
}

function titleOf(question) { return about.questions[question].title; }
const keyed = (question, name) => `${question}.${name}`; // what is said to a question, in links
function givenTo(question) { // what it takes besides a state and an action: as said, or as suggested where something has to be
  return Object.fromEntries(about.questions[question].parameters.map(({ name, kind, needed, suggestions }) => {
    const suggested = needed ? suggestions[0] ?? null : null;
    return [name, (kind === "action" ? now[name] : now[keyed(question, name)]) ?? suggested];
  }));
}
function formOf(question) { // where that is said; a report holds the suggestions alone
  const said = givenTo(question), form = html("div", { className: "given" });
  for (const { name, says, kind, suggestions } of about.questions[question].parameters) {
    if (kind === "action" || (held && !suggestions.length)) continue;
    const id = `given-${question}-${name}`, offered = suggestions.map((one) => html("option", { value: one }, one));
    const field = held ? html("select", { id }, ...offered) : html("input", { id, type: kind === "number" ? "number" : "text", min: 0, autocomplete: "off" });
    field.value = said[name] ?? "";
    field.addEventListener("change", () => show({ [keyed(question, name)]: field.value || null }, true));
    form.append(html("label", { htmlFor: id }, says), field);
    if (!held && suggestions.length) {
      field.setAttribute("list", `${id}-list`);
      form.append(html("datalist", { id: `${id}-list` }, ...offered));
    }
  }
  return form;
}

function articleOf(question) {
  const made = $(`answer-${question}`) ?? html("article", { id: `answer-${question}` });
  if (!made.firstChild) made.append(html("header", {}, html("h2", {}, titleOf(question))));
  return made;
}

function answered(question, found) {
  const header = html("header", {}, html("h2", {}, titleOf(question)));
  if (found.badge) header.append(html("span", { className: `badge ${found.badge.kind}`, title: found.badge.about }, found.badge.words));
  const sentences = found.answer.sentences, content = [header, formOf(question)];
  content.push(html("p", { className: "lead" }, sentences[0] ?? ""));
  if (found.strip?.length) content.push(strip(found));
  found.pictures.forEach((layout, i) => content.push(figure(question, layout, i)));
  if (sentences.length > 1) content.push(html("pre", {}, sentences.slice(1).join("\n")));
  if (found.left_out) content.push(html("p", { className: "small" }, `${found.left_out.toLocaleString("en")} lighter updates are not listed here.`));
  const json = html("button", { type: "button" }, "JSON");
  json.setAttribute("aria-label", `download the answer as JSON: ${titleOf(question)}`);
  json.addEventListener("click", () => offer(`${fileOf(question)}.json`, new Blob([JSON.stringify(found.answer, null, 1)], { type: "application/json" })));
  content.push(html("div", { className: "downloads" }, json));
  return content;
}

function figure(question, layout, i) {
  const ofMap = question === "intention" || (question === "contrast" && i === 1) ? here.map : null, pick = ofMap ? choose : null;
  const svg = drawn(layout, { places: ofMap, pick, most: layout.layout === "board" ? 420 : Math.min(1000, $("answers").clientWidth) });
  const name = fileOf(question) + (i ? `-${i + 1}` : "");
  const button = (kind, work) => {
    const made = html("button", { type: "button" }, kind);
    made.setAttribute("aria-label", `download this picture as ${kind}: ${layout.title}`);
    made.addEventListener("click", work);
    return made;
  };
  const what = leaves(layout)[0]?.diverging ? leaves(layout)[0].quantity : layout.layout === "bars" ? layout.axis : "";
  const titled = [layout.title, what].filter(Boolean).join(" – "), heads = [titled, here.words + (now.as_of === null ? "" : `, as of episode ${now.as_of.toLocaleString("en")}`)];
  const caption = html("figcaption", {}, [titled, question === "intention" ? layout.caption : ""].filter(Boolean).join(" – "));
  return html("figure", {}, svg, caption, html("div", { className: "downloads" },
    button("SVG", () => offer(`${name}.svg`, alone(svg, heads).blob)), button("PNG", async () => offer(`${name}.png`, await asPng(svg, heads)))));
}

function strip(found) { // the episodes that a value comes from; each can be replayed
  const width = Math.min(900, $("answers").clientWidth), height = 74, last = Math.max(1, now.as_of ?? about.episodes), most = Math.max(...found.strip.map((one) => one.weight), 1e-12);
  const svg = el("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "group", "aria-label": "the episodes it comes from, by weight; choose one to replay it" });
  svg.append(el("line", { x1: 8, x2: width - 8, y1: height - 18, y2: height - 18, stroke: "currentColor" }),
    text(8, height - 4, "episode 0", { "font-size": 11 }), text(width - 8, height - 4, `episode ${last.toLocaleString("en")}`, { "font-size": 11, "text-anchor": "end" }));
  found.strip.forEach((one, i) => {
    const x = 8 + (one.episode / last) * (width - 16), tall = 6 + (one.weight / most) * (height - 30);
    const words = `episode ${one.episode.toLocaleString("en")}: weight ${told(one.weight)}, forgetting it would take away ${told(one.influence)}`;
    const there = !held || holds("episode", { key: `past:${one.episode}` });
    const tick = el("g", { role: "button", tabindex: i === found.strip.length - 1 ? 0 : -1, "aria-label": `${words}; ${there ? "replay it" : "not in this report"}`, "data-episode": one.episode, opacity: there ? 1 : 0.4, "aria-disabled": there ? null : "true" },
      el("rect", { x: x - 4, y: 0, width: 8, height: height - 18, fill: "transparent" }),
      el("rect", { x: x - 1.5, y: height - 18 - tall, width: 3, height: tall, fill: look().series[one.influence < 0 ? 1 : 0] }), el("title", {}, there ? words : `${words} (not in this report)`));
    tick.style.cursor = "pointer";
    const again = () => replay(`past:${one.episode}`);
    tick.addEventListener("click", again);
    tick.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") again();
      else if (event.key === "ArrowLeft") tick.previousElementSibling?.focus?.();
      else if (event.key === "ArrowRight") tick.nextElementSibling?.focus?.();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    svg.append(tick);
  });
  return html("figure", {}, svg, html("figcaption", {}, `the heaviest episodes behind this value${found.strip.some((one) => one.influence < 0) ? "; orange: without it, the value would be higher" : ""}; click one to replay it${held ? " (faint: not in this report)" : ""}`));
}

// -- beginning -------------------------------------------------------------------------------

function holds(what, given) { return Object.hasOwn(meant(meant(held.root).answers), requestOf(what, given)); }
function statesHeld() {
  if (!held) return [];
  const answers = meant(meant(held.root).answers);
  return Object.keys(answers).filter((request) => request.startsWith("state?state=")).map((request) => unpacked(answers[request]));
}
function answeredFor() { // keys of the states that a report answers for; of others, on past episodes, it knows the values only
  return new Set(Object.keys(meant(meant(held.root).answers)).map((request) => /^answer\?action=\d+&question=intention&state=(.*)$/s.exec(request)?.[1]));
}
function plainly(words) { return ` ${words.toLowerCase().replace(/[^\p{L}\p{N}.°+-]+/gu, " ").trim()} `; } // however it is punctuated
function stateMeant(typed) { // of a report: among what it holds; a server understands words itself
  const said = typed.trim();
  if (!held) return said;
  const states = statesHeld(), key = /^\d+$/.test(said) ? String(Number(said)) : said.replaceAll(" ", "");
  const same = states.find((one) => one.key === key || String(one.state) === key || plainly(one.words) === plainly(said));
  if (same) return same.key;
  if (/^\d+$/.test(said) && Number(said) < about.states) throw new Missing(`state ${said} is not in this report`);
  const fit = /[\p{L}]/u.test(said) ? states.filter((one) => plainly(one.words).includes(plainly(said))) : [];
  if (fit.length === 1) return fit[0].key;
  if (fit.length) throw new Error(`${fit.length} states of this report fit ${JSON.stringify(said)}; say more`);
  throw new Missing(`${JSON.stringify(said)} is not in this report. Write a state like this: ${JSON.stringify(states[0]?.words ?? about.example)}`);
}
function saidIn(link) { // to each question; what is not said is not kept
  const names = Object.entries(about.questions).flatMap(([question, { parameters }]) => parameters.filter(({ kind }) => kind !== "action").map(({ name }) => keyed(question, name)));
  return Object.fromEntries(names.map((name) => [name, link[name] ?? null]));
}
function timeMeant(said) { // a number of episodes; null: the end
  if (said === undefined) return null;
  if (!/^\d+$/.test(said)) throw new Error(`as_of is a number of episodes, not ${JSON.stringify(said)}`);
  const at = Number(said), points = about.checkpoints;
  if (held && !points.includes(at)) throw new Missing(`how it was after ${at.toLocaleString("en")} episodes is not in this report${points.length ? `; it holds ${points.map((one) => one.toLocaleString("en")).join(", ")}` : ""}`);
  return at;
}
function actionMeant(said) { // a number or a name
  if (said === undefined) return null;
  const at = /^\d+$/.test(said) ? Number(said) : about.actions.findIndex((name) => name.toLowerCase() === said.toLowerCase());
  if (at < 0 || at >= about.actions.length) throw new Error(`there is no action ${JSON.stringify(said)}; the actions are ${about.actions.join(", ")}`);
  return at;
}

async function begin() {
  await openReport();
  about = await ask("run");
  document.title = `whatfor: ${about.name}`;
  $("name").textContent = about.name;
  $("about").textContent = [about.learner, about.episodes && `${about.episodes.toLocaleString("en")} episodes`, about.updates && `${about.updates.toLocaleString("en")} updates`,
    `${about.states.toLocaleString("en")} states`, about.trust && about.trust.sentences.join(" ")].filter(Boolean).join(" · ");
  $("held").textContent = held ? `A report: it holds what was asked when it was made; ${unpacked(meant(held.root).dropped).join("; ")}. "whatfor explore" answers everything, live.` : "Live: answers are made when they are asked for.";
  $("state").placeholder = about.example;
  $("states").append(...statesHeld().filter((one) => answeredFor().has(one.key)).map((one) => html("option", { value: one.seen ?? one.words })));
  if (about.checkpoints.length) $("time").max = about.checkpoints.length - 1;
  else $("training").hidden = true;
  $("any-time").max = about.checkpoints.at(-1) ?? 0;
  $("any").hidden = held !== null;
  const { episodes } = await ask("episodes");
  $("episodes").append(...episodes.map((one) => html("option", { value: one.key }, one.title)));
  if (location.protocol === "about:") $("link").hidden = true; // within a notebook there is no address
  listen();
  await follow(fromLink(), { episodes });
}
// What a link or typed words ask for. What of it cannot be had is said, and the rest is shown.
async function follow(link, { episodes = [], anew = false } = {}) {
  const wrong = [], key = link.episode ?? episodes[0]?.key;
  const meaning = (read, said) => { try { return read(said); } catch (error) { wrong.push(error.message); return null; } };
  if (key && !(await openEpisode(key))) {
    wrong.push($("problem").textContent);
    if (episodes.length && key !== episodes[0].key) await openEpisode(episodes[0].key);
  }
  const steps = episode?.steps ?? [], step = Math.min(/^\d+$/.test(link.step ?? "") ? Number(link.step) : 0, Math.max(0, steps.length - 1));
  const state = link.state === undefined ? null : meaning(stateMeant, link.state), said = saidIn(link);
  const wanted = { ...said, step, state, action: meaning(actionMeant, link.action), instead: meaning(actionMeant, link.instead), as_of: meaning(timeMeant, link.as_of) };
  if (state === null && link.state !== undefined && here) { nextTurn(); $("answers").setAttribute("aria-busy", "false"); } // what was asked before stays
  else {
    const first = { state: steps[step]?.state ?? statesHeld()[0]?.key ?? "0", action: steps[step]?.action ?? null };
    const asking = state === null ? { ...wanted, ...first, ...(link.action !== undefined && link.state === undefined ? { action: wanted.action } : {}) } : wanted;
    const less = [{}, ...(asking.as_of === null ? [] : [{ as_of: null }]), ...(here ? [] : [{ ...first, instead: null, as_of: null }])];
    for (const change of less) { // until something can be shown
      const mine = turn + 1;
      if (await show({ ...asking, ...change }, anew) || turn !== mine) break;
      if (!wrong.includes($("problem").textContent)) wrong.push($("problem").textContent);
    }
  }
  if (wrong.length) problem(wrong.join(". "));
  if (!here) $("answers").replaceChildren(html("p", { className: "missing" }, wrong.join(". ")));
}
function listen() {
  $("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    stop();
    follow({ ...fromLink(), action: undefined, instead: undefined, episode: undefined, state: $("state").value, as_of: now.as_of === null ? undefined : String(now.as_of), step: String(now.step) }, { anew: true });
  });
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); $("answers").focus(); });
  $("episodes").addEventListener("change", () => replay($("episodes").value));
  $("scrubber").addEventListener("input", () => { stop(); goTo(Number($("scrubber").value)); });
  $("previous").addEventListener("click", () => { stop(); goTo(now.step - 1); });
  $("next").addEventListener("click", () => { stop(); goTo(now.step + 1); });
  $("play").addEventListener("click", play);
  $("no-foil").addEventListener("click", () => show({ instead: null }, true));
  $("time").addEventListener("input", () => {
    const at = Number($("time").value), last = about.checkpoints.length - 1;
    show({ as_of: at === last ? null : about.checkpoints[at], action: null });
  });
  $("any-time").addEventListener("change", () => follow({ ...fromLink(), action: undefined, as_of: $("any-time").value || undefined }));
  $("link").addEventListener("click", async (event) => {
    event.preventDefault();
    const said = $("link").textContent, address = location.href.split("#")[0] + linkOf();
    try { await navigator.clipboard.writeText(address); $("link").textContent = "copied"; } catch { $("link").textContent = address; }
    setTimeout(() => { $("link").textContent = said; }, 2500);
  });
  document.addEventListener("keydown", (event) => {
    const on = event.target.closest("input, select, textarea, svg [tabindex]") ?? (event.key === " " ? event.target.closest("button, a") : null);
    if (on || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowLeft") goTo(now.step - 1);
    else if (event.key === "ArrowRight") goTo(now.step + 1);
    else if (event.key === " ") play();
    else return;
    if (event.key !== " ") stop();
    event.preventDefault();
  });
  addEventListener("hashchange", () => { if (location.hash.includes("=")) follow(fromLink()); });
  dark.addEventListener("change", () => { if (here) show({}); });
  let width = innerWidth, resized = null; // pictures are drawn for the room they have
  addEventListener("resize", () => {
    clearTimeout(resized);
    resized = setTimeout(() => { if (here && innerWidth !== width) { width = innerWidth; show({}); } }, 150);
  });
}

begin().catch((error) => $("answers").replaceChildren(trouble(error)));
})();
