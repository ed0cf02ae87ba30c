// The column of one worker: its name, state and time, and what it writes.

import { icon, make, visible } from "./dom.js";
import { StreamedText } from "./streamed_text.js";
import { seconds, t } from "./texts.js";

const ENLARGE = "M9 4H4v5M15 4h5v5M9 20H4v-5M15 20h5v-5";

export class WorkerColumn {
  /** `worker`: {name, state, seconds, text, error, retried, score, isBest}; states: waiting, writing, done, failed, skipped, stopped, unfinished. */
  constructor(worker) {
    this.worker = worker;
    this.state = make("span", { class: "state" });
    this.score = make("span", { class: "score", hidden: true });
    this.enlarge = make("button", { type: "button", class: "quiet", on: { click: () => this.#toggle() } }, icon(ENLARGE));
    const name = make("h4", { text: visible(worker.name), title: visible(worker.name), dir: "auto" });
    this.fault = make("p", { class: "fault", hidden: true });
    this.retry = make("p", { class: "notice", hidden: true });
    const body = make("div", { class: "text", dir: "auto" });
    this.scroller = make("div", { class: "scroller", tabindex: "0", role: "group", "aria-label": visible(worker.name) }, this.retry, this.fault, body);
    this.text = new StreamedText(body, this.scroller);
    this.element = make("article", { class: "column" }, make("header", {}, name, this.score, this.state, this.enlarge), this.scroller);
    if (worker.text) this.text.finish(worker.text);
    this.refresh();
  }

  append(piece) {
    this.text.append(piece);
    if (this.worker.state === "waiting") {
      this.worker.state = "writing";
      this.refresh();
    }
  }

  /** It is asked again: what it has written so far is void. */
  restart({ error }) {
    this.text.clear();
    Object.assign(this.worker, { state: "waiting", retried: error.message });
    this.refresh();
  }

  /** Take the server's event of its end. */
  end({ seconds: took, response, error }) {
    Object.assign(this.worker, { state: error ? "failed" : "done", seconds: took, error: error?.message ?? null });
    this.text.finish(error ? this.text.text : response);
    this.worker.text = this.text.text;
    this.refresh();
  }

  /** Take what the result tells of it besides. */
  settle({ workers = [], scores = {}, best }, place) {
    const { worker } = this;
    if (workers[place]?.is_cancelled) worker.state = "skipped";
    Object.assign(worker, { score: scores[worker.name] ?? null, isBest: worker.name === best });
    this.refresh();
  }

  /** End it where the run had no end. */
  breakOff(state) {
    if (!["waiting", "writing"].includes(this.worker.state)) return;
    this.text.finish();
    Object.assign(this.worker, { state, text: this.text.text });
    this.refresh();
  }

  tick(elapsed) {
    if (!["waiting", "writing"].includes(this.worker.state)) return;
    this.worker.seconds = elapsed;
    this.state.textContent = seconds(elapsed);
  }

  refresh() {
    const { worker } = this;
    this.element.dataset.state = worker.state;
    this.state.textContent = ["waiting", "writing", "done"].includes(worker.state) ? seconds(worker.seconds) : t(worker.state);
    this.state.title = `${t(worker.state)} · ${seconds(worker.seconds)}`;
    this.retry.hidden = !worker.retried || worker.state === "failed";
    this.retry.textContent = worker.retried ? t("retried", { reason: visible(worker.retried) }) : "";
    const hasScore = typeof worker.score === "number";
    this.score.hidden = !hasScore && !worker.isBest;
    this.score.textContent = [worker.isBest ? "★" : "", hasScore ? String(worker.score) : ""].join(" ").trim();
    this.score.title = [worker.isBest ? t("best") : "", hasScore ? t("score", { score: worker.score }) : ""].filter(Boolean).join(" · ");
    this.score.setAttribute("aria-label", this.score.title);
    this.score.setAttribute("role", "img");
    this.fault.hidden = !worker.error;
    this.fault.textContent = visible(worker.error ?? "");
    const label = t(this.element.classList.contains("large") ? "shrink" : "enlarge", { name: visible(worker.name) });
    this.enlarge.setAttribute("aria-label", label);
    this.enlarge.title = label;
  }

  #toggle() {
    this.element.classList.toggle("large");
    this.refresh();
    this.element.scrollIntoView({ block: "nearest" });
  }
}
