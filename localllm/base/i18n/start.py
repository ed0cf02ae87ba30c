"""What is said when the program begins: trust in a project's settings, and who answers. key → (English, Japanese)."""

START: dict[str, tuple[str, str]] = {
    # --- whether to believe a project's settings
    "trust.wants": (
        "{file} wants more than a project may decide by itself:",
        "{file} には、許可があるまで効かない設定があります:",
    ),
    "trust.question": ("Believe these settings of the project? [y/N]", "このプロジェクトの設定を信頼しますか？ [y/N]"),
    "trust.yes_or_no": ("Please answer y (yes) or n (no).", "y（はい）か n（いいえ）で答えてください。"),
    "trust.more": (
        "… and {count} more: read {file} before you say yes.",
        "… ほかに {count} 件。答える前に {file} を読んでください。",
    ),
    "trust.believed": (
        "Believed until the file changes; localllm config untrust takes it back.",
        "ファイルが変わるまで信頼します。取り消しは localllm config untrust。",
    ),
    "trust.not_kept": (
        "The answer holds for this time only. {what} {why}",
        "この答えは今回だけ有効です。{what} {why}",
    ),
    "trust.unreadable": (
        "What you answered about trusting projects cannot be read and counts as forgotten ({file}: {reason}).",
        "プロジェクトを信頼するかどうかの記録を読めないため、未回答として扱います（{file}: {reason}）。",
    ),
    "trust.nothing": (
        "Nothing in this project's localllm.toml waits for your trust.",
        "このプロジェクトの localllm.toml に、信頼を待つ設定はありません。",
    ),
    "trust.forgotten": (
        "Your answers about this project are forgotten: the chat asks again.",
        "このプロジェクトについての答えを消しました。チャットを始めるとまた確認します。",
    ),
    "trust.nothing_to_forget": (
        "Nothing was answered about this project.",
        "このプロジェクトについての答えはありません。",
    ),
    "trust.reach.server": (
        "your words, files and the key, if set, are sent there",
        "入力、ファイル、設定済みのキーがそこへ送られます",
    ),
    "trust.reach.network": ("what can be reached over the network", "ネットワークで接続できる先"),
    "trust.reach.allow": ("done without asking you", "確認なしに実行されます"),
    "trust.reach.unasked": ("changes and commands are not asked about", "変更やコマンドを確認しません"),
    "trust.reach.rules": ("replaces your own list", "あなたの一覧を置き換えます"),
    "trust.reach.backup": ("no earlier versions, no /undo", "以前の版を残さず /undo できません"),
    "trust.reach.file": ("this file is read", "このファイルを読みます"),
    "trust.reach.limit": ("how long it goes on by itself", "自動で続ける長さ"),
    "trust.reach.alias": ("what this word stands for", "この語が表す内容"),
    "start.withheld": (
        "Ignored in the project's localllm.toml: {keys}. Read it; localllm config trust believes it.",
        "プロジェクトの localllm.toml のうち無視しているもの: {keys}。内容を読み、信頼するなら localllm config trust。",
    ),
    "start.keyless": (
        "{variables} is not sent: the project's localllm.toml, which you have not trusted, chooses the server. "
        "localllm config trust believes it.",
        "{variables} は送信しません。送り先を、信頼していないプロジェクトの localllm.toml が選んでいるためです。"
        "信頼するなら localllm config trust。",
    ),
    "start.stored_state": (
        "{own} cannot be used here ({reason}): long output is kept in {folder}.",
        "ここでは {own} を使えません（{reason}）。長い出力は {folder} に保存します。",
    ),
    "start.stored_nowhere": (
        "Nothing of this session is kept: {own} cannot be used here ({reason}), and {folder} cannot be written to.",
        "このセッションは何も保存されません。{own} を使えず（{reason}）、{folder} にも書き込めません。",
    ),
    # --- who answers
    "start.window": ("{count} tokens", "{count} トークン"),
    "start.window_assumed": ("{count} tokens assumed", "{count} トークンと仮定"),
    "start.others": (
        "There are others: /models lists them, /model NAME changes.",
        "ほかのモデルは /models で一覧、/model 名前 で切り替え。",
    ),
    "start.now": ("From now on {who} answers.", "これからは {who} が答えます。"),
    "start.scripted": (
        "The scripted provider plays answers from a file: no model is connected.",
        "台本プロバイダーはファイルの回答を再生します。モデルには接続していません。",
    ),
    "start.embedded": (
        "No model server found: the embedded engine answers; it only finds and quotes. Start LM Studio's server, Ollama "
        "or llama-server -m FILE, and the next request uses it; localllm doctor tells more.",
        "モデルサーバーが見つからないため、組み込みエンジンが答えます（探して引用するだけ）。LM Studio のサーバー、Ollama、"
        "llama-server -m FILE のどれかを起動すれば次の依頼から使います。詳しくは localllm doctor。",
    ),
    "start.embedded_chosen": (
        "The embedded engine answers: it finds and quotes, but does not think.",
        "組み込みエンジンが答えます。探して引用しますが、考えはしません。",
    ),
    "start.server_empty": (
        "The server at {url} has no model yet: load one there.",
        "{url} のサーバーにはまだモデルがありません。サーバーで読み込んでください。",
    ),
    "start.server_locked": (
        "The server at {url} wants a key: {detail}.",
        "{url} のサーバーはキーを求めています: {detail}。",
    ),
    "start.server_silent": (
        "{url} takes connections but does not answer in time: {detail}.",
        "{url} は接続を受け付けますが、時間内に応答しません: {detail}。",
    ),
    "start.key": (
        "{variable} is set; nothing is sent there unless you say so: --provider openai --base-url URL.",
        "{variable} が設定されていますが、指示がない限り何も送りません: --provider openai --base-url URL。",
    ),
    # --- what is said of a model in a list
    "model.unloaded": ("not loaded", "未読み込み"),
    "model.up_to": ("up to {count} tokens", "最大 {count} トークン"),
    "model.tools": ("tools", "ツール"),
    "model.thinking": ("thinking", "思考"),
    "model.vision": ("vision", "画像"),
}
