// @ts-check
// Grids: a cell for each pair of words.
/** @import { Drawing, DrawOptions, Grid } from "./types" */
import { makeSelectable } from "./board.js";
import { addHatch, amountOnScale, colourOf, isFaint, palette } from "./colours.js";
import { shorten, shortOrEmpty, svgElement, svgText } from "./dom.js";
import { keyOf } from "./store.js";

const ROOM_FOR_NUMBER = 27; // pixels of a cell with room for its number
const MAX_WITH_NUMBERS = 20; // up to this number of columns, all get that room, however wide the picture becomes
const WALL = "█"; // the mark of a cell that is a wall
const MAX_SLANTED = 12; // columns with long names: each name slanted; with more columns, only some are named

/** @typedef {ReturnType<typeof measure>} Measures */

/** @param {Grid} layout @param {DrawOptions} options */
function measure(layout, { small, maxWidth }) {
  const columns = layout.columns.length;
  const longest = Math.max(...layout.rows.map((word) => word.length));
  const left = Math.min(small ? 200 : 0.4 * maxWidth, 12 + 6.1 * longest + (layout.row_axis ? 16 : 0));
  const top = (small && layout.title ? 22 : 6) + (layout.beside ? 14 : 0);
  const beside = layout.beside ? 62 : 0;
  const room = small ? 300 : Math.min(620, maxWidth - left - beside - 6);
  const narrowest = small ? 13 : columns <= MAX_WITH_NUMBERS ? ROOM_FOR_NUMBER : 20;
  const cell = Math.max(narrowest, Math.min(small ? 44 : 60, room / columns));
  const tall = Math.max(16, Math.min(cell, small ? 30 : 40));
  const widest = Math.max(...layout.columns.map((word) => word.length));
  const step = Math.ceil((widest * 6.2 + 4) / cell);
  const slanted = step > 1 && columns <= MAX_SLANTED;
  const bottom = top + layout.rows.length * tall;
  const below = slanted ? 16 + 3.6 * widest : 14; // where the words of columns end
  const width = left + columns * cell + beside + 6;
  return { left, top, cell, tall, step, slanted, bottom, below, width, height: bottom + below + 24 };
}

/** @param {Grid} layout @param {DrawOptions} options @returns {Drawing} */
export function drawGrid(layout, options) {
  const measures = measure(layout, options);
  const { left, top, cell, tall, width, height } = measures;
  const group = svgElement("g");
  const cells = svgElement("g");
  const hasNumbers = layout.numbers.flat().some((number) => number !== 0);
  const hatch = layout.unknown?.flat().some(Boolean) ? addHatch(group) : "none";
  if (options.small && layout.title) {
    group.append(svgText(4, 15, layout.title, { "font-size": 14, "font-weight": 600 }));
  }
  layout.numbers.forEach((numbers, row) =>
    numbers.forEach((_, column) =>
      cells.append(drawGridCell(layout, row, column, options, measures, hatch, hasNumbers)),
    ),
  );
  group.append(cells);
  drawGridWalls(group, layout, measures);
  if (layout.marked) {
    const [row, column] = layout.marked;
    const frame = { x: left + column * cell, y: top + row * tall, width: cell, height: tall, fill: "none" };
    const style = { stroke: palette().series[1], "stroke-width": 3, "pointer-events": "none" };
    group.append(svgElement("rect", { ...frame, ...style }));
  }
  drawWords(group, layout, measures, options.small ?? false);
  if (layout.beside) {
    const style = { "text-anchor": "end", "font-size": 11 };
    group.append(svgText(width - 8, top - 4, layout.beside.name, { ...style, "font-style": "italic" }));
    layout.beside.numbers.forEach((number, row) =>
      group.append(svgText(width - 8, top + (row + 0.5) * tall + 4, amountOnScale(number, options.scale), style)),
    );
  }
  return { group, width, height, legend: hasNumbers ? [[layout.quantity, "blue"]] : [] };
}

/**
 * @param {Grid} layout
 * @param {number} row
 * @param {number} column
 * @param {DrawOptions} options
 * @param {Measures} measures
 * @param {string} hatch
 * @param {boolean} hasNumbers
 */
