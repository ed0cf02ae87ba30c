// Markdown as elements. What a model writes is never parsed as HTML: tags stay text, a link leads to http or https
// alone, and an image becomes a link, so that nothing is loaded. The time grows with the length, whatever is in it.

import { make, visible } from "./dom.js";

const DEEPEST = 8; // lists and quotes in one another
const LONGEST_LINE = 2_000; // characters of a line that is looked at for more than a paragraph

const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})[ \t]*(\S*)/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+|$)/;
const RULE = /^ {0,3}(?:(?:- ?){3,}|(?:\* ?){3,}|(?:_ ?){3,})[ \t]*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^([ \t]*)([-*+•]|\d{1,9}[.)])(?:[ \t]+|$)/;
const COLUMNS = /^[ \t|:-]+$/;

/** The elements of a Markdown text. */
export function markdown(text) {
  return blocks(visible(text).split("\n"), 0);
}

function blocks(lines, depth) {
  const made = document.createDocumentFragment();
  let at = 0;
  while (at < lines.length) {
    if (!lines[at].trim()) {
      at += 1;
      continue;
    }
    const [element, next] = block(lines, at, depth);
    made.append(element);
    at = next;
  }
  return made;
}

/** The block that begins at a line, and where the next one does. */
function block(lines, at, depth) {
  const line = lines[at];
  if (line.length <= LONGEST_LINE && depth < DEEPEST) {
    if (FENCE.test(line)) return fence(lines, at);
    if (HEADING.test(line)) return [heading(line), at + 1];
    if (RULE.test(line)) return [make("hr"), at + 1];
    if (QUOTE.test(line)) return quote(lines, at, depth);
    if (isTable(lines, at)) return table(lines, at);
    if (ITEM.test(line)) return list(lines, at, depth);
  }
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !beginsBlock(lines, end)) end += 1;
  return [inline(make("p", { dir: "auto" }), lines.slice(at, end).join("\n").trim()), end];
}

function beginsBlock(lines, at) {
  const line = lines[at];
  if (line.length > LONGEST_LINE) return false;
  return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line) || isTable(lines, at);
}

function fence(lines, at) {
  const [, mark, language] = FENCE.exec(lines[at]);
  const closing = new RegExp(`^ {0,3}\\${mark[0]}{${mark.length},}[ \\t]*$`);
  let end = at + 1;
  while (end < lines.length && !(lines[end].length < 200 && closing.test(lines[end]))) end += 1;
  const code = make("code", { text: lines.slice(at + 1, end).join("\n") });
  return [make("pre", { dir: "ltr", tabindex: "0", "data-language": language || false }, code), end + 1];
}

function heading(line) {
  const [marks, { length }] = HEADING.exec(line);
  const text = line.slice(marks.length).trim().replace(/ #{1,6}$/, "");
  return inline(make(`h${Math.min(6, length + 2)}`, { dir: "auto" }), text);
}

function quote(lines, at, depth) {
  const inner = [];
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) inner.push(lines[end++].replace(QUOTE, ""));
  return [make("blockquote", {}, blocks(inner, depth + 1)), end];
}

function isTable(lines, at) {
  const next = lines[at + 1];
  return lines[at].includes("|") && next !== undefined && next.length <= LONGEST_LINE && next.includes("|") && next.includes("-") && COLUMNS.test(next);
}

function table(lines, at) {
  const sides = cells(lines[at + 1]).map((cell) => (cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "end") : false));
  const row = (line, tag) => make("tr", {}, ...cells(line).map((cell, place) => inline(make(tag, { "data-side": sides[place] || false, dir: "auto" }), cell)));
  const body = make("tbody");
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|") && lines[end].trim()) body.append(row(lines[end++], "td"));
  const whole = make("table", {}, make("thead", {}, row(lines[at], "th")), body);
  return [make("div", { class: "table", tabindex: "0" }, whole), end];
}

/** The cells of a row: between bars that no backslash stands before. */
function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function list(lines, at, depth) {
  const [, margin, first] = ITEM.exec(lines[at]);
  const base = width(margin);
  const isOrdered = /\d/.test(first);
  const whole = isOrdered ? make("ol", { start: parseInt(first, 10) }) : make("ul");
  let end = at;
  while (end < lines.length) {
    const found = lines[end].length <= LONGEST_LINE ? ITEM.exec(lines[end]) : null;
    if (!found || /\d/.test(found[2]) !== isOrdered || width(found[1]) > base + 1 || width(found[1]) < base - 1 || RULE.test(lines[end])) break;
    const [inner, next] = item(lines, end, base, found[0].length);
    whole.append(listItem(inner, depth));
    end = next;
  }
  if (end === at) return [inline(make("p", { dir: "auto" }), lines[at]), at + 1];
  return [whole, end];
}

