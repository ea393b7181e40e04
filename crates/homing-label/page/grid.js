// Finds the points of a map near a place without looking at all of them.

/** Cells per side. */
const CELLS = 256;
const SHIFT = 16 - Math.log2(CELLS);

export class Grid {
  /**
   * @param {Uint16Array} places Two numbers per point.
   * @param {number} count
   */
  constructor(places, count) {
    this.places = places;
    // The points of cell c are order[starts[c]] to order[starts[c + 1] - 1].
    this.starts = new Uint32Array(CELLS * CELLS + 1);
    this.order = new Uint32Array(count);
    const cell = (/** @type {number} */ row) => (places[2 * row] >> SHIFT) * CELLS + (places[2 * row + 1] >> SHIFT);
    for (let row = 0; row < count; row++) this.starts[cell(row) + 1]++;
    for (let at = 0; at < CELLS * CELLS; at++) this.starts[at + 1] += this.starts[at];
    const free = this.starts.slice();
    for (let row = 0; row < count; row++) this.order[free[cell(row)]++] = row;
  }

  /**
   * Calls `see` with every point in the cells that a rectangle touches. Places range from 0 to 1.
   * @param {[number, number]} low
   * @param {[number, number]} high
   * @param {(row: number) => void} see
   */
  within(low, high, see) {
    const cell = (/** @type {number} */ place) => Math.max(0, Math.min(CELLS - 1, Math.floor(place * CELLS)));
    for (let x = cell(low[0]); x <= cell(high[0]); x++) {
      const column = x * CELLS;
      for (let at = this.starts[column + cell(low[1])]; at < this.starts[column + cell(high[1]) + 1]; at++) see(this.order[at]);
    }
  }
}
