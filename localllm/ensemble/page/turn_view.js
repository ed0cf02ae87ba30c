// One question on the page: the reviewer's answer, and below it a column for each worker. All labels are made from the
// turn, which is also what the history keeps, so that they can be made again in the other language.

import { icon, make, visible } from "./dom.js";
import { StreamedText } from "./streamed_text.js";
import { count, seconds, t } from "./texts.js";
import { WorkerColumn } from "./worker_column.js";

const COPY = "M9 9h10v10H9zM5 15V5h10";
const LONG_QUESTION = 600; // characters
const MANY_LINES = 8;
const LONG_RAW = 120; // characters of a review in which nothing could be told apart until it is shown as it is
const SILENCE = 40_000; // milliseconds; the server sends a sign of life more often

/** A new turn. Its state: running, done, reviewer_failed, all_failed; stopped, cut, left, refused where it has no end. */
export function newTurn(prompt) {
  return { prompt, at: Date.now(), state: "running", seconds: 0, workers: [], reviewer: "", comment: "", answer: "", error: null, runtime: {}, forgotten: false };
}

export class TurnView {
  #columns = [];
  #begun = performance.now();
  #heard = performance.now();
  #isReviewing = false;
  #raw = ""; // what the reviewer writes, while nothing is told apart in it; null once the server tells evaluation and answer

  /** `onAgain`: called with the question where it is to be asked once more; `announce`: reads a text to who cannot see. */
  constructor(turn, { onAgain, announce }) {
    this.turn = turn;
    this.announce = announce;
    this.#build(onAgain);
    if (turn.workers.length) this.#showWorkers();
    if (turn.state !== "running") this.#restore();
    this.refresh();
  }

  /** Take an event of the server's. */
  take({ event, data }) {
    switch (event) {
      case "start": return this.#start(data);
      case "worker_text": return this.#columns[data.worker]?.append(data.text);
      case "worker_retry": return this.#columns[data.worker]?.restart(data);
      case "worker_end":
      case "worker_error": return this.#endWorker(data);
      case "review_start": return this.#startReview(data);
      case "review_text": return this.#review(data);
      case "result": return this.#finish(data);
      case "error": return this.end("refused", { status: 200, ...data });
    }
  }

  /** Note that something has come, if only a sign of life. */
  hear() {
    this.#heard = performance.now();
  }

