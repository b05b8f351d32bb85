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
 * A number with so many decimals; null is unknown.
 * @param {number | null} number
 */
export function fixed(number, digits = 3) {
  if (number === null) return "?";
  return (Math.abs(number) < 0.5 * 10 ** -digits ? 0 : number).toFixed(digits);
}

/**
 * A number with three decimals, or in scientific notation where these would be zeros.
 * @param {number} number
 */
export function precise(number) {
  return Math.abs(number) > ROUNDING && Math.abs(number) < 5e-4 ? number.toExponential(1) : fixed(number);
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

/**
 * Words that fit into so many pixels, cut in the middle: names often differ at the end only.
 * @param {string} words
 * @param {number} room
 */
export function shorten(words, room, letter = 6.6) {
  const length = Math.max(3, Math.floor(room / letter));
  const tail = Math.floor(0.4 * length);
  return words.length > length ? `${words.slice(0, length - tail - 1)}…${words.slice(-tail)}` : words;
}
