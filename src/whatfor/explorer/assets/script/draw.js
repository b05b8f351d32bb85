// @ts-check
// Any layout as an SVG: panels, the key of colours, and files to download.
/** @import { Drawing, DrawOptions, Layout, Panels, Places, Scale, ScaleName, Select } from "./types" */
import { drawBoard } from "./board.js";
import { drawBars, drawLines } from "./charts.js";
import { drawCloud } from "./cloud.js";
import { colourOf, leaves, palette, scaleOf } from "./colours.js";
import { amount, byId, html, svgElement, svgText } from "./dom.js";
import { drawGrid } from "./grid.js";

const MIN_ZOOM = 0.74; // pictures of answers are not scaled down further: wider ones scroll

/** @param {Layout} layout @param {DrawOptions} options @returns {Drawing} */
function drawLayout(layout, options) {
  if (layout.layout === "panels") return drawPanels(layout, options);
  if (layout.layout === "board") return drawBoard(layout, options);
  if (layout.layout === "grid") return drawGrid(layout, options);
  if (layout.layout === "cloud") return drawCloud(layout, options);
  return layout.layout === "bars" ? drawBars(layout, options) : drawLines(layout, options);
}

/** @param {Panels} layout @param {DrawOptions} options @returns {Drawing} */
function drawPanels(layout, { scale, places, select, small, maxWidth }) {
  const headed = layout.column_heads.length > 0 || layout.row_heads.length > 0;
  const drawings = layout.panels.map((panel, i) =>
    drawLayout(headed ? { ...panel, title: "" } : panel, {
      scale: layout.shared ? scale : scaleOf(panel),
      places: /** @type {Places | undefined} */ (places?.[i]),
      select: places ? select : null,
      small: true,
      maxWidth,
    }),
  );
  const titles = headed ? [] : layout.panels.map((panel) => 8 + 8.4 * (panel.title?.length ?? 0)); // they take room, too
  const wide = Math.max(...drawings.map((one) => one.width), ...titles) + 14;
  const fitting = Math.floor(byId("answers").clientWidth / (MIN_ZOOM * wide));
  const columns = headed ? layout.columns : Math.max(1, Math.min(layout.columns, fitting));
  const left = layout.row_heads.length ? 110 : 0;
  const group = svgElement("g");
  const above = small && layout.title ? 24 : 0;
  if (above) group.append(svgText(0, 16, layout.title, { "font-size": 17, "font-weight": 700 }));
  layout.column_heads.forEach((head, i) => drawHead(group, head, left + (i + 0.5) * wide, above + 13, "middle"));
  let y = above + (layout.column_heads.length ? 34 : 0);
  for (let row = 0; row * columns < drawings.length; row += 1) {
    const inRow = drawings.slice(row * columns, (row + 1) * columns);
    const tall = Math.max(...inRow.map((one) => one.height)) + 8;
    drawHead(group, layout.row_heads[row] ?? "", left - 8, y + tall / 2, "end");
    inRow.forEach((one, i) => {
      one.group.setAttribute("transform", `translate(${left + i * wide} ${y})`);
      group.append(one.group);
    });
    y += tall;
  }
  const legend = layout.shared ? (drawings.find((one) => one.legend.length)?.legend ?? []) : [];
  return { group, width: left + Math.min(columns, drawings.length) * wide, height: y, legend };
}

/** @param {SVGElement} group @param {string} head @param {number} x @param {number} y @param {string} anchor */
function drawHead(group, head, x, y, anchor) {
  const style = { "text-anchor": anchor, "font-weight": 600 };
  head.split("\n").forEach((line, k) => group.append(svgText(x, y + 14 * k, line, style)));
}

/**
 * @param {Layout} layout
 * @param {{ places?: Places | null, select?: Select | null, maxWidth: number, legible?: boolean }} options
 */
export function draw(layout, { places = null, select = null, maxWidth, legible = true }) {
  const scale = scaleOf(layout);
  const { group, width, height, legend } = drawLayout(layout, { scale, places, select, maxWidth });
  const each = 104 + 7.4 * Math.max(0, ...legend.map(([name]) => name.length));
  const total = Math.max(width, legend.length * each);
  const svg = svgElement("svg", {
    viewBox: `0 0 ${total} ${height + (legend.length ? 34 : 0)}`,
    width: Math.min(maxWidth, total),
    role: select ? "group" : "img",
    "aria-label": [layout.title, quantityOf(layout), layout.caption].filter(Boolean).join(". ") || "the state",
  });
  if (legible) svg.style.minWidth = `${MIN_ZOOM * total}px`;
  svg.append(group);
  legend.forEach(([name, colour], i) => drawKey(svg, name, colour, scale, 4 + i * each, height + 6));
  return svg;
}

/** What the numbers of a layout are. @param {Layout} layout */
export function quantityOf(layout) {
  const [first] = leaves(layout);
  if (!first || first.layout === "lines") return undefined;
  return first.layout === "bars" ? first.axis : first.quantity;
}

/** The key of colours, from nothing to the largest number. @param {SVGElement} svg @param {string} name @param {ScaleName} colour @param {Scale} scale @param {number} x @param {number} y */
function drawKey(svg, name, colour, scale, x, y) {
  const [steps, low] = [24, scale.diverging ? -scale.size : 0];
  for (let k = 0; k < steps; k += 1) {
    const { fill } = colourOf(low + ((scale.size - low) * k) / (steps - 1), scale, colour);
    svg.append(svgElement("rect", { x: x + k * 3.4, y, width: 3.6, height: 10, fill }));
  }
  const end = x + steps * 3.4;
  const endText = (/** @type {number} */ number) => amount(Number(number.toPrecision(3))); // both have to fit below it
  svg.append(
    svgElement("rect", { x, y, width: steps * 3.4, height: 10, fill: "none", stroke: palette().line }),
    svgText(x, y + 23, endText(low), { "font-size": 11 }),
    svgText(end, y + 23, endText(scale.size), { "font-size": 11, "text-anchor": "end" }),
    svgText(end + 6, y + 9, name),
  );
}

/** @param {string} name @param {Blob} blob */
export function download(name, blob) {
  const link = html("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** A drawing as a file of its own, with lines of text above it. @param {SVGElement} svg @param {string[]} heads */
export function toFile(svg, heads) {
  const [, , across, down] = (svg.getAttribute("viewBox") ?? "").split(" ").map(Number);
  const above = 10 + 18 * heads.length;
  const width = Math.max(across, 16 + 7.4 * Math.max(...heads.map((line) => line.length)));
  const height = down + above;
  const { color, backgroundColor } = getComputedStyle(document.documentElement);
  const copy = svgElement(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height, color },
    svgElement("rect", { width, height, fill: backgroundColor }),
    ...heads.map((line, i) => svgText(8, 20 + 18 * i, line, { "font-size": 13, "font-weight": i ? 400 : 700 })),
    svgElement("g", { transform: `translate(0 ${above})` }, ...[...svg.childNodes].map((one) => one.cloneNode(true))),
  );
  const blob = new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
  return { width, height, blob };
}

/** @param {SVGElement} svg @param {string[]} heads @returns {Promise<Blob>} */
export async function toPng(svg, heads) {
  const { width, height, blob } = toFile(svg, heads);
  const image = new Image();
  image.src = URL.createObjectURL(blob);
  await image.decode();
  const canvas = html("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return new Promise((done, fail) => {
    canvas.toBlob((png) => (png ? done(png) : fail(new Error("this browser cannot write PNG files"))), "image/png");
  });
}
