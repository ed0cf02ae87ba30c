"""What is written into LOCALLLM.md and told of it: key → (English, Japanese)."""

NOTES: dict[str, tuple[str, str]] = {
    # --- session records
    "memory.decided": ("decided", "決定"),
    "memory.done": ("done", "結果"),
    "memory.open": ("open", "残り"),
    "memory.no_goal": ("(no goal)", "（目的なし）"),
    "memory.month": ("{month}: {count} sessions", "{month}: {count} セッション"),
    # --- why the file cannot be used
    "memory.not_utf8": (
        "Byte {offset} (line {line}) is no UTF-8",
        "{line} 行目（{offset} バイト目）が UTF-8 ではありません",
    ),
    "memory.too_large": ("It has over {limit} bytes", "{limit} バイトを超えています"),
    "memory.not_regular": ("It is not a regular file", "通常のファイルではありません"),
    "memory.linked": ("It is a link to a file that is no Markdown", "Markdown以外のファイルへのリンクです"),
    "memory.would_mix": (
        "What would be written there would be read as something else",
        "書き込む内容が別の意味に読まれてしまいます",
    ),
    "memory.busy": ("Another program keeps changing it", "別のプログラムが変更し続けています"),
    "memory.locked": ("Another program holds the lock of its folder", "別のプログラムがフォルダをロックしています"),
    # --- the digest in the prompt
    "memory.digest_todos": ("Open TODOs:", "未完了の TODO:"),
    "memory.digest_more": ("(and {count} more)", "（ほか {count} 件）"),
    "memory.digest_decisions": ("Decisions:", "決定事項:"),
    "memory.digest_preferences": ("Preferences:", "好みと方針:"),
    "memory.digest_session": ("Last session:", "前回のセッション:"),
    "memory.digest_doing": ("in progress", "進行中"),
    "memory.digest_high": ("high", "高"),
    "memory.digest_low": ("low", "低"),
}
