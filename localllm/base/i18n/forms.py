"""How each slash command is written: `usage.<command>`, what may follow its name (the English is the command's own), and
`forms.<command>`, a line for each form, what it does behind “ | ”: key → (English, Japanese)."""

FORMS: dict[str, tuple[str, str]] = {
    "usage.help": ("[command]", "[コマンド]"),
    "usage.model": ("[name]", "[名前]"),
    "usage.provider": ("[name]", "[名前]"),
    "usage.mode": ("[name]", "[名前]"),
    "usage.plan": ("[request]", "[依頼]"),
    "usage.rules": ("[remove N]", "[remove 番号]"),
    "usage.compact": ("[what to keep]", "[残したい内容]"),
    "usage.panel": ("QUESTION", "質問"),
    "usage.boss": ("QUESTION", "質問"),
    "usage.map": ("[words]", "[語句]"),
    "usage.todo": ("[ID|text|@file …]", "[ID|本文|@ファイル …]"),
    "usage.remember": ("TEXT", "本文"),
    "usage.forget": ("ID", "ID"),
    "usage.memory": ("[words]", "[語句]"),
    "usage.init": ("[--refresh]", "[--refresh]"),
    "usage.undo": ("[turn]", "[turn]"),
    "usage.checkpoint": ("[name]", "[名前]"),
    "usage.rewind": ("[number|name]", "[番号|名前]"),
    "usage.stop": ("[number]", "[番号]"),
    "usage.sessions": ("[words]", "[語句]"),
    "usage.resume": ("[number|name]", "[番号|名前]"),
    "usage.rename": ("[name]", "[名前]"),
    "usage.fork": ("[checkpoint]", "[チェックポイント]"),
    "usage.export": ("[md|html|json] [file]", "[md|html|json] [ファイル]"),
    "forms.help": (
        "/help | all commands and keys\n/help todo | how one of them is used",
        "/help | すべてのコマンドとキー\n/help todo | そのコマンドの使い方",
    ),
    "forms.model": (
        "/model | who answers now\n/model qwen3 | the model of that name, or the one it is a part of",
        "/model | いま答えるモデル\n/model qwen3 | その名前（一部でも可）のモデルに切り替え",
    ),
    "forms.provider": (
        "/provider | who can answer, and what was found\n/provider ollama | that one answers from now on",
        "/provider | 答えられる相手と見つかったもの\n/provider ollama | 以後はそこに尋ねる",
    ),
    "forms.mode": (
        "/mode | the modes, and which is in force\n/mode auto-edit | that one from now on: plan, ask, auto-edit or auto",
        "/mode | モードの一覧と現在のもの\n/mode auto-edit | 切り替え（plan、ask、auto-edit、auto）",
    ),
    "forms.plan": (
        "/plan | plan mode from now on; /mode ask leaves it\n/plan move the tests | a plan for this, at once",
        "/plan | 以後は計画モード（/mode ask で終了）\n/plan テストを移す | この依頼の計画をすぐに立てる",
    ),
    "forms.rules": (
        "/rules | what is allowed, numbered\n/rules remove 2 | ask about the second again",
        "/rules | 許可したものの一覧（番号付き）\n/rules remove 2 | 2 番を再び確認する",
    ),
    "forms.compact": (
        "/compact | sum the conversation up\n/compact the table names | the same, and keep these above all",
        "/compact | 会話を要約する\n/compact テーブル名 | 特にこれを残して要約する",
    ),
    "forms.panel": (
        "/panel why is it slow? | ask the panel this",
        "/panel なぜ遅いのか | 協議に尋ねる",
    ),
    "forms.boss": (
        "/boss why is it slow? | ask the boss this",
        "/boss なぜ遅いのか | 親分に尋ねる",
    ),
    "forms.map": (
        "/map | for what was talked about last\n/map login session | for these words",
        "/map | 最近の話題に合わせる\n/map login session | これらの語に合わせる",
    ),
    "forms.todo": (
        "/todo | what is open, the most urgent first\n"
        "/todo all | finished ones too\n"
        "/todo 3 | all of it, and what can be done with it\n"
        "/todo write the docs | add it; “(high)” at its end is its priority\n"
        "/todo add start the server | add it, also where it begins with a word of these here\n"
        "/todo high write the docs | add it with a priority: high, medium or low\n"
        "/todo @plan.md | add the parts of a plan; of a pasted list likewise\n"
        "/todo start 3 | begun; finish (or done), drop and reopen likewise\n"
        "/todo low 3 | another priority\n"
        "/todo edit 3 write the guide | other words\n"
        "/todo move 3 1 | to the first place\n"
        "3 | its number in the list; its id, how its text begins, or its line will do as well",
        "/todo | 未完了のもの（急ぐ順）\n"
        "/todo all | 完了したものも含む\n"
        "/todo 3 | その全文と、できること\n"
        "/todo 説明を書く | 追加する（末尾の「(高)」は優先度）\n"
        "/todo add start のテスト | 追加する（先頭が下の語でも）\n"
        "/todo high 説明を書く | 優先度（high、medium、low）を付けて追加する\n"
        "/todo @plan.md | 計画の各項目を追加する（貼り付けた一覧も）\n"
        "/todo start 3 | 着手。finish（done）、drop、reopen も同様\n"
        "/todo low 3 | 優先度を変える\n"
        "/todo edit 3 手引きを書く | 本文を変える\n"
        "/todo move 3 1 | 一番目に移す\n"
        "3 | 一覧の番号。ID や本文の始め、一覧の行でもよい",
    ),
    "forms.remember": (
        "/remember use tabs | keep a preference\n/remember decision: SQLite | keep a decision",
        "/remember タブを使う | 好みとして記録する\n/remember 決定: SQLite | 決定事項として記録する",
    ),
    "forms.forget": (
        "/forget pbdkw | what has this id: /memory and /todo show them\n/forget use tabs | what begins so",
        "/forget pbdkw | この ID のもの（/memory や /todo で分かる）\n/forget タブを使う | 本文がこう始まるもの",
    ),
    "forms.memory": (
        "/memory | what is remembered\n/memory database | search it, and past sessions",
        "/memory | 記録されていること\n/memory データベース | 記録と過去のセッションを検索する",
    ),
    "forms.init": (
        "/init | make what is missing\n/init --refresh | also renew the lines that are still as init wrote them",
        "/init | 無いものを作る\n/init --refresh | init が書き、手を入れていない行も新しくする",
    ),
    "forms.undo": (
        "/undo | take back the last change; again, the one before\n/undo turn | all changes of the last request",
        "/undo | 直前の変更を取り消す。繰り返すとその前も\n/undo turn | 直前の依頼による変更すべてを取り消す",
    ),
    "forms.checkpoint": (
        "/checkpoint | remember this point by its number\n/checkpoint before the move | by a name as well",
        "/checkpoint | この時点を番号で記録する\n/checkpoint 移行前 | 名前も付ける",
    ),
    "forms.rewind": (
        "/rewind | the points there are\n/rewind 3 | files and conversation as they were then\n"
        "/rewind before the move | the same by name",
        "/rewind | 戻れる時点の一覧\n/rewind 3 | ファイルと会話をその時点に戻す\n/rewind 移行前 | 名前で指定する",
    ),
    "forms.stop": (
        "/stop | all that run\n/stop 2 | the one with this number in /ps",
        "/stop | 実行中のものすべて\n/stop 2 | /ps でこの番号のもの",
    ),
    "forms.sessions": (
        "/sessions | the last ones\n/sessions login page | those in which something like this was asked for",
        "/sessions | 最近のもの\n/sessions ログイン画面 | これに近い依頼をしたもの",
    ),
    "forms.resume": (
        "/resume | the sessions, numbered\n/resume 2 | the second of them\n/resume login | by its name, or its id's beginning",
        "/resume | セッションの一覧（番号付き）\n/resume 2 | その 2 番\n/resume login | 名前、または ID の始めで指定する",
    ),
    "forms.rename": (
        "/rename login page | call this session so\n/rename | take the name away",
        "/rename ログイン画面 | このセッションに名前を付ける\n/rename | 名前を消す",
    ),
    "forms.fork": (
        "/fork | go on in a copy\n/fork 3 | in a copy of what it was at checkpoint 3 (see /rewind)",
        "/fork | 控えで続ける\n/fork 3 | チェックポイント 3（/rewind 参照）の時点の控えで続ける",
    ),
    "forms.export": (
        "/export | as Markdown, into the project\n/export html | as a web page; json likewise\n"
        "/export notes/login.md | into this file",
        "/export | Markdown でプロジェクトに書き出す\n/export html | ウェブページとして（json も同様）\n"
        "/export notes/login.md | このファイルに書き出す",
    ),
}
