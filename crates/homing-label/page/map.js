// The map of pool, targets and picks: what it shows, and how a person moves it.

import { raw } from "./api.js";
import { by, colourOf } from "./dom.js";
import { Grid } from "./grid.js";
import { Points, paletteOf } from "./points.js";

/** Points that a frame draws at first. The number follows how fast this machine is. */
const FIRST_BUDGET = 120000;
const LEAST_BUDGET = 20000;

/** Milliseconds between two frames from which on, or up to which, a frame draws fewer or more points. */
const SLOW = 45;
const FAST = 24;

/** Points that are drawn at most where there is no WebGL2. */
const MOST_WITHOUT = 50000;

/** Code of a point about which nothing is known. */
const OPEN = 255;

/**
 * @typedef {{kind: "categories", names: string[], others: boolean} | {kind: "numbers", low: number, high: number}} Legend
 */

export class PointMap {
  /**
   * @param {(row: number | null, x: number, y: number) => void} hover
   * @param {(rows: number[]) => void} chosen
   */
  constructor(hover, chosen) {
    this.canvas = /** @type {HTMLCanvasElement} */ (by("canvas"));
    this.overlay = /** @type {HTMLCanvasElement} */ (by("overlay"));
    this.hover = hover;
    this.chosen = chosen;
    /** @type {Uint16Array} */ this.places = new Uint16Array();
    /** @type {Uint8Array} */ this.codes = new Uint8Array();
    this.rows = 0;
    this.targets = 0;
    /** @type {number | null} */ this.current = null;
    this.zoom = 1;
    this.centre = [0.5, 0.5];
    this.isLasso = false;
    /** @type {number[][]} */ this.path = [];
    /** @type {Set<number>} */ this.selected = new Set();
    this.mode = "label";
    this.isScale = false;
    this.budget = FIRST_BUDGET;
    this.part = 0;
    /** Whether the picture on the screen has all points. */
    this.isComplete = false;
    /** Whether parts of the picture are shown before it is complete. */
    this.showsParts = true;
    this.last = 0;
    /** @type {Grid | null} */ this.cells = null;
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** Fetches the positions, once. */
  async load() {
    const response = await raw("/api/map");
    this.targets = Number(response.headers.get("x-targets"));
    this.places = new Uint16Array(await response.arrayBuffer());
    this.rows = this.places.length / 2 - this.targets;
    this.codes = new Uint8Array(this.rows).fill(OPEN);
    this.points = new Points(this.places, this.rows);
    this.points.code(this.codes, new Uint32Array());
    this.draw();
  }

  /** Returns the grid, which only the pointer needs. */
  grid() {
    this.cells ??= new Grid(this.places, this.rows);
    return this.cells;
  }

  /**
   * Colours the points by label, prediction or information, or by a column of the pool, of which the legend is returned.
   * @param {string} mode
   * @param {string} [column]
   * @returns {Promise<Legend | null>}
   */
  async colour(mode, column = "") {
    if (!this.rows) return null;
    const response = await raw(mode === "column" ? `/api/columns?name=${encodeURIComponent(column)}` : `/api/map/${mode}`);
    const codes = new Uint8Array(await response.arrayBuffer());
    /** @type {Legend | null} */
    const legend = JSON.parse(response.headers.get("x-legend") ?? "null");
    const isScale = mode === "information" || legend?.kind === "numbers";
    if (mode === this.mode && isScale === this.isScale && same(codes, this.codes)) return legend;
    [this.mode, this.isScale, this.codes] = [mode, isScale, codes];
    /** @type {number[]} */
    const marked = [];
    if (mode === "label") codes.forEach((code, row) => code !== OPEN && marked.push(row));
    this.points?.code(codes, Uint32Array.from(marked));
    this.draw(false);
    return legend;
  }

  /** @param {number | null} row */
  mark(row) {
    this.current = row;
    this.paintOverlay();
  }

  home() {
    this.zoom = 1;
    this.centre = [0.5, 0.5];
    this.draw();
  }

  /**
   * Draws the map anew. What has moved is shown part by part; other changes are shown when they are complete, so that nothing flickers.
   * @param {boolean} [hasMoved]
   */
  draw(hasMoved = true) {
    this.showsParts = hasMoved || !this.isComplete;
    this.isComplete = false;
    this.part = 0;
    this.paintOverlay();
    this.request();
  }

  request() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame((now) => {
      this.waiting = false;
      this.paint(now);
    });
  }

  /** Returns width, height and pixels per CSS pixel of the map. */
  size() {
    return [this.canvas.clientWidth, this.canvas.clientHeight, devicePixelRatio || 1];
  }

  /** Returns the side of the square of all places, in CSS pixels. */
  side() {
    return Math.min(this.canvas.clientWidth, this.canvas.clientHeight) * this.zoom;
  }

