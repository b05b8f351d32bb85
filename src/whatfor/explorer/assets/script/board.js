// @ts-check
// Boards: cells with two halves, walls, letters, and the piece.
/** @import { Board, Drawing, DrawOptions, Select } from "./types" */
import { addHatch, amountOnScale, colourOf, isFaint, palette } from "./colours.js";
import { shortOrEmpty, svgElement, svgText } from "./dom.js";
import { keyOf } from "./store.js";

const SIZE = 62; // pixels of a cell
const CORNERS = [
  [[0, 0], [1, 0], [0, 1]], // prettier-ignore
  [[1, 0], [1, 1], [0, 1]], // prettier-ignore
];
const ROLE_COLOURS = ["#1f4fd1", "#c4161c"];
const ROLE_NAMES = ["blue", "red"];
const UNTOUCHABLE = { "pointer-events": "none" };

/**
 * Make a cell selectable: by mouse, or by arrow keys from cell to cell and Enter.
 * @param {SVGElement} group
 * @param {{ row: number, column: number, state: number, words: string, marked: boolean, select: Select, stateAt?: (event: MouseEvent) => number }} cell
 */
export function makeSelectable(group, { row, column, state, words, marked, select, stateAt = () => state }) {
  group.setAttribute("role", "button");
  group.setAttribute("tabindex", marked ? "0" : "-1");
  group.setAttribute("aria-label", words);
  Object.assign(group.dataset, { row, column, state });
  group.style.cursor = "pointer";
  group.addEventListener("click", (event) => select(keyOf(stateAt(event)) === null ? state : stateAt(event)));
  group.addEventListener("keydown", (event) => {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (by) {
      const next = `[data-row="${row + by[0]}"][data-column="${column + by[1]}"]`;
      /** @type {SVGElement | null | undefined} */ (group.parentElement?.querySelector(next))?.focus();
    } else if (event.key === "Enter" || event.key === " ") select(state);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

/** @param {Board} layout @param {DrawOptions} options @returns {Drawing} */
export function drawBoard(layout, options) {
  const small = options.small ?? false;
  const [left, top] = [small ? 2 : 22, layout.title && small ? 22 : 4];
  const width = left + layout.columns * SIZE + 4;
  const height = top + layout.rows * SIZE + (small ? 4 : 22);
  const group = svgElement("g");
  const cells = svgElement("g");
  const hatch = layout.unknown?.flat().some(Boolean) ? addHatch(group) : "none";
  if (small && layout.title) group.append(svgText(left, 15, layout.title, { "font-size": 15, "font-weight": 600 }));
  const hasNumbers = layout.layers.some((layer) => layer.cells.flat().some((number) => number !== 0));
  for (let row = 0; row < layout.rows; row += 1) {
    for (let column = 0; column < layout.columns; column += 1) {
      const place = { row, column, x: left + column * SIZE, y: top + row * SIZE };
      cells.append(drawBoardCell(layout, place, options, hatch, hasNumbers));
    }
  }
  group.append(cells);
  drawWalls(group, layout, left, top);
  drawMarks(group, layout, left, top);
  if (layout.at) drawPiece(group, layout, layout.at, left, top, !small && !hasNumbers);
  if (!small) drawNumbering(group, layout, left, top, height);
  const present = layout.marks.map(([, , , role]) => role);
  const roles = layout.roles
    .map((role, i) => ({ role, colour: ROLE_NAMES[i] }))
    .filter(({ role }) => present.includes(role));
  const key = small ? "" : roles.map(({ role, colour }) => `${colour}: ${role}`).join(" · ");
  if (key) group.append(svgText(left, height + 9, key));
  const legend = hasNumbers ? layout.layers.map((layer) => [layer.name, layer.colour]) : [];
  return { group, width, height: height + (key ? 18 : 0), legend: /** @type {Drawing["legend"]} */ (legend) };
}

/**
 * @param {Board} layout
 * @param {{ row: number, column: number, x: number, y: number }} place
 * @param {DrawOptions} options
 * @param {string} hatch
 * @param {boolean} hasNumbers
 */
function drawBoardCell(layout, { row, column, x, y }, { scale, places, select, small }, hatch, hasNumbers) {
  const cell = svgElement("g");
  const square = { x, y, width: SIZE, height: SIZE };
  const numbers = layout.layers.map((layer) => layer.cells[row][column]);
  const unknown = layout.unknown?.[row][column] ?? false;
  const empty = unknown && numbers.every((number) => isFaint(number, scale));
  if (unknown) cell.append(svgElement("rect", { ...square, fill: hatch }));
  if (!empty) {
    layout.layers.forEach((layer, i) => {
      const blank = { fill: "none", ink: "currentColor" };
      const { fill, ink } = unknown ? blank : colourOf(numbers[i], scale, layer.colour);
      const points = CORNERS[i].map(([u, v]) => `${x + u * SIZE},${y + v * SIZE}`).join(" ");
      cell.append(svgElement("polygon", { fill, points }));
      if (isFaint(numbers[i], scale)) return;
      const [dx, dy, anchor] = i ? [SIZE - 4, SIZE - 5, "end"] : [4, 14, "start"];
      const style = { "font-size": small ? 13 : 12, fill: ink, "text-anchor": anchor };
      cell.append(svgText(x + dx, y + dy, shortOrEmpty(numbers[i], layout.diverging), style));
    });
  }
  cell.append(svgElement("rect", { ...square, fill: "none", stroke: palette().line }));
  const named = layout.layers.map((layer, i) => `${layer.name} ${amountOnScale(numbers[i], scale)}`).join(", ");
  const value = empty ? "no experience" : hasNumbers ? named : "";
  const words = `row ${row}, column ${column}${value ? ": " + value : ""}`;
  cell.append(svgElement("title", {}, words));
  if (!select || !places) return cell;
  const halves = /** @type {number[][][]} */ (places);
  const larger = Math.abs(numbers[1]) > Math.abs(numbers[0]) ? 1 : 0;
  const state = halves[larger][row][column];
  if (keyOf(state) === null) return cell;
  const stateAt = (/** @type {MouseEvent} */ event) => {
    const box = cell.getBoundingClientRect();
    const along = (event.clientX - box.left) / box.width + (event.clientY - box.top) / box.height;
    const half = along > 1 ? 1 : 0; // the half under the pointer, if it shows something
    return halves[event.detail > 0 && !isFaint(numbers[half], scale) ? half : larger][row][column];
  };
  const marked = layout.at !== null && layout.at[0] === row && layout.at[1] === column;
  const label = `${words}; ask about the ${layout.piece} here`;
  makeSelectable(cell, { row, column, state, words: label, marked, select, stateAt });
  return cell;
}

/** @param {SVGElement} group @param {Board} layout @param {number} left @param {number} top */
function drawWalls(group, layout, left, top) {
  const stroke = palette().wall;
  for (const [row, column] of layout.walls) {
    const x = left + (column + 1) * SIZE;
    const [y1, y2] = [top + row * SIZE, top + (row + 1) * SIZE];
    group.append(svgElement("line", { x1: x, x2: x, y1, y2, stroke, "stroke-width": 5 }));
  }
  const [width, height] = [layout.columns * SIZE, layout.rows * SIZE];
  group.append(svgElement("rect", { x: left, y: top, width, height, fill: "none", stroke, "stroke-width": 3 }));
}

/**
 * Letters in the corner that the two halves leave free; each role has a colour of its own.
 * @param {SVGElement} group
 * @param {Board} layout
 * @param {number} left
 * @param {number} top
 */
function drawMarks(group, layout, left, top) {
  for (const [letter, row, column, role] of layout.marks) {
    const [x, y] = [left + (column + 1) * SIZE - 11, top + row * SIZE + 11];
    const fill = role ? ROLE_COLOURS[layout.roles.indexOf(role)] : "#666666";
    const style = { "text-anchor": "middle", "font-weight": 700, "font-size": 13, fill: "#ffffff", ...UNTOUCHABLE };
    group.append(
      svgElement("rect", { x: x - 8, y: y - 8, width: 16, height: 16, rx: 3, fill, ...UNTOUCHABLE }),
      svgText(x, y + 5, letter, style),
    );
  }
}

/** @param {SVGElement} group @param {Board} layout @param {[number, number]} at @param {number} left @param {number} top @param {boolean} named */
function drawPiece(group, layout, [row, column], left, top, named) {
  const [x, y] = [left + column * SIZE, top + row * SIZE];
  const frame = { x: x + 1.5, y: y + 1.5, width: SIZE - 3, height: SIZE - 3, fill: "none", "stroke-width": 3 };
  group.append(svgElement("rect", { ...frame, stroke: palette().series[0], ...UNTOUCHABLE }));
  const style = { "text-anchor": "middle", "font-weight": 700, ...UNTOUCHABLE };
  if (named) group.append(svgText(x + 0.5 * SIZE, y + SIZE - 10, layout.piece, style));
}

/** @param {SVGElement} group @param {Board} layout @param {number} left @param {number} top @param {number} height */
function drawNumbering(group, layout, left, top, height) {
  for (let i = 0; i < layout.columns; i += 1) {
    group.append(svgText(left + (i + 0.5) * SIZE, height - 7, String(i), { "text-anchor": "middle" }));
  }
  for (let i = 0; i < layout.rows; i += 1) {
    group.append(svgText(left - 8, top + (i + 0.5) * SIZE + 4, String(i), { "text-anchor": "end" }));
  }
}
