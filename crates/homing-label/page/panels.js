// The numbers beside the example: when to stop, the accuracy, the targets, disagreements.

import { get } from "./api.js";
import { small } from "./card.js";
import { by, make, percent } from "./dom.js";

/**
 * @typedef {import("./types.js").State} State
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").Known} Known
 */

const TITLES = new Map([
  ["start", "Label a few examples first"],
  ["go-on", "Continue: labels still add much"],
  ["slowing", "Labels add less and less"],
  ["enough", "You can stop now"],
]);

/**
 * Shows a number with its name.
 * @param {string} name
 * @param {string} value
 */
const number = (name, value) => make("div", {}, make("dt", {}, name), make("dd", {}, value));

/**
 * Shows the advice about stopping.
 * @param {State} state
 */
export function showStop(state) {
  const { stop } = state.progress;
  const advice = stop.advice || "start";
  by("stop").dataset.advice = advice;
  const numbers = [
    number("answers", String(state.counts.labelled + state.counts.excluded)),
    number("next label adds", stop.next_gain === null ? "–" : `${(stop.next_gain ?? 0).toFixed(2)} nats`),
    number("next ten change", percent(stop.next_ten)),
  ];
  if (stop.removed !== null && stop.removed !== undefined) numbers.push(number("variance removed", percent(stop.removed)));
  numbers.push(number("information so far", `${state.information.toFixed(1)} nats`));
  if (state.targets.length) numbers.push(number("cannot be removed", percent(state.progress.irreducible)));
  by("stop-body").replaceChildren(
    make("p", { class: "advice" }, make("span", { class: "dot" }), TITLES.get(advice) ?? ""),
    make("p", { class: "quiet" }, stop.sentence || "The first numbers come with the first example."),
    make("dl", { class: "numbers" }, ...numbers),
  );
}

/**
 * Makes an element of a drawing.
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {string} [text]
 */
