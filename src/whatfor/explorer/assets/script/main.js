// @ts-check
// Begins the page, follows links, and listens to the reader.
/** @import { Change, Choices, Link } from "./types" */
import { errorMessage, showAnswers } from "./answers.js";
import { darkMode } from "./colours.js";
import { byId, count, html, inputById, messageOf } from "./dom.js";
import { goTo, openEpisode, replay, showEpisode, stopPlaying, togglePlaying } from "./episode.js";
import { showQuestion } from "./question.js";
import {
  current,
  firstQuestion,
  linkToCurrent,
  nextTurn,
  onShow,
  page,
  parseAction,
  parseParameters,
  parseState,
  parseTime,
  problemText,
  readLink,
  setBusy,
  show,
  showProblem,
  updateAddress,
} from "./state.js";
import { answeredStates, ask, isReport, openReport, reportLimits, reportStates, requestOf, store } from "./store.js";

/** Show what a change asks for. If that fails, what was asked before stays. @param {Change} change */
async function showChange(change, anew = false) {
  const before = { ...current };
  Object.assign(current, change);
  const turn = nextTurn();
  const done = await showState(turn, before, anew);
  if (turn === page.turn) setBusy(false);
  return done;
}

/** @param {number} turn @param {Change} before @param {boolean} anew */
async function showState(turn, before, anew) {
  try {
    const last = page.about.checkpoints.at(-1);
    if (current.as_of === last) current.as_of = null; // that is the present
    const { state, action, instead, as_of } = current;
    const question = firstQuestion();
    // A server is asked for the first answer at the same time.
    const early = !isReport() && instead === null && /^\d+$/.test(state);
    const first = early ? ask("answer", { question, state, action, as_of }) : null;
    const found = await ask("state", { state, as_of });
    if (first && action === null) store(requestOf("answer", { question, state, action: found.best, as_of }), first);
    if (turn !== page.turn) return false;
    page.state = found;
    current.state = found.key;
    showProblem("");
    const steps = page.episode?.steps ?? [];
    if (steps[current.step]?.state !== current.state) {
      const at = steps.findIndex((one) => one.state === current.state);
      if (at >= 0) current.step = at;
    }
    current.action ??= found.best;
    if (current.instead === current.action) current.instead = null;
  } catch (error) {
    if (turn !== page.turn) return false;
    Object.assign(current, before);
    showProblem(messageOf(error));
    return false;
  }
  updateAddress(anew);
  showQuestion();
  showEpisode();
  await showAnswers(turn);
  return true;
}

/**
 * Show what a link or typed words ask for. Of what is wrong with it there is a message, and the rest is shown.
 * @param {Link} link
 * @param {{ episodes?: Choices["episodes"], anew?: boolean }} [options]
 */
async function follow(link, { episodes = [], anew = false } = {}) {
  /** @type {string[]} */
  const wrong = [];
  /** @template T @param {(typed: any) => T} parse @param {string | undefined} typed @returns {T | null} */
  const read = (parse, typed) => {
    try {
      return parse(typed);
    } catch (error) {
      wrong.push(messageOf(error));
      return null;
    }
  };
  const key = link.episode ?? episodes[0]?.key;
  if (key && !(await openEpisode(key))) {
    wrong.push(problemText());
    if (episodes.length && key !== episodes[0].key) await openEpisode(episodes[0].key);
  }
  const state = link.state === undefined ? null : read(parseState, link.state);
  const wanted = {
    ...parseParameters(link),
    step: stepIn(link),
    action: read(parseAction, link.action),
    instead: read(parseAction, link.instead),
    as_of: read(parseTime, link.as_of),
  };
  if (state === null && link.state !== undefined && page.state) {
    nextTurn();
    setBusy(false);
  } else await showFirstPossible(link, { ...wanted, ...(state === null ? {} : { state }) }, wrong, anew);
  if (wrong.length) showProblem(wrong.join(". "));
  if (!page.state) byId("answers").replaceChildren(html("p", { className: "missing" }, wrong.join(". ")));
}

/** @param {Link} link */
function stepIn(link) {
  const step = /^\d+$/.test(link.step ?? "") ? Number(link.step) : 0;
  return Math.min(step, Math.max(0, (page.episode?.steps.length ?? 0) - 1));
}

/** Ask for what a link wants, then for less of it, until something can be shown. @param {Link} link @param {Change} wanted @param {string[]} wrong @param {boolean} anew */
async function showFirstPossible(link, wanted, wrong, anew) {
  const step = page.episode?.steps[wanted.step ?? 0];
  const start = { state: step?.state ?? reportStates()[0]?.key ?? "0", action: step?.action ?? null };
  const ownAction = link.action !== undefined && link.state === undefined;
  const asked = "state" in wanted ? wanted : { ...wanted, ...start, ...(ownAction ? { action: wanted.action } : {}) };
  /** @type {Change[]} */
  const attempts = [asked];
  if (asked.as_of !== null) attempts.push({ ...asked, as_of: null });
  if (!page.state) attempts.push({ ...asked, ...start, instead: null, as_of: null });
  for (const attempt of attempts) {
    const turn = page.turn + 1;
    if ((await show(attempt, anew)) || page.turn !== turn) return;
    if (!wrong.includes(problemText())) wrong.push(problemText());
  }
}

