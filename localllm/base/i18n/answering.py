"""What is said of an answer that is not part of it: waiting, standing in, what was lost. key → (English, Japanese)."""

ANSWERING: dict[str, tuple[str, str]] = {
    "llm.waits": (
        "Waiting {seconds:.0f} s for its turn (llm.requests_per_minute, or the server asked for it).",
        "{seconds:.0f} 秒待っています（llm.requests_per_minute の上限、またはサーバーの求め）。",
    ),
    "llm.answer_too_long": (
        "The server did not stop: the answer was cut off after {most:,} characters.",
        "サーバーの出力が止まらないため、回答を {most:,} 文字で打ち切りました。",
    ),
    "llm.dropped": (
        "The server counted {counted} tokens of about {estimate} that were sent: it has dropped a part of the "
        "conversation without a word. Load the model with a larger context (Ollama: num_ctx, which llm.context_window "
        "sets, or OLLAMA_CONTEXT_LENGTH; LM Studio: Context Length; llama.cpp: -c), or begin anew with /clear.",
        "サーバーが数えたのは {counted} トークンで、送ったのは約 {estimate} トークンです。会話の一部が断りなく捨てられました。"
        "モデルをより大きなコンテキストで読み込むか（Ollama: num_ctx。llm.context_window か OLLAMA_CONTEXT_LENGTH で指定、"
        "LM Studio: Context Length、llama.cpp: -c）、/clear で始め直してください。",
    ),
    "llm.stands_in": (
        "{what} {provider} ({model}) answers instead (llm.fallback_providers).",
        "{what} 代わりに {provider}（{model}）が答えます（llm.fallback_providers）。",
    ),
    "llm.dialect.native_refused": (
        "The server takes no tool calls for {model}.",
        "サーバーは {model} のツール呼び出しを受け付けません。",
    ),
    "llm.dialect.native_misspoken": (
        "Several tool calls of {model} in a row could not be read.",
        "{model} のツール呼び出しが続けて読み取れませんでした。",
    ),
    "llm.dialect.structured_refused": (
        "The server cannot hold what {model} writes to a schema.",
        "サーバーは {model} の出力をスキーマに従わせることができません。",
    ),
    "llm.dialect.structured_misspoken": (
        "What {model} writes does not keep to the schema it was given.",
        "{model} の出力が、指定したスキーマに従っていません。",
    ),
    "llm.dialect.now_structured": (
        "From now on it writes each step as JSON (llm.dialect).",
        "今後は各ステップを JSON で書かせます（llm.dialect）。",
    ),
    "llm.dialect.now_text": (
        "From now on it writes its steps as plain text (llm.dialect).",
        "今後は各ステップを通常の文章で書かせます（llm.dialect）。",
    ),
    "llm.cannot_stand_in": (
        "{provider} (llm.fallback_providers) cannot answer instead: {what}",
        "{provider}（llm.fallback_providers）も代わりに答えられません: {what}",
    ),
}
