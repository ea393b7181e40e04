// The page: it asks for examples, takes answers by key or click, and follows the run.

import { Refused, follow, get, picture, post, raw, upload } from "./api.js";
import { answerOf, keysOf, load, showClasses, showHistory, showItem, shown } from "./card.js";
import { by, colourOf, make, percent } from "./dom.js";
import { PointMap } from "./map.js";
import { showAccuracy, showDisputes, showStop, showTargets } from "./panels.js";

/** Largest number of examples that are answered together. */
const MOST_AT_ONCE = 5000;

/** Number of examples that are fetched at a time, so that the next one is shown without waiting. */
const AHEAD = 3;

/**
 * @typedef {import("./types.js").State} State
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").Known} Known
 * @typedef {import("./map.js").Legend} Legend
 */

/** @type {State | null} */ let state = null;
/** @type {Item[]} */ let queue = [];
let isBusy = false;

const nameField = /** @type {HTMLInputElement} */ (by("annotator"));
nameField.value = localStorage.getItem("homing-annotator") ?? "me";
const annotator = () => nameField.value.trim() || "me";
nameField.addEventListener("change", () => {
  localStorage.setItem("homing-annotator", annotator());
  queue = [];
  refresh().then(fill, problem);
});

/**
 * Announces a text to screen readers.
 * @param {string} text
 */
const say = (text) => (by("said").textContent = text);

/** @param {any} error */
function problem(error) {
  const banner = by("connection");
  banner.textContent = error instanceof Refused ? error.message : "The server cannot be reached. Your answers so far are saved; the page tries again.";
  banner.hidden = false;
}

const current = () => queue[0] ?? null;

function render() {
  if (!state) return;
  by("pool").textContent = `${state.pool} · ${state.rows.toLocaleString("en")} examples`;
  by("run").textContent = `Every answer is saved in ${state.run}.`;
  const item = current();
  showClasses(state, item, (label) => answer("labels", { label }), addClass);
  showHistory(state, openEntry);
  showStop(state);
  showAccuracy(state);
  showTargets(state, item, openEntry);
  showColours(state);
  showDisputes(state, openEntry);
  for (const id of ["exclude", "unsure", "skip"]) /** @type {HTMLButtonElement} */ (by(id)).disabled = !item;
  /** @type {HTMLButtonElement} */ (by("undo")).disabled = !state.can_undo;
  /** @type {HTMLButtonElement} */ (by("redo")).disabled = !state.can_redo;
}

let drawn = "";
function renderItem() {
  const item = current();
  const mark = item ? `${item.id} ${item.rank}` : "none";
  if (mark !== drawn) {
    drawn = mark;
    showItem(item, state?.targets ?? [], state?.failure ?? "Every example of the pool has been answered.");
    map?.mark(item ? item.row : null);
    for (const next of queue.slice(1)) if (next.image) picture(next.image).catch(() => {});
  }
  render();
}

async function refresh() {
  state = await get(`/api/state?annotator=${encodeURIComponent(annotator())}`);
  render();
  colourSoon();
}

async function fill() {
  const next = await get(`/api/next?count=${AHEAD}&annotator=${encodeURIComponent(annotator())}`);
  queue = next.items;
  renderItem();
}

/**
 * Sends an answer about the current example, and shows the next one at once.
 * @param {string} kind
 * @param {{label?: string}} [more]
 */
function answer(kind, more = {}) {
  const item = current();
  if (!item || isBusy) return;
  isBusy = true;
  const before = queue;
  queue = queue.slice(1);
  const label = more.label;
  if (label) document.querySelector(`[data-label="${CSS.escape(label)}"]`)?.classList.add("flash");
  // A label keeps the order of what follows; after any other answer, the next choice may differ.
  if (kind === "labels" && queue.length) renderItem();
  say(`${item.id}: ${label ?? answerOf({ answer: kind })}`);
  send(`/api/${kind}`, { id: item.id, ...more, next: AHEAD }).then(
    (saved) => {
      queue = saved.next.items;
      isBusy = false;
      renderItem();
    },
    (error) => {
      queue = before;
      isBusy = false;
      drawn = "";
      renderItem();
      problem(error);
    },
  );
}