/** The lines of an item without its mark and margin, and where the next one may begin. */
function item(lines, at, base, mark) {
  const inner = [lines[at].slice(mark)];
  let end = at + 1;
  let isFenced = FENCE.test(inner[0]);
  while (end < lines.length) {
    const line = lines[end];
    const margin = width(/^[ \t]*/.exec(line)[0]);
    if (!line.trim()) {
      const next = lines.slice(end, end + 20).find((one) => one.trim());
      if (next === undefined || (width(/^[ \t]*/.exec(next)[0]) <= base && !isFenced)) break;
    } else if (margin <= base + 1 && !isFenced && (margin <= base ? beginsBlock(lines, end) || !lines[end - 1].trim() : ITEM.test(line))) break;
    if (FENCE.test(line)) isFenced = !isFenced;
    inner.push(line.slice(Math.min(line.length - line.trimStart().length, mark)));
    end += 1;
  }
  while (end < lines.length && !lines[end].trim() && ITEM.test(lines[end + 1] ?? "")) end += 1;
  return [inner, end];
}

function listItem(inner, depth) {
  const task = /^\[([ xX])\][ \t]+/.exec(inner[0]);
  const element = make("li", { dir: "auto" });
  if (task) {
    element.append(make("span", { class: "task", text: task[1] === " " ? "☐ " : "☑ " }));
    inner[0] = inner[0].slice(task[0].length);
  }
  const isPlain = inner.every((line, place) => line.trim() && (place === 0 ? !ITEM.test(line) && !FENCE.test(line) : !beginsBlock(inner, place)));
  if (isPlain) return inline(element, inner.join("\n").trim());
  element.append(blocks(inner, depth + 1));
  return element;
}

const width = (margin) => margin.replaceAll("\t", "    ").length;

// Within a line.

const SIGN = /\\|`+|\*+|_+|~~|!?\[|<|https?:\/\//g;
const ESCAPED = "*_`#~|<>[]!";
const WORD = /[\p{L}\p{N}_]/u;
const SPACE = /\s/;
const LONGEST_LABEL = 500;
const LONGEST_URL = 2_000;
const MOST_STEPS = 200_000; // of looking for links that are none in one text
const TRAILING = ".,;:!?*_~"; // what stands behind an address and is none of it

/** Put a text into an element, with its code, emphasis and links. */
export function inline(element, text) {
  new Inline(text, { steps: MOST_STEPS }).into(element, 0);
  return element;
}

class Inline {
  constructor(text, budget) {
    this.text = text;
    this.budget = budget;
    this.runs = null;
  }

