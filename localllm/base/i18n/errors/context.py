"""Errors of a window that is too small for what has to be said."""

from localllm.base.i18n.errors.form import Entries

CONTEXT: Entries = {
    "context_words_too_long": (
        "E2038",
        (
            "What you said does not fit into the model's context window.",
            "Your own words are kept as they are; they have about {words} tokens, and there is room for {room} of a"
            " window of {window}.",
            "Put long text into a file and name it with @path or have it read, load the model with a larger context, or"
            " begin anew with /clear.",
        ),
        (
            "あなたの発言がモデルのコンテキストに収まりません。",
            "発言はそのまま保持されます。約 {words} トークンありますが、{window} のうち使えるのは {room} です。",
            "長い文章はファイルに保存して @パス で示すか読ませてください。モデルをより大きなコンテキストで読み込むか、"
            "/clear で始め直すこともできます。",
        ),
    ),
    "context_full": (
        "E2039",
        (
            "The conversation stays too long for the model's context window.",
            "It was made shorter {count} times in a row and still has about {after} tokens of a window of {window}.",
            "Load the model with a larger context (llm.context_window), or begin anew with /clear; /compact keeps what"
            " you name.",
        ),
        (
            "会話がモデルのコンテキストに収まりません。",
            "続けて {count} 回短くしましたが、まだ約 {after} トークンあります（ウィンドウは {window}）。",
            "モデルをより大きなコンテキストで読み込むか（llm.context_window）、/clear で始め直してください。"
            "/compact では残す内容を指定できます。",
        ),
    ),
    "llm_context_overflow": (
        "E2011",
        (
            "The conversation no longer fits into the model's context window.",
            "{reason}",
            "Start afresh with /clear, or load the model with a larger context.",
        ),
        (
            "会話がモデルのコンテキストに収まらなくなりました。",
            "{reason}",
            "/clear で始め直すか、モデルをより大きなコンテキストで読み込んでください。",
        ),
    ),
}
