// Makes elements of the page, and formats numbers and colours.

/**
 * Finds an element of the page.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function by(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no ${id}`);
  return found;
}

/**
 * Makes an element. Texts become text, never markup.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node | string | null | undefined)} children
 * @returns {HTMLElement}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "colour") element.style.background = value;
    else if (name === "width%") element.style.width = `${value}%`;
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) element.append(child);
  return element;
}

/**
 * Writes a share as a percentage.
 * @param {number | null | undefined} share
 */
export function percent(share) {
  if (share === null || share === undefined || !Number.isFinite(share)) return "–";
  const value = 100 * share;
  return value > 0 && value < 0.05 ? "< 0.1 %" : `${value < 10 ? value.toFixed(1) : value.toFixed(0)} %`;
}

/** Colours of the classes. They can be distinguished on light and dark pages, and by most people with colour blindness. */
const COLOURS = ["#2b7fb8", "#e07b39", "#3a9a5b", "#c2507f", "#8466c0", "#b59b1e", "#2aa5a0", "#a8553a", "#6b7a8f", "#d0679d", "#5b8f2e", "#4f63c7"];

/**
 * Returns the colour of a class.
 * @param {number} number
 */
export function colourOf(number) {
  return number < 0 ? "#8a9199" : COLOURS[number % COLOURS.length];
}

/**
 * Returns red, green and blue from 0 to 1.
 * @param {string} colour
 * @returns {[number, number, number]}
 */
export function rgb(colour) {
  const value = parseInt(colour.slice(1), 16);
  return [(value >> 16) / 255, ((value >> 8) & 255) / 255, (value & 255) / 255];
}
