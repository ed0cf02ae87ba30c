// What the page says, in English and Japanese. An error of the server comes in the server's own language.

import { kept } from "./dom.js";

export const TEXTS = {
  en: {
    skip: "Skip to the question", controls: "Controls", new: "New", history: "History", close: "Close", cancel: "Cancel",
    theme_dark: "Dark colours", theme_light: "Light colours", language: "日本語", language_label: "日本語で表示",
    welcome: "One question, many models, one answer",
    welcome_how: "Each worker answers by itself. The reviewer compares the answers, corrects what is wrong and writes the final one.",
    prompt: "Question", prompt_hint: "Ask all models…", prompt_follow: "Ask a follow-up…", ask: "Ask", stop: "Stop",
    keys: "Ctrl+Enter asks · Esc stops", keys_mac: "⌘+Enter asks · Esc stops", keys_running: "Esc stops",
    worker: "Worker", reviewer: "Reviewer", agents_summary: "{workers} and a reviewer",
    workers_one: "{count} worker", workers: "{count} workers", agents_unknown: "The server cannot be reached: {reason}",
    more: "Show all of it", less: "Show less",
    answer: "Final answer", best_of_failed: "Answer of {name}", evaluation: "What the reviewer says of the answers",
    copy: "Copy", copied: "Copied", copy_failed: "Copying was refused", enlarge: "Enlarge {name}", shrink: "Make {name} small again",
    seconds: "{seconds} s", waiting: "waiting", writing: "writing", done: "answered", failed: "failed",
    skipped: "not waited for", stopped: "stopped", unfinished: "not finished",
    retried: "Asked again after an error: {reason}", best: "the best in the reviewer's view", score: "{score} of 10 points",
    workers_at_work: "{done} of {count} workers are done", reviewing: "{name} is reviewing the answers",
    asking: "Asking {workers}", connecting: "Sending the question", took: "The final answer is ready, after {seconds} seconds",
    workers_summary: "{answered} of {count} answered", with_failed: "{failed} failed", with_skipped: "{skipped} not waited for",
    reviewer_failed: "The reviewer failed, so the answers were not merged. This is the answer of {name}, as it is.",
    reviewer_failed_without: "The reviewer failed, so the answers were not merged.",
    all_failed: "No worker has answered.", was_stopped: "You stopped this. What had come by then is kept.",
    was_cut: "The connection broke before the answer was complete. What had come by then is shown; it may end anywhere.",
    was_left: "The page was left before the answer was complete.",
    silent: "Nothing has come from the server for {seconds} seconds. Perhaps the connection is broken; you can stop and ask again.",
    not_reached: "The server cannot be reached. Is it still running?", not_served: "The question was not taken.",
    retry_after: "It can be asked again in {seconds} s.", again: "Ask again",
    forgotten: "The server does not know the earlier part of this conversation any more: this answer was given without it.",
    cut_off: "The answer reached its longest length and ends early.",
    strategy: "strategy: {name}", agreement: "{count} of {of} agree", not_asked: "not asked: {names}", tokens: "{count} tokens", run: "run {id}",
    rest: "The first {shown} of {length} characters.", show_all: "Show all",
    history_where: "Kept in this browser only.", history_empty: "Nothing has been asked yet.",
    history_clear: "Delete all", history_clear_sure: "Really delete all?", history_delete: "Delete {title}",
    history_none: "This browser keeps no history here (a private window, perhaps): what you ask is gone when you leave.",
    turns_one: "{count} question", turns: "{count} questions",
    token_title: "This server asks for a token", token: "Token", token_use: "Use it",
    token_where: "It is the one the server was started with. It is kept until this tab is closed.",
    token_wrong: "The server does not take this token.",
  },
  ja: {
    skip: "質問欄へ移動", controls: "操作", new: "新規", history: "履歴", close: "閉じる", cancel: "キャンセル",
    theme_dark: "ダーク表示", theme_light: "ライト表示", language: "English", language_label: "Show in English",
    welcome: "一つの質問を、複数のモデルに",
    welcome_how: "各ワーカーがそれぞれ独立に回答します。レビューワーが回答を比較し、誤りを正して最終回答をまとめます。",
    prompt: "質問", prompt_hint: "すべてのモデルに質問…", prompt_follow: "続けて質問…", ask: "質問する", stop: "停止",
    keys: "Ctrl+Enter で質問 · Esc で停止", keys_mac: "⌘+Enter で質問 · Esc で停止", keys_running: "Esc で停止",
    worker: "ワーカー", reviewer: "レビューワー", agents_summary: "{workers}とレビューワー",
    workers_one: "ワーカー {count} 台", workers: "ワーカー {count} 台", agents_unknown: "サーバーに接続できません: {reason}",
    more: "全文を表示", less: "折りたたむ",
    answer: "最終回答", best_of_failed: "{name} の回答", evaluation: "レビューワーによる評価",
    copy: "コピー", copied: "コピーしました", copy_failed: "コピーできませんでした", enlarge: "{name} を拡大", shrink: "{name} を元の大きさに戻す",
    seconds: "{seconds} 秒", waiting: "待機中", writing: "回答中", done: "回答済み", failed: "失敗",
    skipped: "打ち切り", stopped: "停止", unfinished: "未完了",
    retried: "エラーのため再送しました: {reason}", best: "レビューワーの評価が最も高い回答", score: "10 点中 {score} 点",
    workers_at_work: "{count} 台中 {done} 台が完了", reviewing: "{name} が回答を評価しています",
    asking: "{workers}に質問しています", connecting: "質問を送信しています", took: "最終回答が届きました（{seconds} 秒）",
    workers_summary: "{count} 台中 {answered} 台が回答", with_failed: "{failed} 台が失敗", with_skipped: "{skipped} 台を打ち切り",
    reviewer_failed: "レビューワーが失敗したため、回答は統合されていません。{name} の回答をそのまま表示しています。",
    reviewer_failed_without: "レビューワーが失敗したため、回答は統合されていません。",
    all_failed: "どのワーカーからも回答がありませんでした。", was_stopped: "停止しました。それまでに届いた内容は残してあります。",
    was_cut: "回答の途中で接続が切れました。届いたところまでを表示しています。",
    was_left: "回答が届く前にページが閉じられました。",
    silent: "サーバーから {seconds} 秒間応答がありません。接続が切れている可能性があります。停止して質問し直せます。",
    not_reached: "サーバーに接続できません。起動しているか確認してください。", not_served: "質問は受け付けられませんでした。",
    retry_after: "{seconds} 秒後にもう一度質問できます。", again: "もう一度質問する",
    forgotten: "サーバーには、この会話のこれまでの内容が残っていません。この回答はそれを踏まえていません。",
    cut_off: "回答が長さの上限に達したため、途中で終わっています。",
    strategy: "方式: {name}", agreement: "{of} 台中 {count} 台が一致", not_asked: "対象外: {names}", tokens: "{count} トークン", run: "実行 {id}",
    rest: "{length} 文字のうち先頭の {shown} 文字を表示しています。", show_all: "すべて表示",
    history_where: "履歴はこのブラウザーにだけ保存されます。", history_empty: "まだ質問はありません。",
    history_clear: "すべて削除", history_clear_sure: "本当にすべて削除しますか？", history_delete: "{title} を削除",
    history_none: "このブラウザーでは履歴を保存できません（プライベートウィンドウなど）。ページを離れると内容は失われます。",
    turns_one: "質問 {count} 件", turns: "質問 {count} 件",
    token_title: "このサーバーにはトークンが必要です", token: "トークン", token_use: "使う",
    token_where: "サーバーの起動時に指定されたトークンです。このタブを閉じるまで保持されます。",
    token_wrong: "このトークンは受け付けられませんでした。",
  },
};

