"""What is written into LOCALLLM.md and told of it: key → (English, Japanese)."""

NOTES: dict[str, tuple[str, str]] = {
    # --- session records
    # --- why the file cannot be used
    "memory.not_utf8": (
        "Line {line:,} (byte {offset:,} of the file) is not UTF-8 text",
        "{line:,} 行目（先頭から {offset:,} バイト目）が UTF-8 の文字ではありません",
    ),
    "memory.fix_not_utf8": (
        "Save it as UTF-8, or move it away: a new one is made when there is something to keep.",
        "UTF-8 で保存し直すか、別の場所に移してください。次に記録するときに新しく作ります。",
    ),
    "memory.too_large": ("It is larger than {limit} MB", "{limit} MB を超えています"),
    "memory.fix_too_large": (
        "Shorten it, or move it away: a new one is made when there is something to keep.",
        "短くするか、別の場所に移してください。次に記録するときに新しく作ります。",
    ),
    "memory.folder": ("There is a folder of that name", "同じ名前のフォルダがあります"),
    "memory.fix_folder": (
        "Move the folder away, or name another file: localllm config set project.memory_file NOTES.md",
        "フォルダを移すか、別のファイル名にしてください: localllm config set project.memory_file NOTES.md",
    ),
    "memory.not_regular": ("It is a pipe or a device, not a file", "通常のファイルではなく、パイプやデバイスです"),
    "memory.fix_not_regular": (
        "Move it away, or name another file: localllm config set project.memory_file NOTES.md",
        "別の場所に移すか、別のファイル名にしてください: localllm config set project.memory_file NOTES.md",
    ),
    "memory.not_text": ("Its encoding is not known", "文字コードが分かりません"),
    "memory.linked": ("It is a link to a file that is no Markdown", "Markdown以外のファイルへのリンクです"),
    "memory.fix_linked": (
        "Link to a Markdown file (.md), or put the file itself there.",
        "Markdown（.md）のファイルへのリンクにするか、ファイルそのものを置いてください。",
    ),
    "memory.would_mix": (
        "What would be written there would be read as something else",
        "書き込む内容が別の意味に読まれてしまいます",
    ),
    "memory.busy": ("Another program keeps changing it", "別のプログラムが変更し続けています"),
    "memory.conflict": (
        "{file} has an unsettled git conflict from line {line:,} on; both sides are read. Settle it in an editor.",
        "{file} の {line:,} 行目から git の競合が残っており、両方の内容が読まれます。エディタで解消してください。",
    ),
    "memory.near": ("Near it: {names}.", "近いもの: {names}。"),
    # --- the digest in the prompt
    "memory.digest_todos": ("Open TODOs:", "未完了の TODO:"),
    "memory.digest_more": ("(and {count} more)", "（ほか {count} 件）"),
    "memory.digest_more_found": ("(and {count} more: recall finds them)", "（ほか {count} 件: recall で検索）"),
    "memory.digest_decisions": ("Decisions:", "決定事項:"),
    "memory.digest_preferences": ("Preferences:", "好みと方針:"),
    "memory.digest_session": ("Last session:", "前回のセッション:"),
    "memory.digest_doing": ("in progress", "進行中"),
    "memory.digest_high": ("high", "高"),
    "memory.digest_low": ("low", "低"),
}
