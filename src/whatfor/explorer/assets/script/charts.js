// @ts-check
// Bars and lines.
/** @import { Bars, Drawing, DrawOptions, Lines, Scale } from "./types" */
import { addHatch, amountOnScale, palette } from "./colours.js";
import { amount, percent, shorten, svgElement, svgText, thousands } from "./dom.js";

const SMALL_TITLE = { "font-size": 14, "font-weight": 600 };

/** @param {Bars} layout @param {DrawOptions} options @returns {Drawing} */
export function drawBars(layout, { scale, small, maxWidth }) {
  const { names, series } = layout;
  const longest = Math.max(4, ...names.map((name) => name.length));
  const left = Math.min(small ? 190 : 0.5 * maxWidth, 18 + 6.8 * longest);
  const room = small ? 210 : Math.max(120, Math.min(360, maxWidth - left - 70));
  const thick = series.length > 1 ? 13 : 18;
  const step = thick * series.length + 8;
  const top = small && layout.title ? 24 : 6;
  const legend = series.length > 1 ? 20 : 0;
  const height = top + Math.max(1, names.length) * step + 24 + legend;
  const group = svgElement("g");
  const at = (/** @type {number} */ number) => left + ((number - scale.low) / (scale.high - scale.low || 1)) * room;
  if (small && layout.title) group.append(svgText(4, 15, layout.title, SMALL_TITLE));
  const hatch = layout.unknown?.some(Boolean) ? addHatch(group) : "none";
  if (!names.length) group.append(svgText(left, top + 16, "none", { "font-style": "italic" }));
  names.forEach((name, i) => {
    const y = top + i * step;
    const word = svgText(left - 6, y + (thick * series.length) / 2 + 4, shorten(name, left - 12), {
      "text-anchor": "end",
    });
    word.append(svgElement("title", {}, name));
    group.append(word);
    series.forEach((_, k) => drawBar(group, layout, i, k, { y: y + k * thick, thick, at, hatch, scale }));
  });
  const base = height - 22 - legend;
  group.append(svgElement("line", { x1: at(0), x2: at(0), y1: top - 2, y2: base, stroke: "currentColor" }));
  group.append(svgText(left + room / 2, base + 14, layout.axis, { "text-anchor": "middle", "font-size": 11 }));
  if (legend) {
    series.forEach((one, k) => {
      const x = left + k * 130;
      const sample = { x, y: height - 16, width: 11, height: 11, fill: palette().series[k] };
      group.append(
        svgElement("rect", sample),
        svgText(x + 16, height - 6, shorten(one.name, 110), { "font-size": 11 }),
      );
    });
  }
  return { group, width: left + room + 70, height, legend: [] };
}

/**
 * @param {SVGElement} group
 * @param {Bars} layout
 * @param {number} i
 * @param {number} k
 * @param {{ y: number, thick: number, at: (number: number) => number, hatch: string, scale: Scale }} place
 */
function drawBar(group, layout, i, k, { y, thick, at, hatch, scale }) {
  const series = layout.series[k];
  const number = series.numbers[i];
  const unknown = layout.unknown?.[i] ?? false;
  const style = unknown ? { fill: hatch, stroke: palette().line } : { fill: palette().series[k], stroke: "none" };
  const shape = { x: Math.min(at(0), at(number)), y, width: Math.abs(at(number) - at(0)), height: thick - 2 };
  const text = layout.axis.startsWith("chance") ? percent(number) : amountOnScale(number, scale);
  const words = `${layout.names[i]}, ${series.name}: ${text}`;
  group.append(svgElement("rect", { ...shape, ...style }, svgElement("title", {}, words)));
  let end = Math.max(at(0), at(number));
  if (series.low && series.high) {
    const middle = y + thick / 2 - 1;
    const interval = { x1: at(series.low[i]), x2: at(series.high[i]), y1: middle, y2: middle };
    group.append(svgElement("line", { ...interval, stroke: "currentColor", "stroke-width": 1.5 }));
    end = Math.max(end, at(series.high[i]));
  }
  group.append(svgText(end + 5, y + thick - 4, text, { "font-size": 11 }));
}

/** @param {Lines} layout @param {DrawOptions} options @returns {Drawing} */
export function drawLines(layout, { small }) {
  const [width, height, left, bottom] = [small ? 400 : 560, small ? 220 : 240, 52, 40];
  const top = small && layout.title ? 26 : 10;
  const group = svgElement("g");
  const ys = layout.series.flatMap((one) => [...one.numbers, ...(one.low ?? []), ...(one.high ?? [])]);
  if (small && layout.title) group.append(svgText(4, 15, layout.title, SMALL_TITLE));
  const [x0, x1] = [Math.min(...layout.x, 0), Math.max(...layout.x, 1)];
  const y0 = Math.min(...(layout.nested ? [] : [0]), ...ys); // an axis of a state has no zero to begin at
  const y1 = Math.max(...ys, y0 + 1e-12);
  const [right, base] = [width - 14, height - bottom];
  const px = (/** @type {number} */ x) => left + ((x - x0) / (x1 - x0 || 1)) * (right - left);
  const py = (/** @type {number} */ y) => base - ((y - y0) / (y1 - y0)) * (base - top);
  group.append(svgElement("path", { d: `M${left} ${top}V${base}H${right}`, fill: "none", stroke: "currentColor" }));
  layout.series.forEach(({ low, high }, k) => {
    if (!low || !high) return;
    const edge = (/** @type {number[]} */ ends) => ends.map((y, i) => `${px(layout.x[i])},${py(y)}`);
    const points = [...edge(low), ...edge(high).reverse()].join(" ");
    const fill = palette().series[layout.nested ? 0 : k];
    group.append(svgElement("polygon", { points, fill, opacity: 0.25 }));
  });
  layout.series.slice(0, layout.nested ? 1 : undefined).forEach((one, k) => {
    const points = one.numbers.map((y, i) => `${px(layout.x[i])},${py(y)}`).join(" ");
    group.append(svgElement("polyline", { points, fill: "none", stroke: palette().series[k], "stroke-width": 2 }));
  });
  const [start, middle, end] = ["start", "middle", "end"].map((anchor) => ({ "text-anchor": anchor, "font-size": 11 }));
  const shown = (/** @type {number} */ y) => amount(layout.nested ? Number(y.toPrecision(2)) : y);
  const bands = layout.nested ? `; bands: ${layout.series.map((one) => one.name).join(" and ")}` : "";
  group.append(
    svgText(left - 6, py(y1) + 5, shown(y1), end),
    svgText(left - 6, py(y0) + 4, shown(y0), end),
    svgText(left, base + 15, String(x0), start),
    svgText(right, base + 15, thousands(x1), end),
    svgText((left + width) / 2, height - 8, layout.x_axis + bands, middle),
    svgText(0, 0, layout.y_axis, { ...middle, transform: `translate(13 ${(base + top) / 2}) rotate(-90)` }),
  );
  return { group, width, height, legend: [] };
}
