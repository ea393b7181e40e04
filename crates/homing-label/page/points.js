// Draws many points with WebGL2, in parts, so that a large map appears at once and becomes denser frame by frame.

import { rgb } from "./dom.js";

const VERTEX = `#version 300 es
in vec2 place; in float code; uniform vec2 scale; uniform vec2 shift; uniform float size; uniform sampler2D palette; out vec4 colour;
void main() {
  colour = texelFetch(palette, ivec2(int(code), 0), 0);
  gl_Position = vec4(place * scale + shift, 0.0, 1.0);
  gl_PointSize = size;
}`;
const FRAGMENT = `#version 300 es
precision mediump float; in vec4 colour; uniform bool isRound; out vec4 pixel;
void main() {
  vec2 d = gl_PointCoord - 0.5;
  if (isRound && dot(d, d) > 0.25) discard;
  pixel = vec4(colour.rgb * colour.a, colour.a);
}`;

/** Points are round from this size on, in pixels of the screen. */
const ROUND = 3;

/** Largest number of parts, since WebGL allows 255 bytes from one point to the next. */
const MOST_PARTS = 63;

export class Points {
  /**
   * @param {Uint16Array} places Two numbers per point.
   * @param {number} count
   */
  constructor(places, count) {
    this.count = count;
    this.canvas = document.createElement("canvas");
    const gl = this.canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: true, preserveDrawingBuffer: true });
    this.gl = gl;
    this.marked = 0;
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
    this.uniforms = Object.fromEntries(["scale", "shift", "size", "isRound"].map((name) => [name, gl.getUniformLocation(program, name)]));
    this.placeAt = gl.getAttribLocation(program, "place");
    this.codeAt = gl.getAttribLocation(program, "code");
    this.placeBuffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.placeBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, places.subarray(0, 2 * count), gl.STATIC_DRAW);
    this.codeBuffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.codeBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, count, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(this.placeAt);
    gl.enableVertexAttribArray(this.codeAt);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /**
   * Sets the code of each point, and the points that are drawn larger and on top.
   * @param {Uint8Array} codes
   * @param {Uint32Array} marked
   */
  code(codes, marked) {
    this.marked = marked.length;
    const gl = this.gl;
    if (!gl) return;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.codeBuffer ?? null);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, codes);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, marked, gl.DYNAMIC_DRAW);
  }

  /**
   * Begins a picture with nothing on it.
   * @param {number} width
   * @param {number} height
   * @param {[number, number]} scale
   * @param {[number, number]} shift
   * @param {number} size Of a point, in pixels.
   * @param {Uint8Array} palette Colour of each of the 256 codes.
   */
  begin(width, height, scale, shift, size, palette) {
    const { gl, uniforms } = this;
    if (!gl || !uniforms) return;
    if (this.canvas.width !== width || this.canvas.height !== height) [this.canvas.width, this.canvas.height] = [width, height];
    this.size = size;
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, palette);
    gl.uniform2f(uniforms.scale, ...scale);
    gl.uniform2f(uniforms.shift, ...shift);
  }

  /**
   * Returns into how many parts a picture is divided if one has about so many points.
   * @param {number} budget
   */
  parts(budget) {
    return Math.max(1, Math.min(MOST_PARTS, Math.ceil(this.count / budget)));
  }

  /**
   * Draws every nth point, and after the last part the marked ones.
   * @param {number} part
   * @param {number} parts
   */
  draw(part, parts) {
    const gl = this.gl;
    if (!gl) return;
    this.dots(1);
    this.step(part, parts);
    gl.drawArrays(gl.POINTS, 0, Math.ceil((this.count - part) / parts));
    if (this.marked && part === parts - 1) {
      this.dots(1.9);
      this.step(0, 1);
      gl.drawElements(gl.POINTS, this.marked, gl.UNSIGNED_INT, 0);
    }
  }

  /**
   * Sets the size of points.
   * @param {number} factor
   */
  dots(factor) {
    const { gl, uniforms } = this;
    if (!gl || !uniforms) return;
    const size = (this.size ?? 1) * factor;
    gl.uniform1f(uniforms.size, size);
    gl.uniform1i(uniforms.isRound, size >= ROUND ? 1 : 0);
  }

  /**
   * Makes the attributes those of points `first`, `first + step`, ….
   * @param {number} first
   * @param {number} step
   */
  step(first, step) {
    const gl = this.gl;
    if (!gl) return;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.placeBuffer ?? null);
    gl.vertexAttribPointer(this.placeAt ?? 0, 2, gl.UNSIGNED_SHORT, true, 4 * step, 4 * first);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.codeBuffer ?? null);
    gl.vertexAttribPointer(this.codeAt ?? 0, 1, gl.UNSIGNED_BYTE, false, step, first);
  }
}

/**
 * Returns the 256 colours of a map, four bytes each.
 * @param {string} mode
 * @param {boolean} isScale Whether the codes are a scale and not a number of things.
 * @param {boolean} isDark
 * @param {(code: number) => string} colourOf
 */
export function paletteOf(mode, isScale, isDark, colourOf) {
  const colours = new Uint8Array(256 * 4);
  const open = isDark ? [0.68, 0.72, 0.76, 0.4] : [0.38, 0.42, 0.46, 0.35];
  for (let code = 0; code < 256; code++) {
    let colour = [...rgb(colourOf(code)), mode === "label" ? 1 : 0.75];
    if (isScale && (mode === "information" || code < 255)) colour = ramp(Math.min(1, code / 250), mode === "information");
    else if (code === 255) colour = open;
    else if (mode !== "column" && code >= 253) colour = [0.5, 0.5, 0.5, 0.96];
    colours.set(colour.map((value) => Math.round(255 * value)), 4 * code);
  }
  return colours;
}

/**
 * Returns the colour of a share. What matters little fades if `fades`.
 * @param {number} share
 * @param {boolean} fades
 */
function ramp(share, fades) {
  if (fades) return [0.45 + 0.4 * share, 0.5 - 0.1 * share, 0.58 - 0.4 * share, 0.15 + 0.6 * share * share];
  return [0.16 + 0.75 * share, 0.42 + 0.12 * share, 0.62 - 0.45 * share, 0.75];
}
