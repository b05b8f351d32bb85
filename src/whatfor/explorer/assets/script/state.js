// @ts-check
// What is asked now, and how links and typed words say it.
/** @import { About, Change, Current, Episode, Link, StateAnswer } from "./types" */
import { byId, count, thousands } from "./dom.js";
import { abortRequests, isReport, Missing, reportStates } from "./store.js";

/** What is asked now. @type {Current} */
export const current = { state: "", action: null, instead: null, as_of: null, episode: null, step: 0 };

/** What the page knows: the run, the state and the episode that are shown. */
export const page = {
  about: /** @type {About} */ (/** @type {unknown} */ (null)),
  state: /** @type {StateAnswer | null} */ (null),
  episode: /** @type {Episode | null} */ (null),
  turn: 0, // counts what was asked, so that late answers are not shown
};

/** The state that is shown; there is one from the first answer on. */
export const shownState = () => /** @type {StateAnswer} */ (page.state);

/** The question that comes before all others. */
export const firstQuestion = () =>
  /** @type {string} */ (Object.keys(page.about.questions).find((one) => page.about.questions[one].first));

/** @typedef {(change: Change, anew?: boolean) => Promise<boolean>} Show */
/** @type {Show} */
let handler = async () => false;
/** Set what shows a question; main.js does. @param {Show} show */
export function onShow(show) {
  handler = show;
}
/**
 * Ask something else. `anew`: the browser's back button leads back to what was asked before.
 * @type {Show}
 */
export const show = (change, anew = false) => handler(change, anew);

/** Begin something else: answers on their way are dropped. */
export function nextTurn() {
  abortRequests();
  setBusy(true);
  return (page.turn += 1);
}
/** @param {boolean} busy */
export function setBusy(busy) {
  byId("answers").setAttribute("aria-busy", String(busy));
}
/** @param {string} message */
export function showProblem(message) {
  byId("problem").textContent = message;
}
export const problemText = () => byId("problem").textContent ?? "";

/** What a parameter of a question is called in links. @param {string} question @param {string} name */
export const parameterKey = (question, name) => `${question}.${name}`;

export function linkToCurrent() {
  const pairs = Object.entries(current).filter(([, value]) => value !== null && value !== undefined);
  return "#" + pairs.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
}

/** @returns {Link} */
export function readLink() {
  const pairs = location.hash
    .slice(1)
    .split("&")
    .filter((pair) => pair.includes("="));
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      try {
        return [pair.slice(0, at), decodeURIComponent(pair.slice(at + 1))];
      } catch {
        return [pair.slice(0, at), ""];
      }
    }),
  );
}

/** Write the link into the address. @param {boolean} anew */
export function updateAddress(anew) {
  const link = linkToCurrent();
  byId("link").setAttribute("href", link);
  try {
    history[anew && link !== location.hash ? "pushState" : "replaceState"](null, "", link);
  } catch {
    // a page within a notebook has no address of its own
  }
}

/** Words without case and punctuation. @param {string} words */
function normalize(words) {
  const plain = words.toLowerCase().replace(/[^\p{L}\p{N}.°+-]+/gu, " ");
  return ` ${plain.trim()} `;
}

/** The key of a state. A server understands words itself; a report knows its own states. @param {string} typed */
export function parseState(typed) {
  const words = typed.trim();
  if (!isReport()) return words;
  const isNumber = /^\d+$/.test(words);
  const key = isNumber ? String(Number(words)) : words.replaceAll(" ", "");
  const states = reportStates();
  const same = states.find(
    (one) => one.key === key || String(one.state) === key || normalize(one.words) === normalize(words),
  );
  if (same) return same.key;
  if (isNumber && Number(words) < page.about.states) throw new Missing(`state ${words} is not in this report`);
  const hasLetters = /[\p{L}]/u.test(words);
  const fitting = hasLetters ? states.filter((one) => normalize(one.words).includes(normalize(words))) : [];
  if (fitting.length === 1) return fitting[0].key;
  const quoted = JSON.stringify(words);
  if (fitting.length) throw new Error(`${fitting.length} states of this report fit ${quoted}; write more of it`);
  const example = JSON.stringify(states[0]?.words ?? page.about.example);
  throw new Missing(`${quoted} is not in this report. Write a state like this: ${example}`);
}

/** A number of episodes; null: the end. @param {string | undefined} typed */
export function parseTime(typed) {
  if (typed === undefined) return null;
  if (!/^\d+$/.test(typed)) throw new Error(`as_of is a number of episodes, not ${JSON.stringify(typed)}`);
  const [at, points] = [Number(typed), page.about.checkpoints];
  if (isReport() && !points.includes(at)) {
    const others = points.length ? `; choose one of ${points.map(thousands).join(", ")}` : "";
    throw new Missing(`the agent after ${count(at, "episode")} is not in this report${others}`);
  }
  return at;
}

/** An action by number or name. @param {string | undefined} typed */
export function parseAction(typed) {
  if (typed === undefined) return null;
  const { actions } = page.about;
  const named = () => actions.findIndex((name) => name.toLowerCase() === typed.toLowerCase());
  const at = /^\d+$/.test(typed) ? Number(typed) : named();
  if (at < 0 || at >= actions.length) {
    throw new Error(`there is no action ${JSON.stringify(typed)}; the actions are ${actions.join(", ")}`);
  }
  return at;
}

/** The parameters of questions in a link; those that are not in it are null. @param {Link} link */
export function parseParameters(link) {
  const names = Object.entries(page.about.questions).flatMap(([question, { parameters }]) =>
    parameters.filter(({ kind }) => kind !== "action").map(({ name }) => parameterKey(question, name)),
  );
  return Object.fromEntries(names.map((name) => [name, link[name] ?? null]));
}
