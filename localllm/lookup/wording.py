"""What the engine says, in the language of the question: key → (English, Japanese)."""

TEXTS: dict[str, tuple[str, str]] = {
    "gave_up": (
        "I could not work this out in a reasonable number of steps.",
        "妥当な手順の数では答えを出せませんでした。",
    ),
    "best": ("`{name}` — {place}", "`{name}` — {place}"),
    "best_line": ("{place}", "{place}"),
    "unsure": (
        "I am not sure; this fits the words of the question best: `{name}` — {place}",
        "確かではありませんが、質問の言葉に最も合うのは `{name}` — {place} です。",
    ),
    "also": ("Also:", "ほかに:"),
    "in": ("in `{name}`", "`{name}` の中"),
    "not_found": (
        "I found nothing about {subject} in this project. I searched for: {searched}.",
        "このプロジェクトに「{subject}」に関するものは見つかりませんでした。検索した言葉: {searched}。",
    ),
    "not_found_rephrase": (
        "Without a model I match words only: naming an identifier or a word the code uses may help.",
        "モデルなしでは言葉の一致で探します。コードで使われていそうな単語や識別子を含めると見つかることがあります。",
    ),
    "too_slow": (
        "Some searches took too long to finish: ask in a smaller folder, or name an identifier.",
        "時間内に終わらなかった検索があります。小さいフォルダで尋ねるか、識別子を含めてください。",
    ),
    "no_definition": (
        "I found no definition of `{name}` in this project.",
        "このプロジェクトに `{name}` の定義は見つかりませんでした。",
    ),
    "only_used": ("It only occurs in:", "次の場所に現れるだけです:"),
    "no_name": ("`{name}` does not occur in this project.", "このプロジェクトに `{name}` は現れません。"),
    "used": ("`{name}` is used in {count} places{more}:", "`{name}` は {count} か所{more}で使われています:"),
    "called": ("`{name}` is called in {count} places{more}:", "`{name}` は {count} か所{more}で呼び出されています:"),
    "not_used": (
        "I found no use of `{name}` outside its definition.",
        "`{name}` は定義以外では使われていません。",
    ),
    "at_least": (" or more", "以上"),
    "subclasses": (
        "{count} classes{more} inherit from `{name}`:",
        "`{name}` を継承しているクラスは {count} 個{more}です:",
    ),
    "no_subclasses": (
        "I found no class that inherits from `{name}`.",
        "`{name}` を継承しているクラスは見つかりませんでした。",
    ),
    "imported": ("{count} files import `{name}`:", "`{name}` をインポートしているファイルは {count} 件です:"),
    "not_imported": ("No file imports `{name}`.", "`{name}` をインポートしているファイルはありません。"),
    "message_at": ("“{text}” comes from {place}", "「{text}」は {place} から出ています"),
    "message_near": (
        "The exact text “{text}” is nowhere in the project; the closest line is {place}",
        "「{text}」そのものは見つかりませんでした。最も近い行は {place} です",
    ),
    "no_message": (
        "I found no text like “{text}” in this project.",
        "このプロジェクトに「{text}」のような文字列は見つかりませんでした。",
    ),
    "empty": (
        "There are no files here yet; there is nothing I could answer from.",
        "まだファイルがないため、答えられることがありません。",
    ),
    "greeting": (
        "Hello! I am the embedded engine: without a model, I find things in this project. Ask me where or what "
        "something is (“where is the retry logic?”), or tell me to run the tests or edit a file.",
        "こんにちは。モデルなしで動く内蔵エンジンです。「再試行の処理はどこ？」のようにプロジェクトの中のことを尋ねるか、"
        "テストの実行やファイルの編集を指示してください。",
    ),
    "thanks": (
        "You are welcome. Ask me anything about this project.",
        "どういたしまして。プロジェクトのことは何でも尋ねてください。",
    ),
    "needs_model": (
        "That needs a language model, and this is the embedded engine, which has none: it looks things up in the "
        "project and carries out exact instructions. Ask where something is, what a name does, who uses it, what "
        'changed; or say “replace "a" with "b" in FILE”, “run the tests”.\n\nTo get a model: start a model server '
        "(LM Studio, Ollama, llama.cpp or vLLM) and begin again, or choose one with /provider and /model. `localllm "
        "doctor` says what is missing.",
        "それには言語モデルが必要です。ここで動いているのはモデルを持たない内蔵エンジンで、"
        "プロジェクトの中を調べることと、はっきりした指示の実行だけができます。"
        "「〜はどこ？」「X は何をする？」「X を使っているのは？」「何が変わった？」"
        "「FILE の「a」を「b」に置き換えて」「テストを実行して」のように頼んでください。\n\n"
        "モデルを使うには、モデルサーバー（LM Studio、Ollama、llama.cpp、vLLM）を起動してから始め直すか、"
        "/provider と /model で選んでください。足りないものは `localllm doctor` でわかります。",
    ),
    "no_tool": (
        "For this I would need the tool {tool}, which is not available here.",
        "これには {tool} ツールが必要ですが、ここでは使えません。",
    ),
    "value": ("`{name}` is `{value}` — {place}", "`{name}` は `{value}` です — {place}"),
    "frames": (
        "The places of this project it goes through, the last first:",
        "このプロジェクトで通った場所（最後のものから）:",
    ),
    "no_frames": (
        "I found no place of this project in the text.",
        "このテキストにプロジェクトの場所は見つかりませんでした。",
    ),
    "tests": ("Tests{about}:", "{about}テスト:"),
    "tests_about": (" for {subject}", "{subject} の"),
    "no_tests": ("I found no test files{about}.", "{about}テストファイルは見つかりませんでした。"),
    "todo": ("{count} lines{more} say TODO or FIXME:", "TODO や FIXME は {count} 行{more}あります:"),
    "open_todos": ("Open TODOs of the project:", "プロジェクトの未完了の TODO:"),
    "decisions": ("Decided, says {file}:", "決定事項（{file}）:"),
    "preferences": ("Preferences, says {file}:", "好みと方針（{file}）:"),
    "no_decisions": (
        "No decision is noted in this project. /remember decision: TEXT notes one.",
        "このプロジェクトに決定事項の記録はありません。/remember 決定: 本文 で記録します。",
    ),
    "no_decisions_about": (
        "Of that the notes have no decision. Those they have:",
        "それについての決定事項の記録はありません。記録にあるもの:",
    ),
    "no_preferences": (
        "No preference is noted in this project. /remember TEXT notes one.",
        "このプロジェクトに好みや方針の記録はありません。/remember 本文 で記録します。",
    ),
    "no_preferences_about": (
        "Of that the notes have no preference. Those they have:",
        "それについての記録はありません。記録にあるもの:",
    ),
    "last_session": ("The last session, says {file}:", "前回のセッション（{file}）:"),
    "no_session": (
        "The project's notes have no record of an earlier session. `localllm history list` names those that are kept, "
        "`localllm --continue` goes on with the newest.",
        "プロジェクトのメモに以前のセッションの記録はありません。"
        "残っているセッションは `localllm history list` で見られ、`localllm --continue` で最新のものを続けられます。",
    ),
    "notes_unread": (
        "The project's notes could not be read: {reason}",
        "プロジェクトのメモを読めませんでした: {reason}",
    ),
    "no_todo_lines": ("No line of the files says TODO or FIXME.", "ファイルに TODO や FIXME の行はありません。"),
    "no_todo": (
        "No TODO is open, and no line says TODO or FIXME.",
        "未完了の TODO も、TODO や FIXME の行もありません。",
    ),
    "files_in": ("{count} files in {folder}:", "{folder} のファイルは {count} 件です:"),
    "files_fit": ("{count} files fit {pattern}.", "{pattern} に合うファイルは {count} 件です。"),
    "defined_in": ("{count} definitions in {path}:", "{path} の定義は {count} 個です:"),
    "no_path": ("There is no {path} in this project.", "このプロジェクトに {path} はありません。"),
    "which_path": (
        "Several files are called {path}: {names}. Say which one.",
        "{path} という名前のファイルがいくつかあります: {names}。どれか指定してください。",
    ),
    "about_project": ("This is {name}.", "プロジェクト {name} です。"),
    "says_of_itself": ("{place} says:", "{place} より:"),
    "holds": ("It holds {count} files:", "ファイルは {count} 件あります:"),
    "files": ("{count} files", "{count} ファイル"),
    "how": ("From {place}:", "{place} より:"),
    "how_command": ("`{command}` — from {place}", "`{command}` — {place} より"),
    "no_how": (
        "I found nothing in README or the project's files about how to {what}.",
        "{what}の方法は README にもプロジェクトのファイルにも見つかりませんでした。",
    ),
    "commits": ("The last {count} commits:", "直近 {count} 件のコミット:"),
    "commits_of": ("The last {count} commits that changed {path}:", "{path} を変更した直近 {count} 件のコミット:"),
    "no_git": (
        "This is not a git repository (or git refuses it): {reason}",
        "git リポジトリではないか、git が拒みました: {reason}",
    ),
    "no_commits": ("There are no commits yet.", "コミットはまだありません。"),
    "changed": ("Not committed yet:", "まだコミットされていない変更:"),
    "unchanged": ("Nothing is changed since the last commit.", "最後のコミットから変更はありません。"),
    "not_shown": ("(not shown: it may hold secrets)", "（秘密を含むかもしれないため表示しません）"),
    "nobody": (
        "I found nothing in this project that says who that is. (It has no file such as AUTHORS or CODEOWNERS that "
        "tells, and I know nothing but this project.)",
        "このプロジェクトに、それが誰かを示すものは見つかりませんでした（AUTHORS や CODEOWNERS に書かれておらず、"
        "プロジェクトの外のことは知りません）。",
    ),
    "people": ("From {place}:", "{place} より:"),
    "done_created": ("Created {path} ({lines} lines).", "{path} を作成しました（{lines} 行）。"),
    "done_edited": ("Edited {path}: {what}.", "{path} を編集しました: {what}。"),
    "replaced": ("{count} × “{old}” → “{new}” (line {lines})", "「{old}」→「{new}」 {count} か所（{lines} 行目）"),
    "appended": ("added at the end: {text}", "末尾に追加: {text}"),
    "inserted": ("inserted {text} as line {line}", "{line} 行目に挿入: {text}"),
    "deleted": ("removed line {line}: {text}", "{line} 行目を削除: {text}"),
    "done_committed": ("{result}", "{result}"),
    "denied": ("Not done: {tool} was refused.", "実行していません: {tool} は許可されませんでした。"),
    "failed": ("Not done: {reason}", "実行していません: {reason}"),
    "ran": ("Ran `{command}`: exit status {code}.", "`{command}` を実行しました: 終了コード {code}。"),
    "ran_timeout": (
        "Ran `{command}`: it did not end well.",
        "`{command}` を実行しましたが、正常に終わりませんでした。",
    ),
    "silent": ("It printed nothing.", "出力はありません。"),
    "last_lines": ("The last lines it printed:", "出力の最後の部分:"),
    "ask_content": (
        'I did nothing: what shall {path} contain? Say for example: create {path} with the content "…", or put the '
        "text into a ``` block.",
        "何もしていません。{path} の内容がわかりません。例: {path} を作って。内容は「…」（``` で囲んだ本文でも可）。",
    ),
    "ask_path": (
        "I did nothing: which file? Say for example: {example}",
        "何もしていません。どのファイルですか。例: {example}",
    ),
    "ask_texts": (
        'I did nothing: say what to replace and with what, in quotes: replace "old" with "new" in FILE',
        "何もしていません。置き換える前と後をかぎ括弧で示してください。例: FILE の「古い」を「新しい」に置き換えて",
    ),
    "ask_command": (
        "I did nothing: which command? Put it in backticks: run `make lint`",
        "何もしていません。どのコマンドですか。`make lint` を実行して、のようにバッククォートで囲んでください。",
    ),
    "ask_message": (
        'I did nothing: what shall the commit message be? Say: commit with the message "…"',
        "何もしていません。コミットメッセージを「…」で示してください。例: 「…」というメッセージでコミットして",
    ),
    "ask_line": (
        'I did nothing: which line? Say its number or quote its text: delete the line "…" from FILE',
        "何もしていません。どの行ですか。行番号か本文を示してください。例: FILE の「…」の行を削除して",
    ),
    "text_missing": (
        "I did nothing: {path} does not contain “{text}”.",
        "何もしていません。{path} に「{text}」はありません。",
    ),
    "text_nowhere": (
        "I did nothing: no file contains “{text}”.",
        "何もしていません。「{text}」を含むファイルはありません。",
    ),
    "text_several": (
        "I did nothing: “{text}” occurs {count} times in {path} (line {lines}). Say which one by quoting more of it.",
        "何もしていません。「{text}」は {path} に {count} か所あります（{lines} 行目）。前後も含めて示してください。",
    ),
    "files_several": (
        "I did nothing: “{text}” is in several files: {names}. Say which one.",
        "何もしていません。「{text}」は複数のファイルにあります: {names}。どれか指定してください。",
    ),
    "exists": (
        "I did nothing: {path} exists already. To change it, say what to replace, append or delete.",
        "何もしていません。{path} はすでにあります。変更するなら、置き換え・追加・削除する内容を示してください。",
    ),
    "too_large": (
        "I did nothing: {path} is too long for me to edit safely.",
        "何もしていません。{path} は長すぎて安全に編集できません。",
    ),
    "same": ("I did nothing: old and new are the same.", "何もしていません。変更前と後が同じです。"),
    "one_at_a_time": (
        "I did nothing: I carry out one instruction at a time. Give me the first one alone, then the next.",
        "何もしていません。指示は一つずつ実行します。最初の指示だけを送り、続けて次を送ってください。",
    ),
    "no_test_command": (
        "I did nothing: I found no way to run tests here (no pytest, unittest, package.json script, Cargo.toml, go.mod "
        "or Makefile target). Say: run `your command`",
        "何もしていません。テストの実行方法が見つかりません（pytest、unittest、package.json、Cargo.toml、"
        "go.mod、Makefile のいずれにもありません）。`コマンド` を実行して、と指示してください。",
    ),
}


def say(japanese: bool, key: str, **params: object) -> str:
    """The text `key` with `params` filled in."""
    return TEXTS[key][japanese].format(**params)
