"""What the tools say: key → (English, Japanese)."""

TOOLS: dict[str, tuple[str, str]] = {
    "policy.unreadable": (
        "Not all of what it runs can be told from the command line.",
        "実行される内容のすべては、コマンドラインから読み取れません。",
    ),
    "policy.untrusted": (
        "Text from the web is in this conversation, and this may send something away.",
        "この会話にはウェブの文章が含まれ、この操作は情報を外部に送る可能性があります。",
    ),
    "policy.address": (
        "Neither you nor a search has named this address; what stands in it is sent there.",
        "このアドレスは、あなたの入力にも検索結果にもありません。アドレスに含まれる内容は相手に送られます。",
    ),
    "policy.instruction": (
        "Assistants obey what this file says.",
        "このファイルの内容は、AI アシスタントへの指示になります。",
    ),
    "policy.example_matched": ("matches what it must not match", "当てはまってはならないのに当てはまります"),
    "policy.example_missed": ("does not match its example", "当てはまるはずが当てはまりません"),
    "undo.not_recorded": (
        "The change was made, but cannot be undone: {reason}.",
        "変更しましたが、取り消すことはできません: {reason}。",
    ),
    "path.empty": ("it is empty", "空です"),
    "path.control": ("it holds control or invisible characters", "制御文字や見えない文字が含まれています"),
    "path.home": ("“~” is not expanded", "「~」は展開しません"),
    "path.address": ("it is an address, not a file", "ファイルではなくアドレスです"),
    "path.deep": ("it is more than {count} folders deep", "{count} 階層より深いパスです"),
    "path.circle": ("a symbolic link in it leads nowhere", "途中のシンボリックリンクの先がありません"),
    "path.near": ("Did you mean: {names}?", "もしかして: {names}"),
    "path.look": ("Use list_files to see what there is.", "何があるかは list_files で見られます。"),
    "files.no_character": (
        "its encoding {encoding} has no character “{character}”",
        "文字コード {encoding} に文字「{character}」がありません",
    ),
    "files.binary": ("its content is binary", "バイナリです"),
    "files.not_in_encoding": ("it is not valid {encoding}", "{encoding} として正しくありません"),
    "files.no_encoding": ("there is no encoding “{encoding}”", "「{encoding}」という文字コードはありません"),
    "files.range": ("{path} (lines {start}-{end} of {total})", "{path}（全 {total} 行中 {start}-{end} 行目）"),
    "files.whole": ("{path} ({count} {count:?line/lines})", "{path}（{count} 行）"),
    "files.empty": ("[{path} is empty]", "[{path} は空です]"),
    "files.more": (
        "[{count} more {count:?line/lines}; read on with start_line={line}]",
        "[残り {count} 行。続きは start_line={line} で読めます]",
    ),
    "files.cut_line": (
        "[line {line} has {length} {length:?character/characters}; only its start is shown]",
        "[{line} 行目は {length} 文字あり、先頭だけを示しています]",
    ),
    "files.created": ("Created {path} ({total} {total:?line/lines}).", "{path} を作成しました（{total} 行）。"),
    "files.written": (
        "Wrote {path} ({total} {total:?line/lines}; {added} added, {removed} removed).",
        "{path} に書きました（{total} 行、追加 {added}、削除 {removed}）。",
    ),
    "files.unchanged": (
        "{path} holds exactly this content already; nothing was changed.",
        "{path} はすでにこの内容のため、何も変更していません。",
    ),
    "files.listed": ("{path}: {count} {count:?file/files}", "{path}: {count} ファイル"),
    "files.none": ("[no files in {path}]", "[{path} にファイルはありません]"),
    "files.none_fit": (
        "[no files in {path} fit {pattern}; .gitignore leaves some out]",
        "[{path} に {pattern} に合うファイルはありません（.gitignore の対象を除く）]",
    ),
    "files.folder_count": ("{path} ({count} {count:?file/files})", "{path}（{count} ファイル）"),
    "files.stopped": (
        "[stopped after {count} {count:?file/files}: there are more; list a folder, or give a pattern]",
        "[{count} ファイルで打ち切りました。ほかにもあります。フォルダか pattern を指定してください]",
    ),
    "files.left_out": (
        "[{count} of {total} files {count:?is/are} not listed by name; list a folder, or give a pattern]",
        "[全 {total} ファイル中 {count} 件は名前を省きました。フォルダか pattern を指定してください]",
    ),
    "files.preview.create": ("Create {path}", "{path} を作成"),
    "files.preview.write": ("Write {path}", "{path} に書き込み"),
    "code.large": ("it is larger than {megabytes} MB", "{megabytes} MB を超えています"),
    "code.slow": ("parsing it takes too much time or memory", "構文解析に時間かメモリがかかりすぎます"),
    "code.broken": ("its syntax is too broken", "構文が壊れすぎています"),
    "code.file": (
        "{path}: {language}, {lines} {lines:?line/lines}, {code_lines} of them code",
        "{path}: {language}、{lines} 行（うちコード {code_lines} 行）",
    ),
    "code.imports": ("imports: {names}", "インポート: {names}"),
    "code.errors": ("syntax errors: line {lines}", "構文エラー: {lines} 行目"),
    "code.definitions": (
        "definitions (lines kind name, and the cyclomatic complexity of functions):",
        "定義（行 種類 名前、関数には循環的複雑度）:",
    ),
    "code.no_definitions": ("no definitions", "定義はありません"),
    "code.worst": ("most complex: {names}", "最も複雑な関数: {names}"),
    "code.folder": (
        "{path}: {files} source {files:?file/files}, {lines} lines, {code_lines} of them code",
        "{path}: ソースファイル {files} 個、{lines} 行（うちコード {code_lines} 行）",
    ),
    "code.language": (
        "{language}: {files} {files:?file/files}, lines: {lines} ({code_lines} code), functions: {functions}",
        "{language}: {files} ファイル、{lines} 行、コード {code_lines} 行、関数 {functions} 個",
    ),
    "code.worst_functions": ("most complex functions:", "最も複雑な関数:"),
    "code.largest": ("largest files (lines):", "大きいファイル（行数）:"),
    "code.broken_files": ("files with syntax errors (lines):", "構文エラーのあるファイル（行）:"),
    "code.map": (
        "what matters most, with line numbers ({shown} of {all} {all:?definition/definitions}):",
        "重要な定義（行番号つき、全 {all} 個中 {shown} 個）:",
    ),
    "code.closed": (
        "[{count} source {count:?file is/files are} left out: a rule closes {count:?it/them}]",
        "[ソースファイル {count} 個はルールで閉じられているため除きました]",
    ),
    "code.left_out": (
        "[{count} source {count:?file was/files were} not analysed (too many, too large or unreadable); analyse a smaller folder]",
        "[{count} 個のソースファイルは解析していません（数・大きさ・読み取りの制限）。狭いフォルダを指定してください]",
    ),
    "edit.lossy": (
        "its encoding {encoding} holds bytes that would not survive",
        "文字コード {encoding} に書き戻せないバイトが含まれています",
    ),
    "edit.closest": (
        "The closest text is at lines {start}-{end}:\n{text}\n",
        "最も近いのは {start}-{end} 行目です:\n{text}\n",
    ),
    "edit.as_close": (
        "As close is the text at lines {start}-{end}:\n{text}",
        "{start}-{end} 行目も同じくらい近い内容です:\n{text}",
    ),
    "edit.difference": (
        "The difference (- yours, + the file's):\n{lines}",
        "違い（- が old_string、+ がファイル）:\n{lines}",
    ),
    "edit.place": ("Lines {start}-{end}:\n{text}", "{start}-{end} 行目:\n{text}"),
    "edit.step.numbers": (
        "(Matched after the line numbers in old_string were left out.)",
        "（old_string の行番号を除いて照合しました）",
    ),
    "edit.step.escapes": (
        "(Matched after the extra escaping in old_string was undone.)",
        "（old_string の余分なエスケープを元に戻して照合しました）",
    ),
    "edit.step.fence": (
        "(Matched after the code fence around old_string was left out.)",
        "（old_string を囲むコードフェンスを除いて照合しました）",
    ),
    "edit.step.trailing": (
        "(Matched but for white space at line ends.)",
        "（行末の空白の違いを除いて照合しました）",
    ),
    "edit.step.indent": (
        "(Matched but for the indentation, which was adapted.)",
        "（字下げの違いを除いて照合し、字下げを合わせました）",
    ),
    "edit.step.punctuation": (
        "(Matched but for the form of quotes, dashes, spaces or full-width characters.)",
        "（引用符・ダッシュ・空白・全角半角の違いを除いて照合しました）",
    ),
    "edit.step.space": ("(Matched but for white space.)", "（空白の違いを除いて照合しました）"),
    "edit.step.fuzzy": (
        "(Matched but for a small difference: check the result.)",
        "（わずかな違いを除いて照合しました。結果を確かめてください）",
    ),
    "edit.nothing_close": ("Nothing in it is much like it.", "似た箇所もありません。"),
    "edit.done_by": ("{done} {step}", "{done}{step}"),
    "edit.done": (
        "Edited {path}: {count} replaced (line {lines}).",
        "{path} を編集しました（{lines} 行目、{count} か所）。",
    ),
    "edit.now": ("Lines {start}-{end} are now:\n{text}", "{start}-{end} 行目の現在の内容:\n{text}"),
    "edit.preview": ("Edit {path}", "{path} を編集"),
    "destruction.asked": ("{summary} (it would lose {lost})", "{summary}（{lost}が失われます）"),
    "destruction.emptied": ("all {count} {count:?line/lines} of it", "全 {count} 行"),
    "destruction.placeholder": (
        "what “{names}” stands for, which was not written out",
        "「{names}」で省略された内容",
    ),
    "destruction.definitions": (
        "{names} ({count} {count:?line becomes/lines become} {after})",
        "{names}（{count} 行が {after} 行に）",
    ),
    "destruction.bodies": ("the bodies of {names}", "{names} の中身"),
    "destruction.imports": ("every import ({names})", "すべての import（{names}）"),
    "destruction.cut": ("{names}, and it ends in a syntax error", "{names}（途中で切れて構文エラーになる）"),
    "destruction.lines": ("most of its lines ({before} become {after})", "大部分の行（{before} 行が {after} 行に）"),
    "destruction.new_errors": (
        "Syntax errors that were not there before, at line {lines}: fix them.",
        "新しい構文エラーがあります（{lines} 行目）。直してください。",
    ),
    "search.too_long": ("it has more than {most:,} characters", "{most:,} 文字を超えています"),
    "search.one_line": ("the search goes line by line", "検索は一行ずつ行います"),
    "search.as_text": (
        "[not a valid regular expression ({reason}): searched as plain text]",
        "[正規表現として正しくないため（{reason}）、そのままの文字列として検索しました]",
    ),
    "search.nothing": (
        "[no match for {pattern} in {count} {count:?file/files}]",
        "[{pattern} は {count} ファイルに見つかりません]",
    ),
    "search.timed_out": (
        "[stopped: it took too long. {count} {count:?file was/files were} searched, others not; narrow path or include]",
        "[時間がかかりすぎたため途中で止めました。{count} ファイルを検索済み。path や include で絞ってください]",
    ),
    "search.skipped": ("[not searched: {parts}]", "[検索していないファイル: {parts}]"),
    "search.skipped.binary": ("{count} binary", "バイナリ {count}"),
    "search.skipped.encoding": ("{count} in an unknown encoding", "文字コード不明 {count}"),
    "search.skipped.large": ("{count} larger than 2 MB", "2 MB 超 {count}"),
    "search.skipped.unreadable": ("{count} that could not be read", "読めないもの {count}"),
    "search.skipped.closed": ("{count} closed by a rule", "ルールで閉じられたもの {count}"),
    "search.skipped.name": ("{count} with odd names", "名前に問題があるもの {count}"),
    "search.alternatives": (
        "[alternatives are written a|b, not a\\|b]",
        "[いずれかに一致させるには a\\|b ではなく a|b]",
    ),
    "search.more": (
        "[more matches were left out; narrow the pattern, path or include]",
        "[ほかにも一致があります。pattern、path、include で絞ってください]",
    ),
    "search.found": ("{count} {count:?match/matches} for {pattern}", "{pattern}: {count} 件"),
    "search.found_more": ("more than {count} {count:?match/matches} for {pattern}", "{pattern}: {count} 件以上"),
    "git.slow": ("it did not answer within {seconds:.0f} s", "{seconds:.0f} 秒以内に終わりませんでした"),
    "git.branch": ("on branch {branch}", "ブランチ {branch}"),
    "git.detached": ("detached at {commit}", "HEAD は {commit}（ブランチなし）"),
    "git.no_commits": ("no commits yet", "コミットはまだありません"),
    "git.tracking": (
        "{ahead} ahead and {behind} behind {upstream}",
        "{upstream} より {ahead} 進み {behind} 遅れ",
    ),
    "git.operation": ("{operation} in progress", "{operation} の途中"),
    "git.clean": ("nothing has changed", "変更はありません"),
    "git.staged": ("staged:", "ステージ済み:"),
    "git.modified": ("not staged:", "未ステージ:"),
    "git.untracked": ("new, not tracked:", "新規（未追跡）:"),
    "git.conflicts": ("in conflict:", "競合:"),
    "git.more": ("[and {count} more]", "[ほか {count} 件]"),
    "git.counts": (
        "{where}: {staged} staged, {modified} not staged, {untracked} new, {conflicts} in conflict",
        "{where}: ステージ済み {staged}、未ステージ {modified}、新規 {untracked}、競合 {conflicts}",
    ),
    "git.no_diff": (
        "[no difference; staged changes show with staged=true, new files not at all]",
        "[差分なし。ステージ済みは staged=true で見られます。新規ファイルは出ません]",
    ),
    "git.no_staged_diff": ("[nothing is staged]", "[ステージ済みの変更はありません]"),
    "git.closed": (
        "[{count} changed {count:?file is/files are} left out: a rule closes {count:?it/them}]",
        "[変更のある {count} ファイルはルールで閉じられているため除きました]",
    ),
    "git.diff_cut": (
        "[the difference is longer than {megabytes} MB; give a file_path]",
        "[差分が {megabytes} MB を超えています。file_path を指定してください]",
    ),
    "git.diffed": ("{count} {count:?file differs/files differ}", "{count} ファイルに差分"),
    "git.logged": ("{count} {count:?commit/commits}", "コミット {count} 件"),
    "git.preview": ("Commit {count} {count:?file/files}: {subject}", "{count} ファイルをコミット: {subject}"),
    "git.committed": (
        "Committed {hash} ({count} {count:?file/files}): {subject}",
        "{hash} としてコミットしました（{count} ファイル）: {subject}",
    ),
    "git.left_out": (
        "Not in this commit: {names}. Name them in files to commit them.",
        "このコミットに含まれないもの: {names}。含めるには files に指定してください。",
    ),
    "git.hooks": ("Hooks run in the sandbox: {names}.", "サンドボックス内で実行したフック: {names}。"),
    "undo.restored": ("{path}: the version from before is back.", "{path}: 変更前の内容に戻しました。"),
    "undo.merged": (
        "{path}: the change is taken out again; what was changed in the file since stays.",
        "{path}: この変更だけを取り消しました。その後の変更は残っています。",
    ),
    "undo.lines_back": ("Back: {lines}", "戻った行: {lines}"),
    "undo.lines_gone": ("Gone: {lines}", "消えた行: {lines}"),
    "undo.points": (
        "/rewind lists the {count} {count:?point/points} there {count:?is/are}.",
        "/rewind で {count} 件の一覧を見られます。",
    ),
    "undo.no_points": (
        "There is none yet. Each request makes one, and so does /checkpoint.",
        "まだ一つもありません。依頼のたびに、また /checkpoint で作られます。",
    ),
    "undo.goes_on.earlier": (
        "Another /undo goes on with a change from before this session.",
        "もう一度 /undo すると、このセッションより前の変更に進みます。",
    ),
    "undo.goes_on.own": (
        "Another /undo goes on with the change before.",
        "もう一度 /undo すると、その前の変更に進みます。",
    ),
    "undo.gone": (
        "{path}: the change had made it, and it has been deleted since.",
        "{path}: その変更で作られましたが、すでに削除されています。",
    ),
    "undo.deleted": ("{path}: removed, as it was not there before.", "{path}: 変更前にはなかったため削除しました。"),
    "undo.earlier": (
        "{line} (It was changed earlier or in another session, on {when}.)",
        "{line}（以前の起動中か別のセッションで {when} に変更されたもの）",
    ),
    "undo.recovered": (
        "The program was killed during its last change; what that changed ({count} {count:?file/files}) can be undone.",
        "前回は変更の途中で強制終了しました。そのときの変更（{count} ファイル）は取り消せます。",
    ),
    "rewind.conversation": (
        "The conversation is at point {number} again ({count} {count:?message is/messages are} forgotten).",
        "会話を {number} 番の時点に戻しました（{count} 件のメッセージを取り除きました）。",
    ),
    "rewind.conversation_same": (
        "The conversation stays as it is: nothing was said since point {number}.",
        "{number} 番の時点から会話は進んでいないため、会話はそのままです。",
    ),
    "undo.rewind_files_only": (
        "That was a rewind: its files are as before it, and the conversation stays as it is.",
        "取り消したのは /rewind です。ファイルは戻しましたが、会話はそのままです。",
    ),
    "rewind.conversation_gone": (
        "The conversation stays as it is: what was said until point {number} is gone, for you went back behind it.",
        "会話はそのままです。{number} 番の時点までの会話は、それより前に戻ったため残っていません。",
    ),
    "rewind.conversation_whole": (
        "The conversation is at point {number} again, whole, as it was before it was summed up ({count} of your"
        " requests {count:?is/are} forgotten).",
        "会話を {number} 番の時点に、要約前の完全な形で戻しました（あなたの発言 {count} 件を取り除きました）。",
    ),
    "rewind.taken_back_whole": (
        "The conversation goes on where it was, summed up ({count} of your requests {count:?is/are} back).",
        "会話を要約済みの元の状態に戻しました（あなたの発言 {count} 件）。",
    ),
    "rewind.taken_back": (
        "The conversation goes on where it was ({count} {count:?message is/messages are} back).",
        "会話を元に戻しました（{count} 件のメッセージ）。",
    ),
    "undo.not_all_kept": (
        "Some of the project is too large, or too much, to be kept (files: {count}): /undo does not bring back what "
        "commands do to it.",
        "プロジェクトの {count} ファイルは大きすぎるか多すぎるため保存していません。"
        "コマンドがそれらを変えても /undo では戻せません。",
    ),
    "undo.repository": (
        "{path}: what was lost of the repository is back ({count} {count:?file/files}).",
        "{path}: リポジトリから失われたものを戻しました（{count} ファイル）。",
    ),
    "undo.repository_not_kept": (
        "The git repository is not kept, or not all of it: /undo does not bring back what a command destroys in it.",
        "git リポジトリは（少なくとも一部が）保存されていません。コマンドが壊しても /undo では戻せません。",
    ),
    "undo.too_many": (
        "not all of what is new, which is more than {count} {count:?file/files} (what was changed or deleted comes back)",
        "新しいファイルが {count} を超えるため、そのすべては取り消せません（変更・削除されたものは戻せます）",
    ),
    "sandbox.not_linux": ("only Linux is supported so far", "今のところ Linux だけに対応しています"),
    "sandbox.unknown_machine": ("{machine} processors are not supported", "{machine} プロセッサには対応していません"),
    "sandbox.interpreter_in_project": (
        "the Python it needs lies inside the project, where commands could change it",
        "必要な Python がプロジェクトの中にあり、コマンドが書き換えられるため",
    ),
    "sandbox.wrote_outside": ("a test command could write outside", "試験コマンドが外に書き込めたため"),
    "sandbox.read_secret": ("a test command could read the home folder", "試験コマンドがホームフォルダを読めたため"),
    "sandbox.connected": ("a test command could use the network", "試験コマンドがネットワークを使えたため"),
    "sandbox.not_apart": (
        "a test command was not kept apart from the machine",
        "試験コマンドがマシンから切り離されていなかったため",
    ),
    "sandbox.no_bubblewrap": ("bwrap is not installed", "bwrap がインストールされていないため"),
    "sandbox.useless": ("a harmless test command failed", "無害な試験コマンドが失敗したため"),
    "background.running": ("running", "実行中"),
    "background.ended": ("exit {code}", "終了コード {code}"),
    "background.stopped": ("stopped", "停止済み"),
    "background.failed": ("not run", "実行できず"),
    "background.excess.output": ("killed: wrote without end", "強制終了: 出力が際限なし"),
    "background.excess.processes": ("killed: too many processes", "強制終了: プロセス過多"),
    "background.excess.memory": ("killed: too much memory", "強制終了: メモリ過多"),
    "background.excess.disk": ("killed: filled the disk", "強制終了: ディスク過多"),
    "background.excess.files": ("killed: made too many files", "強制終了: ファイル数過多"),
    "background.excess.time": ("killed: ran too long", "強制終了: 実行時間超過"),
    "background.state": ("[{id}: {state}, {seconds:.0f} s]", "[{id}: {state}、{seconds:.0f} 秒]"),
    "background.line": ("{state}, {seconds:.0f} s", "{state}、{seconds:.0f} 秒"),
    "background.silent": ("[no new output]", "[新しい出力なし]"),
    "background.dropped": (
        "[{count:,} {count:?byte of its middle was/bytes of its middle were} dropped]",
        "[途中の {count:,} バイトは省かれました]",
    ),
    "background.begun": (
        "[In the background with id {id}: command_output reads and stops it. It ends with the session.]",
        "[バックグラウンドで実行中（id {id}）。command_output で読み取り・停止できます。セッションとともに終わります。]",
    ),
    "background.net": (
        "[Ports it opens are the sandbox's own: other commands, the user and browsers cannot reach them.]",
        "[開いたポートはサンドボックス内だけのもので、他のコマンドや利用者、ブラウザーからは接続できません。]",
    ),
    "background.preview": ("Run in {folder}, in the background", "{folder} でバックグラウンド実行"),
    "background.none": ("Nothing has been run in the background.", "バックグラウンドで実行したものはありません。"),
    "background.none_running": ("Nothing runs in the background.", "バックグラウンドで実行中のものはありません。"),
    "background.no_such": (
        "{id} does not run in the background; see /ps.",
        "{id} は実行中ではありません（/ps で一覧）。",
    ),
    "background.put_back": ("put back as it was: {paths}", "元に戻したもの: {paths}"),
    "command.not_text": ("it holds characters that no command can", "コマンドに使えない文字が含まれています"),
    "command.empty": ("the command is empty", "コマンドが空です"),
    "command.preview": ("Run in {folder} (at most {seconds:g} s)", "{folder} で実行（最長 {seconds:g} 秒）"),
    "command.exit": ("Exit code {code}.", "終了コード {code}。"),
    "command.killed": ("Ended by signal {number} ({name}).", "シグナル {number}（{name}）で終了しました。"),
    "command.timed_out": (
        "Killed: not done after {seconds:g} s. timeout can be up to {longest:g}.",
        "{seconds:g} 秒で終わらないため強制終了しました。timeout は {longest:g} まで指定できます。",
    ),
    "command.excess.output": ("Killed: it wrote without end.", "出力が際限なく続いたため強制終了しました。"),
    "command.excess.processes": ("Killed: it started too many processes.", "プロセスが多すぎるため強制終了しました。"),
    "command.excess.memory": ("Killed: it used too much memory.", "メモリを使いすぎたため強制終了しました。"),
    "command.excess.disk": ("Killed: it filled the disk.", "ディスクを使いすぎたため強制終了しました。"),
    "command.excess.files": ("Killed: it made too many files.", "ファイルを作りすぎたため強制終了しました。"),
    "command.excess.time": ("Killed: it ran too long.", "実行時間が長すぎるため強制終了しました。"),
    "command.stderr": ("stderr:", "stderr:"),
    "command.silent": ("[done, without output]", "[完了、出力なし]"),
    "command.denied": (
        "[Sandbox: no writing outside the project or to protected files in it, no reading of the home folder, no network. "
        "Do it another way, or ask the user to.]",
        "[サンドボックス: プロジェクトの外や保護されたファイルへの書き込み、ホームの読み取り、ネットワークは使えません。"
        "別の方法をとるか、利用者に頼んでください。]",
    ),
    "command.denied.landlock": (
        "[Sandbox: no writing outside the project, no reading of the home folder, no network, no local servers. "
        "Do it another way, or ask the user to.]",
        "[サンドボックス: プロジェクトの外への書き込み、ホームの読み取り、ネットワーク、ローカルサーバーは使えません。"
        "別の方法をとるか、利用者に頼んでください。]",
    ),
    "command.network.refused": (
        "[Network: only the hosts in the user's safety.network_hosts can be reached, not {hosts}. "
        "Do without, or ask the user to.]",
        "[ネットワーク: 接続できるのは利用者の safety.network_hosts にあるホストだけで、{hosts} には接続できません。"
        "使わずに進めるか、利用者に頼んでください。]",
    ),
    "command.network.not_possible": (
        "[safety.network_hosts has no effect here: the sandbox level {level} cannot tell hosts apart.]",
        "[サンドボックスのレベル {level} はホストを区別できないため、safety.network_hosts は効いていません。]",
    ),
    "command.unlinked": (
        "[These files were also files outside the project, by hard links; they are the project's own copies now: {paths}]",
        "[次のファイルはハードリンクでプロジェクトの外のファイルでもあったため、プロジェクト専用の複製に置き換えました: {paths}]",
    ),
    "command.overlooked": (
        "[There is more here than could be looked through for git settings, editor tasks and the like. "
        "Tell the user before they open or use what the command made.]",
        "[量が多すぎ、git の設定やエディターのタスクなどが紛れていないか調べきれませんでした。"
        "コマンドが作ったものを利用者が開いたり使ったりする前に、そのことを伝えてください。]",
    ),
    "command.reverted": (
        "[Put back as it was, because commands must not change it: {paths}. Ask the user if it has to be changed.]",
        "[コマンドでは変更できないため元に戻しました: {paths}。変更が必要なら利用者に頼んでください。]",
    ),
    "command.instructions": (
        "[It changed what assistants are told to do: {paths}. Say so to the user.]",
        "[AI アシスタントへの指示を書き換えました: {paths}。利用者に伝えてください。]",
    ),
    "command.instructions_notice": (
        "The command changed what assistants are told to do: {paths}",
        "コマンドが AI アシスタントへの指示を書き換えました: {paths}",
    ),
    "command.summary": ("exit {code}, {seconds:.1f} s", "終了コード {code}、{seconds:.1f} 秒"),
    "command.summary.timed_out": ("killed after {seconds:.1f} s", "{seconds:.1f} 秒で強制終了"),
    "output.cut": (
        "[… {count:,} {count:?character/characters} left out; what follows is from line {line:,} on. {kept}]",
        "[… {count:,} 文字を省略。以下は {line:,} 行目から。{kept}]",
    ),
    "output.telling": (
        "[… left out here; the lines in it that tell of faults, and some around them:]",
        "[… ここから省略。その中でエラーを示す行と、その前後:]",
    ),
    "output.partial": (
        "[… the output was too long to keep all of it; here are its beginning and its end. {kept}]",
        "[… 出力が長すぎるため一部のみ保存しました。以下は先頭と末尾です。{kept}]",
    ),
    "output.kept": (
        "The whole is in {path}: read more of it with read_file and start_line.",
        "全体は {path} にあります。read_file と start_line で続きを読めます。",
    ),
    "output.kept_part": (
        "As much as was kept is in {path}: read it with read_file and start_line, or make the command print less.",
        "保存できた分は {path} にあります。read_file と start_line で読むか、出力を減らしてください。",
    ),
    "output.lost": (
        "The rest could not be kept ({reason}): ask for less at a time.",
        "残りを保存できませんでした（{reason}）。一度に求める量を減らしてください。",
    ),
    "command.no_folder": ("there is no folder {path}", "フォルダ {path} がありません"),
}
