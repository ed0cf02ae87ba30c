// The list of what was asked before, over the page.

import { find, icon, make, visible } from "./dom.js";
import { count, language, t } from "./texts.js";

const DELETE = "M5 7h14M10 7V5h4v2M7 7l1 12h8l1-12";

export class HistoryDialog {
  #isSure = false;

  /** `onOpen`: called with the conversation that was chosen; `onDeleted` with the id of one that was deleted, null for all. */
  constructor(history, { onOpen, onDeleted, announce }) {
    this.history = history;
    this.onOpen = onOpen;
    this.onDeleted = onDeleted;
    this.announce = announce;
    this.dialog = find("history");
    find("history-close").addEventListener("click", () => this.dialog.close());
    find("history-clear").addEventListener("click", () => this.#clear());
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
  }

  async show() {
    await this.#draw();
    this.dialog.showModal();
  }

  async #draw() {
    const titles = await this.history.titles();
    this.#isSure = false;
    find("history-list").replaceChildren(...titles.map((one) => this.#item(one)));
    find("history-empty").hidden = titles.length > 0;
    find("history-empty").textContent = t(this.history.isKept ? "history_empty" : "history_none");
    find("history-clear").hidden = titles.length === 0;
    find("history-clear").textContent = t("history_clear");
  }

  #item({ id, at, title, turns }) {
    const when = new Date(at);
    const time = make("time", { datetime: when.toISOString(), text: when.toLocaleString(language(), { dateStyle: "medium", timeStyle: "short" }) });
    const about = make("span", { class: "about" }, time, ` · ${count("turns", turns)}`);
    const open = make("button", { type: "button", class: "entry", on: { click: () => this.#open(id) } }, make("span", { class: "title", text: visible(title), dir: "auto" }), about);
    const label = t("history_delete", { title: visible(title) });
    const remove = make("button", { type: "button", class: "quiet", "aria-label": label, title: label, on: { click: () => this.#delete(id) } }, icon(DELETE));
    return make("li", {}, open, remove);
  }

  async #open(id) {
    const found = await this.history.find(id);
    this.dialog.close();
    if (found) this.onOpen(found);
  }

  async #delete(id) {
    await this.history.delete(id);
    this.onDeleted(id);
    await this.#draw();
    (find("history-list").querySelector(".entry") ?? find("history-close")).focus();
  }

  /** Ask once more before everything goes. */
  async #clear() {
    if (!this.#isSure) {
      this.#isSure = true;
      find("history-clear").textContent = t("history_clear_sure");
      this.announce(t("history_clear_sure"));
      return;
    }
    await this.history.clear();
    this.onDeleted(null);
    await this.#draw();
    find("history-close").focus();
  }
}
