// @ts-check
// Scales and colours: what a number looks like, in light and in dark mode.
/** @import { Layout, Leaf, Palette, Scale, ScaleName } from "./types" */
import { amount, byId, svgElement } from "./dom.js";

export const darkMode = matchMedia("(prefers-color-scheme: dark)");
const MIN_SHARE = 1e-6; // as in collecting.py
/** The colours that pictures in Python have, too. @type {{ stops: number[], faint: number, colours: Record<ScaleName | "signed", string[]> }} */
const LOOK = JSON.parse(byId("look").textContent ?? "");
/** @type {Record<"light" | "dark", Palette>} */
const PALETTES = {
  light: { ...LOOK.colours, line: "#c8cdd2", wall: "#222222", series: ["#3a87c0", "#e08214", "#7a8794", "#2a9d6f"] },
  dark: {
    yellow: ["#1d2127", "#3b3420", "#6b5512", "#c58b00", "#ffd860"],
    green: ["#1d2127", "#1c352b", "#1f5f46", "#2fae7c", "#b4f5d6"],
    blue: ["#1d2127", "#1b3145", "#245a86", "#4f9fda", "#cfe8ff"],
    signed: ["#ffc37a", "#c06a0a", "#5e3a12", "#1d2127", "#3a3560", "#8073c8", "#d9d2ff"],
    line: "#414952",
    wall: "#e8eaed",
    series: ["#4f9fda", "#e8963c", "#9aa5b1", "#2fae7c"],
  },
};
export const palette = () => PALETTES[darkMode.matches ? "dark" : "light"];

/** @param {string[]} colours @param {number[]} stops @param {number} at */
function mix(colours, stops, at) {
  let i = 1;
  while (i < stops.length - 1 && at > stops[i]) i += 1;
  const share = Math.min(1, Math.max(0, (at - stops[i - 1]) / (stops[i] - stops[i - 1])));
  const channel = (/** @type {string} */ colour, /** @type {number} */ n) =>
    parseInt(colour.slice(1 + 2 * n, 3 + 2 * n), 16);
  return [0, 1, 2].map((n) => {
    const [from, to] = [channel(colours[i - 1], n), channel(colours[i], n)];
    return Math.round(from + share * (to - from));
  });
}

/**
 * The colour of a number, and one for text on it.
 * @param {number} number
 * @param {Scale} scale
 * @param {ScaleName} colour
 */
export function colourOf(number, scale, colour) {
  const colours = palette()[scale.diverging ? "signed" : colour];
  const even = colours.map((_, i) => i / (colours.length - 1));
  const rgb = scale.diverging
    ? mix(colours, even, 0.5 + number / scale.size / 2)
    : mix(colours, LOOK.stops, Math.max(0, number) / scale.size);
  const luminance = 0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2];
  return { fill: `rgb(${rgb})`, ink: luminance < 128 ? "#ffffff" : "#1d2126" };
}

/** Whether a number is too small to be visible. @param {number} number @param {Scale} scale */
export function isFaint(number, scale) {
  return Math.abs(number) < LOOK.faint * scale.size;
}

/** A number as text; 0 where it is tiny beside the largest one: reports leave such numbers out. @param {number} number @param {Scale} scale */
export function amountOnScale(number, scale) {
  return Math.abs(number) < MIN_SHARE * scale.size ? "0" : amount(number);
}

/** @param {Layout} layout @returns {Leaf[]} */
export function leaves(layout) {
  return layout.layout === "panels" ? layout.panels.flatMap(leaves) : [layout];
}

/** @param {Leaf} leaf */
function numbersOf(leaf) {
  if (leaf.layout === "board") return leaf.layers.flatMap((layer) => layer.cells.flat());
  if (leaf.layout === "grid") return leaf.numbers.flat();
  if (leaf.layout === "cloud") return [leaf.full, leaf.diverging ? -leaf.full : 0];
  return leaf.series.flatMap((one) => [...one.numbers, ...(one.low ?? []), ...(one.high ?? [])]);
}

/** One scale for all panels of a layout. @param {Layout} layout @returns {Scale} */
export function scaleOf(layout) {
  const all = leaves(layout);
  let [low, high] = [0, 0]; // Math.max(...numbers) fails where there are many
  for (const number of all.flatMap(numbersOf)) {
    low = Math.min(low, number);
    high = Math.max(high, number);
  }
  const [first] = all;
  return {
    low,
    high,
    size: Math.max(-low, high) || 1,
    diverging: Boolean(first && "diverging" in first && first.diverging),
  };
}

let hatches = 0;
/** The pattern of unknown cells, added to a group. @param {SVGElement} group */
export function addHatch(group) {
  const id = `hatch${(hatches += 1)}`;
  const shape = { width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  const background = svgElement("rect", { width: 7, height: 7, fill: palette().blue[0] });
  const stripe = svgElement("line", { x1: 0, y1: 0, x2: 0, y2: 7, stroke: palette().line, "stroke-width": 3 });
  group.append(svgElement("defs", {}, svgElement("pattern", { id, ...shape }, background, stripe)));
  return `url(#${id})`;
}
