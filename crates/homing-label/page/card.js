// The example in the middle, the labels and the history.

import { picture } from "./api.js";
import { by, colourOf, make, percent } from "./dom.js";

/**
 * @typedef {import("./types.js").State} State
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").Example} Example
 * @typedef {import("./types.js").HistoryEntry} HistoryEntry
 */

/** Texts from this length on are set in a smaller size. */
const LONG = 280;

/** Side in pixels up to which an image is enlarged with visible pixels. */
const TINY = 64;

/**
 * Shows an image of the server in an element, enlarged if it is tiny.
 * @param {HTMLImageElement} image
 * @param {string} path
 */
export function load(image, path) {
  image.addEventListener("load", () => image.classList.toggle("tiny", Math.max(image.naturalWidth, image.naturalHeight) <= TINY));
  picture(path).then((url) => (image.src = url), (error) => image.replaceWith(make("p", { class: "quiet" }, error.message)));
}

/**
 * Returns a small picture that stands beside words, which say what it shows.
 * @param {string} path
 * @param {string} [name] What it shows, if no words do.
 */
export function small(path, name = "") {
  const image = /** @type {HTMLImageElement} */ (make("img", { class: "picture", alt: name }));
  load(image, path);
  return image;
}

/**
 * Returns an element with what a person sees of an example.
 * @param {Example} item
 * @returns {HTMLElement}
 */
export function shown(item) {
  if (item.image) {
    const image = /** @type {HTMLImageElement} */ (make("img", { alt: `The image ${item.id}` }));
    load(image, item.image);
    return image;
  }
  const text = item.text ?? item.id;
  return make("p", { class: text.length > LONG ? "text long" : "text" }, text);
}

/**
 * Shows an example.
 * @param {Item | null} item
 * @param {import("./types.js").Target[]} targets
 * @param {string} otherwise What to say if there is none.
 */
export function showItem(item, targets, otherwise) {
  const card = by("example");
  card.setAttribute("aria-busy", "false");
  card.classList.remove("new");
  if (!item) {
    card.replaceChildren(make("p", { class: "quiet" }, otherwise));
    by("why").textContent = "";
    return;
  }
  card.replaceChildren(
    shown(item),
    make("span", { class: "name" }, item.text || item.image ? item.id : ""),
    make("span", { class: "rank" }, `example ${item.rank} · adds ${item.information.toFixed(2)} nats`),
  );
  // Reading the width makes the browser start the animation again.
  void card.offsetWidth;
  card.classList.add("new");
  const served = item.why.serves.map((one) => targets[one.target]?.image).filter((path) => path !== undefined);
  by("why").replaceChildren(make("span", {}, item.why.sentence), ...served.map((path) => small(path)));
}

/**
 * Returns the key of each class: its own name if that is a digit, and otherwise its position.
 * @param {string[]} names
 * @returns {Map<string, number>}
 */
export function keysOf(names) {
  const keys = new Map();
  names.forEach((name, at) => /^[0-9]$/.test(name) && keys.set(name, at));
  names.forEach((_, at) => {
    const key = at === 9 ? "0" : at < 9 ? String(at + 1) : "";
    if (key && !keys.has(key)) keys.set(key, at);
  });
  return keys;
}

/**
 * Shows a button per class.
 * @param {State} state
 * @param {Item | null} item
 * @param {(label: string) => void} choose
 * @param {(name: string) => void} add
 */
export function showClasses(state, item, choose, add) {
  const names = state.classes.map((one) => one.name);
  const keys = keysOf(names);
  const shortest = (/** @type {number} */ at) => [...keys].find(([key, to]) => to === at && key === names[at])?.[0] ?? [...keys].find(([, to]) => to === at)?.[0];
  const suggested = item?.suggestion?.label;
  const buttons = state.classes.map((one, at) => {
    const key = shortest(at);
    const is = suggested === one.name;
    return make(
      "button",
      { type: "button", class: is ? "class suggested" : "class", "data-label": one.name, "aria-keyshortcuts": key, onclick: () => choose(one.name), disabled: !item },
      key ? make("kbd", {}, key) : null,
      make("span", { class: "swatch", colour: colourOf(at) }),
      make("span", { class: "title" }, one.name),
      make("span", { class: "count", "aria-label": `${one.count} so far` }, String(one.count)),
      is ? make("span", { class: "hint" }, `likely ${percent(item?.suggestion?.share)}`) : null,
    );
  });
  const box = by("classes");
  const old = /** @type {HTMLInputElement | null} */ (box.querySelector("input"));
  // A name that somebody is typing is kept.
  const typed = old && (old.value || old === document.activeElement) ? old : null;
  const name = typed ?? /** @type {HTMLInputElement} */ (make("input", { placeholder: names.length ? "another class" : "first class", "aria-label": "Name of a new class", maxlength: 100 }));
  const form = make("form", { class: "add", onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); if (name.value.trim()) add(name.value.trim()); name.value = ""; name.blur(); } }, name, make("button", {}, "Add"));
  box.replaceChildren(...buttons, form);
  if (typed && old === typed) typed.focus();
}

/** What each kind of answer is called. */
const ANSWERS = new Map([["exclude", "not my task"], ["unsure", "unsure"], ["skip", "skipped"]]);

/**
 * Names an answer of the history.
 * @param {{label?: string, answer: string}} entry
 */
export const answerOf = (entry) => entry.label ?? ANSWERS.get(entry.answer) ?? entry.answer;

/**
 * Shows the latest answers.
 * @param {State} state
 * @param {(entry: HistoryEntry) => void} open
 */
export function showHistory(state, open) {
  const names = state.classes.map((one) => one.name);
  const list = by("history");
  const first = state.history[0]?.seq;
  // The list is drawn again only if it has changed.
  const mark = `${first}-${state.history.length}-${names.length}`;
  if (list.dataset.mark === mark) return;
  list.dataset.mark = mark;
  list.replaceChildren(...state.history.slice(0, 40).map((entry) => {
    const answer = answerOf(entry);
    let content;
    if (entry.image) content = small(entry.image);
    else content = make("span", { class: "words" }, entry.text ?? entry.id);
    const many = entry.count > 1 ? ` × ${entry.count}` : "";
    return make("li", {}, make("button", { type: "button", "aria-label": `${entry.id}: ${answer}${many}. Change`, onclick: () => open(entry) },
      content, make("span", { class: "answer" }, make("span", { class: "swatch", colour: colourOf(names.indexOf(entry.label ?? "")) }), `${answer}${many}`)));
  }));
  if (!state.history.length) list.append(make("li", { class: "quiet small" }, "Your answers will be listed here. Choose one to change it."));
}
