"""What is said of the window and of what fills it. key → (English, Japanese)."""

CONTEXT: dict[str, tuple[str, str]] = {
    "context.pruned": (
        "Old output of tools was left out to make room: about {before} → {after} tokens.",
        "古いツール出力を省いて空きを作りました: 約 {before} → {after} トークン。",
    ),
    "context.sums_up": (
        "The window is nearly full: the model is summing the conversation up, which may take a while.",
        "コンテキストがほぼいっぱいです。モデルが会話を要約しています（時間がかかることがあります）。",
    ),
    "context.summarised": (
        "The conversation was summed up to make room: about {before} → {after} tokens. Your words are kept.",
        "会話を要約して空きを作りました: 約 {before} → {after} トークン。あなたの発言はそのまま残っています。",
    ),
    "context.no_room_for_file": (
        "@{path} has no room beside the other files; the model is told to read it.",
        "@{path} は他のファイルと合わせると入りきらないため、必要ならモデルが読むよう伝えます。",
    ),
    "context.plain": (
        "The model's own summary was of no use ({why}); a plain list of what was done stands in for it.",
        "モデルの要約は使えなかったため（{why}）、作業内容の一覧で代えました。",
    ),
    "context.why_empty": ("it wrote nothing", "何も書かれていません"),
    "context.why_short": ("it is too short to be one", "短すぎます"),
    "context.why_repeats": ("it repeats itself", "同じことの繰り返しです"),
    "context.why_long": ("it is too long", "長すぎます"),
    "context.why_unfit": ("the conversation does not fit into one request", "会話が一度の要求に収まりません"),
    "context.no_model": (
        "Without a model behind it, a list of what was done stands in for a summary.",
        "要約するモデルがないため、作業内容の一覧で代えました。",
    ),
    "context.nothing_to_sum_up": (
        "There is nothing to sum up yet.",
        "要約するものはまだありません。",
    ),
    "slash.context": ("Show where the model's window goes.", "モデルのウィンドウの使われ方を表示する。"),
    "slash.compact": (
        "Sum the conversation up to make room; your words stay as they are.",
        "会話を要約して空きを作る。あなたの発言はそのまま残る。",
    ),
    "context.summing_up": ("summing the conversation up", "会話を要約しています"),
    "context.title": (
        "{model}: about {used} of {window} tokens ({share} %)",
        "{model}: {window} トークン中 約 {used}（{share} %）",
    ),
    "context.title_assumed": (
        "{model}: about {used} of {window} tokens ({share} %); the window is a guess",
        "{model}: {window} トークン中 約 {used}（{share} %）。ウィンドウは推定値です",
    ),
    "context.how": (
        "Over {limit} tokens, old output is left out and the conversation summed up (agent.compact_at); /compact does it"
        " now.",
        "{limit} トークンを超えると、古い出力を省き、会話を要約します（agent.compact_at）。/compact で今すぐ行えます。",
    ),
    "context.part.system": ("system prompt", "システムプロンプト"),
    "context.part.project": ("AGENTS.md and notes", "AGENTS.md と記録"),
    "context.part.tools": ("tool descriptions", "ツールの説明"),
    "context.part.words": ("your words", "あなたの発言"),
    "context.part.summary": ("summary", "要約"),
    "context.part.files": ("contents of files", "ファイルの内容"),
    "context.part.commands": ("output of commands", "コマンドの出力"),
    "context.part.results": ("other results", "その他のツール結果"),
    "context.part.model": ("the model's words", "モデルの発言"),
    "context.part.free": ("free", "空き"),
    "context.part.reserve": ("kept for the answer", "応答用の予約"),
}
