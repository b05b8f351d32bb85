// @ts-check
// Elements of the page, and numbers as text.

const NAMESPACE = "http://www.w3.org/2000/svg";
const ROUNDING = 1e-9; // anything smaller is rounding error

/**
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @returns {T}
 */
export function byId(id) {
  return /** @type {T} */ (document.getElementById(id));
}
/** @param {string} id */
export const inputById = (id) => /** @type {HTMLInputElement} */ (byId(id));

/**
 * An SVG element; attributes that are null or undefined are left out.
 * @param {string} name
 * @param {Record<string, string | number | null | undefined>} [attributes]
 * @param {(Node | string)[]} children
 */
export function svgElement(name, attributes = {}, ...children) {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(key, String(value));
  }
  element.append(...children);
  return /** @type {SVGElement} */ (element);
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} words
 * @param {Record<string, string | number>} [attributes]
 */
export function svgText(x, y, words, attributes = {}) {
  const font = { "font-size": 12, fill: "currentColor", "font-family": "system-ui, sans-serif" };
  return svgElement("text", { x, y, ...font, ...attributes }, words);
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Record<string, unknown>} [properties]
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function html(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

/**
 * Redraw something, and put the focus back to where it was.
 * @param {HTMLElement} within
 * @param {() => void} redraw
 */
export function keepFocus(within, redraw) {
  const focused = document.activeElement;
  const selector = focused && within.contains(focused) && focused !== within ? selectorOf(focused) : null;
  redraw();
  if (selector) /** @type {HTMLElement | null} */ (within.querySelector(selector))?.focus({ preventScroll: true });
}

/** @param {Element} element */
function selectorOf(element) {
  if (element instanceof HTMLInputElement && element.type === "radio") {
    return `input[name="${element.name}"][value="${element.value}"]`;
  }
  const { row, column } = /** @type {HTMLElement | SVGElement} */ (element).dataset;
  if (row !== undefined) return `[data-row="${row}"][data-column="${column}"]`;
  return element.id ? `#${CSS.escape(element.id)}` : null;
}

/** @param {unknown} error */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/**
 * A value with at most four significant digits, as in sentences (text.py); null is unknown.
 * @param {number | null} number
 */
export function amount(number, signed = false) {
  if (number === null) return "?";
  const size = Math.abs(number);
  const sign = signed && number > 0 ? "+" : "";
  if (size >= 9999.5) return sign + number.toLocaleString("en", { maximumFractionDigits: 0 });
  if (size === 0 || size >= 9.9995e-5) return sign + Number(number.toPrecision(4));
  const [digits, power] = number.toExponential(3).split("e-");
  return `${sign}${Number(digits)}e-${power.padStart(2, "0")}`;
}

/**
 * A share as a percentage, as in sentences (text.py): only exact shares are written as 0 % or 100 %.
 * @param {number} share
 */
export function percent(share) {
  const number = 100 * share;
  if (number > ROUNDING && number < 0.05) return "< 0.1 %";
  if (number >= 99.5 && number < 100 - ROUNDING) return "> 99 %";
  return `${Math.abs(number) >= 9.95 ? number.toFixed(0) : Number(number.toFixed(1))} %`;
}

/**
 * A number in about four characters.
 * @param {number} number
 */
export function short(number, signed = false) {
  const text = number.toFixed(Math.abs(number) < 10 ? 2 : Math.abs(number) < 100 ? 1 : 0);
  return signed && number > 0 ? "+" + text : text;
}

/**
 * The same, but empty where it would read as zero.
 * @param {number} number
 * @param {boolean} signed
 */
export function shortOrEmpty(number, signed) {
  const text = short(number, signed);
  return /[1-9]/.test(text) ? text : "";
}

/** @param {number} number */
export const thousands = (number) => number.toLocaleString("en");

/** A number with its noun in the singular or plural. @param {number} number @param {string} noun */
export const count = (number, noun) => `${thousands(number)} ${noun}${number === 1 ? "" : "s"}`;

/**
 * Words shortened to a width in pixels, in the middle: names often differ at the end only.
 * @param {string} words
 * @param {number} room
 */
export function shorten(words, room, letter = 6.6) {
  const length = Math.max(3, Math.floor(room / letter));
  const tail = Math.floor(0.4 * length);
  return words.length > length ? `${words.slice(0, length - tail - 1)}…${words.slice(-tail)}` : words;
}
