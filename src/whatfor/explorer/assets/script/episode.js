// @ts-check
// The episode: its board, its steps, and playing it.
import { amount, byId, count, html, inputById, keepFocus, messageOf } from "./dom.js";
import { draw } from "./draw.js";
import { current, nextTurn, page, setBusy, show, shownState, showProblem } from "./state.js";
import { ask, keyOf } from "./store.js";

const STEP_MS = 700; // between two steps when it plays

/** Whether an episode could be opened. @param {string} key */
export async function openEpisode(key) {
  stopPlaying();
  const turn = nextTurn();
  const list = /** @type {HTMLSelectElement} */ (byId("episodes"));
  try {
    const episode = await ask("episode", { key });
    if (turn !== page.turn) return false;
    page.episode = episode;
    current.episode = key;
    if (![...list.options].some((option) => option.value === key)) {
      list.append(html("option", { value: key }, episode.title));
    }
    inputById("scrubber").max = String(Math.max(0, episode.steps.length - 1));
    return true;
  } catch (error) {
    if (turn !== page.turn) return false;
    showProblem(`${key.replace(/^past:/, "episode ")}: ${messageOf(error)}`);
    setBusy(false);
    return false;
  } finally {
    if (turn === page.turn) list.value = current.episode ?? "";
  }
}

/** @param {string} key */
export async function replay(key) {
  if (await openEpisode(key)) await goTo(0, true);
}

/** @param {number} step */
export async function goTo(step, anew = false) {
  const steps = page.episode?.steps ?? [];
  if (!steps.length) return;
  const at = Math.max(0, Math.min(steps.length - 1, step));
  const action = current.as_of === null ? steps[at].action : null; // of an earlier time, what was best then
  await show({ step: at, state: steps[at].state, action }, anew);
}

export function showEpisode() {
  const state = shownState();
  const picture = state.picture
    ? draw(state.picture, { places: state.places, select: askAbout, maxWidth: 330, legible: false })
    : "";
  const title = html("p", { className: "small" }, state.picture?.title ?? "");
  keepFocus(byId("board"), () => byId("board").replaceChildren(picture, title));
  inputById("scrubber").value = String(current.step);
  const text = stepText();
  byId("step").textContent = text;
  if (text) byId("scrubber").setAttribute("aria-valuetext", text);
}

function stepText() {
  const { about, episode } = page;
  if (!episode?.steps.length) return "";
  const step = episode.steps[current.step];
  if (!step || step.state !== current.state) return "off the episode";
  const rest = count(episode.length - episode.steps.length, "more step");
  const ending = episode.ending === null ? `; not shown: ${rest}` : `; then: ${episode.ending}`;
  const isLast = current.step === episode.steps.length - 1;
  const later = current.as_of !== null && episode.key.startsWith("greedy:") ? " (as it plays now)" : "";
  const place = `step ${current.step + 1} of ${episode.steps.length}`;
  return `${place}: ${about.actions[step.action]}, reward ${amount(step.reward, true)}${isLast ? ending : ""}${later}`;
}

/** Ask about the state of a cell. @param {number} state */
export function askAbout(state) {
  const key = keyOf(state);
  if (key === null) return;
  stopPlaying();
  show({ state: key, action: null }, true);
}

/** @type {{ timer: ReturnType<typeof setTimeout> | undefined } | null} */
let playing = null;

export function stopPlaying() {
  if (playing === null) return;
  clearTimeout(playing.timer);
  playing = null;
  setPlayButton(false);
}

/** @param {boolean} pressed */
function setPlayButton(pressed) {
  byId("play").textContent = pressed ? "pause" : "play";
  byId("play").setAttribute("aria-pressed", String(pressed));
}

export function togglePlaying() {
  if (playing !== null) {
    stopPlaying();
    return;
  }
  const last = (page.episode?.steps.length ?? 0) - 1;
  if (last < 0) return;
  setPlayButton(true);
  const mine = (playing = { timer: /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined) });
  const advance = async (/** @type {number} */ step) => {
    await goTo(step);
    if (playing !== mine) return;
    if (current.step < last) mine.timer = setTimeout(() => advance(current.step + 1), STEP_MS);
    else stopPlaying();
  };
  advance(current.step >= last ? 0 : current.step + 1);
}