function drawGridCell(layout, row, column, { scale, places, select }, { left, top, cell, tall }, hatch, hasNumbers) {
  const [x, y] = [left + column * cell, top + row * tall];
  const drawn = svgElement("g");
  const number = layout.numbers[row][column];
  const [letter, , , name] = layout.marks.find(([, r, c]) => r === row && c === column) ?? [];
  const unknown = layout.unknown?.[row][column] ?? false;
  const faint = isFaint(number, scale);
  const roomy = cell >= ROOM_FOR_NUMBER;
  const plain = letter === WALL ? palette().wall : unknown ? hatch : null;
  const { fill, ink } = plain ? { fill: plain, ink: "currentColor" } : colourOf(number, scale, "blue");
  const border = { stroke: palette().line, "stroke-width": 0.6 };
  drawn.append(svgElement("rect", { x, y, width: cell, height: tall, fill, ...border }));
  if (roomy && !faint) {
    const style = { "text-anchor": "middle", "font-size": cell < 32 ? 10 : 11, fill: ink };
    drawn.append(svgText(x + cell / 2, y + tall / 2 + 4, shortOrEmpty(number, layout.diverging), style));
  }
  if (letter && letter !== WALL && (faint || tall >= 36)) {
    const middle = faint || !roomy; // else the number is there
    const [dx, dy, size] = middle ? [cell / 2, tall / 2 + 5, Math.min(14, cell / 2)] : [8, 12, 10];
    const style = { "text-anchor": "middle", "font-size": size, "font-weight": 700, fill: ink, opacity: 0.7 };
    drawn.append(svgText(x + dx, y + dy, letter, style));
  }
  const where = `${layout.row_axis} ${layout.rows[row]}, ${layout.column_axis} ${layout.columns[column]}`;
  const value = `: ${amountOnScale(number, scale)}${unknown ? ", though it has no experience there" : ""}`;
  const what = unknown && faint ? ": no experience" : hasNumbers ? value : "";
  const words = `${where}${name ? ` (${name})` : ""}${what}`.trim();
  drawn.append(svgElement("title", {}, words));
  const state = /** @type {number[][] | null | undefined} */ (places)?.[row][column];
  if (select && state !== undefined && keyOf(state) !== null) {
    const marked = layout.marked !== null && layout.marked[0] === row && layout.marked[1] === column;
    makeSelectable(drawn, { row, column, state, words: `${words}; ask about this state`, marked, select });
  }
  return drawn;
}

/** Lines where a wall is between two cells. @param {SVGElement} group @param {Grid} layout @param {Measures} measures */
function drawGridWalls(group, layout, { left, top, cell, tall }) {
  const style = { fill: palette().wall, "pointer-events": "none" };
  for (const [row, column, otherRow, otherColumn] of layout.walls) {
    const [x, y] = [left + Math.max(column, otherColumn) * cell, top + Math.max(row, otherRow) * tall];
    const beside = row === otherRow;
    const size = { x: beside ? x - 2 : x, y: beside ? y : y - 2, width: beside ? 4 : cell, height: beside ? tall : 4 };
    group.append(svgElement("rect", { ...size, ...style }));
  }
}

/** The words beside rows and below columns. @param {SVGElement} group @param {Grid} layout @param {Measures} measures @param {boolean} small */
function drawWords(group, layout, { left, top, cell, tall, step, slanted, bottom, below }, small) {
  const [middle, end] = ["middle", "end"].map((anchor) => ({ "text-anchor": anchor, "font-size": 11 }));
  layout.rows.forEach((word, row) => {
    const fitting = shorten(word, left - (layout.row_axis ? 26 : 10), 6.1);
    const written = svgText(left - 6, top + (row + 0.5) * tall + 4, fitting, end);
    group.append(svgElement("g", {}, written, svgElement("title", {}, word)));
  });
  layout.columns.forEach((word, column) => {
    const [x, y] = [left + (column + 0.5) * cell, bottom + 14];
    const turned = { ...end, transform: `translate(${x + 4} ${y}) rotate(-35)` };
    if (slanted) group.append(svgText(0, 0, word, turned));
    else if (column % step === 0) group.append(svgText(x, y, word, middle));
  });
  const key = small
    ? []
    : new Set(layout.marks.map(([letter, , , name]) => `${letter === WALL ? "filled" : letter}: ${name}`));
  const axis = [layout.column_axis, ...key].join(" · ");
  group.append(svgText(left + (layout.columns.length * cell) / 2, bottom + below + 17, axis, middle));
  if (!layout.row_axis) return;
  group.append(
    svgText(0, 0, layout.row_axis, { ...middle, transform: `translate(11 ${(top + bottom) / 2}) rotate(-90)` }),
  );
}
