"""What a request asks for, as its words tell it."""

import re

import pytest

from localllm.agent.phrases import request_phrases
from localllm.agent.phrases.request_phrases import asks_for_change, asks_for_commit, orders_edit
from tests.support.each import each


def test_every_verb_of_a_change_is_looked_for_by_its_beginning() -> None:
    pattern = re.sub(r"\(\?[!=][^()]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[^()]*)*\)", "", request_phrases._CHANGE)
    verbs = re.findall(r"[a-z]+(?: [a-z]+)?", pattern.replace(r"\b", ""))
    assert {"fix", "clean up", "make", "develop"} <= set(verbs)
    for verb in verbs:
        assert any(begin in verb for begin in request_phrases._CHANGE_BEGINS), verb
        assert asks_for_change(f"{verb} a.py into b.py"), verb


@each(
    ("request", "is_change"),
    [
        ("Where is the retry logic?", False),
        ("f(0) crashes, please fix it.", True),
        ("What breaks, and can you fix it?", False),
        ("a.py should say hello", True),
        ("I need a script that counts words", True),
        ("Fix a.py, but do not change any files", False),
        ("a.py を直して", True),
        ("a.py の直し方を教えて", False),
        ("Clean sales.csv and save it to cleaned.csv", True),
        ("Summarise the log into report.md", True),
        ("Put the findings of a.py and b.py into findings.md.", True),
        ("Explain the code and save the explanation to explain.md", True),
        ("Can you save the summary to notes.md?", True),
        ("売上.csv をきれいにして cleaned.csv に保存し、上位3件を教えて。", True),
        ("summary.md に結果をまとめて", True),
        ("How do I save it to cleaned.csv?", False),
        ("Give me a command to save the list to x.txt", False),
        ("The script saves results to out.csv but the numbers are wrong.", False),
        ("Summarise what is in src/app.py", False),
        ("List the functions in a.py", False),
        ("結果を report.md に保存していますか", False),
        ("store.py に何が書いてあるか教えて", False),
        ("Read a.py and save nothing to b.txt; do not change any files", False),
        ("Tell me how to rename a branch.", False),
        ("Show me a command to delete all branches", False),
        ("Explain how to create a user and update it", False),
        ("Explain how it works and add comments to a.py", True),
        ("Check how to run it, and fix the bug", True),
        ("I get this, please fix:\n\nTraceback (most recent call last):", True),
        ("a.py crashes, can you fix it?", True),
        ("Fix: parser", False),
        ("Make a plan for two currencies", False),
        ("make a checklist for the meeting", False),
        ("Make a plan.md from it", True),
        ("translate notes.md to German", False),
        ("Translate the comments in a.py to English", True),
        ("translate notes.md to notes.de.md", True),
        ("Write an email to my boss that all tests pass", False),
        ("write an email validator", True),
        ("Write a message to the log when it fails", True),
        ("上司宛に報告メールを書いて", False),
        ("会の準備チェックリストを作って", False),
        ("メール送信の関数を書いて", True),
        ("コメントを英語に翻訳して", True),
        ("売上をグラフにして", False),
        ("議事録をもとに会員向けのメール文を作って", False),
        ("Write release notes for v1.1: a bug was fixed", False),
        ("v1.1のリリースノートを書いて。割引の追加", False),
        ("Write the release notes to NEWS.md", True),
        ("translate notes.md to German and French, save both", True),
        ("notes.md をドイツ語とフランス語に訳して、両方保存して", True),
        ("グラフの色を赤にして", True),
    ],
)
def test_whether_files_are_to_be_changed(request: str, is_change: bool) -> None:
    assert asks_for_change(request) == is_change