function listenToForms() {
  byId("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    stopPlaying();
    const { action, instead, episode, ...others } = readLink();
    const as_of = current.as_of === null ? undefined : String(current.as_of);
    follow({ ...others, state: inputById("state").value, as_of, step: String(current.step) }, { anew: true });
  });
  byId("episodes").addEventListener("change", () => replay(inputById("episodes").value));
  byId("no-foil").addEventListener("click", () => show({ instead: null }, true));
  byId("time").addEventListener("input", () => {
    const { checkpoints } = page.about;
    const at = Number(inputById("time").value);
    show({ as_of: at === checkpoints.length - 1 ? null : checkpoints[at], action: null });
  });
  byId("any-time").addEventListener("change", () => {
    follow({ ...readLink(), action: undefined, as_of: inputById("any-time").value || undefined });
  });
  byId("link").addEventListener("click", async (event) => {
    event.preventDefault();
    const [link, address] = [byId("link"), location.href.split("#")[0] + linkToCurrent()];
    const words = link.textContent;
    try {
      await navigator.clipboard.writeText(address);
      link.textContent = "copied";
    } catch {
      link.textContent = address;
    }
    setTimeout(() => (link.textContent = words), 2500);
  });
}

function listenToSteps() {
  const move = (/** @type {() => number} */ step) => () => {
    stopPlaying();
    goTo(step());
  };
  byId("scrubber").addEventListener("input", move(() => Number(inputById("scrubber").value))); // prettier-ignore
  byId("previous").addEventListener("click", move(() => current.step - 1)); // prettier-ignore
  byId("next").addEventListener("click", move(() => current.step + 1)); // prettier-ignore
  byId("play").addEventListener("click", togglePlaying);
  document.addEventListener("keydown", (event) => {
    const target = /** @type {Element} */ (event.target);
    const fields = "input, select, textarea, svg [tabindex]" + (event.key === " " ? ", button, a" : "");
    if (target.closest(fields) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowLeft") move(() => current.step - 1)();
    else if (event.key === "ArrowRight") move(() => current.step + 1)();
    else if (event.key === " ") togglePlaying();
    else return;
    event.preventDefault();
  });
}

function listenToWindow() {
  document.querySelector(".skip")?.addEventListener("click", (event) => {
    event.preventDefault();
    byId("answers").focus();
  });
  addEventListener("hashchange", () => {
    if (location.hash.includes("=")) follow(readLink());
  });
  darkMode.addEventListener("change", () => {
    if (page.state) show({});
  });
  let width = innerWidth;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let resized;
  addEventListener("resize", () => {
    clearTimeout(resized);
    resized = setTimeout(() => {
      if (!page.state || innerWidth === width) return;
      width = innerWidth; // pictures are drawn for the room they have
      show({});
    }, 150);
  });
}

function showAbout() {
  const { about } = page;
  document.title = `whatfor: ${about.name}`;
  byId("name").textContent = about.name;
  const facts = [
    about.learner,
    about.episodes && count(about.episodes, "episode"),
    about.updates && count(about.updates, "update"),
    count(about.states, "state"),
    about.premise,
    about.trust?.sentences.join(" "),
  ];
  byId("about").textContent = facts.filter(Boolean).join(" · ");
  showContents();
  inputById("state").placeholder = about.example;
  const options = answeredStates(firstQuestion()).map((one) => html("option", { value: one.observation ?? one.words }));
  byId("states").append(...options);
  byId("training").hidden = !about.checkpoints.length;
  inputById("time").max = String(Math.max(0, about.checkpoints.length - 1));
  inputById("any-time").max = String(about.checkpoints.at(-1) ?? 0);
  byId("any").hidden = isReport();
  if (location.protocol === "about:") byId("link").hidden = true; // within a notebook there is no address
}

/** What a report contains and leaves out. */
function showContents() {
  if (!isReport()) {
    byId("contents").textContent = "Live: each answer is computed when you ask.";
    return;
  }
  byId("contents").replaceChildren(
    html("h2", {}, "What this report contains"),
    html("ul", {}, ...reportLimits().map((line) => html("li", {}, line))),
    html("p", {}, "For all other answers, run ", html("code", {}, "whatfor explore"), "."),
  );
}

/** The states worth asking about, as links. A live page asks for them last, and again if the reader went on meanwhile. */
async function showFindings(attempts = 3) {
  try {
    const { findings, nothing, notes, left_out } = await ask("findings");
    byId("findings-list").replaceChildren(
      ...findings.map(({ sentence, state, action, instead }) => {
        const pairs = Object.entries({ state, action, instead }).filter(([, value]) => value !== null);
        const link = Object.fromEntries(pairs.map(([name, value]) => [name, String(value)]));
        const address = pairs.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
        const words = html("a", { href: `#${address}` }, sentence);
        words.addEventListener("click", (event) => {
          event.preventDefault();
          stopPlaying();
          follow({ ...link, step: String(current.step) }, { anew: true });
        });
        return html("li", {}, words);
      }),
    );
    const more = left_out ? [`${left_out} more: whatfor explain RUN.`] : [];
    byId("findings-notes").textContent = [...(findings.length ? [] : [nothing]), ...more, ...notes].join(" ");
    byId("findings").hidden = false;
  } catch {
    if (!isReport() && attempts > 1) setTimeout(() => showFindings(attempts - 1), 2000);
  }
}

async function begin() {
  onShow(showChange);
  await openReport();
  page.about = await ask("run");
  showAbout();
  const { episodes } = await ask("episodes");
  byId("episodes").append(...episodes.map((one) => html("option", { value: one.key }, one.title)));
  listenToForms();
  listenToSteps();
  listenToWindow();
  await follow(readLink(), { episodes });
  await showFindings();
}

begin().catch((error) => byId("answers").replaceChildren(errorMessage(error)));