  /**
   * Returns the place of a point on the canvas, in CSS pixels.
   * @param {number} at
   */
  screen(at) {
    const [w, h, side] = [this.canvas.clientWidth, this.canvas.clientHeight, this.side()];
    const x = this.places[2 * at] / 65535 - this.centre[0];
    const y = this.places[2 * at + 1] / 65535 - this.centre[1];
    return [w / 2 + x * side, h / 2 - y * side];
  }

  /**
   * Returns what lies at a place of the canvas, from 0 to 1 within the map.
   * @param {number} x
   * @param {number} y
   * @returns {[number, number]}
   */
  place(x, y) {
    const [w, h, side] = [this.canvas.clientWidth, this.canvas.clientHeight, this.side()];
    return [(x - w / 2) / side + this.centre[0], -(y - h / 2) / side + this.centre[1]];
  }

  /**
   * Draws the next part of the points.
   * @param {number} now
   */
  paint(now) {
    const [w, h, ratio] = this.size();
    const points = this.points;
    if (!w || !h || !this.rows || !points) return;
    const [width, height] = [Math.round(w * ratio), Math.round(h * ratio)];
    const pen = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    if (this.part === 0) {
      const side = this.side();
      // In a large map a point is one pixel, and the picture is made of their density.
      const size = Math.max(1, Math.min(7, 260 / Math.sqrt(this.rows) + Math.log2(this.zoom))) * ratio;
      const palette = paletteOf(this.mode, this.isScale, isDark, colourOf);
      const shift = [(-2 * side * this.centre[0]) / w, (-2 * side * this.centre[1]) / h];
      if (points.gl) points.begin(width, height, [(2 * side) / w, (2 * side) / h], [shift[0], shift[1]], size, palette);
      else this.paintWithout(pen, width, height, ratio, size, palette);
      this.parts = points.gl ? points.parts(this.budget) : 1;
    } else if (now - this.last > SLOW) this.budget = Math.max(LEAST_BUDGET, 0.7 * this.budget);
    else if (now - this.last < FAST) this.budget *= 1.3;
    this.last = now;
    points.draw(this.part, this.parts ?? 1);
    this.part++;
    const isWhole = this.part >= (this.parts ?? 1);
    if (points.gl && (isWhole || this.showsParts)) {
      if (this.canvas.width !== width || this.canvas.height !== height) [this.canvas.width, this.canvas.height] = [width, height];
      pen.clearRect(0, 0, width, height);
      pen.drawImage(points.canvas, 0, 0);
    }
    if (this.part === 1 || isWhole) performance.mark(isWhole ? "map-complete" : "map-first");
    this.isComplete = isWhole;
    if (!isWhole) this.request();
  }

  /**
   * Draws some of the points without WebGL2.
   * @param {CanvasRenderingContext2D} pen
   * @param {number} width
   * @param {number} height
   * @param {number} ratio
   * @param {number} size
   * @param {Uint8Array} palette
   */
  paintWithout(pen, width, height, ratio, size, palette) {
    [this.canvas.width, this.canvas.height] = [width, height];
    const step = Math.max(1, Math.ceil(this.rows / MOST_WITHOUT));
    for (let row = 0; row < this.rows; row += step) {
      const at = 4 * this.codes[row];
      pen.fillStyle = `rgba(${palette[at]},${palette[at + 1]},${palette[at + 2]},${palette[at + 3] / 255})`;
      const [x, y] = this.screen(row);
      pen.fillRect(x * ratio - size / 2, y * ratio - size / 2, size, size);
    }
  }

