"""What `localllm doctor` and `localllm models` say: key → (English, Japanese)."""

DOCTOR: dict[str, tuple[str, str]] = {
    # --- the listing
    "doctor.head": ("localllm {version} in {project}", "localllm {version}（{project}）"),
    "doctor.status_problem": ("problem", "問題"),
    "doctor.status_warning": ("warning", "注意"),
    "doctor.status_note": ("info", "参考"),
    "doctor.status_ok": ("ok", "正常"),
    "doctor.all_well": ("Everything is as it should be.", "すべて正常です。"),
    "doctor.summary": (
        "Problems: {problems}, warnings: {warnings}. What to do stands after each →.",
        "問題 {problems} 件、注意 {warnings} 件。直し方は → の行にあります。",
    ),
    "doctor.check_failed": ("This could not be checked: {reason}.", "確認できませんでした: {reason}。"),
    "doctor.check_failed_fix": (
        "Look at the folder or program this is about; localllm --debug doctor may tell more.",
        "対象のフォルダやプログラムを確かめてください。localllm --debug doctor で詳しく分かることがあります。",
    ),
    # --- settings
    "doctor.settings_files": ("Settings are read from {files}.", "設定ファイル: {files}。"),
    "doctor.settings_none": (
        "No settings file: everything is at its default (localllm init makes one).",
        "設定ファイルはなく、すべて既定値です（localllm init で作れます）。",
    ),
    "doctor.settings_variable_fix": (
        "Correct the variable's name, or unset it.",
        "変数の名前を直すか、unset してください。",
    ),
    "doctor.left_out_fix": (
        "Correct localllm.toml; once it is trusted, this keeps the program from starting.",
        "localllm.toml を直してください。信頼したあとは、直すまで起動できません。",
    ),
    "doctor.withheld": (
        "The project's localllm.toml also sets what is not used until you trust it: {keys}.",
        "プロジェクトの localllm.toml のうち、信頼するまで使わない設定: {keys}。",
    ),
    "doctor.withheld_fix": (
        "Read the file; localllm config trust believes it.",
        "内容を読み、信頼するなら localllm config trust。",
    ),
    "doctor.only_read_file": (
        "safety.deny takes away the tool read_file, but {tools} still show what files hold.",
        "safety.deny で read_file は使えませんが、{tools} はファイルの内容を示します。",
    ),
    "doctor.only_read_file_fix": (
        "Name what is to be closed: read_file(secrets/) closes it to every tool and to commands, read_file(.) all files.",
        "閉じる場所を書いてください: read_file(secrets/) はすべてのツールとコマンドに対して閉じ、read_file(.) は全ファイルを閉じます。",
    ),
    "doctor.folders_moved": ("Folders are moved by {variables}.", "{variables} でフォルダの場所が変わっています。"),
    # --- model and servers
    "doctor.model": ("{model} answers ({software}, {address}).", "{model} が答えます（{software}、{address}）。"),
    "doctor.no_answer": ("It did not answer within {seconds} s", "{seconds} 秒以内に応答がありません"),
    "doctor.no_model": (
        "No model server was found. The embedded engine answers meanwhile: it finds and quotes, but does not think.",
        "モデルサーバーが見つかりません。当面は組み込みエンジンが答えます（探して引用しますが、考えはしません）。",
    ),
    "doctor.no_model_fix": (
        "Any of these is found by itself once it runs:\n"
        "LM Studio: load a model, then Developer → Start Server.\n"
        "Ollama: install it, then ollama pull qwen3:8b (it starts its server itself; else ollama serve).\n"
        "llama.cpp: llama-server -m MODEL.gguf --jinja -c 16384",
        "次のどれかを動かせば自動で見つかります。\n"
        "LM Studio: モデルを読み込み、Developer → Start Server。\n"
        "Ollama: インストールして ollama pull qwen3:8b（サーバーは自動で動きます。動いていなければ ollama serve）。\n"
        "llama.cpp: llama-server -m MODEL.gguf --jinja -c 16384",
    ),
    "doctor.embedded": (
        "The embedded engine answers, as the settings say: it finds and quotes, but does not think.",
        "設定どおり組み込みエンジンが答えます（探して引用しますが、考えはしません）。",
    ),
    "doctor.scripted": (
        "The scripted provider plays a file, as the settings say: no model is asked.",
        "設定どおり台本プロバイダーがファイルを再生します。モデルは使いません。",
    ),
    "doctor.without_server_fix": (
        "For a model: localllm config set llm.provider auto.",
        "モデルを使うには: localllm config set llm.provider auto。",
    ),
    "doctor.profile_compact": (
        "The model gets the compact profile: a short prompt and eight tools (agent.profile).",
        "compact プロファイルを使います: 短いプロンプトと 8 個のツール（agent.profile）。",
    ),
    "doctor.profile_standard": (
        "The model gets the standard profile: all tools (agent.profile).",
        "standard プロファイルを使います: すべてのツール（agent.profile）。",
    ),
    "doctor.window": ("{model} reads {window:,} tokens.", "{model} のコンテキストは {window:,} トークンです。"),
    "doctor.window_of": (
        "{model} reads {window:,} tokens, of the {most:,} it could be loaded with.",
        "{model} のコンテキストは {window:,} トークンです（最大 {most:,} まで読み込めます）。",
    ),
    "doctor.window_unknown": (
        "The server does not tell how many tokens {model} reads: {window:,} are assumed.",
        "{model} のコンテキスト長をサーバーが教えないため、{window:,} トークンとみなします。",
    ),
    "doctor.window_unknown_fix": (
        "Tell it with localllm config set llm.context_window N.",
        "localllm config set llm.context_window N で指定してください。",
    ),
    "doctor.window_too_small": (
        "{model} reads only {window:,} tokens; below {least:,} hardly a file fits into a request.",
        "{model} のコンテキストは {window:,} トークンしかありません。{least:,} 未満ではファイル一つもほとんど入りません。",
    ),
    "doctor.window_small": (
        "{model} reads only {window:,} tokens; below {good:,} conversations are short.",
        "{model} のコンテキストは {window:,} トークンしかありません。{good:,} 未満では会話が長く続きません。",
    ),
    "doctor.window_fix_lmstudio": (
        "In LM Studio load the model again with a longer context: the slider Context Length, {good} or more (or lms load MODEL --context-length {good}).",
        "LM Studio で Context Length のスライダーを {good} 以上にして読み込み直してください（または lms load MODEL --context-length {good}）。",
    ),
    "doctor.window_fix_ollama": (
        "localllm config set llm.context_window {good} asks Ollama for a window (num_ctx) of that size; for all programs set OLLAMA_CONTEXT_LENGTH={good} where ollama serve runs.",
        "localllm config set llm.context_window {good} で Ollama にその長さ（num_ctx）を求めます。すべてのプログラムで使うなら ollama serve の環境に OLLAMA_CONTEXT_LENGTH={good} を設定してください。",
    ),
    "doctor.window_fix_llamacpp": (
        "Start llama-server with -c {good} or more. With several slots (-np N) each gets only its share of -c: raise -c, or use -np 1.",
        "llama-server を -c {good} 以上で起動してください。スロットが複数（-np N）なら -c は等分されます。-c を増やすか -np 1 にしてください。",
    ),
    "doctor.window_fix_vllm": (
        "Start vLLM with --max-model-len {good} or more.",
        "vLLM を --max-model-len {good} 以上で起動してください。",
    ),
    "doctor.window_fix_other": (
        "Start the server with a context window of {good} tokens or more; its own documentation names the option.",
        "サーバーをコンテキスト長 {good} トークン以上で起動してください（指定方法はサーバーの説明書にあります）。",
    ),
    "doctor.window_fix_setting": (
        "llm.context_window limits it to {window:,}: raise it, or localllm config unset llm.context_window.",
        "llm.context_window で {window:,} に制限されています。大きくするか、localllm config unset llm.context_window で外してください。",
    ),
    "doctor.abilities": ("The model can do: {abilities}.", "モデルの機能: {abilities}。"),
    "doctor.no_tools": (
        "{model} does not know tool calls, says its server: it will hardly find its way in a project.",
        "サーバーによると {model} はツール呼び出しに対応していません。プロジェクトの作業はあまりできません。",
    ),
    "doctor.no_tools_fix": (
        "Choose a model with tools: localllm models lists them (llama-server needs --jinja).",
        "tools のあるモデルを選んでください。一覧は localllm models で見られます（llama-server には --jinja が必要です）。",
    ),
    "doctor.a_server": ("A server", "サーバー"),
    "doctor.server_ready": ("{name} at {url}, models: {count}.", "{name}（{url}）、モデル {count} 個。"),
    "doctor.server_empty": ("{name} at {url} has no model yet.", "{name}（{url}）にはまだモデルがありません。"),
    "doctor.load_lmstudio": (
        "Load a model in LM Studio (or lms load MODEL).",
        "LM Studio でモデルを読み込んでください（または lms load MODEL）。",
    ),
    "doctor.load_ollama": ("Fetch one, such as: ollama pull qwen3:8b", "例: ollama pull qwen3:8b で取得してください。"),
    "doctor.load_other": ("Load a model there.", "そのサーバーでモデルを読み込んでください。"),
    "doctor.key_missing": ("{name} at {url} wants a key.", "{name}（{url}）はキーを求めています。"),
    "doctor.key_missing_fix": ("To use it: {detail}.", "使うには: {detail}。"),
    "doctor.key_refused": ("{name} at {url} wants a key: {detail}.", "{name}（{url}）はキーを求めています: {detail}。"),
    "doctor.key_fix": (
        "Set the right key in the environment variable {variable}.",
        "正しいキーを環境変数 {variable} に設定してください。",
    ),
    "doctor.server_silent": (
        "{url} takes connections but does not answer in time: {detail}.",
        "{url} は接続を受け付けますが、時間内に応答しません: {detail}。",
    ),
    "doctor.server_silent_fix": (
        "It may be loading a model: try again in a moment, or look at the server's own log.",
        "モデルの読み込み中かもしれません。少し待つか、サーバーのログを見てください。",
    ),
    "doctor.server_foreign": (
        "At {url} answers something that is no model server: {detail}.",
        "{url} で応答するのはモデルサーバーではありません: {detail}。",
    ),
    "doctor.server_absent": (
        "Nothing answers at {url}, the address that is set: {detail}.",
        "設定されたアドレス {url} から応答がありません: {detail}。",
    ),
    "doctor.address_fix": ("Start the server, or correct {key}.", "サーバーを起動するか、{key} を直してください。"),
    "doctor.keys": (
        "{variables} is set; nothing is sent to a service on the network unless you say so.",
        "{variables} が設定されていますが、指示がない限りネット上のサービスには何も送りません。",
    ),
    "doctor.keys_fix": (
        "To use one: localllm --provider openai --base-url URL.",
        "使うには: localllm --provider openai --base-url URL。",
    ),
    # --- sandbox, git, programs
    "doctor.sandbox": (
        "Commands are held by the kernel ({level}, Linux {kernel}).",
        "コマンドはカーネルで守られます（{level}、Linux {kernel}）。",
    ),
    "doctor.sandbox_weaker": (
        "{what} Permissions and times of files outside can be changed, and local servers do not work: the better levels do not hold here ({failed}).",
        "{what} ただし外のファイルの権限と時刻は変えられ、ローカルサーバーは動きません。より強い方法はここでは使えません（{failed}）。",
    ),
    "doctor.sandbox_stronger_fix": (
        "Install bubblewrap (sudo apt install bubblewrap, sudo dnf install bubblewrap). Within a container or another sandbox this is as good as it gets.",
        "bubblewrap を入れてください（sudo apt install bubblewrap、sudo dnf install bubblewrap）。コンテナや別のサンドボックスの中ではこれ以上にはなりません。",
    ),
    "doctor.no_sandbox": (
        "Commands cannot be held on this machine ({reason}; kernel {kernel}): each has to be allowed by hand.",
        "この環境ではコマンドを守れません（{reason}、カーネル {kernel}）。毎回手動で許可することになります。",
    ),
    "doctor.sandbox_fix_kernel": (
        "Use Linux {least} or newer: before it, Landlock is missing or incomplete.",
        "Linux {least} 以降を使ってください。それより前の Landlock はないか不完全です。",
    ),
    "doctor.sandbox_fix_landlock": (
        "Landlock must be on: cat /sys/kernel/security/lsm names it (else add it to the kernel parameter lsm=). A container must allow its system calls (Docker 23 or newer does).",
        "Landlock を有効にしてください。cat /sys/kernel/security/lsm に出なければカーネル引数 lsm= に加えます。コンテナではそのシステムコールの許可が必要です（Docker 23 以降は許可済み）。",
    ),
    "doctor.sandbox_fix_other": (
        "Only Linux has the sandbox so far; a Linux virtual machine or WSL 2 gives it.",
        "サンドボックスは今のところ Linux だけです。Linux の仮想マシンか WSL 2 で使えます。",
    ),
    "doctor.git": ("git {version}; the repository is {top}.", "git {version}、リポジトリは {top}。"),
    "doctor.no_git": (
        "git is not installed: no history and no git tools. /undo works without.",
        "git がありません。履歴と git ツールは使えませんが、/undo は使えます。",
    ),
    "doctor.no_git_fix": (
        "Install it: sudo apt install git, sudo dnf install git, or brew install git.",
        "インストール: sudo apt install git、sudo dnf install git、brew install git のどれか。",
    ),
    "doctor.not_a_repository": (
        "{project} is not a git repository: no history. /undo works without.",
        "{project} は git リポジトリではありません。履歴はありませんが、/undo は使えます。",
    ),
    "doctor.git_init": ("If you want history: git init", "履歴が必要なら: git init"),
    "doctor.git_no_identity": (
        "git does not know your name, so that nothing can be committed.",
        "git に名前が設定されていないため、コミットできません。",
    ),
    "doctor.git_identity_fix": (
        'git config --global user.name "NAME" and git config --global user.email ADDRESS',
        'git config --global user.name "名前" と git config --global user.email アドレス を実行してください。',
    ),
    "doctor.ripgrep": ("ripgrep is installed: searching is fast.", "ripgrep があり、検索は高速です。"),
    "doctor.no_ripgrep": (
        "ripgrep is not installed: searching works, slower in large projects.",
        "ripgrep がありません。検索はできますが、大きなプロジェクトでは遅くなります。",
    ),
    "doctor.no_ripgrep_fix": (
        "Install it: sudo apt install ripgrep, sudo dnf install ripgrep, or brew install ripgrep.",
        "インストール: sudo apt install ripgrep、sudo dnf install ripgrep、brew install ripgrep のどれか。",
    ),
    "doctor.program": (
        "localllm {version}, Python {python}, {system}.",
        "localllm {version}、Python {python}、{system}。",
    ),
    # --- terminal
    "doctor.terminal": ("{kind}, {columns} × {lines}, {colours}.", "{kind}、{columns} × {lines}、{colours}。"),
    "doctor.colours": ("with colours", "色あり"),
    "doctor.no_colours": ("without colours (NO_COLOR)", "色なし（NO_COLOR）"),
    "doctor.no_terminal": (
        "The output does not go to a terminal, so that nothing can be said about one.",
        "出力先が端末ではないため、端末は確認していません。",
    ),
    "doctor.terminal_small": (
        "The terminal is small: {columns} × {lines}.",
        "端末の画面が小さすぎます: {columns} × {lines}。",
    ),
    "doctor.terminal_small_fix": ("Make it 80 × 24 or larger.", "80 × 24 以上に広げてください。"),
    "doctor.terminal_dumb": (
        "The terminal says it can do nothing (TERM={kind}): no colours, no live display.",
        "端末の機能が使えません（TERM={kind}）。色や動く表示は出ません。",
    ),
    "doctor.terminal_dumb_fix": (
        "If it can do more: export TERM=xterm-256color",
        "実際には使える端末なら: export TERM=xterm-256color",
    ),
    "doctor.not_utf8": (
        "The locale's encoding is {encoding}, not UTF-8: some characters will not show.",
        "ロケールの文字コードが UTF-8 ではなく {encoding} です。表示できない文字があります。",
    ),
    "doctor.not_utf8_fix": ("export LANG={locale} (locale -a lists them)", "export LANG={locale}（一覧は locale -a）"),
    "doctor.console_without_japanese": (
        "The Linux console shows no Japanese.",
        "Linux コンソールは日本語を表示できません。",
    ),
    "doctor.console_fix": (
        "Use a terminal window, ssh or kmscon; or start with --lang en.",
        "端末ウィンドウ、ssh、kmscon のどれかを使うか、--lang en で起動してください。",
    ),
    # --- folders
    "doctor.project_writable": ("{folder} can be written to.", "{folder} に書き込めます。"),
    "doctor.project_read_only": (
        "Nothing can be written in the project {folder}: {reason}.",
        "プロジェクト {folder} に書き込めません: {reason}。",
    ),
    "doctor.not_kept": (
        "Long output cannot be kept in {folder}: {reason}.",
        "長い出力を {folder} に保存できません: {reason}。",
    ),
    "doctor.in_the_way_fix": ("Move {folder} away.", "{folder} を別の場所へ移してください。"),
    "doctor.kept_in_state": (
        "Until then questions are answered all the same, and long output is kept in {folder}.",
        "それまでも質問には答えます。長い出力は {folder} に保存します。",
    ),
    "doctor.state_read_only": (
        "Nothing can be remembered in {folder}: {reason}.",
        "記録用のフォルダ {folder} に書き込めません: {reason}。",
    ),
    "doctor.config_read_only": (
        "Your own settings cannot be written in {folder}: {reason}.",
        "個人設定のフォルダ {folder} に書き込めません: {reason}。",
    ),
    "doctor.permission_fix": (
        "Make {folder} yours (ls -ld shows whose it is), or work in a copy of the project elsewhere.",
        "{folder} を書き込めるようにするか（所有者は ls -ld で確認）、別の場所にコピーして作業してください。",
    ),
    "doctor.read_only_fix": (
        "The file system is mounted read-only: mount it anew with rw, or work in a copy of the project elsewhere.",
        "ファイルシステムが読み取り専用です。rw でマウントし直すか、別の場所にコピーして作業してください。",
    ),
    "doctor.folder_fix": (
        "Make the folder writable, or name another in {variable}.",
        "書き込めるようにするか、{variable} で別のフォルダを指定してください。",
    ),
    "doctor.space": ("{gigabytes:.1f} GB are free at {folder}.", "{folder} の空きは {gigabytes:.1f} GB です。"),
    "doctor.little_space": (
        "Only {megabytes} MB are free at {folder}.",
        "{folder} の空きは {megabytes} MB しかありません。",
    ),
    "doctor.no_space": (
        "The disk is full: {megabytes} MB are free at {folder}.",
        "ディスクがいっぱいです。{folder} の空きは {megabytes} MB です。",
    ),
    "doctor.space_fix": (
        "Free some space: du -xh -d1 / | sort -h shows where it went; models (~/.ollama, ~/.lmstudio, ~/.cache) are often the largest.",
        "空きを作ってください。使用量は du -xh -d1 / | sort -h で分かります。モデル（~/.ollama、~/.lmstudio、~/.cache）が大きいことが多いです。",
    ),
    "doctor.no_project": (
        "{folder} holds your home folder: commands are not run there, and everything of yours would be looked through.",
        "{folder} はホームフォルダを含みます。コマンドは実行せず、個人のファイルすべてが検索対象になります。",
    ),
    "doctor.start_in_project": (
        "Start localllm in the folder of a project.",
        "プロジェクトのフォルダで起動してください。",
    ),
    "doctor.files": ("{count:,} {count:?file/files} in {folder}.", "{folder} のファイルは {count:,} 個です。"),
    "doctor.many_files": (
        "The project has more than {count:,} files: listings and searches take longer.",
        "プロジェクトのファイルが {count:,} 個を超えています。一覧や検索に時間がかかります。",
    ),
    "doctor.many_files_fix": (
        "Leave out what is not yours to read: .gitignore, or localllm config set project.exclude_patterns …",
        "不要なものを .gitignore か localllm config set project.exclude_patterns … で外してください。",
    ),
    # --- what is told of the project
    "doctor.memory": ("{file} can be used ({count:,} {count:?byte/bytes}).", "{file} は使えます（{count:,} バイト）。"),
    "doctor.memory_conflict": (
        "{file} has an unmerged conflict (line {line:,}): both sides are read as if they held.",
        "{file} の {line:,} 行目に未解決の競合があります。両方の内容がそのまま読まれます。",
    ),
    "doctor.memory_conflict_fix": (
        "Keep what holds and delete the lines <<<<<<<, ======= and >>>>>>>, then: git add {file}",
        "残す内容だけにし、<<<<<<<、=======、>>>>>>> の行を消してから git add {file} を実行してください。",
    ),
    "doctor.instructions_cut": (
        "Of {file} ({count:,} {count:?character/characters}) the model reads the first {kept:,}.",
        "{file}（{count:,} 文字）のうち、モデルが読むのは先頭 {kept:,} 文字だけです。",
    ),
    "doctor.instructions_left_out": (
        "{file} ({count:,} {count:?character/characters}) is not told to the model: there is no room left for it.",
        "{file}（{count:,} 文字）はモデルに渡されません。枠に余りがないためです。",
    ),
    "doctor.instructions_fix": (
        "Shorten it: {most:,} {most:?character/characters} of such files in all are told to this model.",
        "短くしてください。このモデルに渡すのは、こうしたファイルを合わせて {most:,} 文字までです。",
    ),
    # --- localllm models
    "models.empty": ("(no model yet)", "（モデルなし）"),
    "models.locked": ("(wants a key: {detail})", "（キーが必要: {detail}）"),
    "models.silent": ("(does not answer: {detail})", "（応答なし: {detail}）"),
    "models.loaded": ("loaded", "読込済"),
    "models.in_use": ("* is the one that is used now.", "* が今使うモデルです。"),
    "models.column_model": ("model", "モデル"),
    "models.column_window": ("window / most", "文脈長 / 最大"),
    "models.column_loaded": ("state", "状態"),
    "models.column_abilities": ("abilities", "機能"),
    "models.column_size": ("size", "規模"),
}
