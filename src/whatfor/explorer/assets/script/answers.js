// @ts-check
// The answers: an article for each question, with its parameters, pictures and downloads.
/** @import { Answer, Layout, Parameter, StripEpisode } from "./types" */
import { leaves, palette, scaleOf } from "./colours.js";
import { amount, byId, count, html, keepFocus, messageOf, svgElement, svgText, thousands } from "./dom.js";
import { download, draw, quantityOf, toFile, toPng } from "./draw.js";
import { askAbout, replay } from "./episode.js";
import { current, firstQuestion, page, parameterKey, show, shownState } from "./state.js";
import { ask, canAsk, isReport, Missing, requestOf } from "./store.js";

/** Answer all questions: the first one, then the others. @param {number} turn */
export async function showAnswers(turn) {
  // A question about another action is asked instead of the first one, once that action is chosen.
  const names = Object.keys(page.about.questions);
  const about = names.filter((one) => actionsOf(one).length);
  const chosen = about.filter((one) => actionsOf(one).every((name) => (current[name] ?? null) !== null));
  const first = chosen.length ? chosen : [firstQuestion()];
  const all = [...first, ...names.filter((one) => one !== firstQuestion() && !about.includes(one))];
  const questions = all.filter(isAnswered);
  const missing = all.filter((one) => !questions.includes(one));
  const articles = [...questions.map(articleOf), ...(missing.length ? [missingArticle(missing, all)] : [])];
  const place = byId("answers");
  for (const old of [...place.children]) if (!articles.includes(/** @type {any} */ (old))) old.remove();
  articles.forEach((article, i) => {
    if (place.children[i] !== article) place.insertBefore(article, place.children[i] ?? null);
  });
  const [now, ...later] = questions;
  if (now) await showAnswer(now, articles[0], turn);
  if (turn !== page.turn) return;
  await Promise.all(later.map((question, i) => showAnswer(question, articles[i + 1], turn)));
}

/** The parameters of a question that are actions. @param {string} question */
const actionsOf = (question) =>
  page.about.questions[question].parameters.filter((one) => one.kind === "action").map((one) => one.name);

/** @param {string} question */
function requestFor(question) {
  const { state, action, as_of } = current;
  return { question, state, action, as_of, ...parametersOf(question) };
}

/** Whether there is something to show: on a server always, in a report an answer, or the reason why there is none. @param {string} question */
function isAnswered(question) {
  if (page.about.unavailable[question]) return true;
  const request = requestFor(question);
  const others = page.about.questions[question].parameters.flatMap((parameter) =>
    suggestionsOf(question, parameter).map((one) => ({ ...request, [parameter.name]: one })),
  );
  return [request, ...others].some((one) => canAsk("answer", one));
}

/** @param {string[]} missing @param {string[]} all */
function missingArticle(missing, all) {
  const words =
    missing.length < all.length
      ? `Not in this report: ${missing.map(titleOf).join(", ")}.`
      : "This report contains no answers about this state. Choose a state on an episode.";
  return html("article", { id: "not-in-report" }, html("p", { className: "missing" }, words));
}

/** @param {string} question @param {HTMLElement} article @param {number} turn */
async function showAnswer(question, article, turn) {
  const parameters = parametersOf(question);
  const request = requestFor(question);
  article.setAttribute("aria-busy", "true");
  let content;
  try {
    const reason = page.about.unavailable[question];
    if (reason) throw new Missing(reason);
    const open = page.about.questions[question].parameters.find((one) => one.required && parameters[one.name] === null);
    if (open) throw new Missing(`Enter ${open.help}.`);
    const answer = await ask("answer", request);
    if (turn !== page.turn) return;
    content = contentOf(question, answer);
  } catch (error) {
    if (turn !== page.turn) return;
    const header = html("header", {}, html("h2", {}, titleOf(question)));
    content = [header, formOf(question), errorMessage(error)];
  }
  const elements = content;
  keepFocus(article, () => article.replaceChildren(...elements));
  for (const figure of article.querySelectorAll("figure")) {
    figure.classList.toggle("wide", figure.scrollWidth > figure.clientWidth + 1);
  }
  article.setAttribute("aria-busy", "false");
  article.dataset.request = requestOf("answer", request);
}

/** @param {unknown} error */
export function errorMessage(error) {
  return html("p", { className: error instanceof Missing ? "missing" : "error" }, messageOf(error));
}

/** @param {string} question */
const titleOf = (question) => page.about.questions[question].title;

/** @param {string} question @returns {HTMLElement} */
function articleOf(question) {
  const article = byId(`answer-${question}`) ?? html("article", { id: `answer-${question}` });
  if (!article.firstChild) article.append(html("header", {}, html("h2", {}, titleOf(question))));
  return article;
}