  /** End it without a result. `error`: {status, code, message, retryAfter}. */
  end(state, error = null) {
    if (this.turn.state !== "running") return;
    Object.assign(this.turn, { state, error, seconds: this.#elapsed() });
    Object.assign(this.turn, { comment: this.evaluation.text, answer: this.answer.text });
    for (const column of this.#columns) column.breakOff(state === "stopped" ? "stopped" : "unfinished");
    this.answer.finish();
    this.evaluation.finish();
    this.refresh();
    this.announce(this.notices.textContent);
  }

  /** Close the columns of a question that is not the newest any more. */
  fold() {
    this.workers.open = false;
  }

  /** Show the times that run. */
  tick() {
    if (this.turn.state !== "running") return;
    this.turn.seconds = this.#elapsed();
    this.time.textContent = seconds(this.turn.seconds);
    for (const column of this.#columns) column.tick(this.turn.seconds);
    const silent = performance.now() - this.#heard;
    const told = silent > SILENCE ? t("silent", { seconds: Math.floor(silent / 1000) }) : "";
    if (this.silence.textContent !== told) this.silence.textContent = told;
    this.silence.hidden = !told;
  }

  /** Make all labels again. */
  refresh() {
    const { turn } = this;
    this.element.dataset.state = turn.state;
    this.element.setAttribute("aria-busy", String(turn.state === "running"));
    this.title.textContent = turn.runtime.fallback ? t("best_of_failed", { name: visible(turn.runtime.fallback) }) : t("answer");
    this.state.textContent = this.#stateText();
    this.time.textContent = seconds(turn.seconds);
    this.copy.setAttribute("aria-label", t("copy"));
    this.copy.title = t("copy");
    this.copy.hidden = !this.answer.length;
    this.evaluationTitle.textContent = t("evaluation");
    this.details.hidden = !this.evaluation.length;
    this.more.textContent = t(this.question.classList.contains("whole") ? "less" : "more");
    this.again.textContent = t("again");
    this.again.hidden = ["running", "done"].includes(turn.state);
    this.notices.replaceChildren(...this.#notices().map(([kind, text]) => make("p", { class: kind, text })));
    this.facts.replaceChildren(...this.#facts().map((text) => make("li", { text })));
    this.#showProgress();
    for (const column of this.#columns) column.refresh();
  }

  #build(onAgain) {
    const { turn } = this;
    const isLong = turn.prompt.length > LONG_QUESTION || turn.prompt.split("\n").length > MANY_LINES;
    this.question = make("h2", { class: `question${isLong ? " long" : ""}`, dir: "auto", text: visible(turn.prompt) });
    this.more = make("button", { type: "button", class: "quiet text more", hidden: !isLong, on: { click: () => this.#toggleQuestion() } });
    this.title = make("h3");
    this.state = make("span", { class: "state" });
    this.time = make("span", { class: "time" });
    this.copy = make("button", { type: "button", class: "quiet", on: { click: () => this.#copy() } }, icon(COPY));
    this.segments = make("div", { class: "segments", "aria-hidden": "true" });
    this.silence = make("p", { class: "notice", hidden: true });
    this.notices = make("div", { class: "notices" });
    this.again = make("button", { type: "button", class: "again", on: { click: () => onAgain(turn.prompt) } });
    const body = make("div", { class: "text answer", dir: "auto" });
    this.answer = new StreamedText(body);
    const comment = make("div", { class: "text evaluation", dir: "auto", tabindex: "0" });
    this.evaluation = new StreamedText(comment, comment);
    this.evaluationTitle = make("summary");
    this.details = make("details", { class: "details" }, this.evaluationTitle, comment);
    this.facts = make("ul", { class: "facts" });
    const head = make("header", {}, this.title, this.state, this.time, this.copy);
    this.card = make("section", { class: "card" }, head, this.segments, this.silence, this.notices, this.again, body, this.details, this.facts);
    this.summary = make("summary");
    this.grid = make("div", { class: "columns" });
    this.workers = make("details", { class: "workers", open: true, hidden: true }, this.summary, this.grid);
    this.element = make("article", { class: "turn" }, this.question, this.more, this.card, this.workers);
  }

  #restore() {
    const { turn } = this;
    this.answer.finish(turn.answer);
    this.evaluation.finish(turn.comment);
  }

  #showWorkers() {
    this.#columns = this.turn.workers.map((worker) => new WorkerColumn(worker));
    this.grid.replaceChildren(...this.#columns.map((column) => column.element));
    this.grid.dataset.many = this.#columns.length > 6 ? "many" : this.#columns.length > 3 ? "some" : "few";
    this.workers.hidden = false;
    this.segments.replaceChildren(...this.#columns.map(() => make("span")));
  }

  #start(data) {
    const { turn } = this;
    Object.assign(turn, { reviewer: data.reviewer, runtime: { run_id: data.run_id, strategy: data.strategy } });
    turn.workers = data.workers.map((name) => ({ name, state: "waiting", seconds: 0, text: "", error: null }));
    this.#showWorkers();
    this.refresh();
    this.announce(t("asking", { workers: count("workers", turn.workers.length) }));
  }

  #endWorker(data) {
    this.#columns[data.worker]?.end(data);
    this.refresh();
    if (this.#open()) this.announce(this.#stateText());
  }

  #startReview(data) {
    this.turn.reviewer = data.reviewer;
    this.#isReviewing = true;
    this.#raw = "";
    this.evaluation.clear();
    this.answer.clear();
    this.details.open = true;
    this.refresh();
    this.announce(this.#stateText());
  }

  /** Show what the reviewer writes: evaluation and answer apart, or all of it where it keeps to no form. */
  #review({ text, comment = "", answer = "" }) {
    if (comment || answer) {
      if (this.#raw !== null) this.evaluation.clear();
      this.#raw = null;
    }
    if (this.#raw === null) {
      this.evaluation.append(comment);
      this.answer.append(answer);
    } else {
      const isShown = this.evaluation.length > 0;
      this.#raw += text;
      if (isShown) this.evaluation.append(text);
      else if (this.#raw.length > LONG_RAW && !this.#raw.trimStart().startsWith("{")) this.evaluation.append(this.#raw);
    }
    this.details.hidden = !this.evaluation.length;
  }

  #finish(data) {
    const { turn } = this;
    const failed = data.runtime.status === 502 ? "all_failed" : "reviewer_failed";
    Object.assign(turn, { state: data.error ? failed : "done", error: data.error ?? null, seconds: data.metadata.processing_time_seconds });
    Object.assign(turn, { answer: data.final_answer, comment: data.error ? "" : data.review_comment, runtime: data.runtime });
    for (const [place, column] of this.#columns.entries()) column.settle(data.runtime, place);
    this.answer.finish(turn.answer);
    this.evaluation.finish(turn.comment);
    this.details.open = false;
    for (const column of this.#columns) column.text.rewind();
    this.refresh();
    this.announce(turn.state === "done" ? t("took", { seconds: turn.seconds.toFixed(1) }) : this.notices.textContent);
  }

  #elapsed() {
    return (performance.now() - this.#begun) / 1000;
  }

  /** How many workers have not ended. */
  #open() {
    return this.turn.workers.filter((worker) => ["waiting", "writing"].includes(worker.state)).length;
  }

  #stateText() {
    const { turn } = this;
    if (turn.state !== "running") return "";
    if (!turn.workers.length) return t("connecting");
    if (this.#isReviewing) return t("reviewing", { name: visible(turn.reviewer) });
    return t("workers_at_work", { done: turn.workers.length - this.#open(), count: turn.workers.length });
  }

  #notices() {
    const { turn } = this;
    const told = [];
    const name = visible(turn.runtime.fallback ?? "");
    if (turn.state === "reviewer_failed") told.push(["notice", name ? t("reviewer_failed", { name }) : t("reviewer_failed_without")]);
    if (turn.state === "all_failed") told.push(["fault", t("all_failed")]);
    if (turn.state === "stopped") told.push(["notice", t("was_stopped")]);
    if (turn.state === "cut") told.push(["fault", t("was_cut")]);
    if (turn.state === "left") told.push(["notice", t("was_left")]);
    if (turn.state === "refused") told.push(["fault", turn.error?.status === 0 ? t("not_reached") : t("not_served")]);
    if (turn.error?.message && turn.state !== "all_failed") told.push(["reason", visible([turn.error.code, turn.error.message].filter(Boolean).join(" "))]);
    if (turn.error?.retryAfter) told.push(["reason", t("retry_after", { seconds: turn.error.retryAfter })]);
    if (turn.forgotten) told.push(["notice", t("forgotten")]);
    if (turn.runtime.finish_reason === "length") told.push(["notice", t("cut_off")]);
    return told;
  }

  #facts() {
    const { runtime, state } = this.turn;
    if (state === "running" || !runtime.run_id) return [];
    const told = [t("strategy", { name: runtime.strategy })];
    if (runtime.consensus) told.push(t("agreement", { count: runtime.consensus.workers.length, of: runtime.consensus.of }));
    if (runtime.skipped?.length) told.push(t("not_asked", { names: runtime.skipped.join(", ") }));
    if (runtime.usage?.total_tokens) told.push(t("tokens", { count: runtime.usage.total_tokens.toLocaleString() }));
    told.push(t("run", { id: runtime.run_id.slice(0, 12) }));
    return told.map(visible);
  }

  #showProgress() {
    const { workers } = this.turn;
    for (const [place, { state }] of workers.entries()) this.segments.children[place].dataset.state = state;
    this.segments.hidden = this.turn.state !== "running" || !workers.length;
    const told = (state) => workers.filter((worker) => worker.state === state).length;
    const parts = [t("workers_summary", { answered: told("done"), count: workers.length })];
    if (told("failed")) parts.push(t("with_failed", { failed: told("failed") }));
    if (told("skipped")) parts.push(t("with_skipped", { skipped: told("skipped") }));
    this.summary.textContent = parts.join(" · ");
  }

  #toggleQuestion() {
    this.question.classList.toggle("whole");
    this.refresh();
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText(this.answer.text);
      this.announce(t("copied"));
      this.copy.dataset.done = "";
      setTimeout(() => delete this.copy.dataset.done, 1_500);
    } catch {
      this.announce(t("copy_failed"));
    }
  }
}