/**
 * @param {string} path
 * @param {object} body
 */
const send = (path, body) => post(path, { ...body, annotator: annotator() });

/** @param {"undo" | "redo"} kind */
function step(kind) {
  if (isBusy || !state || !(kind === "undo" ? state.can_undo : state.can_redo)) return;
  isBusy = true;
  send(`/api/${kind}`, { next: AHEAD }).then((saved) => (queue = saved.next.items), problem).then(() => {
    isBusy = false;
    say(kind === "undo" ? "Undone" : "Restored");
    drawn = "";
    renderItem();
    return refresh();
  }).catch(problem);
}

/** @param {string} name */
function addClass(name) {
  send("/api/classes", { name }).then(refresh, problem);
}

/**
 * Opens an earlier answer, to change it.
 * @param {{row: number}} entry
 */
async function openEntry(entry) {
  const dialog = /** @type {HTMLDialogElement} */ (by("relabel"));
  /** @type {Known | null} */
  const item = await get(`/api/items/${entry.row}`).catch(problem);
  if (!item || !state) return;
  const change = (/** @type {string} */ path, /** @type {object} */ body) => () => {
    dialog.close();
    send(path, { id: item.id, ...body }).then(refresh, problem);
  };
  const answers = item.answers.map(([who, what]) => `${who}: ${what}`).join(", ");
  const keys = keysOf(state.classes.map((one) => one.name));
  const give = state.classes.map((one) => change("/api/labels", { label: one.name }));
  const buttons = state.classes.map((one, at) =>
    make("button", { type: "button", class: "class", onclick: give[at] }, make("span", { class: "swatch", colour: colourOf(at) }), make("span", { class: "title" }, one.name)));
  dialog.onkeydown = (event) => {
    const at = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys.get(event.key);
    if (at !== undefined) give[at]();
    else if (event.key === "x") change("/api/exclude", {})();
    else if (event.key === "?" || event.key === "u") change("/api/unsure", {})();
    else return;
    // The key is not also an answer about the current example.
    event.stopPropagation();
    event.preventDefault();
  };
  by("relabel-body").replaceChildren(
    make("div", { class: "shown" }, shown(item)),
    make("p", { class: "quiet" }, answers || "No answer yet"),
    make("div", { class: "classes" }, ...buttons),
    make("div", { class: "actions" }, make("button", { type: "button", onclick: change("/api/exclude", {}) }, "Not my task"),
      make("button", { type: "button", onclick: change("/api/unsure", {}) }, "Unsure"), make("button", { type: "button", onclick: change("/api/skip", {}) }, "Skip")),
  );
  dialog.showModal();
}

/** @type {PointMap | null} */ let map = null;
/** @type {number | undefined} */ let colouring;
const colourChoice = /** @type {HTMLSelectElement} */ (by("colour"));

/** Updates the colours of the map shortly after the latest change. */
function colourSoon() {
  clearTimeout(colouring);
  colouring = setTimeout(() => {
    const [mode, column] = colourChoice.value.split(/:(.*)/s);
    map?.colour(mode, column).then((legend) => note(mode, legend), (error) => (by("map-note").textContent = error.message));
  }, 200);
}

/**
 * Offers the columns of the pool as colours.
 * @param {State} state
 */
function showColours(state) {
  if (colourChoice.dataset.columns === String(state.columns.length)) return;
  colourChoice.dataset.columns = String(state.columns.length);
  if (state.columns.length) {
    colourChoice.append(make("optgroup", { label: "columns of the pool" }, ...state.columns.map((name) => make("option", { value: `column:${name}` }, name))));
  }
}

/**
 * Says what the map shows.
 * @param {string} mode
 * @param {Legend | null} legend
 */