@each(
    ("limit", "of_all"),
    [
        ("Don't change anything else.", False),
        ("Do not touch the tests code.", False),
        ("No changes to the tests.", False),
        ("Never edit the files in vendor.", False),
        ("Do it without changing any other files.", False),
        ("他の変更はしないで。", False),
        ("テストの変更はしないでください。", False),
        ("API は変更しないで。", False),
        ("テストコードの変更はしないで。", False),
        ("Don't change anything.", True),
        ("Do not edit any files.", True),
        ("No changes, please.", True),
        ("This is read-only.", True),
        ("変更はしないでください。", True),
        ("ファイルは変更しないで。", True),
    ],
)
def test_what_forbids_some_changes_forbids_no_ordered_one(limit: str, of_all: bool) -> None:
    order = "add を直して。" if not limit.isascii() else "Fix add in a.py. "
    assert asks_for_change(order + limit) != of_all


@each("request", ["Add a read-only flag to a.py", "Implement read-only mode", "Make a.cfg read-only"])
def test_what_is_to_be_read_only_is_to_be_changed(request: str) -> None:
    assert asks_for_change(request)


@pytest.mark.parametrize(
    "request_",
    [
        "Have f return 9 instead of 1",
        "let bye say 'X'",
        "Let f take a name argument",
        "I want f to return 9",
        "We need f to return 9",
        "Get the tests to pass",
        "Sort the imports in a.py",
        "Use a set instead of a list in a.py",
        "Handle None in f",
        "Undo that rename",
        "Switch to tabs",
        "Document f",
        "Type-hint f",
        "fが9を返すようにして",
        "f の戻り値を9にして",
        "あいさつを丁寧にして",
        "f に 9 を返させて",
        "Let the parser accept None",
        "Add email validation to the form",
        "Add a message field to User",
        "Create a message queue in queue.py",
        "コードを読みやすくしてください",
    ],
)
def test_a_change_may_be_ordered_in_many_words(request_: str) -> None:
    assert asks_for_change(request_)


@pytest.mark.parametrize(
    "request_",
    [
        "Have you seen the failing test?",
        "Let me know what f does",
        "Let us look at a.py first",
        "Use the search tool and tell me where f is",
        "Get the version of the package",
        "I want to know what f returns",
        "I need you to explain a.py",
        "Document search: how does it work?",
        "README を参考にして、使い方を教えて",
        "どうしてこうなっているの？",
        "Have a look at a.py",
        "Have tests been written for it?",
        "Let pytest run and report what fails",
        "Let x be 3. What is f(x)?",
        "Use Japanese instead of English",
        "Sort the files by size and show the ten largest",
        "Switch to Japanese",
        "I want this to be explained in simple words",
        "I need help to understand a.py",
        "Write a commit message for it",
        "箇条書きにしてください",
        "もう少し短くして",
        "この文を英語にしてください",
        "確認させてください",
        "calc.py must be importable without side effects. Is it?",
        "a.py must not import b.py. Does it?",
    ],
)
def test_what_sounds_alike_orders_no_change(request_: str) -> None:
    assert not asks_for_change(request_)


@each(
    ("request", "is_commit"),
    [
        ("Fix add in src/app.py, run the tests and commit the fix", True),
        ("Commit my changes.", True),
        ("commit", True),
        ("Please commit a.py only.", True),
        ("Fix it. Then git commit it with a short message.", True),
        ("Make one commit per file.", True),
        ("Rename x and make a commit", True),
        ("add を直して、テストを実行してコミットしてください", True),
        ("直してコミットまでして", True),
        ("変更をコミットして", True),
        ("コミットをお願いします", True),
        ("If the tests pass, commit.", True),
        ("Can you commit this?", True),
        ("Write a commit message for it.", False),
        ("What does git commit do?", False),
        ("Explain merge and commit.", False),
        ("How do I add and commit?", False),
        ("Fix it but do not commit.", False),
        ("コミットメッセージを書いて", False),
        ("コミットしないで直して", False),
        ("Show the last commit", False),
        ("Which commit broke it? Find it with git bisect.", False),
        ("Revert commit abc1234f", False),
        ("commit abc1234f broke the build, fix it", False),
        ("Fix the pre-commit hook", False),
        ("Summarise the commits of last week", False),
        ("Add a commit hook", False),
        ("commit して", True),
        ("a.py を直して commitしてください", True),
        ("Commit はしないで直して", False),
        ("コミットはまだしないで。a.py を直して", False),
        ("コミットなしで直して", False),
        ("commit messageを考えて", False),
        ("commit を確認して", False),
        ("コミット一覧を見せて", False),
        ("コミットの方法を教えて", False),
        ("最後のコミットを見て", False),
        ("Update commit.py", False),
        ("Fix db.commit() in a.py", False),
    ],
)
def test_whether_a_commit_is_ordered(request: str, is_commit: bool) -> None:
    assert asks_for_commit(request) == is_commit


