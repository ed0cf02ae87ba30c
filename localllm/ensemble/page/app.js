// The page: what the user does, and what becomes of it.

import { find, kept, make, visible } from "./dom.js";
import { eventsOf } from "./event_stream.js";
import { History } from "./history.js";
import { HistoryDialog } from "./history_dialog.js";
import { RequestError, Server } from "./server.js";
import { oneLine } from "./streamed_text.js";
import { applyTexts, chooseLanguage, count, language, switchLanguage, t } from "./texts.js";
import { TokenDialog } from "./token_dialog.js";
import { TurnView, newTurn } from "./turn_view.js";

const OPEN = "localllm-conversation"; // the one this tab shows, to be found again after a reload
const THEME = "localllm-theme";
const TICK = 100; // milliseconds
const IS_MAC = /Mac|iPhone|iPad/.test(navigator.platform);

const server = new Server((isWrong) => new TokenDialog().ask(isWrong));
const history = new History();
const prompt = find("prompt");
const dark = matchMedia("(prefers-color-scheme: dark)");

let conversation = newConversation();
let views = [];
let running = null; // {controller, view}
let agents = null; // what /agents has answered, or the error

function newConversation() {
  return { id: crypto.randomUUID?.() ?? String(Math.random()), title: "", serverId: "", turns: [] };
}

// Asking.

async function ask(text) {
  if (running || !text.trim()) return;
  prompt.value = "";
  fit();
  const turn = newTurn(text);
  views.at(-1)?.fold();
  conversation.title ||= oneLine(text);
  conversation.turns.push(turn);
  const view = show(turn);
  const controller = new AbortController();
  running = { controller, view };
  refresh();
  view.element.scrollIntoView({ block: "start", behavior: "instant" });
  const ticking = setInterval(() => view.tick(), TICK);
  try {
    await run(text, view, controller.signal);
  } finally {
    clearInterval(ticking);
    running = null;
    refresh();
    if (agents instanceof Error && turn.state !== "refused") showAgents();
    await save();
  }
}

async function run(text, view, signal) {
  const { turn } = view;
  try {
    const response = await server.ask({ prompt: text, conversation_id: conversation.serverId }, signal);
    for await (const event of eventsOf(response, () => view.hear())) {
      view.take(event);
      if (event.event === "start") noteConversation(event.data, turn);
      if (["start", "worker_end", "worker_error"].includes(event.event)) save();
    }
    view.end("cut");
  } catch (error) {
    if (signal.aborted) view.end("stopped");
    else if (error instanceof RequestError) view.end("refused", { ...error, message: error.message });
    else view.end("cut", { status: 0, code: "", message: String(error.message), retryAfter: 0 });
  }
}

/** Remember the server's name of the conversation, and whether it still knows what was said before. */
function noteConversation(data, turn) {
  const before = conversation.turns.filter((one) => one.answer && one !== turn && one.state !== "stopped" && one.state !== "cut").length;
  turn.forgotten = conversation.serverId !== "" && data.conversation_turns < before;
  conversation.serverId = data.conversation_id ?? "";
}

function stop() {
  running?.controller.abort();
}

async function save() {
  try {
    sessionStorage.setItem(OPEN, conversation.id);
    await history.save(conversation);
  } catch (error) {
    console.warn("the history was not saved:", error); // the page goes on without it
  }
}

// Showing.

function show(turn) {
  const view = new TurnView(turn, { onAgain: (text) => ask(text), announce });
  views.push(view);
  find("turns").append(view.element);
  return view;
}

function announce(text) {
  find("status").textContent = text;
}

function open(found) {
  conversation = found ?? newConversation();
  sessionStorage.setItem(OPEN, conversation.id);
  views = [];
  find("turns").replaceChildren();
  for (const turn of conversation.turns) {
    views.at(-1)?.fold();
    show(left(turn));
  }
  refresh();
  views.at(-1)?.element.scrollIntoView({ block: "start", behavior: "instant" });
  prompt.focus();
}

