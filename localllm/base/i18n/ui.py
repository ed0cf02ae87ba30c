"""What the screen says: key → (English, Japanese)."""

UI: dict[str, tuple[str, str]] = {
    # --- while a run is going on
    "ui.waiting": ("waiting for the model, {time} (Ctrl+C stops)", "モデルの応答待ち {time}（Ctrl+C で中断）"),
    "ui.thinking": ("thinking, {time}, {size} {size:?character/characters}:", "思考中 {time} {size} 文字:"),
    "ui.thought": ("thought for {time} ({size} {size:?character/characters})", "思考 {time}（{size} 文字）"),
    "ui.running": ("{name} is running, {time} (Ctrl+C stops)", "{name} を実行中 {time}（Ctrl+C で中断）"),
    "ui.more_lines": ("… {count} more {count:?line/lines}", "… あと {count} 行"),
    "ui.lines_above": ("… {count} {count:?line/lines} above", "… 前に {count} 行"),
    "ui.duration.seconds": ("{seconds} s", "{seconds}秒"),
    "ui.duration.minutes": ("{minutes} min {seconds:02d} s", "{minutes}分{seconds:02d}秒"),
    # --- what is written while a run is going on
    "ui.outbox.keys": (
        "Enter: tell it now · Alt+Enter, Tab: after this · Esc: stop",
        "Enter: いま伝える · Alt+Enter, Tab: この後に実行 · Esc: 中断",
    ),
    "ui.outbox.keys_queue": (
        "Enter, Tab: after this · Esc: stop",
        "Enter, Tab: この後に実行 · Esc: 中断",
    ),
    "ui.outbox.sent": ("told, not read yet: {text}", "送信済み（未読）: {text}"),
    "ui.outbox.next": ("next: {text}", "次に実行: {text}"),
    "ui.outbox.back": ("taken back: {text}", "取り消して入力欄へ: {text}"),
    "ui.outbox.more": ("… and {count} more", "… ほか {count} 件"),
    # --- plan mode
    "ui.plan.begins": (
        "Plan mode: it reads only and answers with a plan, which you accept or not. /mode ask leaves it.",
        "計画モード: 読むだけで計画を回答します。実行するかどうかはあなたが決めます。/mode ask で終了。",
    ),
    "ui.plan.question": ("Carry out this plan?", "この計画を実行しますか。"),
    "ui.plan.yes": ("[y]es, asking before changes", "[y] はい（変更ごとに確認）"),
    "ui.plan.edits": ("[e]dit files without asking", "[e] はい（ファイルの変更は確認なし）"),
    "ui.plan.no": ("[n]o (Enter)", "[n] いいえ（Enter）"),
    "ui.plan.instead": ("or say what to plan differently", "または計画の直してほしい点を入力"),
    "ui.plan.stays": (
        "Nothing is carried out; plan mode goes on. /mode ask leaves it.",
        "実行しません。計画モードのままです。/mode ask で終了。",
    ),
    "ui.plan.accepted": (
        "The plan is accepted. Carry it out step by step and check the result.",
        "この計画で進めてください。順に実行し、結果を確かめてください。",
    ),
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
    "ui.cost.tokens_out": ("out {count} {count:?token/tokens}", "出力 {count} トークン"),
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
        "It comes to “{rule}”, one of your dangerous commands (safety.dangerous_commands).",
        "危険なコマンド（safety.dangerous_commands）の「{rule}」に当たります。",
    ),
    "ui.question.yes": ("[y]es", "[y] はい"),
    "ui.question.no": ("[n]o (Enter)", "[n] いいえ（Enter）"),
    "ui.question.always": ("[a]lways this session", "[a] セッション中は許可"),
    "ui.question.project": ("always this [p]roject", "[p] プロジェクトで常に許可"),
    "ui.always.command": (
        "Always allow exactly this (Enter), or shorten it: then all that begins so.",
        "このコマンドだけを常に許可（Enter）。短くすると、それで始まるものすべてを許可します。",
    ),
    "ui.always.folder": (
        "Always allow it there (Enter), or shorten it to a folder; . is the whole project.",
        "この場所で常に許可（Enter）。短くすればそのフォルダ、「.」はプロジェクト全体です。",
    ),
    "ui.always.address": (
        "Always allow every address of this host (Enter), or add the path it must begin with.",
        "このホストのすべてのアドレスを常に許可（Enter）。パスを書き足すと、それで始まるものだけを許可します。",
    ),
    "ui.always.not_command": (
        "That would not allow this command. Keep the first words of it; a line of several commands, or with signs that only the"
        " shell reads, can be allowed exactly as it is, but not in part.",
        "それではこのコマンドを許可できません。先頭の語を残してください。複数のコマンドやシェルの記号を含む行は、"
        "そのままなら許可できますが、一部だけの許可はできません。",
    ),
    "ui.always.not_folder": (
        "The file does not lie there.",
        "ファイルはそこにありません。",
    ),
    "ui.always.not_address": (
        "The address does not begin so.",
        "アドレスはそのように始まりません。",
    ),
    "ui.always.exactly": ("Allowed from now on, exactly so: {rule}", "以後このとおりのものだけを許可: {rule}"),
    "ui.always.rule": ("Allowed from now on: {rule}", "以後許可: {rule}"),
    "ui.mode.plan": ("reads only; answers with a plan", "読むだけで、計画を回答します"),
    "ui.mode.ask": ("asks before it changes files or runs commands", "ファイルの変更とコマンドの実行の前に確認します"),
    "ui.mode.auto-edit": (
        "changes files, asks before commands",
        "ファイルは確認なしで変更し、コマンドの前に確認します",
    ),
    "ui.mode.auto": (
        "asks about nothing but dangerous commands and ask rules",
        "危険なコマンドと ask 規則のほかは確認しません",
    ),
    "ui.rules.settings": ("settings", "設定"),
    "ui.rules.session": ("this session", "このセッション"),
    "ui.rules.project": ("this project", "このプロジェクト"),
    "ui.rules.exactly": ("exactly", "このとおり"),
    "ui.rules.none": ("There are no rules.", "規則はありません。"),
    "ui.rules.no_such": ("There is no rule {number}.", "{number} 番の規則はありません。"),
    "ui.rules.how": ("/rules remove N asks about it again.", "/rules remove 番号 で再び確認します。"),
    "ui.rules.removed": ("You are asked again about {rule}.", "{rule} は再び確認します。"),
    "ui.question.view": ("[v]iew all", "[v] 全体"),
    "ui.question.instead": ("or say what to do instead", "または代わりの指示を入力"),
    "ui.pager_keys": ("Up, Down, PageUp, PageDown: move   q: back", "↑ ↓ PageUp PageDown: 移動   q: 戻る"),
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
    "ui.help_one": (
        "/help COMMAND shows every way to write one of them.",
        "/help コマンド名 で、それぞれの書き方を表示します。",
    ),
    "ui.keys_help": (
        "Enter sends; Alt+Enter, Ctrl+J, or \\ at the end of a line, begins a new line. @path names a file, !COMMAND runs it as you, Shift+Tab changes the mode, Ctrl+R searches "
        "what was said, Ctrl+D leaves. While it works: Enter tells it at once, Alt+Enter or Tab keeps a request for afterwards, Up takes the last one back, Esc or Ctrl+C stops.",
        "Enter で送信、Alt+Enter、Ctrl+J、行末の \\ で改行。@パス でファイルを指定、!コマンド で自分として実行、Shift+Tab でモード切替、Ctrl+R で履歴検索、"
        "Ctrl+D で終了。実行中は Enter ですぐに伝え、Alt+Enter か Tab で次の依頼として予約、↑ で取り消し、Esc か Ctrl+C で中断。",
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
    "ui.provider.models": ("{count} {count:?model/models}", "モデル {count} 個"),
    "ui.provider.none": ("none was found", "見つかりません"),
    "ui.provider.absent": ("cannot be reached ({url})", "接続できません（{url}）"),
    "ui.first_time": (
        "It reads this project, asks before it changes files or runs commands, and talks to nobody but the model server.",
        "このプロジェクトを読み、ファイルの変更やコマンドの実行の前に確認します。モデルサーバー以外とは通信しません。",
    ),
    "ui.tools_left_out": (
        "The {name} profile does not offer these; a model that calls them is served all the same: {tools}.",
        "{name} プロファイルでは次を提示しません（モデルが呼べば同じように実行します）: {tools}。",
    ),
    "ui.profile": ("{name} ({count} {count:?tool/tools})", "{name}（ツール {count} 個）"),
    "ui.status.profile": ("profile", "プロファイル"),
    "ui.tool_denied": ("denied by a rule", "規則により禁止"),
    "ui.always_rule": ("always allowed: {rule}", "常に許可: {rule}"),
    "ui.cleared": ("A new conversation begins.", "新しい会話を始めます。"),
    "ui.status.project": ("project", "プロジェクト"),
    "ui.status.model": ("model", "モデル"),
    "ui.status.server": ("server", "サーバー"),
    "ui.status.window": ("context window", "コンテキスト長"),
    "own_command.usage": (
        "!COMMAND runs it as you, outside the sandbox; the model reads the output with your next request.",
        "!コマンド と書くと、サンドボックスの外で利用者として実行します。出力は次の依頼と一緒にモデルに渡ります。",
    ),
    "own_command.failed": ("The command was not run: {reason}.", "コマンドを実行できません: {reason}。"),
    "own_command.ended": (
        "exit {code}; the model reads this with your next request",
        "終了コード {code}。次の依頼と一緒にモデルに渡ります",
    ),
    "own_command.for_model": (
        "[The user ran this himself, outside the sandbox: {command}\nExit code {code}. Output:]\n{output}\n[End of output]",
        "[利用者が自分でサンドボックスの外で実行: {command}\n終了コード {code}。出力:]\n{output}\n[出力の終わり]",
    ),
    "ui.status.sandbox": ("sandbox", "サンドボックス"),
    "ui.status.used": ("used so far", "これまでの使用量"),
    "ui.status.nothing": ("nothing yet", "まだありません"),
    "ui.status.session": ("session", "セッション"),
    "ui.status.mode": ("mode", "モード"),
    "ui.toolbar": (
        "{mode} · {model} · sandbox {sandbox} · {tokens}",
        "{mode} · {model} · サンドボックス {sandbox} · {tokens}",
    ),
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
        "List the tools and what is allowed.",
        "ツールと許可の状態を一覧する。",
    ),
    "slash.mode": (
        "Show what is asked about, or change it; Shift+Tab changes it as well.",
        "確認の範囲（モード）を表示する、または切り替える。Shift+Tab でも切り替わる。",
    ),
    "slash.plan": (
        "Only read and plan from now on; with a request, at once. The plan is carried out when you accept it.",
        "以後は読むだけで計画する（計画モード）。依頼を続けて書けばすぐに始める。計画は承認すると実行される。",
    ),
    "slash.rules": (
        "List what your answers have allowed, and the rules of the settings; with “remove” and a number, ask again.",
        "回答で許可したものと設定の規則を一覧する。remove と番号を付けると、再び確認する。",
    ),
    "slash.undo": (
        "Take back the last change, a command's too; with “turn”, all changes of the last request.",
        "直前の変更（コマンドによるものも）を取り消す。「turn」を付けると直前の依頼による変更すべてを取り消す。",
    ),
    "slash.checkpoint": (
        "Remember this point, to come back to it with /rewind.",
        "この時点を記録する。/rewind で戻れる。",
    ),
    "slash.rewind": (
        "Go back to a point, files and conversation; without one, list them.",
        "記録した時点にファイルと会話を戻す。引数なしでは一覧を表示する。",
    ),
    "ui.checkpoint": (
        "Point {number}: /rewind {number} comes back here.",
        "{number} 番を記録しました。/rewind {number} で戻れます。",
    ),
    "ui.checkpoint_named": (
        "Point {number} “{name}”: /rewind {number} or its name comes back here.",
        "{number} 番「{name}」を記録しました。/rewind に番号か名前を付けると戻れます。",
    ),
    "ui.no_points": ("There is no point to go back to yet.", "戻れる時点はまだありません。"),
    "ui.how_to_rewind": (
        "/rewind NUMBER goes back to one, files and conversation; /undo takes that back.",
        "/rewind 番号 でその時点にファイルと会話を戻します。/undo で取り消せます。",
    ),
    "ui.rewind_undo": ("/undo takes this back.", "/undo で取り消せます。"),
    "ui.point_before": ("before “{request}”", "「{request}」の前"),
    "ui.point_files_only": ("[files only]", "［ファイルのみ］"),
    "ui.point_changed": ("[since changed: {names}]", "［以後の変更: {names}］"),
    "ui.point_changed_more": ("[since changed: {names} and {count} more]", "［以後の変更: {names} ほか {count} 件］"),
    "ui.more_undone": ("… and {count} more", "… ほか {count} 件"),
    "slash.map": (
        "Show what matters most in the project: for these words, or for what was talked about last.",
        "プロジェクトの重要な定義を表示する。語を付けるとその語、なければ最近の話題に合わせる。",
    ),
    "ui.map.empty": ("There is no source code here that can be read.", "読み取れるソースコードがありません。"),
    "ui.map.unmatched": (
        "Nothing here is called anything like “{words}”; this is what matters most in all.",
        "「{words}」に当てはまる名前は見つかりません。全体で重要な定義を表示します。",
    ),
    "ui.map.shown": (
        "definitions: {shown} of {all}, source files: {files}; /map WORDS looks for something",
        "ソースファイル {files} 個、定義 {all} 個中 {shown} 個。/map 語 で絞り込めます",
    ),
    "ui.map.left_out": (
        "{count} {count:?file was/files were} not looked at yet; the next /map goes on",
        "{count} 個のファイルは未解析です。次の /map で続きを読みます",
    ),
    "slash.ps": (
        "List the commands that run in the background, and those that have ended.",
        "バックグラウンドのコマンドを一覧する。",
    ),
    "slash.stop": (
        "Stop the commands in the background, or the one with this number (see /ps).",
        "バックグラウンドのコマンドをすべて、または番号（/ps 参照）のものだけ止める。",
    ),
    "slash.clear": ("Begin a new conversation.", "新しい会話を始める。"),
    "slash.exit": ("Leave the chat.", "チャットを終了する。"),
}