@each(
    ("request", "is_edit"),
    [
        ("Fix add in src/app.py", True),
        ("Rename greet to welcome everywhere", True),
        ("Please add a docstring to f", True),
        ("The build is broken, fix it.", True),
        ("Write tests for add.", True),
        ("Refactor a.py", True),
        ("Set x to 2 in a.py.", True),
        ("Run the tests and fix what fails.", True),
        ("clean up a.py", True),
        ("Look at a.py and remove the unused import.", True),
        ("a.py の add を直してください", True),
        ("greet を welcome にリネームして", True),
        ("テストを書いてください", True),
        ("バグの修正をお願いします", True),
        ("関数 add のバグを修正し、テストを追加してください。", True),
        ("Extract the parsing from a.py into a function", True),
        ("Extract a helper in a.py", True),
        ("Add up to three retries in a.py", True),
        ("Extract all email addresses from a.txt", False),
        ("Extract the function names from a.py", False),
        ("Please extract the dates from a.log and list them", False),
        ("Add up the amounts in a.csv", False),
        ("Write a haiku about git.", False),
        ("Translate this sentence: hello", False),
        ("Update me on the state of the project.", False),
        ("Change summary of last week, please", False),
        ("Refactor ideas for a.py?", False),
        ("Explain how to fix a.py", False),
        ("Suggest ways to simplify a.py", False),
        ("Find the bug and fix it", True),
        ("Read the spec, then implement it", True),
        ("What would you change in a.py?", False),
        ("Create a list of all functions", False),
        ("Make it shorter.", False),
        ("How do I rename x?", False),
        ("Write a regular expression for dates.", False),
        ("Convert 5 miles to km.", False),
        ("Complete the sentence: a b", False),
        ("Generate three names for the project", False),
        ("Review a.py and suggest fixes", False),
        ("Plan the move to Python 4", False),
        ("Do not change any files: what would be the fix?", False),
        ("俳句を書いて", False),
        ("この文を直して", False),
        ("a.py の直し方を教えて", False),
        ("回答を日本語に変えて", False),
        ("要約を作成して", False),
        ("変更点を説明して", False),
        ("プロジェクトの概要をまとめて", False),
        ("英語に翻訳して", False),
        ("もっと短くして", False),
        ("backup.sh の cd が失敗したら止まるようにして", True),
        ("deploy.sh の変数を引用符で囲んで", True),
        ("backup.sh に set -e を足してください", True),
        ("ポートを 9000 にしといて", True),
        ("タイムアウトを 30 秒に伸ばしてほしい", True),
        ("Dockerfile を軽くして", True),
        ("build.py を関数に分けて", True),
        ("Make backup.sh stop when cd fails", True),
        ("backup.sh should stop if cd fails", True),
        ("deploy.sh must not fail silently", True),
        ("今後は日本語で答えるようにして", False),
        ("初心者でも分かるように説明して", False),
        ("結果を JSON にして", False),
        ("フォルダごとに分けて数えて", False),
        ("You must answer in Japanese.", False),
        ("Make a.py's purpose clear to me", False),
        ("Should a.py stop if cd fails?", False),
        ("a.py must be slow, but why?", False),
    ],
)
def test_whether_an_edit_is_ordered(request: str, is_edit: bool) -> None:
    assert orders_edit(request) == is_edit