function note(mode = "label", legend = null) {
  const entry = (/** @type {string} */ colour, /** @type {string} */ text) => make("span", {}, make("span", { class: "swatch", colour }), text);
  const entries = [make("span", {}, "▲ targets"), make("span", {}, "○ this example")];
  const number = (/** @type {number} */ value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });
  if (mode === "label" || mode === "prediction") {
    for (const [at, one] of (state?.classes ?? []).slice(0, 12).entries()) entries.push(entry(colourOf(at), one.name));
  } else if (mode === "information") entries.push(make("span", {}, "brighter: like a target of which little is known"));
  else if (legend?.kind === "numbers") entries.push(make("span", {}, number(legend.low)), make("span", { class: "ramp" }), make("span", {}, number(legend.high)));
  else if (legend?.kind === "categories") {
    for (const [at, name] of legend.names.entries()) entries.push(entry(colourOf(at), name));
    if (legend.others) entries.push(entry(colourOf(legend.names.length), "other values"));
  }
  by("map-note").replaceChildren(...entries);
}

/** @type {number | null} */ let hovered = null;
/**
 * @param {number | null} row
 * @param {number} x
 * @param {number} y
 */
async function hover(row, x, y) {
  const tip = by("tip");
  if (row === null) {
    hovered = null;
    tip.hidden = true;
    return;
  }
  const box = by("map").getBoundingClientRect();
  tip.style.left = `${Math.min(x + 12, box.width - 150)}px`;
  tip.style.top = `${Math.min(y + 12, box.height - 60)}px`;
  if (row === hovered) return;
  hovered = row;
  /** @type {Known | null} */
  const item = await get(`/api/items/${row}`).catch(() => null);
  if (!item || hovered !== row) return;
  const said = item.answers.length ? item.answers.map(([, what]) => what).join(", ") : item.suggestion ? `likely ${item.suggestion.label} (${percent(item.suggestion.share)})` : "";
  const image = item.image ? /** @type {HTMLImageElement} */ (make("img", { alt: "" })) : null;
  if (image && item.image) load(image, item.image);
  tip.replaceChildren(...[image, make("div", {}, (item.text ?? item.id).slice(0, 160)), make("div", { class: "quiet" }, said)].filter((one) => one !== null));
  tip.hidden = false;
}

/**
 * Offers labels for the examples in the lasso.
 * @param {number[]} rows
 */
function chosen(rows) {
  const box = by("bulk");
  const done = () => {
    map?.selected.clear();
    map?.draw();
    box.hidden = true;
  };
  box.hidden = rows.length === 0;
  if (!rows.length || !state) return;
  const all = async (/** @type {string} */ path, /** @type {object} */ body) => {
    await send(path, { rows, ...body });
    done();
    queue = [];
    await refresh();
    await fill();
  };
  if (rows.length > MOST_AT_ONCE) {
    box.replaceChildren(`${rows.length.toLocaleString("en")} examples are too many to answer at once; choose fewer. `, make("button", { type: "button", onclick: done }, "Close"));
    return;
  }
  box.replaceChildren(
    make("strong", {}, `${rows.length} ${rows.length === 1 ? "example" : "examples"} are`),
    ...state.classes.map((one) => make("button", { type: "button", onclick: () => all("/api/labels", { label: one.name }).catch(problem) }, one.name)),
    make("button", { type: "button", onclick: () => all("/api/exclude", {}).catch(problem) }, "not my task"),
    make("button", { type: "button", onclick: done }, "Cancel"),
  );
}

const lasso = by("lasso");
lasso.addEventListener("click", () => {
  if (!map) return;
  map.isLasso = !map.isLasso;
  lasso.setAttribute("aria-pressed", String(map.isLasso));
  if (map.isLasso) by("map-note").textContent = "Draw a line around examples to answer them together.";
  else colourSoon();
});
by("in-view").addEventListener("click", () => map?.choose());
by("home").addEventListener("click", () => map?.home());
colourChoice.addEventListener("change", colourSoon);

by("skip").addEventListener("click", () => answer("skip"));
by("exclude").addEventListener("click", () => answer("exclude"));
by("unsure").addEventListener("click", () => answer("unsure"));
by("undo").addEventListener("click", () => step("undo"));
by("redo").addEventListener("click", () => step("redo"));

