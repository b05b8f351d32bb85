// @ts-check
// Clouds: a dot for every point, and contours of their density.
/** @import { Cloud, Contours, Drawing, DrawOptions } from "./types" */
import { amountOnScale, colourOf, isFaint, palette } from "./colours.js";
import { amount, svgElement, svgText } from "./dom.js";

const [MAX_RADIUS, MIN_RADIUS_SHARE] = [4.5, 0.2]; // of the largest number, and of nothing as a share of it
const DASHES = [null, "5 3", "2 3"]; // of contours, from the narrowest to the widest
/** The corners of a cell, in a circle. @type {[number, number][]} */
const CELL_CORNERS = [
  [0, 0],
  [0, 1],
  [1, 1],
  [1, 0],
];

/** @param {Cloud} layout @param {DrawOptions} options @returns {Drawing} */
export function drawCloud(layout, { scale, small }) {
  const [width, height, left, bottom] = [small ? 330 : 560, small ? 280 : 400, 56, 40];
  const top = small && layout.title ? 26 : 10;
  const [right, base] = [width - 14, height - bottom];
  const group = svgElement("g");
  if (small && layout.title) group.append(svgText(4, 15, layout.title, { "font-size": 14, "font-weight": 600 }));
  const xs = [...layout.x, ...(layout.contours?.x ?? [])];
  const ys = [...layout.y, ...(layout.contours?.y ?? [])];
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const px = (/** @type {number} */ x) => left + ((x - x0) / (x1 - x0 || 1)) * (right - left);
  const py = (/** @type {number} */ y) => base - ((y - y0) / (y1 - y0 || 1)) * (base - top);
  const order = layout.numbers.map((_, i) => i);
  order.sort((i, j) => Math.abs(layout.numbers[i]) - Math.abs(layout.numbers[j])); // the largest on top
  for (const i of order) {
    const number = layout.numbers[i];
    const faint = isFaint(number, scale);
    const share = faint ? 0 : Math.sqrt(Math.min(1, Math.abs(number) / scale.size));
    const fill = faint ? palette().line : colourOf(number, scale, "blue").fill;
    const words = `${layout.x_axis} ${amount(layout.x[i])}, ${layout.y_axis} ${amount(layout.y[i])}: ${amountOnScale(number, scale)}`;
    const dot = { cx: px(layout.x[i]), cy: py(layout.y[i]), r: MAX_RADIUS * Math.max(MIN_RADIUS_SHARE, share), fill };
    group.append(svgElement("circle", dot, svgElement("title", {}, words)));
  }
  layout.contours?.levels.forEach((level, k) => {
    const path = contourOf(/** @type {Contours} */ (layout.contours), level, px, py);
    const style = { fill: "none", stroke: "currentColor", "stroke-dasharray": DASHES[k % DASHES.length] };
    group.append(svgElement("path", { d: path, ...style }));
  });
  if (layout.marked !== null) {
    const ring = { cx: px(layout.x[layout.marked]), cy: py(layout.y[layout.marked]), r: 8, fill: "none" };
    group.append(svgElement("circle", { ...ring, stroke: palette().series[1], "stroke-width": 2.5 }));
  }
  group.append(svgElement("path", { d: `M${left} ${top}V${base}H${right}`, fill: "none", stroke: "currentColor" }));
  const [start, middle, end] = ["start", "middle", "end"].map((anchor) => ({ "text-anchor": anchor, "font-size": 11 }));
  const shown = (/** @type {number} */ number) => amount(Number(number.toPrecision(2)));
  group.append(
    svgText(left - 6, top + 9, shown(y1), end),
    svgText(left - 6, base + 4, shown(y0), end),
    svgText(left, base + 15, shown(x0), start),
    svgText(right, base + 15, shown(x1), end),
    svgText((left + width) / 2, height - 8, layout.x_axis, middle),
    svgText(0, 0, layout.y_axis, { ...middle, transform: `translate(13 ${(base + top) / 2}) rotate(-90)` }),
  );
  return { group, width, height, legend: layout.numbers.some(Boolean) ? [[layout.quantity, "blue"]] : [] };
}

/**
 * The contour of a level: in every cell, lines between the places where its edges cross the level.
 * @param {Contours} contours
 * @param {number} level
 * @param {(x: number) => number} px
 * @param {(y: number) => number} py
 */
function contourOf({ x, y, cells }, level, px, py) {
  let path = "";
  for (let row = 0; row + 1 < y.length; row += 1) {
    for (let column = 0; column + 1 < x.length; column += 1) {
      const found = [];
      for (let k = 0; k < 4; k += 1) {
        const [[r, c], [r2, c2]] = [CELL_CORNERS[k], CELL_CORNERS[(k + 1) % 4]].map(([dr, dc]) => [
          row + dr,
          column + dc,
        ]);
        const [from, to] = [cells[r][c], cells[r2][c2]];
        if (from < level === to < level) continue;
        const share = (level - from) / (to - from);
        found.push(`${px(x[c] + share * (x[c2] - x[c])).toFixed(1)} ${py(y[r] + share * (y[r2] - y[r])).toFixed(1)}`);
      }
      for (let k = 0; k + 1 < found.length; k += 2) path += `M${found[k]}L${found[k + 1]}`;
    }
  }
  return path;
}