  /** Draws the targets, the current example, the selection and the lasso. */
  paintOverlay() {
    const [w, h, ratio] = this.size();
    if (!w || !h) return;
    const [width, height] = [Math.round(w * ratio), Math.round(h * ratio)];
    if (this.overlay.width !== width || this.overlay.height !== height) [this.overlay.width, this.overlay.height] = [width, height];
    const pen = /** @type {CanvasRenderingContext2D} */ (this.overlay.getContext("2d"));
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, w, h);
    const style = getComputedStyle(document.documentElement);
    pen.fillStyle = style.getPropertyValue("--ink");
    pen.globalAlpha = 0.45;
    for (const row of this.selected) {
      const [x, y] = this.screen(row);
      pen.fillRect(x - 1.5, y - 1.5, 3, 3);
    }
    pen.globalAlpha = 1;
    pen.fillStyle = style.getPropertyValue("--warm");
    pen.strokeStyle = style.getPropertyValue("--paper");
    for (let target = this.rows; target < this.rows + this.targets && target < this.rows + 5000; target++) {
      const [x, y] = this.screen(target);
      pen.beginPath();
      pen.moveTo(x, y - 6);
      pen.lineTo(x + 5.5, y + 4);
      pen.lineTo(x - 5.5, y + 4);
      pen.closePath();
      pen.fill();
      pen.stroke();
    }
    if (this.current !== null && this.rows) {
      const [x, y] = this.screen(this.current);
      pen.strokeStyle = style.getPropertyValue("--accent");
      pen.lineWidth = 2.5;
      pen.beginPath();
      pen.arc(x, y, 9, 0, 7);
      pen.stroke();
      pen.lineWidth = 1;
    }
    if (this.path.length > 1) {
      pen.strokeStyle = style.getPropertyValue("--ink");
      pen.beginPath();
      this.path.forEach(([x, y], at) => (at ? pen.lineTo(x, y) : pen.moveTo(x, y)));
      pen.stroke();
    }
  }

  /**
   * Returns the row nearest to a place on the canvas, if one is near.
   * @param {number} x
   * @param {number} y
   */
  near(x, y) {
    let [best, least] = [-1, 64];
    const [left, bottom] = this.place(x - 8, y + 8);
    const [right, top] = this.place(x + 8, y - 8);
    this.grid().within([left, bottom], [right, top], (row) => {
      const [sx, sy] = this.screen(row);
      const apart = (sx - x) ** 2 + (sy - y) ** 2;
      if (apart < least) [best, least] = [row, apart];
    });
    return best < 0 ? null : best;
  }

  /** Selects the points within the lasso, or all that are in view if there is none. */
  choose() {
    const [w, h] = this.size();
    const rows = this.within(this.path.length > 2 ? this.path : [[0, 0], [w, 0], [w, h], [0, h]]);
    this.selected = new Set(rows);
    this.paintOverlay();
    this.chosen(rows);
  }

  /**
   * Returns the rows within a line, given by its corners on the canvas.
   * @param {number[][]} line
   */
  within(line) {
    const path = line.map(([x, y]) => this.place(x, y));
    const [xs, ys] = [path.map(([x]) => x), path.map(([, y]) => y)];
    /** @type {number[]} */
    const rows = [];
    this.grid().within([Math.min(...xs), Math.min(...ys)], [Math.max(...xs), Math.max(...ys)], (row) => {
      const [x, y] = [this.places[2 * row] / 65535, this.places[2 * row + 1] / 65535];
      let inside = false;
      for (let i = 0, j = path.length - 1; i < path.length; j = i++) {
        const [[xi, yi], [xj, yj]] = [path[i], path[j]];
        if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
      }
      if (inside) rows.push(row);
    });
    return rows.sort((a, b) => a - b);
  }

  /**
   * @param {number} factor
   * @param {number} x
   * @param {number} y
   */
  magnify(factor, x, y) {
    const before = this.place(x, y);
    this.zoom = Math.min(400, Math.max(0.8, this.zoom * factor));
    const after = this.place(x, y);
    this.centre[0] += before[0] - after[0];
    this.centre[1] += before[1] - after[1];
    this.draw();
  }

  listen() {
    const canvas = this.canvas;
    /** @type {Map<number, number[]>} */
    const held = new Map();
    const place = (/** @type {MouseEvent} */ event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, place(event));
      if (this.isLasso) this.path = [place(event)];
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      const before = held.get(event.pointerId);
      if (!before) {
        if (this.rows) this.hover(this.near(x, y), x, y);
        return;
      }
      if (this.isLasso) {
        this.path.push([x, y]);
        this.paintOverlay();
        return;
      }
      const other = [...held].find(([id]) => id !== event.pointerId)?.[1];
      if (other) {
        const spread = (/** @type {number[]} */ [a, b]) => Math.hypot(a - other[0], b - other[1]);
        this.magnify(spread([x, y]) / Math.max(1, spread(before)), other[0], other[1]);
      } else {
        const side = this.side();
        this.centre[0] -= (x - before[0]) / side;
        this.centre[1] += (y - before[1]) / side;
        this.draw();
      }
      held.set(event.pointerId, [x, y]);
    });
    const release = (/** @type {PointerEvent} */ event) => {
      held.delete(event.pointerId);
      if (this.isLasso && this.path.length > 2) this.choose();
      this.path = [];
      this.paintOverlay();
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => this.hover(null, 0, 0));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const [x, y] = place(event);
      this.magnify(Math.exp(-event.deltaY / 400), x, y);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = 0.08 / this.zoom;
      const [w, h] = this.size();
      /** @type {Record<string, () => void>} */
      const moves = {
        ArrowLeft: () => (this.centre[0] -= step), ArrowRight: () => (this.centre[0] += step),
        ArrowUp: () => (this.centre[1] += step), ArrowDown: () => (this.centre[1] -= step),
        "+": () => this.magnify(1.25, w / 2, h / 2), "-": () => this.magnify(0.8, w / 2, h / 2),
      };
      const move = moves[event.key];
      if (!move) return;
      event.preventDefault();
      event.stopPropagation();
      move();
      this.draw();
    });
  }
}

/**
 * Returns whether two lists of bytes are equal.
 * @param {Uint8Array} a
 * @param {Uint8Array} b
 */
function same(a, b) {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false;
  return true;
}
