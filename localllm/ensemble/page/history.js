// The conversations this browser keeps: titles in one store, what was said in another, the oldest deleted first.

const NAME = "localllm-ensemble";
const MOST = 100; // conversations
const LONGEST = 200_000; // characters of each text

export class History {
  #db;

  /** Whether this browser keeps anything; a private window may not. */
  async open() {
    try {
      this.#db = await settled(Object.assign(indexedDB.open(NAME, 1), {
        onupgradeneeded: ({ target }) => {
          target.result.createObjectStore("titles", { keyPath: "id" }).createIndex("at", "at");
          target.result.createObjectStore("conversations", { keyPath: "id" });
        },
      }));
      this.#db.onversionchange = () => this.#db.close();
    } catch {
      this.#db = null;
    }
    return this.isKept;
  }

  get isKept() {
    return Boolean(this.#db);
  }

  /** The titles, the newest first: {id, at, title, turns}. */
  async titles() {
    if (!this.#db) return [];
    const found = await settled(this.#db.transaction("titles").objectStore("titles").index("at").getAll());
    return found.reverse();
  }

  /** A conversation; undefined where it is not there any more. */
  async find(id) {
    return this.#db ? settled(this.#db.transaction("conversations").objectStore("conversations").get(id)) : undefined;
  }

  /** Keep a conversation as it is now. Where there is no room for it, older ones make way. */
  async save({ id, title, serverId, turns }) {
    if (!this.#db || !turns.length) return;
    const entry = { id, at: Date.now(), title, turns: turns.length };
    const content = { id, title, serverId, turns: turns.map(shortened) };
    await this.#shrink(MOST - 1, id);
    try {
      await this.#put(entry, content);
    } catch (error) {
      if (error.name !== "QuotaExceededError") throw error;
      await this.#shrink(MOST / 4, id);
      await this.#put(entry, content);
    }
  }

  async delete(id) {
    const doing = this.#writing();
    doing.objectStore("titles").delete(id);
    doing.objectStore("conversations").delete(id);
    await completed(doing);
  }

  async clear() {
    const doing = this.#writing();
    doing.objectStore("titles").clear();
    doing.objectStore("conversations").clear();
    await completed(doing);
  }

  async #shrink(most, besides) {
    const others = (await this.titles()).filter((one) => one.id !== besides);
    for (const { id } of others.slice(most)) await this.delete(id);
  }

  async #put(entry, content) {
    const doing = this.#writing();
    doing.objectStore("titles").put(entry);
    doing.objectStore("conversations").put(content);
    await completed(doing);
  }

  #writing() {
    return this.#db.transaction(["titles", "conversations"], "readwrite");
  }
}

/** A turn with its texts no longer than they are kept. */
function shortened(turn) {
  const cut = (text) => text.slice(0, LONGEST);
  const workers = turn.workers.map((worker) => ({ ...worker, text: cut(worker.text) }));
  return structuredClone({ ...turn, prompt: cut(turn.prompt), answer: cut(turn.answer), comment: cut(turn.comment), workers });
}

const settled = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = request.onblocked = () => reject(request.error ?? new Error("blocked"));
  });

const completed = (transaction) =>
  new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onerror = transaction.onabort = () => reject(transaction.error);
  });
