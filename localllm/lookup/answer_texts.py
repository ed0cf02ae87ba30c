"""The texts of the embedded engine, in the language of the question: key → (English, Japanese)."""

TEXTS: dict[str, tuple[str, str]] = {
    "about_project": (
        "This is {name}.",
        "プロジェクト {name} です。",
    ),
    "also": (
        "Also:",
        "ほかに:",
    ),
    "ask_command": (
        "I did nothing: which command? Put it in backticks: run `make lint`",
        "何もしていません。どのコマンドですか。`make lint` を実行して、のようにバッククォートで囲んでください。",
    ),
    "ask_content": (
        'I did nothing: what shall {path} contain? Say for example: create {path} with the content "…", or put the text into a ``` block.',
        "何もしていません。{path} の内容がわかりません。例: {path} を作って。内容は「…」（``` で囲んだ本文でも可）。",
    ),
    "ask_message": (
        'I did nothing: what shall the commit message be? Say: commit with the message "…"',
        "何もしていません。コミットメッセージを「…」で示してください。例: 「…」というメッセージでコミットして",
    ),
    "ask_path": (
        "I did nothing: which file? Say for example: {example}",
        "何もしていません。どのファイルですか。例: {example}",
    ),
    "ask_texts": (
        'I did nothing: say what to replace and with what, in quotes: replace "old" with "new" in FILE',
        "何もしていません。置き換える前と後をかぎ括弧で示してください。例: FILE の「古い」を「新しい」に置き換えて",
    ),
    "called": (
        "`{name}` is called in {count} {count:?place/places}:",
        "`{name}` は {count} か所で呼び出されています:",
    ),
    "count_of": (
        "{count} {count:?definition/definitions} of the kind “{kind}”.",
        "種類「{kind}」の定義は {count} 個です。",
    ),
    "created": (
        "Created {path}.",
        "{path} を作成しました。",
    ),
    "decisions": (
        "Decided, says {file}:",
        "決定事項（{file}）:",
    ),
    "defined_in": (
        "{count} {count:?definition/definitions} in {path}:",
        "{path} の定義は {count} 個です:",
    ),
    "edited": (
        "Edited {path}, line {line}.",
        "{path} の {line} 行目を編集しました。",
    ),
    "empty": (
        "There are no files here yet; there is nothing I could answer from.",
        "まだファイルがないため、答えられることがありません。",
    ),
    "exists": (
        "I did nothing: {path} exists already. To change it, say what to replace or append.",
        "何もしていません。{path} はすでにあります。変更するなら、置き換えまたは追加する内容を示してください。",
    ),
    "failed": (
        "Not done: {reason}",
        "実行していません: {reason}",
    ),
    "files": (
        "{count} {count:?file/files}",
        "{count} ファイル",
    ),
    "not_shown": (
        "(not shown: it may hold secrets)",
        "（秘密を含むかもしれないため表示しません）",
    ),
    "files_in": (
        "{count} {count:?file/files} in {folder}:",
        "{folder} のファイルは {count} 件です:",
    ),
    "frames": (
        "The places of this project it goes through, the last first:",
        "このプロジェクトで通った場所（最後のものから）:",
    ),
    "greeting": (
        "Hello! I am the embedded engine: without a model, I find things in this project. Ask me where or what something is (“where is the retry logic?”), or tell me to run the tests or edit a file.",
        "こんにちは。モデルなしで動く内蔵エンジンです。「再試行の処理はどこ？」のようにプロジェクトの中のことを尋ねるか、テストの実行やファイルの編集を指示してください。",
    ),
    "holds": (
        "It holds {count} {count:?file/files}:",
        "ファイルは {count} 件あります:",
    ),
    "how_command": (
        "`{command}` — from {place}",
        "`{command}` — {place} より",
    ),
    "imported": (
        "`{name}` is imported by {count} {count:?file/files}:",
        "`{name}` をインポートしているファイルは {count} 件です:",
    ),
    "last_session": (
        "The last session, says {file}:",
        "前回のセッション（{file}）:",
    ),
    "left_out": (
        "({count} {count:?file is/files are} not indexed yet: ask again for those.)",
        "（{count} 件のファイルがまだ索引にありません。もう一度尋ねると続きを調べます。）",
    ),
    "message_at": (
        "“{text}” comes from:",
        "「{text}」はここから出ています:",
    ),
    "message_near": (
        "The exact text “{text}” is nowhere in the project. The closest lines:",
        "「{text}」そのものは見つかりませんでした。最も近い行:",
    ),
    "needs_model": (
        'That needs a language model, and this is the embedded engine, which has none: it looks things up in the project and carries out exact instructions. Ask where something is, what a name does, who uses it, what changed; or say “replace "a" with "b" in FILE”, “run the tests”.\n\nTo get a model: start a model server (LM Studio, Ollama, llama.cpp or vLLM) and begin again, or choose one with /provider and /model. `localllm doctor` says what is missing.',
        "それには言語モデルが必要です。ここで動いているのはモデルを持たない内蔵エンジンで、プロジェクトの中を調べることと、はっきりした指示の実行だけができます。「〜はどこ？」「X は何をする？」「X を使っているのは？」「何が変わった？」「FILE の「a」を「b」に置き換えて」「テストを実行して」のように頼んでください。\n\nモデルを使うには、モデルサーバー（LM Studio、Ollama、llama.cpp、vLLM）を起動してから始め直すか、/provider と /model で選んでください。足りないものは `localllm doctor` でわかります。",
    ),
    "no_decisions": (
        "No decision is noted in this project. /remember decision: TEXT notes one.",
        "このプロジェクトに決定事項の記録はありません。/remember 決定: 本文 で記録します。",
    ),
    "no_decisions_about": (
        "Of that the notes have no decision. Those they have:",
        "それについての決定事項の記録はありません。記録にあるもの:",
    ),
    "no_definition": (
        "I found no definition of `{name}` in this project.",
        "このプロジェクトに `{name}` の定義は見つかりませんでした。",
    ),
    "no_frames": (
        "I found no place of this project in the text.",
        "このテキストにプロジェクトの場所は見つかりませんでした。",
    ),
    "no_how": (
        "I found nothing in README or the project's files about how to {what}.",
        "{what}の方法は README にもプロジェクトのファイルにも見つかりませんでした。",
    ),
    "no_message": (
        "I found no text like “{text}” in this project.",
        "このプロジェクトに「{text}」のような文字列は見つかりませんでした。",
    ),
    "no_name": (
        "`{name}` does not occur in this project.",
        "このプロジェクトに `{name}` は現れません。",
    ),
    "no_passage": (
        "I found no passage about this in your collections. Without a model I match words only: ask with words the documents use.",
        "コレクションの中に該当する箇所は見つかりませんでした。モデルがないため単語の一致だけで探しています。文書で使われている言葉で尋ねてください。",
    ),
    "no_path": (
        "There is no {path} in this project.",
        "このプロジェクトに {path} はありません。",
    ),
    "no_preferences": (
        "No preference is noted in this project. /remember TEXT notes one.",
        "このプロジェクトに好みや方針の記録はありません。/remember 本文 で記録します。",
    ),
    "no_preferences_about": (
        "Of that the notes have no preference. Those they have:",
        "それについての記録はありません。記録にあるもの:",
    ),
    "no_session": (
        "The project's notes have no record of an earlier session. `localllm history list` names those that are kept, `localllm --continue` goes on with the newest.",
        "プロジェクトのメモに以前のセッションの記録はありません。残っているセッションは `localllm history list` で見られ、`localllm --continue` で最新のものを続けられます。",
    ),
    "no_subclasses": (
        "I found no class that inherits from `{name}`.",
        "`{name}` を継承しているクラスは見つかりませんでした。",
    ),
    "no_test_command": (
        "I did nothing: I found no way to run tests here (no pytest, unittest, package.json script, Cargo.toml, go.mod or Makefile target). Say: run `your command`",
        "何もしていません。テストの実行方法が見つかりません（pytest、unittest、package.json、Cargo.toml、go.mod、Makefile のいずれにもありません）。`コマンド` を実行して、と指示してください。",
    ),
    "no_tests": (
        "I found no test files for this.",
        "該当するテストファイルは見つかりませんでした。",
    ),
    "no_todo": (
        "No TODO is open, and no line says TODO or FIXME.",
        "未完了の TODO も、TODO や FIXME の行もありません。",
    ),
    "no_tool": (
        "For this I would need the tool {tool}, which is not available here.",
        "これには {tool} ツールが必要ですが、ここでは使えません。",
    ),
    "not_found": (
        "I found nothing about this in the project. I searched for: {searched}.",
        "このプロジェクトに当てはまるものは見つかりませんでした。検索した言葉: {searched}。",
    ),
    "not_found_rephrase": (
        "Without a model I match words only: naming an identifier or a word the code uses may help.",
        "モデルなしでは言葉の一致で探します。コードで使われていそうな単語や識別子を含めると見つかることがあります。",
    ),
    "not_imported": (
        "No file imports `{name}`.",
        "`{name}` をインポートしているファイルはありません。",
    ),
    "not_there": (
        "({words} is nowhere in this project.)",
        "（{words} はこのプロジェクトのどこにもありません。）",
    ),
    "not_used": (
        "I found no use of `{name}` outside its definition.",
        "`{name}` は定義以外では使われていません。",
    ),
    "one_at_a_time": (
        "I did nothing: I carry out one instruction at a time. Give me the first one alone, then the next.",
        "何もしていません。指示は一つずつ実行します。最初の指示だけを送り、続けて次を送ってください。",
    ),
    "only_used": (
        "It only occurs in:",
        "次の場所に現れるだけです:",
    ),
    "open_todos": (
        "Open TODOs, says {file}:",
        "未完了の TODO（{file}）:",
    ),
    "passages": (
        "Without a model I can only quote the passages that match your words best:",
        "モデルがないため、質問の言葉に最も近い箇所を引用します:",
    ),
    "preferences": (
        "Preferences, says {file}:",
        "好みと方針（{file}）:",
    ),
    "ran": (
        "Ran `{command}`:",
        "`{command}` を実行しました:",
    ),
    "same": (
        "I did nothing: old and new are the same.",
        "何もしていません。変更前と後が同じです。",
    ),
    "subclasses": (
        "{count} {count:?class inherits/classes inherit} from `{name}`:",
        "`{name}` を継承しているクラスは {count} 個です:",
    ),
    "tests": (
        "Tests:",
        "テスト:",
    ),
    "text_missing": (
        "I did nothing: {path} does not contain “{text}”.",
        "何もしていません。{path} に「{text}」はありません。",
    ),
    "thanks": (
        "You are welcome. Ask me anything about this project.",
        "どういたしまして。プロジェクトのことは何でも尋ねてください。",
    ),
    "todo": (
        "{count} {count:?line says/lines say} TODO or FIXME:",
        "TODO や FIXME は {count} 行あります:",
    ),
    "unnamed": (
        "({count} {count:?file was/files were} not looked at: the name is not UTF-8.)",
        "（名前が UTF-8 でないファイルが {count} 件あり、調べていません。）",
    ),
    "unsure": (
        "I am not sure. The best places I found:",
        "確かではありません。最も近い場所:",
    ),
    "used": (
        "`{name}` is used in {count} {count:?place/places}:",
        "`{name}` は {count} か所で使われています:",
    ),
}
