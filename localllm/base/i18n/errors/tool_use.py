"""E8xxx: what a tool could not do. Read by the model as well: short, and naming the fix."""

from localllm.base.i18n.errors.form import Entries

TOOL_USE: Entries = {
    "tool_unknown": (
        "E8001",
        ("There is no tool “{name}”.", "", "Tools: {known}."),
        ("「{name}」というツールはありません。", "", "使えるツール: {known}。"),
    ),
    "tool_bad_arguments": (
        "E8002",
        ("Bad arguments for {name}: {reason}.", "", "Call it again with: {expected}."),
        ("{name} の引数が正しくありません: {reason}。", "", "次の形で呼び直してください: {expected}。"),
    ),
    "tool_malformed_json": (
        "E8003",
        ("The arguments of {name} are not valid JSON: {reason}.", "", "Send the whole call again as one JSON object."),
        (
            "{name} の引数が JSON として正しくありません: {reason}。",
            "",
            "一つの JSON オブジェクトとして送り直してください。",
        ),
    ),
    "tool_crashed": (
        "E8004",
        ("{name} failed unexpectedly: {reason}.", "", "Try another way; the details are in the log."),
        ("{name} で予期しないエラーが起きました: {reason}。", "", "別の方法を試してください。詳細はログにあります。"),
    ),
    "changed_while_asked": (
        "E8007",
        (
            "What {name} would change became different while the user was asked; nothing was changed.",
            "",
            "Read it again first.",
        ),
        ("確認している間に {name} の対象が変わったため、何も変更していません。", "", "先にもう一度読んでください。"),
    ),
    "tool_cut_arguments": (
        "E8005",
        (
            "The call of {name} was cut off by the token limit; nothing was run.",
            "",
            "Send a smaller call: write the file in several parts, or edit less at a time.",
        ),
        (
            "{name} の呼び出しがトークン上限で途切れたため、何も実行していません。",
            "",
            "ファイルを分けて書くなど、より小さい呼び出しにしてください。",
        ),
    ),
    "file_missing": (
        "E8010",
        ("There is no file {path}.", "", "{hint}"),
        ("ファイル {path} はありません。", "", "{hint}"),
    ),
    "file_is_directory": (
        "E8011",
        ("{path} is a folder.", "", "Use list_files to see what is in it."),
        ("{path} はフォルダです。", "", "中身は list_files で見られます。"),
    ),
    "file_not_text": (
        "E8012",
        ("{path} is not a text file ({reason}).", "", "It cannot be read as text."),
        ("{path} はテキストファイルではありません（{reason}）。", "", "テキストとしては読めません。"),
    ),
    "file_exists": (
        "E8013",
        ("{path} exists already.", "", "Use edit_file to change it, or write_file to replace it."),
        ("{path} はすでにあります。", "", "変更は edit_file、置き換えは write_file を使ってください。"),
    ),
    "file_unreadable": (
        "E8014",
        ("Cannot read {path}: {reason}.", "", ""),
        ("{path} を読めません: {reason}。", "", ""),
    ),
    "file_unwritable": (
        "E8015",
        ("Cannot write {path}: {reason}.", "", "Nothing was changed."),
        ("{path} に書けません: {reason}。", "", "何も変更していません。"),
    ),
    "project_read_only": (
        "E8032",
        (
            "Cannot write {path}: {reason}.",
            "Nothing can be written in this project.",
            "Show the change in the answer instead; to make it, work in a copy of the project that can be written to.",
        ),
        (
            "{path} に書けません: {reason}。",
            "このプロジェクトには何も書き込めません。",
            "変更は回答の中で示してください。実際に変えるには、書き込めるコピーで作業してください。",
        ),
    ),
    "file_bad_range": (
        "E8016",
        (
            "{path} has {total} {total:?line/lines}; line {start} is past its end.",
            "",
            "Ask for a line between 1 and {total}.",
        ),
        ("{path} は {total} 行です。{start} 行目はありません。", "", "1 から {total} の間の行を指定してください。"),
    ),
    "file_too_large": (
        "E8017",
        (
            "{path} is too large: {size:,} bytes, and {limit:,} is the limit.",
            "",
            "Use search_files to find the lines you need, or run_command with head, tail or sed.",
        ),
        (
            "{path} は大きすぎます（{size:,} バイト、上限は {limit:,}）。",
            "",
            "必要な行は search_files か、run_command の head、tail、sed で取り出してください。",
        ),
    ),
    "file_not_kept": (
        "E8018",
        ("{path} was written, but reading it back gave something else.", "", "Read it to see what is there now."),
        ("{path} に書きましたが、読み返すと内容が違います。", "", "いまの内容を読んで確かめてください。"),
    ),
    "file_unknown_encoding": (
        "E8019",
        ("The encoding of {path} was not recognised.", "", 'Read it with an encoding, such as encoding="latin-1".'),
        (
            "{path} の文字コードを判別できません。",
            "",
            'encoding="latin-1" のように文字コードを指定して読んでください。',
        ),
    ),
    "edit_no_match": (
        "E8020",
        (
            "old_string was not found in {path}; nothing was changed.",
            "{closest}",
            "Copy the text exactly as read_file shows it.",
        ),
        (
            "{path} に old_string が見つからず、何も変更していません。",
            "{closest}",
            "read_file の表示どおりに正確に写してください。",
        ),
    ),
    "edit_ambiguous": (
        "E8021",
        (
            "old_string occurs {count} times in {path} (lines {lines}); nothing was changed.",
            "{places}",
            "Add more lines around it so that it is unique, or set replace_all.",
        ),
        (
            "old_string は {path} に {count} か所あり（{lines} 行目）、何も変更していません。",
            "{places}",
            "前後の行を加えて一意にするか、replace_all を指定してください。",
        ),
    ),
    "edit_too_many": (
        "E8033",
        (
            "old_string occurs more than 10,000 times in {path}; nothing was changed.",
            "",
            "Send a longer passage, or change the file with a command.",
        ),
        (
            "old_string は {path} に 1 万か所を超えてあり、何も変更していません。",
            "",
            "もっと長い部分を指定するか、コマンドで変更してください。",
        ),
    ),
    "edit_no_change": (
        "E8022",
        ("old_string and new_string are the same; nothing was changed.", "", "Send the text you want instead."),
        ("old_string と new_string が同じで、何も変更していません。", "", "変更後のテキストを送ってください。"),
    ),
    "edit_already_applied": (
        "E8023",
        ("{path} already holds new_string at line {line} and no old_string: this edit was made before.", "", "Go on."),
        ("{path} の {line} 行目はすでに new_string になっています。", "", "次へ進んでください。"),
    ),
    "edit_placeholder": (
        "E8025",
        (
            "“{line}” stands for text that was not written out; nothing was changed.",
            "It would take the place of that text.",
            "Send only the passage that changes, whole; the rest of the file stays as it is by itself.",
        ),
        (
            "「{line}」は省略の目印で、本来の内容ではないため、何も変更していません。",
            "そのまま書くと、元の内容が失われます。",
            "変更する部分だけを省略せずに送ってください。ほかの部分はそのまま残ります。",
        ),
    ),
    "edit_overlap": (
        "E8026",
        (
            "It changes what edit {number} of the same call put there.",
            "",
            "Make one edit of the two.",
        ),
        (
            "同じ呼び出しの編集 {number} が書いた部分を変更しようとしています。",
            "",
            "二つを一つの編集にまとめてください。",
        ),
    ),
    "edit_of_several": (
        "E8027",
        ("Edit {number} of {count} cannot be made, so none was: {reason}", "", "Fix it and send all {count} again."),
        (
            "{count} 件のうち {number} 件目の編集ができないため、どれも行っていません: {reason}",
            "",
            "直してから {count} 件すべてを送り直してください。",
        ),
    ),
    "file_changed_since": (
        "E8028",
        (
            "{path} has changed since it was last read here; nothing was changed.",
            "",
            "Read it again with read_file, then make the change to what is there now.",
        ),
        (
            "{path} は最後に読んだあとに変更されているため、何も変更していません。",
            "",
            "read_file で読み直してから、現在の内容に対して変更してください。",
        ),
    ),
    "would_destroy": (
        "E8029",
        (
            "{name} was not run: the file would lose {lost}.",
            "",
            "Change only the part that changes with edit_file, or write the whole text. "
            "What shall go, delete on purpose: edit_file with it in old_string and an empty new_string.",
        ),
        (
            "{name} を実行していません。ファイルから次のものが失われます: {lost}。",
            "",
            "変える部分だけを edit_file で変更するか、省略せずに全文を書いてください。"
            "意図して消すものは、old_string に入れ new_string を空にした edit_file で消してください。",
        ),
    ),
    "edit_empty": (
        "E8024",
        (
            "old_string is empty; {path} was not changed.",
            "",
            "Copy into old_string the text to replace; to create a file use create_file.",
        ),
        (
            "old_string が空のため、{path} を変更していません。",
            "",
            "置き換える元のテキストを old_string に入れてください。新しいファイルは create_file で作成します。",
        ),
    ),
    "search_bad_pattern": (
        "E8030",
        ("“{pattern}” is not a valid regular expression: {reason}.", "", "Escape special characters with a backslash."),
        ("「{pattern}」は正規表現として正しくありません: {reason}。", "", "特殊文字は \\ でエスケープしてください。"),
    ),
    "search_timeout": (
        "E8031",
        (
            "The search for “{pattern}” took longer than {seconds:.0f} s.",
            "",
            "Search a smaller folder or a simpler pattern.",
        ),
        (
            "「{pattern}」の検索が {seconds:.0f} 秒で終わりませんでした。",
            "",
            "範囲を狭めるか、簡単なパターンにしてください。",
        ),
    ),
    "git_not_a_repository": (
        "E8040",
        ("{path} is not in a git repository.", "", "Run git init there first, if history is wanted."),
        ("{path} は git リポジトリではありません。", "", "履歴が必要なら先に git init してください。"),
    ),
    "git_failed": (
        "E8041",
        ("git could not do that: {reason}", "", ""),
        ("git が失敗しました: {reason}", "", ""),
    ),
    "git_nothing_to_commit": (
        "E8042",
        ("There is nothing to commit.", "", "Change a file first, or name files that have changed."),
        ("コミットするものがありません。", "", "先にファイルを変更するか、変更のあるファイルを指定してください。"),
    ),
    "git_not_owned": (
        "E8043",
        (
            "git refuses the repository of {path}: it belongs to another user.",
            "{reason}",
            "The user can trust it with: git config --global --add safe.directory {path}",
        ),
        (
            "{path} のリポジトリは別の利用者のもので、git が拒んでいます。",
            "{reason}",
            "信頼するなら利用者が実行: git config --global --add safe.directory {path}",
        ),
    ),
    "git_no_identity": (
        "E8044",
        (
            "git does not know who commits.",
            "",
            "The user must set git config --global user.name and user.email.",
        ),
        (
            "コミットする人の名前がわかりません。",
            "",
            "利用者が git config --global user.name と user.email を設定してください。",
        ),
    ),
    "git_filtered": (
        "E8045",
        (
            "Nothing was committed: {path} passes through the filter “{filter}”.",
            "Only the repository's own configuration defines it, or it might run something that lies in the project.",
            "Ask the user to commit it by hand.",
        ),
        (
            "コミットしていません。{path} はフィルター「{filter}」を通ります。",
            "リポジトリ自身の設定だけにあるか、プロジェクト内のものを実行しかねないため、動かしません。",
            "利用者に手でコミットするよう頼んでください。",
        ),
    ),
    "git_staged_protected": (
        "E8086",
        (
            "Nothing was committed: what is staged of {paths} is not what is in the work tree.",
            "Programs run or believe it outside the sandbox, and a command may have staged it without the file.",
            "Name the files to commit. The user can look at it (git diff --cached), and commit: git commit -m {message}",
        ),
        (
            "コミットしていません。{paths} のステージされた内容が作業ツリーのものと違います。",
            "サンドボックスの外で実行または参照される名前で、コマンドがファイルなしにステージした可能性があります。",
            "コミットするファイルを指定してください。利用者は git diff --cached で確認し、git commit -m {message} でコミットできます。",
        ),
    ),
    "git_staged_outside": (
        "E8046",
        (
            "Nothing was committed: {path}, outside the project, is staged too.",
            "",
            "Name the files to commit, or ask the user to commit from {top}.",
        ),
        (
            "コミットしていません。プロジェクト外の {path} もステージされています。",
            "",
            "コミットするファイルを指定するか、{top} からコミットするよう利用者に頼んでください。",
        ),
    ),
    "git_missing": (
        "E8047",
        ("git is not installed.", "", "Install git, or work without it."),
        ("git がインストールされていません。", "", "git を入れるか、git なしで進めてください。"),
    ),
    "git_no_message": (
        "E8048",
        ("A commit needs a message.", "", "Say in one line what changed and why."),
        ("コミットメッセージがありません。", "", "何をなぜ変えたかを一行で書いてください。"),
    ),
    "git_ignored": (
        "E8049",
        ("{path} is left out by .gitignore; nothing was committed.", "", "Leave it out, or ask the user."),
        (
            "{path} は .gitignore の対象のため、コミットしていません。",
            "",
            "除いてやり直すか、利用者に確認してください。",
        ),
    ),
    "git_broken": (
        "E8085",
        (
            "git is not used here: {path} is no valid repository.",
            "Its HEAD, objects or refs are missing or ruined, and git would go on to a repository around the project.",
            "/undo brings back what a command has broken; git init makes a new repository of it.",
        ),
        (
            "git は使いません。{path} は有効なリポジトリではありません。",
            "HEAD、objects、refs のいずれかがないか壊れており、git はプロジェクトの外側のリポジトリを使おうとします。",
            "コマンドが壊したものは /undo で戻せます。git init で作り直すこともできます。",
        ),
    ),
    "git_leads_out": (
        "E8052",
        (
            "git is not used here: {path} leads to {target}.",
            "That is outside the project and its repository, and nothing there says that it belongs to it.",
            "The user can look at it, and remove or replace {path}.",
        ),
        (
            "git は使いません。{path} が {target} を指しています。",
            "プロジェクトとそのリポジトリの外にあり、こちらに属するという記録も先方にありません。",
            "利用者が {path} を確認し、削除するか置き換えてください。",
        ),
    ),
    "git_index_refused": (
        "E8083",
        (
            "git is not used here: {path} names a file that git itself never tracks, or is damaged.",
            "git would read and write files inside .git or outside the project.",
            "The user can delete {path} and run git reset; the files stay as they are.",
        ),
        (
            "git は使いません。{path} が壊れているか、git が追跡するはずのないファイルを指しています。",
            "git が .git の中やプロジェクトの外のファイルを読み書きするおそれがあります。",
            "利用者が {path} を削除し、git reset を実行してください。ファイルの内容は変わりません。",
        ),
    ),
    "git_too_many_folders": (
        "E8053",
        (
            "git is not used here: {path} has more than {most:,} folders.",
            "They cannot all be checked for links that lead elsewhere.",
            "The user can run git by hand; git gc makes folders fewer.",
        ),
        (
            "git は使いません。{path} のフォルダーが {most:,} を超えています。",
            "外部を指すリンクがないか、すべては確かめられません。",
            "利用者が手で git を実行してください。git gc でフォルダーは減ります。",
        ),
    ),
    "git_too_large": (
        "E8064",
        (
            "git is not used here: {path} has more than {most:,} bytes.",
            "So much is not read to find out where it leads.",
            "The user can run git by hand.",
        ),
        (
            "git は使いません。{path} が {most:,} バイトを超えています。",
            "どこを指すかを確かめるには大きすぎます。",
            "利用者が手で git を実行してください。",
        ),
    ),
    "git_setting": (
        "E8063",
        (
            "git is not used here: the repository sets {setting}.",
            "Outside the sandbox that counts only where it is among the user's own settings.",
            "The user can run git by hand, or look at the value and set it for all repositories: git config --global.",
        ),
        (
            "git は使いません。リポジトリが {setting} を設定しています。",
            "サンドボックスの外では、利用者自身の設定にあるものしか認めません。",
            "利用者が手で git を実行するか、値を確認して git config --global で設定してください。",
        ),
    ),
    "git_signs": (
        "E8054",
        (
            "Nothing was committed: commits here are signed (commit.gpgSign), and the key is out of reach.",
            "A commit without the signature is not what the user has set.",
            "Ask the user to commit: git commit -m {message}",
        ),
        (
            "コミットしていません。署名付きの設定（commit.gpgSign）ですが、鍵は使えません。",
            "署名のないコミットは利用者の設定に反します。",
            "利用者にコミットを頼んでください: git commit -m {message}",
        ),
    ),
    "git_hooks_left": (
        "E8055",
        (
            "Nothing was committed: the hooks {names} in {folder} would have to run outside the sandbox.",
            "",
            "Ask the user to commit: git commit -m {message}",
        ),
        (
            "コミットしていません。{folder} のフック（{names}）はサンドボックスの外でしか動きません。",
            "",
            "利用者にコミットを頼んでください: git commit -m {message}",
        ),
    ),
    "git_hook_failed": (
        "E8056",
        (
            "Nothing was committed: {reason}",
            "The hooks {names} ran in the sandbox, with no network and an empty home.",
            "Fix what they report; if they lack something there, ask the user to commit: git commit -m {message}",
        ),
        (
            "コミットしていません: {reason}",
            "フック（{names}）はサンドボックス内で、ネットワークなし・空のホームで動きました。",
            "指摘を直してください。足りないものがあるなら利用者にコミットを頼んでください: git commit -m {message}",
        ),
    ),
    "git_background": (
        "E8057",
        (
            "Nothing was committed: the repository lies outside the project, and a command runs in the background.",
            "It could change files while they are read outside the sandbox.",
            "Stop it first (command_output), or ask the user to commit.",
        ),
        (
            "コミットしていません。リポジトリがプロジェクトの外にあり、バックグラウンドのコマンドが動いています。",
            "サンドボックスの外で読む間にファイルを変えられるおそれがあります。",
            "先に止める（command_output）か、利用者にコミットを頼んでください。",
        ),
    ),
    "code_unsupported": (
        "E8050",
        ("There is no grammar for {path}.", "", "Supported: {known}. Use read_file instead."),
        ("{path} の言語には対応していません。", "", "対応: {known}。read_file を使ってください。"),
    ),
    "code_not_parsed": (
        "E8051",
        ("{path} could not be analysed: {reason}.", "", "Use search_files or read_file instead."),
        ("{path} を解析できません: {reason}。", "", "search_files か read_file を使ってください。"),
    ),
    "command_failed_to_start": (
        "E8060",
        ("The command was not run: {reason}.", "", ""),
        ("コマンドを実行していません: {reason}。", "", ""),
    ),
    "command_no_sandbox": (
        "E8061",
        (
            "The command was not run: there is no sandbox on this machine ({reason}).",
            "",
            "In the chat you can allow it by hand; one-shot needs --i-accept-no-sandbox.",
        ),
        (
            "この環境ではサンドボックスが使えないため（{reason}）、コマンドを実行していません。",
            "",
            "チャットでは手動で許可できます。一回実行では --i-accept-no-sandbox が必要です。",
        ),
    ),
    "command_lost": (
        "E8062",
        (
            "The command was lost: its supervisor ended unexpectedly (status {status}).",
            "",
            "Look at what it has done before running it again.",
        ),
        (
            "監視プロセスが予期せず終了したため（状態 {status}）、コマンドの結果がわかりません。",
            "",
            "再実行する前に、何が行われたかを確かめてください。",
        ),
    ),
    "background_too_many": (
        "E8080",
        ("{most} commands run in the background already.", "", "Stop one first: command_output with its id and stop."),
        (
            "バックグラウンドで実行中のコマンドがすでに {most} 個あります。",
            "",
            "先に command_output の stop で一つ止めてください。",
        ),
    ),
    "background_unknown": (
        "E8081",
        ("There is no background command {number}.", "", "Known: {known}."),
        ("バックグラウンドのコマンド {number} はありません。", "", "あるもの: {known}。"),
    ),
}
