// Requests to the server this page came from; the token it may ask for is kept until the tab is closed.

const TOKEN = "localllm-token";

/** What the server, or the way to it, has against a request. `code` is empty where nothing of the server's was read. */
export class RequestError extends Error {
  constructor(status, code, message, retryAfter = 0) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/** Make requests; `askForToken(isWrong)` gives a token the user has typed, or null. */
export class Server {
  constructor(askForToken) {
    this.askForToken = askForToken;
  }

  /** Who works and who reviews. Throws RequestError. */
  async agents() {
    return (await this.#request("agents", { headers: { accept: "application/json" } })).json();
  }

  /** The response whose events are those of a run. Throws RequestError, and AbortError where `signal` ends it. */
  ask(body, signal) {
    const headers = { "content-type": "application/json", accept: "text/event-stream" };
    return this.#request("generate/stream", { method: "POST", headers, body: JSON.stringify(body), signal });
  }

  async #request(path, options) {
    for (let isWrong = Boolean(sessionStorage.getItem(TOKEN)); ; isWrong = true) {
      const token = sessionStorage.getItem(TOKEN);
      const headers = token ? { ...options.headers, authorization: `Bearer ${token}` } : options.headers;
      const response = await send(path, { ...options, headers, cache: "no-store", credentials: "omit" });
      if (response.ok) return response;
      const error = await errorOf(response);
      if (response.status !== 401) throw error;
      const typed = await this.askForToken(isWrong);
      if (typed === null) throw error;
      sessionStorage.setItem(TOKEN, typed);
    }
  }
}

async function send(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RequestError(0, "", String(error.message));
  }
}

async function errorOf(response) {
  const wait = Number(response.headers.get("retry-after")) || 0;
  try {
    const { error } = await response.json();
    return new RequestError(response.status, String(error.code ?? ""), String(error.message ?? ""), wait);
  } catch {
    return new RequestError(response.status, "", `HTTP ${response.status}`, wait);
  }
}
