// @ts-check
// Where answers come from: the data of a report, or a server. Nothing is requested twice.
/** @import { Answers, StateAnswer } from "./types" */
import { byId } from "./dom.js";

/** A report does not contain this, or a run cannot answer it. */
export class Missing extends Error {}

/** @typedef {Record<string, string | number | null | undefined>} Query */

/** The data of a report; null: there is a server. @type {{ parts: any[], root: any } | null} */
let data = null;
/** Answers by request, the least recent first. @type {Map<string, Promise<any>>} */
const requested = new Map();
/** Requests without an answer so far. @type {Set<string>} */
const pending = new Set();
const MAX_REQUESTED = 400;
let leaving = new AbortController(); // ends the requests of a question that was left

export async function openReport() {
  const letters = (byId("data").textContent ?? "").trim();
  if (!letters) return;
  const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  data = JSON.parse(await new Response(stream).text());
}
export const isReport = () => data !== null;
/** What the report contains and leaves out, in sentences. @returns {string[]} */
export const reportLimits = () => unpack(resolve(data?.root).limits);

/** The part that a reference refers to. @param {any} thing */
function resolve(thing) {
  while (thing !== null && typeof thing === "object" && !Array.isArray(thing) && "~r" in thing) {
    thing = data?.parts[thing["~r"]];
  }
  return thing;
}

/** The reverse of packing.py. @param {any} thing @returns {any} */
function unpack(thing) {
  thing = resolve(thing);
  if (Array.isArray(thing)) return thing.map(unpack);
  if (thing === null || typeof thing !== "object") return thing;
  const [how] = Object.keys(thing);
  if (how === undefined || !how.startsWith("~")) {
    return Object.fromEntries(Object.entries(thing).map(([name, one]) => [name, unpack(one)]));
  }
  const parts = resolve(thing[how]).map(resolve);
  if (how === "~t") return unpackTable(unpack(parts[0]), unpack(parts[1]));
  if (how === "~o") {
    return Object.fromEntries(parts.map((/** @type {any[]} */ pair) => [unpack(pair[0]), unpack(pair[1])]));
  }
  return unpackMatrix(how, parts);
}

/** @param {string[]} names @param {any[][]} columns */
function unpackTable(names, columns) {
  return columns[0].map((_, row) => Object.fromEntries(names.map((name, i) => [name, columns[i][row]])));
}

/** @param {string} how @param {any[]} parts */
function unpackMatrix(how, [rows, columns, ...rest]) {
  const flat = how === "~b" ? [...rest[0]].map((mark) => mark === "1") : new Array(rows * columns).fill(0);
  if (how === "~m") {
    rest[0].forEach((/** @type {number} */ place, /** @type {number} */ i) => {
      flat[place] = rest[1][i];
    });
  }
  return Array.from({ length: rows }, (_, row) => flat.slice(row * columns, (row + 1) * columns));
}

/** A request as one line, as report.py writes it. @param {string} what @param {Query} parameters */
export function requestOf(what, parameters) {
  const names = Object.keys(parameters).filter((name) => parameters[name] !== null && parameters[name] !== undefined);
  const pairs = names.sort().map((name) => `${name}=${parameters[name]}`);
  return `${what}?${pairs.join("&")}`;
}

/**
 * A promise of the answer to a request.
 * @template {keyof Answers} K
 * @param {K} what
 * @param {Query} [parameters]
 * @returns {Promise<Answers[K]>}
 */
export function ask(what, parameters = {}) {
  const request = requestOf(what, parameters);
  const known = requested.get(request);
  if (known) return known;
  const answer = data ? readReport(request) : fetchAnswer(what, parameters);
  store(request, answer);
  return answer;
}

/** @param {string} request @param {Promise<any>} answer */
export function store(request, answer) {
  requested.set(request, answer);
  pending.add(request);
  const forget = () => {
    if (requested.get(request) === answer) requested.delete(request);
  };
  answer.then(() => pending.delete(request), forget);
  if (requested.size > MAX_REQUESTED) requested.delete(requested.keys().next().value ?? "");
}

/** Give up the requests without an answer. */
export function abortRequests() {
  leaving.abort();
  leaving = new AbortController();
  for (const request of pending) requested.delete(request);
  pending.clear();
}

/** @param {string} request */
async function readReport(request) {
  const answers = reportAnswers();
  if (!Object.hasOwn(answers, request)) throw new Missing("not in this report");
  return unpack(answers[request]);
}

/** @param {string} what @param {Query} parameters */
async function fetchAnswer(what, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined) query.set(name, String(value));
  }
  const reply = await fetch(`api/${what}?${query}`, { signal: leaving.signal }).catch(() => {
    throw new Error("the server does not answer; is it still running?");
  });
  const answer = await reply.json().catch(() => ({ error: `the server answered ${reply.status}` }));
  if (answer.error) throw new Error(answer.error);
  return answer;
}

/** @returns {Record<string, unknown>} */
function reportAnswers() {
  return resolve(resolve(data?.root).answers);
}

/** Whether a request can be made: of a server always, of a report if it contains the answer. @param {string} what @param {Query} parameters */
export function canAsk(what, parameters) {
  return !data || Object.hasOwn(reportAnswers(), requestOf(what, parameters));
}

/** All states of a report, on past episodes too. @returns {StateAnswer[]} */
export function reportStates() {
  if (!data) return [];
  const answers = reportAnswers();
  const requests = Object.keys(answers).filter((request) => request.startsWith("state?state="));
  return requests.map((request) => unpack(answers[request]));
}

/** Those of them that a question is answered for. @param {string} question */
export function answeredStates(question) {
  if (!data) return [];
  const pattern = new RegExp(`^answer\\?action=\\d+&question=${question}&state=(.*)$`, "s");
  const keys = new Set(Object.keys(reportAnswers()).map((request) => pattern.exec(request)?.[1]));
  return reportStates().filter((one) => keys.has(one.key));
}

/** Keys of a report's states by index. @type {Map<number, string> | null} */
let keys = null;
/** How to ask about the state of a cell; null: there is none, or the report does not contain it. @param {number} state */
export function keyOf(state) {
  if (state < 0) return null;
  if (canAsk("state", { state })) return String(state);
  keys ??= new Map(reportStates().map((one) => [one.state, one.key]));
  return keys.get(state) ?? null;
}
