// @ts-check
// The question: the state, its actions, and the time of training.
import { palette } from "./colours.js";
import { amount, byId, count, html, inputById, keepFocus, svgElement, svgText, thousands } from "./dom.js";
import { current, page, show, shownState } from "./state.js";

export function showQuestion() {
  const state = shownState();
  inputById("state").value = state.observation ?? state.words;
  byId("here").textContent = state.words + (state.observation ? `; observation ${state.observation}` : "");
  const table = /** @type {HTMLTableElement} */ (byId("actions"));
  keepFocus(table, () => table.tBodies[0].replaceChildren(...page.about.actions.map(actionRow)));
  byId("no-foil").hidden = current.instead === null;
  const points = page.about.checkpoints;
  const last = points.at(-1);
  if (last === undefined) return;
  const as_of = current.as_of ?? last;
  byId("when").textContent = `after ${count(as_of, "episode")}${as_of === last ? " (end of training)" : ""}`;
  const distances = points.map((one) => Math.abs(one - as_of));
  inputById("time").value = String(distances.indexOf(Math.min(...distances)));
  byId("time").setAttribute("aria-valuetext", byId("when").textContent ?? "");
  inputById("any-time").value = String(as_of);
  showCurve(as_of);
}

/** @param {string} name @param {number} action */
function actionRow(name, action) {
  const { best, tries, values } = shownState();
  const untried = tries !== null && tries[action] === 0;
  const empty = untried && !page.about.trust; // a network has a value all the same
  const classes = [action === best && !empty && "best", untried && "unknown"].filter(Boolean).join(" ");
  return html(
    "tr",
    { className: classes },
    html("th", { scope: "row" }, name),
    html("td", { className: "number value" }, empty ? "no experience" : amount(values[action])),
    html("td", { className: "number" }, tries === null ? "?" : thousands(tries[action])),
    choice("action", action, `why ${name}`),
    choice("instead", action, `instead of ${name}`),
  );
}

/** @param {"action" | "instead"} kind @param {number} action @param {string} label */
function choice(kind, action, label) {
  const checked = current[kind] === action;
  const disabled = kind === "instead" && current.action === action;
  const input = html("input", { type: "radio", name: kind, value: String(action), checked, disabled });
  input.setAttribute("aria-label", label);
  input.addEventListener("change", () => show({ [kind]: action }, true));
  return html("td", { className: "pick" }, input);
}

/** Mean returns along training, with the time that is asked about. @param {number} as_of */
function showCurve(as_of) {
  if (!page.about.curve) return;
  const { episodes, returns } = page.about.curve;
  const [width, height] = [340, 84];
  const last = Math.log1p(episodes.at(-1) ?? 1);
  const low = Math.min(...returns);
  const high = Math.max(...returns, low + 1e-9);
  const px = (/** @type {number} */ x) => 6 + (Math.log1p(x) / last) * (width - 12);
  const py = (/** @type {number} */ y) => 6 + ((high - y) / (high - low)) * (height - 42);
  const range = `${amount(low)} to ${amount(high)}`;
  const label = `mean returns along training, from ${range}`;
  const points = episodes.map((x, i) => `${px(x)},${py(returns[i])}`).join(" ");
  const marker = { x1: px(as_of), x2: px(as_of), y1: 2, y2: height - 22, stroke: palette().series[1] };
  byId("curve").replaceChildren(
    svgElement(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": label },
      svgElement("polyline", { points, fill: "none", stroke: palette().series[2], "stroke-width": 1.5 }),
      svgElement("line", { ...marker, "stroke-width": 2 }),
      ...page.about.checkpoints.map((point) =>
        svgElement("circle", { cx: px(point), cy: height - 24, r: 2.5, fill: "currentColor" }),
      ),
      svgText(6, height - 4, `mean returns, ${range}; episodes on a log scale`, { "font-size": 10 }),
    ),
  );
}