const CHOSEN = "localllm-language";
let current = "en";

export const language = () => current;

/** Speak the language that was chosen here before, else the browser's. */
export function chooseLanguage() {
  const chosen = kept.get(CHOSEN);
  const first = (navigator.languages?.[0] ?? navigator.language ?? "en").toLowerCase();
  current = chosen in TEXTS ? chosen : first.startsWith("ja") ? "ja" : "en";
}

/** Speak the other language from now on. */
export function switchLanguage() {
  current = current === "ja" ? "en" : "ja";
  kept.set(CHOSEN, current);
}

/** A text with its parameters. */
export function t(key, given = {}) {
  return TEXTS[current][key].replace(/\{(\w+)\}/g, (_, name) => String(given[name]));
}

/** A text that counts something: it has a form for one. */
export const count = (key, number) => t(number === 1 ? `${key}_one` : key, { count: number });

/** Seconds as they are shown. */
export const seconds = (number) => t("seconds", { seconds: number.toFixed(1) });

/** Put the texts in the page that name their key: as text, as label, or as placeholder. */
export function applyTexts() {
  document.documentElement.lang = current;
  for (const one of document.querySelectorAll("[data-text]")) one.textContent = t(one.dataset.text);
  for (const one of document.querySelectorAll("[data-label]")) {
    one.setAttribute("aria-label", t(one.dataset.label));
    one.title = t(one.dataset.label);
  }
  for (const one of document.querySelectorAll("[data-placeholder]")) one.placeholder = t(one.dataset.placeholder);
}
