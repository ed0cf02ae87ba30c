"""What the screen says: key → (English, Japanese)."""

UI: dict[str, tuple[str, str]] = {
    # --- while a run is going on
    "ui.waiting": ("waiting for the model, {time} (Ctrl+C stops)", "モデルの応答待ち {time}（Ctrl+C で中断）"),
    "ui.thinking": ("thinking, {time}, {size} characters:", "思考中 {time} {size} 文字:"),
    "ui.thought": ("thought for {time} ({size} characters)", "思考 {time}（{size} 文字）"),
    "ui.running": ("{name} is running, {time} (Ctrl+C stops)", "{name} を実行中 {time}（Ctrl+C で中断）"),
    "ui.more_lines": ("… {count} more lines", "… あと {count} 行"),
    "ui.lines_above": ("… {count} lines above", "… 前に {count} 行"),
    "ui.duration.seconds": ("{seconds} s", "{seconds}秒"),
    "ui.duration.minutes": ("{minutes} min {seconds:02d} s", "{minutes}分{seconds:02d}秒"),
    # --- the end of a run
    "ui.ended.limit": ("A limit was reached; the work is not finished.", "上限に達したため、作業は途中です。"),
    "ui.ended.stuck": ("Stuck; the work is not finished.", "行き詰まったため、作業は途中です。"),
    "ui.ended.refused": (
        "Something was refused; the work may be incomplete.",
        "許可されない操作があり、未完了かもしれません。",
    ),
    "ui.ended.interrupted": ("Interrupted.", "中断しました。"),
    "ui.cost.steps": ("steps {count}", "ステップ {count}"),
    "ui.cost.tokens_in": ("in {count}", "入力 {count}"),
    "ui.cost.cached": (" ({count} cached)", "（キャッシュ {count}）"),
    "ui.cost.tokens_out": ("out {count} tokens", "出力 {count} トークン"),
    "ui.cost.rate": ("{rate} tokens/s", "{rate} トークン/秒"),
    "ui.cost.first": ("first after {time}", "最初まで {time}"),
    # --- questions
    "ui.wants": ("{summary} (risk: {risk})", "{summary}（危険度: {risk}）"),
    "ui.risk.safe": ("safe", "なし"),
    "ui.risk.medium": ("medium", "中"),
    "ui.risk.high": ("high", "高"),
    "ui.risk.highest": ("highest", "最高"),
    "ui.risk.dangerous": ("dangerous", "危険"),
    "ui.dangerous_part": (
        "It contains “{rule}”, one of your dangerous commands (safety.dangerous_commands).",
        "危険なコマンド（safety.dangerous_commands）の「{rule}」を含みます。",
    ),
    "ui.question.yes": ("[y]es", "[y] はい"),
    "ui.question.no": ("[n]o (Enter)", "[n] いいえ（Enter）"),
    "ui.question.always": ("[a]lways in this session", "[a] 以後も許可"),
    "ui.question.view": ("[v]iew all", "[v] 全体"),
    "ui.question.instead": ("or say what to do instead", "または代わりの指示を入力"),
    "ui.pager_keys": ("Up, Down, PageUp, PageDown: move   q: back", "↑ ↓ PageUp PageDown: 移動   q: 戻る"),
    "ui.allowed_before": ("allowed before, for this session", "このセッションでは許可済み"),
    # --- the chat
    "ui.greeting": (
        "/help lists the commands, Ctrl+D leaves.",
        "/help でコマンド一覧、Ctrl+D で終了。",
    ),
    "ui.how_to_leave": ("Ctrl+D or /exit leaves.", "終了は Ctrl+D または /exit。"),
    "ui.no_history": (
        "What you say is not kept for the next time: {file}: {reason}.",
        "入力履歴を保存できません: {file}: {reason}。",
    ),
    "ui.alias_conflict": (
        "The alias “{name}” is not used: /{name} is a command of the program. Give it another name.",
        "別名「{name}」は使われません。/{name} は組み込みコマンドです。別の名前にしてください。",
    ),
    "ui.unknown_command": ("There is no command /{name}.", "/{name} というコマンドはありません。"),
    "ui.did_you_mean": ("Did you mean /{name}?", "/{name} のことですか？"),
    "ui.see_help": ("/help lists the commands.", "/help でコマンド一覧を表示します。"),
    "ui.keys_help": (
        "Enter sends; Alt+Enter, or \\ at the end of a line, begins a new line. @path names a file, Ctrl+R searches "
        "what was said, Ctrl+C stops a run, Ctrl+D leaves.",
        "Enter で送信、Alt+Enter か行末の \\ で改行。@パス でファイルを指定、Ctrl+R で履歴検索、Ctrl+C で実行を中断、"
        "Ctrl+D で終了。",
    ),
    "ui.model_unknown": ("(not asked yet)", "（未確認）"),
    "ui.how_to_change_model": (
        "/model NAME changes to another (a part of the name will do), /models lists them.",
        "/model 名前 で切り替え（名前の一部でも可）、/models で一覧。",
    ),
    "ui.how_to_change_provider": ("/provider NAME changes to another.", "/provider 名前 で切り替え。"),
    "ui.how_to_keep": ("To begin with it next time: {command}", "次回もこれで始めるには: {command}"),
    "ui.no_servers": ("No model server can be reached.", "接続できるモデルサーバーがありません。"),
    "ui.provider.auto": (
        "the first server that is found, else embedded",
        "最初に見つかったサーバー、なければ embedded",
    ),
    "ui.provider.azure": (
        "asks Azure (llm.azure.endpoint): what you say leaves this machine",
        "Azure（llm.azure.endpoint）に尋ねます。内容はこのマシンの外に出ます",
    ),
    "ui.provider.gemini": (
        "asks Google's Gemini: what you say leaves this machine",
        "Google の Gemini に尋ねます。内容はこのマシンの外に出ます",
    ),
    "ui.provider.gguf": ("runs a model file (llm.gguf.file)", "モデルファイル（llm.gguf.file）を実行します"),
    "ui.provider.embedded": ("answers from the project, without a model", "モデルなしでプロジェクトから答えます"),
    "ui.provider.scripted": ("plays answers from a file", "ファイルの回答を再生します"),
    "ui.provider.models": ("{count} models", "モデル {count} 個"),
    "ui.provider.none": ("none was found", "見つかりません"),
    "ui.provider.absent": ("cannot be reached ({url})", "接続できません（{url}）"),
    "ui.first_time": (
        "It reads this project, asks before it changes files or runs commands, and talks to nobody but the model server.",
        "このプロジェクトを読み、ファイルの変更やコマンドの実行の前に確認します。モデルサーバー以外とは通信しません。",
    ),
    "ui.tool_denied": ("denied by a rule", "規則により禁止"),
    "ui.always_rule": ("always allowed this session: {rule}", "このセッションで常に許可: {rule}"),
    "ui.always_forgotten": ("From now on you are asked again.", "今後は再び確認します。"),
    "ui.cleared": ("A new conversation begins.", "新しい会話を始めます。"),
    "ui.status.project": ("project", "プロジェクト"),
    "ui.status.model": ("model", "モデル"),
    "ui.status.server": ("server", "サーバー"),
    "ui.status.window": ("context window", "コンテキスト長"),
    "ui.status.sandbox": ("sandbox", "サンドボックス"),
    "ui.status.used": ("used so far", "これまでの使用量"),
    "ui.status.session": ("session", "セッション"),
    "ui.status.always": ("always allowed", "常に許可"),
    "ui.toolbar": ("{model} · sandbox {sandbox} · {tokens}", "{model} · サンドボックス {sandbox} · {tokens}"),
    "ui.toolbar.connecting": ("looking for the model…", "モデルを探しています…"),
    "ui.toolbar.tokens": ("{used} / {window} tokens", "{used} / {window} トークン"),
    "ui.toolbar.tokens_assumed": ("{used} / {window} tokens (assumed)", "{used} / {window} トークン（仮定）"),
    # --- slash commands; the English is each one's docstring
    "slash.help": ("Show the commands, or one of them.", "コマンドの一覧、または一つの説明を表示する。"),
    "slash.status": (
        "Show the model, the session and what it has used.",
        "モデル、セッション、使用量を表示する。",
    ),
    "slash.model": (
        "Show the model, or change to another; a part of its name will do.",
        "モデルを表示する、または切り替える。名前の一部でもよい。",
    ),
    "slash.models": ("List the models of every server that can be reached.", "接続できるサーバーのモデルを一覧する。"),
    "slash.provider": (
        "Show who can answer, or change to another: a server, the embedded engine, a script.",
        "答えられる相手を表示する、または切り替える（サーバー、組み込みエンジン、台本）。",
    ),
    "slash.tools": (
        "List the tools and what is allowed; with “ask”, ask again about what was always allowed.",
        "ツールと許可の状態を一覧する。ask を付けると、常に許可した操作も再び確認する。",
    ),
    "slash.undo": (
        "Take back the last change to a file; with “turn”, all changes of the last request.",
        "最後のファイル変更を取り消す。turn を付けると、直前の依頼での変更をすべて取り消す。",
    ),
    "slash.clear": ("Begin a new conversation.", "新しい会話を始める。"),
    "slash.exit": ("Leave the chat.", "チャットを終了する。"),
}