  into(element, depth) {
    const { text } = this;
    let done = 0;
    let at = 0;
    const sign = new RegExp(SIGN);
    for (;;) {
      sign.lastIndex = at;
      const found = sign.exec(text);
      if (!found) break;
      const next = depth < DEEPEST && this.#special(element, found, depth, () => {
        if (found.index > done) element.append(text.slice(done, found.index));
      });
      at = found.index + found[0].length;
      if (next) done = at = next;
    }
    if (done < text.length) element.append(text.slice(done));
  }

  /** Append what a sign begins, after the text before it; where that ends, or 0 where the sign is just text. */
  #special(element, { 0: sign, index }, depth, before) {
    switch (sign[0]) {
      case "\\":
        if (!ESCAPED.includes(this.text[index + 1] ?? " ")) return 0;
        before();
        element.append(this.text[index + 1]);
        return index + 2;
      case "`":
        return this.#code(element, sign, index, before);
      case "*":
      case "_":
      case "~":
        return this.#emphasis(element, sign, index, depth, before);
      case "[":
      case "!":
        return this.#link(element, sign, index, depth, before);
      case "<":
        return this.#angle(element, index, before);
      default:
        return this.#address(element, index, before);
    }
  }

  #code(element, sign, index, before) {
    const end = this.#nextRun(sign, index + sign.length);
    if (end < 0) return 0;
    before();
    const code = this.text.slice(index + sign.length, end);
    element.append(make("code", { text: code.length > 2 && code[0] === " " && code.at(-1) === " " ? code.slice(1, -1) : code, dir: "ltr" }));
    return end + sign.length;
  }

  #emphasis(element, sign, index, depth, before) {
    const start = index + sign.length;
    if (sign.length > 3 || SPACE.test(this.text[start] ?? " ")) return 0;
    if (sign[0] === "_" && WORD.test(this.text[index - 1] ?? " ")) return 0;
    const end = this.#nextRun(sign, start + 1);
    if (end < 0) return 0;
    before();
    const inner = sign[0] === "~" ? make("del") : make(sign.length === 1 ? "em" : "strong");
    element.append(sign.length === 3 ? make("em", {}, inner) : inner);
    new Inline(this.text.slice(start, end), this.budget).into(inner, depth + 1);
    return end + sign.length;
  }

  /** Where the next run of just this sign is that can close what it has opened; -1 where there is none. */
  #nextRun(sign, from, runs = (this.runs ??= this.#allRuns())) {
    const places = runs.get(sign);
    if (!places) return -1;
    while (places.next < places.length && places[places.next] < from) places.next += 1;
    return places.next < places.length ? places[places.next] : -1;
  }

  /** Where runs of each sign stand that may close; those within code are none. */
  #allRuns() {
    const found = [...this.text.matchAll(/`+|\*+|_+|~~/g)];
    const runs = new Map();
    const places = (sign) => runs.get(sign) ?? runs.set(sign, Object.assign([], { next: 0 })).get(sign);
    for (const { 0: sign, index } of found) if (sign[0] === "`") places(sign).push(index);
    let codeEnd = 0;
    for (const { 0: sign, index } of found) {
      if (index < codeEnd) continue;
      if (sign[0] === "`") codeEnd = Math.max(codeEnd, this.#nextRun(sign, index + 1, runs));
      else if (sign.length <= 3 && !SPACE.test(this.text[index - 1] ?? " ") && !(sign[0] === "_" && WORD.test(this.text[index + sign.length] ?? " "))) places(sign).push(index);
    }
    for (const list of runs.values()) list.next = 0;
    return runs;
  }

  #link(element, sign, index, depth, before) {
    const start = index + sign.length;
    const end = this.#matching(start, "[", "]", LONGEST_LABEL);
    if (end < 0 || this.text[end + 1] !== "(") return 0;
    const close = this.#matching(end + 2, "(", ")", LONGEST_URL);
    if (close < 0) return 0;
    const url = this.text.slice(end + 2, close).trim().split(/\s/)[0].replace(/^<|>$/g, "");
    const label = this.text.slice(start, end);
    const link = anchor(url);
    if (!link) return 0;
    before();
    element.append(link);
    if (sign === "![") link.append(label || url);
    else new Inline(label, this.budget).into(link, DEEPEST - 1);
    return close + 1;
  }

  #matching(from, open, close, most) {
    let depth = 0;
    const end = Math.min(this.text.length, from + most);
    for (let at = from; at < end && this.budget.steps > 0; at += 1) {
      this.budget.steps -= 1;
      const character = this.text[at];
      if (character === "\\") at += 1;
      else if (character === open) depth += 1;
      else if (character === close && depth-- === 0) return at;
    }
    return -1;
  }

  #angle(element, index, before) {
    const rest = this.text.slice(index, index + LONGEST_URL);
    const newline = /^<br ?\/?>/i.exec(rest);
    const found = newline ?? /^<(https?:\/\/[^\s<>]+)>/i.exec(rest);
    const link = found && !newline ? anchor(found[1]) : null;
    if (!newline && !link) return 0;
    before();
    element.append(newline ? make("br") : link);
    if (link) link.append(found[1]);
    return index + found[0].length;
  }

  #address(element, index, before) {
    if (this.budget.steps <= 0) return 0;
    const rest = this.text.slice(index, index + LONGEST_URL);
    const url = withoutEnd(/^https?:\/\/[^\s<>"'`|\u3000-\u303f\uff00-\uffef]+/.exec(rest)?.[0] ?? "");
    const link = anchor(url);
    if (!link) {
      this.budget.steps -= rest.length;
      return 0;
    }
    before();
    link.append(url);
    element.append(link);
    return index + url.length;
  }
}

/** An address without what ends the sentence it stands in, and without the brackets that it does not open. */
function withoutEnd(url) {
  let end = url.length;
  while (TRAILING.includes(url[end - 1] ?? " ")) end -= 1;
  const inside = url.slice(0, end);
  for (let more = inside.split(")").length - inside.split("(").length; more > 0 && url[end - 1] === ")"; more -= 1) end -= 1;
  return url.slice(0, end);
}

/** A link that opens in a tab of its own, which learns nothing of this page; null for what is no address of the web. */
function anchor(address) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return null;
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return null;
  return make("a", { href: url.href, title: url.href, target: "_blank", rel: "noopener noreferrer nofollow" });
}