/** What a page offers for a parameter, at the time that is asked about. @param {string} question @param {Parameter} parameter */
function suggestionsOf(question, parameter) {
  return shownState().suggestions[parameterKey(question, parameter.name)] ?? parameter.suggestions;
}

/** The parameters of a question: as entered, or as suggested where one is required. @param {string} question */
function parametersOf(question) {
  return Object.fromEntries(
    page.about.questions[question].parameters.map((parameter) => {
      const { name, kind, required } = parameter;
      const suggested = required ? (suggestionsOf(question, parameter)[0] ?? null) : null;
      return [name, (kind === "action" ? current[name] : current[parameterKey(question, name)]) ?? suggested];
    }),
  );
}

/** Where parameters are entered; a report contains the suggestions only. @param {string} question */
function formOf(question) {
  const values = parametersOf(question);
  const form = html("div", { className: "parameters" });
  for (const parameter of page.about.questions[question].parameters) {
    const { name, help, kind } = parameter;
    const suggestions = suggestionsOf(question, parameter);
    if (kind === "action" || (isReport() && !suggestions.length)) continue;
    const id = `parameter-${question}-${name}`;
    const options = suggestions.map((one) => html("option", { value: one }, one));
    const type = kind === "number" ? "number" : "text";
    const field = isReport()
      ? html("select", { id }, ...options)
      : html("input", { id, type, min: "0", autocomplete: "off" });
    field.value = String(values[name] ?? "");
    field.addEventListener("change", () => show({ [parameterKey(question, name)]: field.value || null }, true));
    form.append(html("label", { htmlFor: id }, isReport() && kind === "words" ? choose(name) : help), field);
    if (!isReport() && suggestions.length) {
      field.setAttribute("list", `${id}-list`);
      form.append(html("datalist", { id: `${id}-list` }, ...options));
    }
  }
  return form;
}

/** What to do where a report offers a list. @param {string} name */
const choose = (name) =>
  name === "before"
    ? "choose an event before which it should happen"
    : `choose ${/^[aeiou]/.test(name) ? "an" : "a"} ${name}`;

/** @param {string} question @param {Answer} answer */
function contentOf(question, answer) {
  const header = html("header", {}, html("h2", {}, titleOf(question)));
  const { badge, strip, left_out } = answer;
  if (badge) header.append(html("span", { className: `badge ${badge.kind}`, title: badge.about }, badge.words));
  const [lead, ...sentences] = answer.answer.sentences;
  /** @type {HTMLElement[]} */
  const content = [header, formOf(question), html("p", { className: "lead" }, lead ?? "")];
  if (strip?.length) content.push(stripOf(strip));
  answer.pictures.forEach((layout, i) => content.push(figureOf(question, layout, i)));
  if (sentences.length) content.push(html("div", { className: "lines" }, ...sentences.map(lineOf)));
  if (left_out) {
    const more = `Not listed here: ${count(left_out, "update")} with a smaller weight.`;
    content.push(html("p", { className: "small" }, more));
  }
  const json = html("button", { type: "button" }, "JSON");
  json.setAttribute("aria-label", `download the answer as JSON: ${titleOf(question)}`);
  json.addEventListener("click", () => {
    const text = JSON.stringify(answer.answer, null, 1);
    download(`${fileName(question)}.json`, new Blob([text], { type: "application/json" }));
  });
  content.push(html("div", { className: "downloads" }, json));
  return content;
}

/** A sentence, or a row of numbers and words; where words are wrapped, they stay right of the numbers. @param {string} line */
function lineOf(line) {
  if (!line.startsWith(" ")) return html("div", {}, line);
  const numbers = /^(?: +(?:[<>] )?[-+]?\d[\d.,e-]*(?: %)?)+ {2}/.exec(line)?.[0];
  const indent = numbers?.length ?? line.search(/\S/) + 2;
  const row = html("div", { className: "numbers" }, line);
  row.style.setProperty("--indent", `${indent}ch`);
  return row;
}

/** @param {string} question */
function fileName(question) {
  const action = page.about.actions[current.action ?? 0].replace(/\W+/g, "-");
  return `whatfor-${question}-${shownState().state}-${action}`;
}

