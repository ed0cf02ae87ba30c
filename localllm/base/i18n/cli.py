"""What the command line says: key → (English, Japanese)."""

CLI: dict[str, tuple[str, str]] = {
    "input.waiting": (
        "Waiting for the end of standard input (use < /dev/null if there is none).",
        "標準入力の終わりを待っています（なければ < /dev/null を付けてください）。",
    ),
    "cli.sent_as_words": (
        "/{name} is a command of the chat: with -p it is not carried out, only sent as words.",
        "/{name} は対話画面のコマンドです。-p では実行されず、そのまま文章として送りました。",
    ),
    # --- how a model server is started: parts of an error
    "server.start_lmstudio": ("LM Studio: Developer → Start Server", "LM Studio: Developer → Start Server"),
    "server.start_ollama": ("Ollama: ollama serve", "Ollama: ollama serve"),
    "server.start_openai": (
        "such as llama.cpp: llama-server -m MODEL; vLLM: vllm serve MODEL",
        "例: llama.cpp は llama-server -m MODEL、vLLM は vllm serve MODEL",
    ),
    # --- settings: parts of errors and warnings
    "settings.nearest": ("Did you mean “{key}”?", "「{key}」ではありませんか。"),
    "settings.see_all": ("“localllm config show” lists them all.", "一覧は localllm config show で見られます。"),
    "settings.command_line": ("command line", "コマンドライン"),
    "settings.not_utf8": ("It is not UTF-8 text (line {line})", "UTF-8 のテキストではありません（{line} 行目）"),
    "settings.no_file": ("It is not a file", "ファイルではありません"),
    "settings.too_long": ("It is longer than {most} bytes", "{most} バイトを超えています"),
    "settings.too_deep": ("It is nested too deeply", "入れ子が深すぎます"),
    "settings.key_left_out": (
        "In the project's localllm.toml, which is not trusted, one setting is left out: {error}",
        "信頼していないプロジェクトの localllm.toml の設定を 1 つ除外しました: {error}",
    ),
    "settings.file_left_out": (
        "The project's localllm.toml, which is not trusted, is left out as a whole: {error}",
        "信頼していないプロジェクトの localllm.toml を全体として除外しました: {error}",
    ),
    "settings.unknown_variable": (
        "The environment variable {name} names no setting. {hint}",
        "環境変数 {name} に当たる設定はありません。{hint}",
    ),
    "settings.secret_elsewhere": (
        "The environment variable {name} is not read; the key belongs in {variable}.",
        "環境変数 {name} は読みません。鍵は {variable} に設定してください。",
    ),
    "settings.layout": ("The setting stands where it is not expected", "設定が予期しない場所に書かれています"),
    "settings.not_unicode": ("The value is not Unicode text", "値が Unicode のテキストではありません"),
    "paths.link": ("It is a symbolic link", "シンボリックリンクです"),
    "settings.got_value": ("{value}", "{value}"),
    "settings.got_text": ("a text", "文字列"),
    "settings.got_this_text": ("the text “{value}”", "文字列「{value}」"),
    "settings.got_list": ("a list", "配列"),
    "settings.got_mixed_list": ("a list with something else in it than texts", "文字列以外を含む配列"),
    "settings.got_list_with": ("a list with “{value}” in it", "「{value}」を含む配列"),
    "settings.got_table": ("a table", "テーブル"),
    "settings.got_date": ("a date or time", "日付か時刻"),
    "settings.bool": ("true or false", "true か false"),
    "settings.one_of": ("one of {values}", "{values} のいずれか"),
    "settings.list": ("a list of texts", "文字列の配列"),
    "settings.answers": ("answers", "回答"),
    "settings.list_of_tables": (
        "tables [[{key}]] with tool, decision (allow, ask or deny) and, where wanted, prefix, match, not_match",
        "テーブル [[{key}]]（tool、decision（allow / ask / deny）、必要なら prefix、match、not_match）",
    ),
    "settings.list_of": ("a list of any of {values}", "{values} の配列"),
    "settings.table_of_texts": (
        "a table of names and texts; one of them is {key}.NAME",
        "名前と文字列のテーブル（一つだけなら {key}.NAME）",
    ),
    "settings.table": ("a table", "テーブル"),
    "settings.text": ("a text", "文字列"),
    "settings.whole": ("a whole number", "整数"),
    "settings.number": ("a number", "数"),
    "settings.above": ("{kind} above {least}", "{least} より大きい{kind}"),
    "settings.at_least": ("{kind}, {least} or more", "{least} 以上の{kind}"),
    "settings.between": ("{kind} from {least} to {most}", "{least} から {most} までの{kind}"),
    # --- localllm config
    "settings.was_set": ("{key} is set in {file}.", "{file} に {key} を設定しました。"),
    "settings.was_unset": ("{key} is taken out of {file}.", "{file} から {key} を取り除きました。"),
    "settings.not_in": ("{key} is not in {file}.", "{file} に {key} はありません。"),
    "settings.set_but_withheld": (
        "It has no effect until you trust the project (localllm config trust); for your own file add --user.",
        "信頼（localllm config trust）するまで効果はありません。自分のファイルに書くには --user を付けてください。",
    ),
    "settings.set_but_overridden": (
        "It has no effect: {origin} sets it too, and wins.",
        "{origin} の設定が優先されるため、効果はありません。",
    ),
    "settings.withheld_here": (
        "withheld: localllm.toml sets another value, which counts once you trust it (localllm config trust)",
        "保留: localllm.toml に別の値がありますが、信頼（localllm config trust）するまで使いません",
    ),
    "settings.secret_set": ("set (from {variable})", "設定済み（{variable}）"),
    "settings.secret_not_set": ("not set (it comes from {variable})", "未設定（{variable} から読みます）"),
    "settings.file_missing": ("(not there)", "（なし）"),
    "settings.no_entries": ("# none", "# なし"),
    "settings.layer_default": ("default", "既定"),
    "settings.layer_user": ("user", "利用者"),
    "settings.layer_project": ("project", "プロジェクト"),
    "settings.layer_environment": ("environment", "環境変数"),
    "settings.layer_command_line": ("command line", "コマンドライン"),
}