addEventListener("keydown", (event) => {
  const on = /** @type {HTMLElement} */ (event.target);
  if (on.matches("input, select, textarea") || /** @type {HTMLDialogElement} */ (by("relabel")).open) return;
  const isChord = event.ctrlKey || event.metaKey;
  const key = event.key.toLowerCase();
  if (isChord && key === "z") {
    event.preventDefault();
    step(event.shiftKey ? "redo" : "undo");
    return;
  }
  if (isChord && key === "y") {
    event.preventDefault();
    step("redo");
    return;
  }
  if (isChord || event.altKey || event.repeat || !state) return;
  const at = keysOf(state.classes.map((one) => one.name)).get(event.key);
  if (at !== undefined) answer("labels", { label: state.classes[at].name });
  else if (key === "backspace") step("undo");
  else if (key === "y") step("redo");
  else if (key === "x") answer("exclude");
  else if (key === "?" || key === "u") answer("unsure");
  // On a button, the space bar presses that button.
  else if (key === " " && !on.matches("button, summary")) answer("skip");
  else return;
  event.preventDefault();
});

const EXPORTS = [["export?format=csv", "CSV"], ["export?format=jsonl", "JSON lines"], ["export?format=parquet", "Parquet"], ["export?format=folders", "Folders by class (ZIP)"], ["export?format=label-studio", "Label Studio"], ["report", "Report (HTML)"]];
by("export-list").append(...EXPORTS.map(([path, name]) => make("button", { type: "button", onclick: () => save(path).catch(problem) }, name)));

const importer = /** @type {HTMLInputElement} */ (make("input", { type: "file", accept: ".json", hidden: true }));
importer.addEventListener("change", () => {
  const file = importer.files?.[0];
  importer.value = "";
  if (!file) return;
  by("export").removeAttribute("open");
  upload(`/api/import?annotator=${encodeURIComponent(annotator())}`, file).then(({ added }) => {
    say(`${added} labels were added`);
    return refresh().then(fill);
  }).catch(problem);
});
by("export-list").append(make("button", { type: "button", class: "import", onclick: () => importer.click() }, "Add labels from Label Studio…"), importer);

/** @param {string} path */
async function save(path) {
  const response = await raw(`/api/${path}`);
  const name = /filename="(.*)"/.exec(response.headers.get("content-disposition") ?? "")?.[1] ?? "labels";
  const link = /** @type {HTMLAnchorElement} */ (make("a", { href: URL.createObjectURL(await response.blob()), download: name }));
  link.click();
  URL.revokeObjectURL(link.href);
  by("export").removeAttribute("open");
}

/** Shows three hints until the person closes them for good. */
function hints() {
  if (localStorage.getItem("homing-hints") === "seen") return;
  const hint = (/** @type {string} */ title, /** @type {string} */ text) => make("p", {}, make("strong", {}, title), text);
  by("hints").replaceChildren(
    hint("Press a key", "The key beside a label gives that label. Space skips the example, and backspace undoes the latest answer."),
    hint("Say what does not belong", "“Not my task” (x) teaches as much as a label."),
    hint("Watch when to stop", "The panel “When to stop” says when further labels would add little."),
    make("button", { type: "button", onclick: () => { localStorage.setItem("homing-hints", "seen"); by("hints").hidden = true; } }, "Got it"),
  );
  by("hints").hidden = false;
}

/** @type {number | undefined} */ let refreshing;
function connected(/** @type {boolean} */ is) {
  const banner = by("connection");
  if (!is) banner.textContent = "The connection to the server is lost. Your answers so far are saved; the page reconnects by itself.";
  const isBack = is && !banner.hidden;
  banner.hidden = is;
  if (isBack) {
    say("Connected again");
    refresh().then(fill).catch(problem);
  }
}

async function start() {
  hints();
  note();
  map = new PointMap(hover, chosen);
  map.load().then(() => {
    map?.mark(current()?.row ?? null);
    colourSoon();
  }, (error) => (by("map-note").textContent = error.message));
  await refresh();
  await fill();
  follow(() => {
    clearTimeout(refreshing);
    refreshing = setTimeout(() => refresh().catch(problem), 60);
  }, connected).catch(problem);
}

start().catch(problem);
