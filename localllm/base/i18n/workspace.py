"""What `localllm init` says and writes: key → (English, Japanese)."""

WORKSPACE: dict[str, tuple[str, str]] = {
    "init.folder": ("In {folder}:", "{folder}:"),
    "init.made": ("made", "作成"),
    "init.kept": ("was there, left as it is", "既存のまま"),
    "init.link": ("is a link, left alone", "リンクのため変更せず"),
    "init.moved": ("moved", "移動"),
    "init.added": ("added", "追加"),
    "init.refreshed": ("brought up to date", "更新"),
    "init.parts": ("{name}: {parts}", "{name}: {parts}"),
    "init.foreign": (
        "Left as you have it, for none of its lines is known to be as init wrote it: {names}. Take a section out and run"
        " init again to have it written anew.",
        "init が書いたままの行が見当たらないため、変更していません: {names}。節を消して init を実行すると書き直します。",
    ),
    "init.clear_question": (
        "Begin anew here? {names} will be renamed to NAME.old-DATE, nothing is deleted.",
        "新しく作り直しますか？ {names} は「名前.old-日時」に改名し、削除はしません。",
    ),
    "init.left_alone": ("Nothing was changed.", "何も変更していません。"),
    "init.next": (
        "Next: localllm doctor looks whether everything is ready; localllm starts the chat.",
        "次は localllm doctor で準備を確かめ、localllm でチャットを始めてください。",
    ),
    "init.next_services": (
        "Web search: docker compose up -d starts SearxNG and Valkey; docker compose ps shows them healthy after half a"
        " minute. Try http://127.0.0.1:8888. The key in searxng/settings.yml is yours alone: git ignores that file.",
        "ウェブ検索: docker compose up -d で SearxNG と Valkey が起動し、30 秒ほどで docker compose ps に healthy と出ます。"
        "確認は http://127.0.0.1:8888。searxng/settings.yml のキーは公開しないでください（git は無視します）。",
    ),
    # --- localllm.toml
    "toml.head": (
        "Settings of this project. Each line shows a default: take away the # to change it, or let\n"
        "“localllm config set KEY VALUE” add it. “localllm config show” lists all there are.\n"
        "Keys of servers do not belong here; they come from the environment (OPENAI_API_KEY, …).",
        "このプロジェクトの設定。各行は既定値です。変えるには # を外すか、\n"
        "localllm config set 名前 値 で書き足します。一覧は localllm config show。\n"
        "サーバーのキーはここに書かず、環境変数（OPENAI_API_KEY など）に設定します。",
    ),
    "toml.provider": (
        "Who answers: auto (the first server found), lmstudio, ollama, openai, embedded, scripted.",
        "誰が答えるか: auto（最初に見つかったサーバー）、lmstudio、ollama、openai、embedded、scripted。",
    ),
    "toml.model": ("The model's name; empty takes the first there is.", "モデル名。空なら最初のモデル。"),
    "toml.context_window": (
        "Tokens a request may have; 0 asks the server.",
        "コンテキスト長（トークン）。0 ならサーバーに尋ねます。",
    ),
    "toml.temperature": (
        "How freely words are chosen; 0 is the most predictable.",
        "言葉選びの自由さ。0 が最も一定。",
    ),
    "toml.base_url": ("Where that server is.", "サーバーのアドレス。"),
    "toml.openai": (
        "Any OpenAI-compatible server: llama.cpp, vLLM, … One on another machine is better set for you\n"
        "alone: localllm config set --user llm.openai.base_url URL",
        "OpenAI 互換サーバー（llama.cpp、vLLM など）。別のマシンのものは自分だけの設定にしてください:\n"
        "localllm config set --user llm.openai.base_url URL",
    ),
    "toml.max_iterations": (
        "How often the model is asked for one request.",
        "一つの依頼でモデルに尋ねる回数の上限。",
    ),
    "toml.require_confirmation": (
        "Ask before anything changes files or runs commands.",
        "ファイルの変更やコマンドの前に確認する。",
    ),
    "toml.deny": (
        'What is refused, such as ["edit_file(migrations/)", "run_command(git push)"].',
        '拒むもの。例: ["edit_file(migrations/)", "run_command(git push)"]。',
    ),
    "toml.exclude_patterns": (
        "Never listed or searched, besides what .gitignore names.",
        ".gitignore のほかに一覧や検索から外すもの。",
    ),
    "toml.language": ("auto, en or ja.", "auto、en、ja のどれか。"),
    "toml.aliases": (
        "Words of your own: /review then stands for this request.",
        "自分の言葉。/review がこの依頼を表します。",
    ),
    "toml.alias_example": (
        "Review the uncommitted changes; list problems with file:line.",
        "コミット前の変更を確認し、問題をファイル名:行番号で挙げてください。",
    ),
    # --- LOCALLLM.md
    "slash.analyze": (
        "Show what the project is: languages, commands, folders and the habits of its code.",
        "プロジェクトの概要（言語・コマンド・フォルダ・コードの書き方）を表示する。",
    ),
    "analyze.hint": (
        "/init keeps this in LOCALLLM.md; /map shows what is defined where.",
        "/init で LOCALLLM.md に書き込みます。/map で主な定義を表示します。",
    ),
    "analyze.words": (
        "/analyze shows the whole project and takes no words; /map WORDS looks for something.",
        "/analyze は全体を表示するもので、語は付けられません。/map 語 で探せます。",
    ),
    "analyze.empty": ("There are no files here yet.", "まだファイルがありません。"),
}