/** A turn that was kept while it ran: the page was left, and the server has broken it off. */
function left(turn) {
  if (turn.state === "running") turn.state = "left";
  for (const worker of turn.workers) if (["waiting", "writing"].includes(worker.state)) worker.state = "unfinished";
  return turn;
}

function refresh() {
  const isEmpty = conversation.turns.length === 0;
  const { activeElement } = document;
  find("welcome").hidden = !isEmpty;
  find("send").hidden = Boolean(running);
  find("stop").hidden = !running;
  if (activeElement?.hidden) (running ? find("stop") : prompt).focus(); // the button that was pressed has gone
  find("new").disabled = find("history-open").disabled = Boolean(running);
  find("keys").textContent = running ? t("keys_running") : t(IS_MAC ? "keys_mac" : "keys");
  prompt.placeholder = t(isEmpty ? "prompt_hint" : "prompt_follow");
  document.title = conversation.title ? `${conversation.title} · localllm ensemble` : "localllm ensemble";
}

function fit() {
  prompt.style.height = "auto";
  prompt.style.height = `${prompt.scrollHeight + 2}px`;
}

async function showAgents() {
  try {
    agents = await server.agents();
  } catch (error) {
    agents = error;
  }
  drawAgents();
}

function drawAgents() {
  const isKnown = agents && !(agents instanceof Error);
  find("agents-fault").hidden = isKnown || !agents;
  find("agents-fault").textContent = agents instanceof Error ? t("agents_unknown", { reason: visible(agents.message) }) : "";
  find("agents-summary").textContent = isKnown ? t("agents_summary", { workers: count("workers", agents.workers.length) }) : "";
  const item = (agent, role) => make("li", { class: role }, make("strong", { text: visible(agent.name), dir: "auto" }), make("span", { text: `${t(role)} · ${visible(agent.model)}` }));
  find("agents").replaceChildren(...(isKnown ? [...agents.workers.map((one) => item(one, "worker")), item(agents.reviewer, "reviewer")] : []));
}

// Appearance.

function showTheme(chosen) {
  const isDark = chosen ? chosen === "dark" : dark.matches;
  if (chosen) document.documentElement.dataset.theme = chosen;
  const label = isDark ? "theme_light" : "theme_dark";
  find("theme").dataset.label = label;
  find("theme").dataset.dark = String(isDark);
  find("theme").title = t(label);
  find("theme").setAttribute("aria-label", t(label));
}

function switchTheme() {
  const next = find("theme").dataset.dark === "true" ? "light" : "dark";
  kept.set(THEME, next);
  showTheme(next);
}

function showLanguage() {
  applyTexts();
  const button = find("language");
  button.textContent = t("language");
  button.lang = language() === "ja" ? "en" : "ja";
  button.title = t("language_label");
  drawAgents();
  refresh();
  for (const view of views) view.refresh();
}

// Keys and buttons.

function onKey(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing && event.target === prompt) {
    event.preventDefault();
    ask(prompt.value);
  } else if (event.key === "Escape" && running && !document.querySelector("dialog[open]") && !event.isComposing) {
    event.preventDefault();
    stop();
  }
}

async function begin() {
  chooseLanguage();
  showTheme(kept.get(THEME));
  showLanguage();
  const dialog = new HistoryDialog(history, { onOpen: open, onDeleted: (id) => (id === null || id === conversation.id) && open(null), announce });
  find("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    ask(prompt.value);
  });
  find("stop").addEventListener("click", stop);
  find("new").addEventListener("click", () => open(null));
  find("history-open").addEventListener("click", () => dialog.show());
  find("theme").addEventListener("click", switchTheme);
  dark.addEventListener("change", () => showTheme(kept.get(THEME)));
  find("language").addEventListener("click", () => {
    switchLanguage();
    showLanguage();
    showTheme(kept.get(THEME));
  });
  prompt.addEventListener("input", fit);
  document.addEventListener("keydown", onKey);
  await history.open();
  const before = await history.find(sessionStorage.getItem(OPEN) ?? "").catch(() => undefined);
  if (before && !running && !conversation.turns.length) open(before);
  else prompt.focus();
  document.body.dataset.ready = "";
  await showAgents();
}

begin();