/** @param {string} question @param {Layout} layout @param {number} i */
function figureOf(question, layout, i) {
  const { clickable, first: isFirst } = page.about.questions[question];
  const places = clickable[i] ? shownState().map : null;
  const maxWidth = layout.layout === "board" ? 420 : Math.min(1000, byId("answers").clientWidth);
  const svg = draw(layout, { places, select: places ? askAbout : null, maxWidth });
  const name = fileName(question) + (i ? `-${i + 1}` : "");
  const [first] = leaves(layout);
  const named =
    first?.layout === "bars" || first?.layout === "board" || (first && "diverging" in first && first.diverging); // the others have a key
  const { low, high } = scaleOf(layout);
  const empty = low === 0 && high === 0 && (first?.layout === "board" || first?.layout === "grid");
  const quantity = quantityOf(layout) + (empty ? ": 0 everywhere" : "");
  const title = [layout.title, named || empty ? quantity : ""].filter(Boolean).join(" – ");
  const maps = leaves(layout).filter((one) => one.layout === "board" || one.layout === "grid");
  const unknown = maps.some((one) => one.unknown?.flat().some(Boolean));
  const hatched = unknown ? "hatched: no experience" : "";
  const caption = [title, isFirst ? layout.caption : "", hatched].filter(Boolean).join(" – ");
  if (empty && !isFirst) return html("p", { className: "small" }, caption); // a map without a number
  const time = current.as_of === null ? "" : `, after ${count(current.as_of, "episode")}`;
  const heads = [title, shownState().words + time];
  const button = (/** @type {string} */ kind, /** @type {() => unknown} */ work) => {
    const element = html("button", { type: "button" }, kind);
    element.setAttribute("aria-label", `download this picture as ${kind}: ${layout.title}`);
    element.addEventListener("click", work);
    return element;
  };
  const downloads = [
    button("SVG", () => download(`${name}.svg`, toFile(svg, heads).blob)),
    button("PNG", async () => download(`${name}.png`, await toPng(svg, heads))),
  ];
  return html(
    "figure",
    {},
    svg,
    html("figcaption", {}, caption),
    html("div", { className: "downloads" }, ...downloads),
  );
}

/** The episodes that a value comes from. @param {StripEpisode[]} strip */
function stripOf(strip) {
  const [width, height] = [Math.min(900, byId("answers").clientWidth), 74];
  const last = Math.max(1, (current.as_of ?? page.about.episodes) - 1);
  const largest = Math.max(...strip.map((one) => one.weight), 1e-12);
  const base = height - 18;
  const label = "the episodes it comes from, by weight; choose one to replay it";
  const svg = svgElement(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, role: "group", "aria-label": label },
    svgElement("line", { x1: 8, x2: width - 8, y1: base, y2: base, stroke: "currentColor" }),
    svgText(8, height - 4, "episode 0", { "font-size": 11 }),
    svgText(width - 8, height - 4, `episode ${thousands(last)}`, { "font-size": 11, "text-anchor": "end" }),
  );
  strip.forEach((one, i) => {
    const x = 8 + (one.episode / last) * (width - 16);
    const tall = 6 + (one.weight / largest) * (height - 30);
    svg.append(tickOf(one, x, tall, base, i === strip.length - 1));
  });
  const lowering = strip.some((one) => one.deletion < 0) ? "; orange: without it, the value would be higher" : "";
  const faint = isReport() ? " (faint: not in this report)" : "";
  const caption = `the episodes with the largest weight behind this value${lowering}; click one to replay it${faint}`;
  return html("figure", {}, svg, html("figcaption", {}, caption));
}

/** @param {StripEpisode} one @param {number} x @param {number} tall @param {number} base @param {boolean} focusable */
function tickOf(one, x, tall, base, focusable) {
  const key = `past:${one.episode}`;
  const there = canAsk("episode", { key });
  const taken = `deleting it changes the value by ${one.exact ? "" : "about "}${amount(-one.deletion)}`;
  const weight = `weight ${amount(one.weight)}, ${taken}`;
  const words = `episode ${thousands(one.episode)}: ${weight}`;
  const tick = svgElement(
    "g",
    {
      role: "button",
      tabindex: focusable ? 0 : -1,
      "aria-label": `${words}; ${there ? "replay it" : "not in this report"}`,
      "aria-disabled": there ? null : "true",
      "data-episode": one.episode,
      opacity: there ? 1 : 0.4,
    },
    svgElement("rect", { x: x - 4, y: 0, width: 8, height: base, fill: "transparent" }),
    svgElement("rect", {
      x: x - 1.5,
      y: base - tall,
      width: 3,
      height: tall,
      fill: palette().series[one.deletion < 0 ? 1 : 0],
    }),
    svgElement("title", {}, there ? words : `${words} (not in this report)`),
  );
  tick.style.cursor = "pointer";
  tick.addEventListener("click", () => replay(key));
  tick.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") replay(key);
    else if (event.key === "ArrowLeft") focusOn(tick.previousElementSibling);
    else if (event.key === "ArrowRight") focusOn(tick.nextElementSibling);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return tick;
}

/** @param {Element | null} element */
function focusOn(element) {
  if (element instanceof SVGElement) element.focus();
}
