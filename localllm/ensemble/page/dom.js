// Elements are made here, and texts put into them as text: no markup of an answer is ever parsed by the browser.

/** Make an element. `class`, `text` and `on` (listeners by their events) are set as such, all else as attributes. */
export function make(tag, given = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === false) continue;
    if (name === "class") element.className = value;
    else if (name === "text") element.textContent = value;
    else if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

export const find = (id) => document.getElementById(id);

/** What this browser keeps for the page; nothing where it refuses to. */
export const kept = {
  get(name) {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem(name, value);
    } catch {
      // It holds until the page is left.
    }
  },
};

const SVG = "http://www.w3.org/2000/svg";

/** Make an icon of one path. */
export function icon(path) {
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("viewBox", "0 0 24 24");
  drawing.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  drawing.append(line);
  return drawing;
}

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u;
const EACH_HIDDEN = new RegExp(HIDDEN.source, "gu");

/** The text with characters that reorder or hide what is read made visible: <U+202E>. */
export function visible(text) {
  const lines = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
  if (!HIDDEN.test(lines)) return lines;
  return lines.replace(EACH_HIDDEN, (sign) => `<U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);
}
