// The map of pool, targets and picks, drawn by WebGL2, or on a plain canvas in browsers without it.

import { raw } from "./api.js";
import { by, colourOf, rgb } from "./dom.js";

const VERTEX = `#version 300 es
in vec2 place; in float code; uniform vec2 scale; uniform vec2 shift; uniform float size; uniform sampler2D palette; out vec4 colour;
void main() {
  colour = texelFetch(palette, ivec2(int(code), 0), 0);
  gl_Position = vec4(place * scale + shift, 0.0, 1.0);
  gl_PointSize = size * (colour.a > 0.95 ? 1.9 : 1.0);
}`;
const FRAGMENT = `#version 300 es
precision mediump float; in vec4 colour; out vec4 pixel;
void main() { vec2 d = gl_PointCoord - 0.5; if (dot(d, d) > 0.25) discard; pixel = vec4(colour.rgb * colour.a, colour.a); }`;

/** Cells per side of the grid that finds the point under the pointer. */
const CELLS = 256;

/** Number of points that are drawn while the map moves; the others are drawn when it rests. */
const MANY = 300000;

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
    this.isMoving = false;
    /** @type {number[][]} */ this.path = [];
    /** @type {Set<number>} */ this.selected = new Set();
    /** @type {Map<number, number[]>} */ this.grid = new Map();
    this.mode = "label";
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
    this.codes = new Uint8Array(this.rows).fill(255);
    this.start();
    this.draw();
    // The grid is needed for the pointer only, so the picture comes first.
    setTimeout(() => this.index(), 30);
  }

  index() {
    const shift = 16 - Math.log2(CELLS);
    for (let row = 0; row < this.rows; row++) {
      const cell = (this.places[2 * row] >> shift) * CELLS + (this.places[2 * row + 1] >> shift);
      const list = this.grid.get(cell);
      if (list) list.push(row);
      else this.grid.set(cell, [row]);
    }
  }

  start() {
    const gl = this.canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: true });
    this.gl = gl;
    if (!gl) return;
    const program = /** @type {WebGLProgram} */ (gl.createProgram());
    for (const [kind, text] of /** @type {[number, string][]} */ ([[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]])) {
      const shader = /** @type {WebGLShader} */ (gl.createShader(kind));
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
      this.gl = null;
      return;
    }
    gl.useProgram(program);
    this.uniform = (/** @type {string} */ name) => gl.getUniformLocation(program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, this.places.subarray(0, 2 * this.rows), gl.STATIC_DRAW);
    const place = gl.getAttribLocation(program, "place");
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, 2, gl.UNSIGNED_SHORT, true, 0, 0);
    this.codeBuffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.codeBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, this.codes, gl.DYNAMIC_DRAW);
    const code = gl.getAttribLocation(program, "code");
    gl.enableVertexAttribArray(code);
    gl.vertexAttribPointer(code, 1, gl.UNSIGNED_BYTE, false, 0, 0);
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** Returns the colour of each of the 256 codes. */
  palette() {
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    const colours = new Uint8Array(256 * 4);
    for (let code = 0; code < 256; code++) {
      let [r, g, b, a] = [...rgb(colourOf(code)), this.mode === "label" ? 1 : 0.75];
      if (this.mode === "information") {
        const share = code / 255;
        [r, g, b, a] = [0.45 + 0.4 * share, 0.5 - 0.1 * share, 0.58 - 0.4 * share, 0.15 + 0.6 * share * share];
      } else if (code === 255) [r, g, b, a] = isDark ? [0.68, 0.72, 0.76, 0.4] : [0.38, 0.42, 0.46, 0.35];
      else if (code >= 253) [r, g, b, a] = [0.5, 0.5, 0.5, 0.96];
      colours.set([r, g, b, a].map((value) => Math.round(255 * value)), 4 * code);
    }
    return colours;
  }

  /**
   * Colours the points by label, prediction or information.
   * @param {string} mode
   */
  async colour(mode) {
    if (!this.rows) return;
    const bytes = new Uint8Array(await (await raw(`/api/map/${mode}`)).arrayBuffer());
    this.mode = mode;
    this.codes = bytes;
    if (this.gl && this.codeBuffer) {
      this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.codeBuffer);
      this.gl.bufferSubData(this.gl.ARRAY_BUFFER, 0, bytes);
    }
    this.draw();
  }

  /** @param {number | null} row */
  mark(row) {
    this.current = row;
    this.draw();
  }

  home() {
    this.zoom = 1;
    this.centre = [0.5, 0.5];
    this.draw();
  }

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  /**
   * Returns the place of a point on the canvas, in CSS pixels.
   * @param {number} at
   */
  screen(at) {
    const [w, h] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const side = Math.min(w, h) * this.zoom;
    const x = this.places[2 * at] / 65535 - this.centre[0];
    const y = this.places[2 * at + 1] / 65535 - this.centre[1];
    return [w / 2 + x * side, h / 2 - y * side];
  }

  paint() {
    const ratio = devicePixelRatio || 1;
    const [w, h] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (!w || !h || !this.rows) return;
    for (const canvas of [this.canvas, this.overlay]) {
      const [width, height] = [Math.round(w * ratio), Math.round(h * ratio)];
      if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    }
    const side = Math.min(w, h) * this.zoom;
    const size = Math.max(1.5, Math.min(7, 260 / Math.sqrt(this.rows) + Math.log2(this.zoom))) * ratio;
    const gl = this.gl;
    if (gl && this.uniform) {
      gl.viewport(0, 0, this.canvas.width, this.canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, this.palette());
      gl.uniform2f(this.uniform("scale"), (2 * side) / w, (2 * side) / h);
      gl.uniform2f(this.uniform("shift"), (-2 * side * this.centre[0]) / w, (-2 * side * this.centre[1]) / h);
      gl.uniform1f(this.uniform("size"), size);
      // While a large map moves, only its first points are drawn; the others are drawn when it rests.
      gl.drawArrays(gl.POINTS, 0, this.isMoving ? Math.min(this.rows, MANY) : this.rows);
    }
    this.paintOverlay(ratio, gl ? 0 : size / ratio);
  }

  /**
   * @param {number} ratio
   * @param {number} plain Size of all points if they are drawn here, because there is no WebGL2.
   */
  paintOverlay(ratio, plain) {
    const pen = /** @type {CanvasRenderingContext2D} */ (this.overlay.getContext("2d"));
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, this.overlay.width, this.overlay.height);
    const style = getComputedStyle(document.documentElement);
    if (plain) {
      const colours = this.palette();
      const step = Math.max(1, Math.ceil(this.rows / 50000));
      for (let row = 0; row < this.rows; row += step) {
        const at = 4 * this.codes[row];
        pen.fillStyle = `rgba(${colours[at]},${colours[at + 1]},${colours[at + 2]},${colours[at + 3] / 255})`;
        const [x, y] = this.screen(row);
        pen.fillRect(x - plain / 2, y - plain / 2, plain, plain);
      }
    }
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
    pen.fillStyle = style.getPropertyValue("--ink");
    for (const row of this.selected) {
      const [x, y] = this.screen(row);
      pen.fillRect(x - 1.5, y - 1.5, 3, 3);
    }
    if (this.current !== null) {
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
    const [w, h] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const side = Math.min(w, h) * this.zoom;
    const [px, py] = [(x - w / 2) / side + this.centre[0], -(y - h / 2) / side + this.centre[1]];
    const reach = Math.min(3, Math.ceil((8 / side) * CELLS));
    let [best, least] = [-1, 64];
    for (let i = -reach; i <= reach; i++) {
      for (let j = -reach; j <= reach; j++) {
        for (const row of this.grid.get((Math.floor(px * CELLS) + i) * CELLS + Math.floor(py * CELLS) + j) ?? []) {
          const [sx, sy] = this.screen(row);
          const apart = (sx - x) ** 2 + (sy - y) ** 2;
          if (apart < least) [best, least] = [row, apart];
        }
      }
    }
    return best < 0 ? null : best;
  }

  /** Returns the rows within the lasso. */
  within() {
    const rows = [];
    const path = this.path;
    for (let row = 0; row < this.rows; row++) {
      const [x, y] = this.screen(row);
      let inside = false;
      for (let i = 0, j = path.length - 1; i < path.length; j = i++) {
        const [[xi, yi], [xj, yj]] = [path[i], path[j]];
        if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
      }
      if (inside) rows.push(row);
    }
    return rows;
  }

  /**
   * @param {number} factor
   * @param {number} x
   * @param {number} y
   */
  magnify(factor, x, y) {
    const [w, h] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const before = Math.min(w, h) * this.zoom;
    this.zoom = Math.min(400, Math.max(0.8, this.zoom * factor));
    const after = Math.min(w, h) * this.zoom;
    this.centre[0] += (x - w / 2) * (1 / before - 1 / after);
    this.centre[1] -= (y - h / 2) * (1 / before - 1 / after);
    this.moved();
  }

  moved() {
    this.isMoving = true;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      this.isMoving = false;
      this.draw();
    }, 140);
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
        this.hover(this.near(x, y), x, y);
        return;
      }
      if (this.isLasso) {
        this.path.push([x, y]);
        this.draw();
        return;
      }
      const other = [...held].find(([id]) => id !== event.pointerId)?.[1];
      if (other) {
        const spread = (/** @type {number[]} */ [a, b]) => Math.hypot(a - other[0], b - other[1]);
        this.magnify(spread([x, y]) / Math.max(1, spread(before)), other[0], other[1]);
      } else {
        const side = Math.min(canvas.clientWidth, canvas.clientHeight) * this.zoom;
        this.centre[0] -= (x - before[0]) / side;
        this.centre[1] += (y - before[1]) / side;
        this.moved();
      }
      held.set(event.pointerId, [x, y]);
    });
    const release = (/** @type {PointerEvent} */ event) => {
      held.delete(event.pointerId);
      if (this.isLasso && this.path.length > 2) {
        const rows = this.within();
        this.selected = new Set(rows);
        this.chosen(rows);
      }
      this.path = [];
      this.draw();
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
      /** @type {Record<string, () => void>} */
      const moves = {
        ArrowLeft: () => (this.centre[0] -= step), ArrowRight: () => (this.centre[0] += step),
        ArrowUp: () => (this.centre[1] += step), ArrowDown: () => (this.centre[1] -= step),
        "+": () => (this.zoom *= 1.25), "-": () => (this.zoom /= 1.25),
      };
      const move = moves[event.key];
      if (!move) return;
      event.preventDefault();
      event.stopPropagation();
      move();
      this.moved();
    });
  }
}
