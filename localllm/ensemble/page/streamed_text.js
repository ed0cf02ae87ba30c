// A text that is shown while it comes. Pieces are gathered and drawn a few times a second; a block of Markdown that is
// complete is made once and stays, so that only the last one is drawn again. No frame is given more than a little time.

import { make, visible } from "./dom.js";
import { markdown } from "./markdown.js";
import { t } from "./texts.js";

export const MOST_SHOWN = 200_000; // characters; the rest is shown when it is asked for
const STREAMED = { piece: 20_000, tail: 4_000 }; // characters in one drawing, and of the block that is drawn again each time
const WHOLE = { piece: 60_000, tail: 60_000 }; // the same of a text that has ended
const PAUSE = 80; // milliseconds between drawings of what comes
const BUDGET = 10; // milliseconds of drawing in a frame
const NEAR = 24; // pixels from the end within which it is followed

const waiting = new Set();
let last = 0;

function schedule(text) {
  waiting.add(text);
  if (waiting.size === 1) requestAnimationFrame(draw);
}

/** Draw what is new in the texts that wait; those the time does not reach for come first in the next frame. */
function draw(now) {
  const begun = performance.now();
  const isTime = now - last >= PAUSE;
  if (isTime) last = now;
  for (const text of [...waiting]) {
    if (!isTime && !text.isEnded) continue;
    waiting.delete(text);
    if (text.draw()) waiting.add(text);
    if (performance.now() - begun > BUDGET) {
      last = 0;
      break;
    }
  }
  if (waiting.size) requestAnimationFrame(draw);
}

export class StreamedText {
  isEnded = false;
  length = 0;
  #done; // elements: complete blocks, the last one, and what is said of the rest
  #last;
  #rest;
  #pieces = [];
  #pending = "";
  #tail = "";
  #opening = ""; // the line of the fence the tail is in
  #shown = 0;
  #most = MOST_SHOWN;
  #isCut = false; // a block was closed before its end
  #isAnew = false; // everything is to be drawn again
  #follows = true;

  /** `scroller`: what is scrolled to the end while text comes, unless the user has scrolled away from it. */
  constructor(element, scroller = null) {
    this.element = element;
    this.scroller = scroller;
    scroller?.addEventListener("scroll", () => {
      this.#follows = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR;
    }, { passive: true });
    this.#empty();
  }

  /** All that has come. */
  get text() {
    if (this.#pieces.length > 1) this.#pieces = [this.#pieces.join("")];
    return this.#pieces[0] ?? "";
  }

  append(piece) {
    if (!piece) return;
    this.#pieces.push(piece);
    this.length += piece.length;
    if (this.#shown + this.#pending.length < this.#most) this.#pending += piece;
    schedule(this);
  }

  /** What has come is void. */
  clear() {
    this.#pieces = [];
    this.length = 0;
    this.#isAnew = true;
    schedule(this);
  }

  /** It has ended: `text` is the whole, where that is another than what has come. */
  finish(text = this.text) {
    this.#isAnew ||= this.#isCut || text.trim() !== this.text.trim();
    this.isEnded = true;
    this.#pieces = [text];
    this.length = text.length;
    schedule(this);
  }

  /** Scroll back to the beginning, unless the user is somewhere else. */
  rewind() {
    if (this.#follows && this.scroller) this.scroller.scrollTop = 0;
    this.#follows = this.#follows && !this.isEnded;
  }

  /** Show what is new; whether there is more than one drawing may show. */
  draw() {
    if (this.#isAnew) {
      this.#empty();
      this.#pending = this.text.slice(0, this.#most);
    }
    const limits = this.isEnded ? WHOLE : STREAMED;
    const piece = this.#pending.slice(0, Math.min(limits.piece, this.#most - this.#shown));
    this.#pending = this.#pending.slice(piece.length);
    this.#tail += piece;
    this.#shown += piece.length;
    this.#closeBlocks(limits.tail);
    if (!this.#isSelected()) this.#last.replaceChildren(markdown(this.#opening + this.#tail));
    this.#tellRest();
    if (this.#follows && this.scroller) this.scroller.scrollTop = this.scroller.scrollHeight;
    return this.#pending !== "" && this.#shown < this.#most;
  }

  #empty() {
    this.#done = make("div", { class: "done" });
    this.#last = make("div", { class: "last" });
    this.#rest = make("p", { class: "rest", hidden: true });
    this.#tail = this.#opening = "";
    this.#shown = 0;
    this.#isCut = this.#isAnew = false;
    this.element.replaceChildren(this.#done, this.#last, this.#rest);
  }

  #closeBlocks(longest) {
    const { end, fence } = lastBorder(this.#opening, this.#tail);
    if (end > 0) this.#close(end, "");
    while (this.#tail.length > longest) {
      const newline = this.#tail.lastIndexOf("\n", longest);
      this.#isCut = true;
      this.#close(newline > 0 ? newline + 1 : longest, fence);
    }
  }

  #close(end, fence) {
    this.#done.append(markdown(this.#opening + this.#tail.slice(0, end)));
    this.#tail = this.#tail.slice(end);
    this.#opening = fence;
  }

  #isSelected() {
    const selection = document.getSelection();
    return !this.isEnded && selection && !selection.isCollapsed && this.#last.contains(selection.anchorNode);
  }

  #tellRest() {
    const isLong = this.length > this.#shown && this.#shown >= this.#most;
    this.#rest.hidden = !isLong;
    if (!isLong) return;
    const told = t("rest", { shown: this.#shown.toLocaleString(), length: this.length.toLocaleString() });
    if (this.#rest.firstChild?.data === told) return;
    this.#rest.replaceChildren(told, " ", make("button", { type: "button", text: t("show_all"), on: { click: () => this.#showAll() } }));
  }

  #showAll() {
    this.#most = Infinity;
    this.#isAnew = true;
    schedule(this);
  }
}

/** Where the last block ends that is surely complete, and the line that opens the fence the text ends in. */
function lastBorder(opening, tail) {
  let fence = opening;
  let end = 0;
  let at = 0;
  let isList = false;
  let isBlank = false;
  while (at < tail.length) {
    const stop = tail.indexOf("\n", at);
    const line = tail.slice(at, stop < 0 ? undefined : stop);
    if (isBlank && !fence && line && !/^\s/.test(line) && !(isList && (stop < 0 || /^(?:[-*+•]|\d{1,9}[.)])\s/.test(line)))) {
      end = at;
      isList = false;
    }
    if (stop < 0) break;
    const mark = /^\s{0,9}(`{3,}|~{3,})/.exec(line)?.[1];
    if (!fence && mark) fence = `${line.trim()}\n`;
    else if (fence && mark && fence.startsWith(mark[0].repeat(3)) && line.trim() === mark) fence = "";
    isList ||= !fence && /^\s*(?:[-*+•]|\d{1,9}[.)])\s/.test(line);
    isBlank = !line.trim();
    at = stop + 1;
  }
  return { end, fence };
}

/** A text in one line, for a heading or a list. */
export const oneLine = (text, most = 120) => visible(text.slice(0, most * 2)).replace(/\s+/g, " ").trim().slice(0, most);