function draw(tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

/**
 * Shows the accuracy over the labels.
 * @param {State} state
 */
export function showAccuracy(state) {
  const points = state.accuracy;
  if (!points.length) {
    by("accuracy").replaceChildren(make("p", { class: "quiet small" }, "A classifier is trained once two classes have two labels each."));
    return;
  }
  const last = points[points.length - 1];
  const [width, height, left, bottom, top] = [360, 150, 46, 22, 8];
  const most = Math.max(10, last.labels);
  const x = (/** @type {number} */ labels) => left + ((width - left - 10) * labels) / most;
  const y = (/** @type {number} */ share) => top + (height - top - bottom) * (1 - share);
  const chart = draw("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Accuracy ${percent(last.accuracy)} after ${last.labels} labels` });
  for (const share of [0, 0.5, 1]) {
    chart.append(draw("line", { class: "grid", x1: left, x2: width - 10, y1: y(share), y2: y(share) }));
    chart.append(draw("text", { x: left - 6, y: y(share) + 4, "text-anchor": "end" }, `${100 * share} %`));
  }
  chart.append(draw("text", { x: left, y: height - 5 }, "0"), draw("text", { x: width - 10, y: height - 5, "text-anchor": "end" }, `${most} labels`));
  chart.append(draw("polyline", { class: "line", points: points.map((p) => `${x(p.labels).toFixed(1)},${y(p.accuracy).toFixed(1)}`).join(" ") }));
  chart.append(draw("circle", { cx: x(last.labels), cy: y(last.accuracy), r: 3.5 }));
  by("accuracy").replaceChildren(
    make("p", {}, make("strong", {}, percent(last.accuracy)), ` of your ${last.labels} labels are predicted correctly`),
    chart,
    make("p", { class: "quiet small" }, "Each label is predicted by a classifier that never saw it. The examples are chosen to be informative, so they can be harder than usual ones."),
  );
}

/** @type {Map<number, Promise<Known>>} */
const known = new Map();

/**
 * Returns an example by its row. What a person sees of it never changes.
 * @param {number} row
 * @returns {Promise<Known>}
 */
function example(row) {
  let found = known.get(row);
  if (!found) {
    found = get(`/api/items/${row}`);
    found.catch(() => known.delete(row));
    known.set(row, found);
  }
  return found;
}

/**
 * Returns a picture, or a few words, of an example that serves a target.
 * @param {{row: number, share: number}} served
 * @param {(entry: {row: number}) => void} open
 */
function serving(served, open) {
  const button = make("button", { type: "button", class: "serving", onclick: () => open(served) }, "…");
  example(served.row).then((item) => {
    const what = `removed ${percent(served.share)}`;
    button.title = `${item.text ?? item.id}: ${what}`;
    button.setAttribute("aria-label", `${item.id} ${what}. Change`);
    if (item.image) button.replaceChildren(small(item.image));
    else button.textContent = item.text ?? item.id;
  }, () => button.remove());
  return button;
}

let drawnTargets = "";

/**
 * Shows how much is known about each target, and which answers told most about it.
 * @param {State} state
 * @param {Item | null} item
 * @param {(entry: {row: number}) => void} open
 */
export function showTargets(state, item, open) {
  const targets = state.targets;
  by("targets-panel").hidden = targets.length === 0;
  if (!targets.length) return;
  const { targets: vars, irreducible } = state.progress;
  // The list is drawn anew only if something in it has changed, so that a reader keeps the place.
  const mark = JSON.stringify([vars, irreducible, item?.why.serves]);
  if (mark === drawnTargets) return;
  drawnTargets = mark;
  const served = new Map((item?.why.serves ?? []).map((one) => [one.target, one.share]));
  const order = targets.map((_, at) => at);
  const left = (/** @type {number} */ at) => (vars[at] ? vars[at].now / vars[at].start : 1);
  order.sort((a, b) => left(b) - left(a));
  const rows = order.slice(0, 200).map((at) => {
    const target = targets[at];
    const least = vars[at]?.irreducible;
    const floor = least ? least / vars[at].start : 0;
    const bar = make("div", { class: "bar", role: "img", "aria-label": `${percent(left(at))} of the variance is left` }, make("i", { "width%": 100 * left(at) }), make("i", { class: "floor", "width%": 100 * floor }));
    const line = make("div", { class: "bar-line" }, bar, make("span", {}, percent(left(at))));
    const told = (vars[at]?.served_by ?? []).map((one) => serving(one, open));
    const note = make("div", { class: "told" },
      told.length ? make("span", { class: "quiet" }, "learned from") : null, ...told,
      served.has(at) ? make("span", { class: "now" }, `this example: ${percent(served.get(at))}`) : null);
    const name = target.text ?? target.id;
    const words = target.image ? null : make("span", { class: "label", title: name }, name);
    if (!target.image) return make("li", { class: "words" }, words, line, note);
    return make("li", {}, small(target.image, target.id), make("div", {}, line, note));
  });
  const list = by("targets").querySelector("ul");
  const at = list?.scrollTop ?? 0;
  by("targets").replaceChildren(
    make("ul", { class: "targets", tabindex: 0, "aria-label": "Targets, least known first" }, ...rows),
    make("p", { class: "key" }, make("span", {}, make("span", { class: "swatch", colour: "var(--accent)" }), "variance left"),
      make("span", {}, make("span", { class: "swatch", colour: "var(--warm)" }), irreducible === null ? "cannot be removed (not computed)" : "cannot be removed by this pool")),
  );
  by("targets").querySelector("ul")?.scrollTo(0, at);
}

/**
 * Shows the examples about which annotators disagree.
 * @param {State} state
 * @param {(entry: {row: number}) => void} open
 */
export function showDisputes(state, open) {
  const list = state.disputes.map((one) =>
    make("p", { class: "dispute" }, make("strong", {}, one.id), `: ${one.answers.map(([who, what]) => `${who} says ${what}`).join(", ")} `,
      make("button", { type: "button", onclick: () => open(one) }, "Decide")));
  by("disputes").replaceChildren(...(list.length ? [make("h2", {}, "Disagreements"), ...list] : []));
}
