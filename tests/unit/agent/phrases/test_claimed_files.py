"""Which files an answer claims to have written or changed, and a request orders, as their words tell it."""

from pathlib import Path

from localllm.agent.phrases.claimed_files import claimed_files, is_missing, is_touched, ordered_files, removed_files
from localllm.base.directory_walk import ProjectListing
from tests.support.each import each


@each(
    ("answer", "claimed"),
    [
        (
            "I renamed f to g in src/app.py and tests/test_app.py and wrote README.md.",
            {"tests/test_app.py": "changed", "src/app.py": "changed", "README.md": "made"},
        ),
        ("Wrote README.md.", {"README.md": "made"}),
        ("I added x.txt to .gitignore.", {}),
        ("Added `b.py` to `Makefile.am`.", {}),
        ("I added new.py to the project.", {"new.py": "made"}),
        (".gitignore に x.txt を追加しました。", {}),
        ("`x.txt` を `.gitignore` に追加しました。", {}),
        ("`b.de.md` と `b.fr.md` の両方に保存しました。", {"b.de.md": "made", "b.fr.md": "made"}),
        ("Both are saved: `b.de.md` and `b.fr.md`.", {"b.de.md": "changed", "b.fr.md": "changed"}),
        ("I created `docs/a.md` and `b.py`.", {"docs/a.md": "made", "b.py": "made"}),
        ("- Created a new guide docs/x.md: usage", {"docs/x.md": "made"}),
        ("Updated `a.py` to use the helper from `util.py`.", {"a.py": "changed"}),
        ("x.py has been created.", {"x.py": "made"}),
        ("`x.py` and `y.py` were updated.", {"x.py": "changed", "y.py": "changed"}),
        ("README.md に使い方を書きました。", {"README.md": "made"}),
        ("README.md を作成しました。", {"README.md": "made"}),
        ("a.py と b.py を修正しました。", {"a.py": "changed", "b.py": "changed"}),
        ("a.py の x を 2 に変更しました。", {"a.py": "changed"}),
        ("main.pyとsrc/util.pyを修正しました。", {"main.py": "changed", "src/util.py": "changed"}),
        ("新しいファイルout.csvを作成しました。", {"out.csv": "made"}),
        ("次にconfig.tomlの値を変更しました。", {"config.toml": "changed"}),
        ("報告書2024.mdを更新し、まとめa.mdも更新しました。", {}),
        ("`test_a.py` を実行して修正を確認しました。", {}),
        ("test_a.pyを実行して修正を確認しました。", {}),
        ("I added tests to test_a.py.", {"test_a.py": "made"}),
        ("I fixed the import error in app.py by adding the function.", {}),
        ("It writes out.csv when it is run.", {}),
        ("You can create config.toml.", {}),
        ("I could not write README.md.", {}),
        ("README.md was not written.", {}),
        ("I did not create docs/x.md.", {}),
        ("main.py imports util.py.", {}),
        ("I added Node.js support.", {}),
        ("I created it with Next.js.", {}),
        ("I added a function that reads config.yaml.", {}),
        ("I added support for data.json.", {}),
        ("設定は config.toml に書いてください。", {}),
        ("README.md は作成していません。", {}),
        ("I changed it; see https://example.org/x.html.", {}),
        ("I updated the value of self.items.append(x).", {}),
        ("I wrote a script that creates out.csv.", {}),
        ("Should I create README.md?", {}),
        ("I created out.txt, looked at it and deleted it.", {}),
        ("a.py を作成しますか。", {}),
        ("I created a script to write out.txt.", {}),
        ("I added a function to save report.json.", {}),
        ("I added data.json support.", {}),
        ("out.csv is written at the end of each run.", {}),
        ("a.txt is created.", {"a.txt": "made"}),
        ("README.md is now updated.", {"README.md": "changed"}),
        ("out.csv を書き出す関数を追加しました。", {}),
        ("config.json を読み込む処理を修正しました。", {}),
        ("`parse.py` を修正し、`out.txt` を生成するようにしました。", {"parse.py": "changed"}),
        ("config.json の値を変更する関数を実装しました。", {}),
        ("I renamed the class and its uses.", {}),
        ("I changed app.run() in the loop.", {}),
        (
            "Renamed `calc_price` to `gross_price` everywhere (shop/prices.py, cart.py and README.md). Tests pass.",
            {"shop/prices.py": "changed", "cart.py": "changed", "README.md": "changed"},
        ),
        (
            "I updated all callers (`a.py`, `b.py`), and the tests pass.",
            {"a.py": "changed", "b.py": "changed"},
        ),
        ("calc_price was renamed everywhere: a.py and README.md.", {"a.py": "changed", "README.md": "changed"}),
        (
            "I changed the following files:\n\n- shop/prices.py\n- `README.md`: the example\n- new.py (new)\n\nDone.",
            {"shop/prices.py": "changed", "README.md": "changed", "new.py": "made"},
        ),
        ("**Files changed:**\n1. a.py\n2. **b.py** – the call", {"a.py": "changed", "b.py": "changed"}),
        ("## Changes\n- a.py: f is g now\n  - and its callers\n- b.py", {"a.py": "changed", "b.py": "changed"}),
        (
            "すべての箇所（prices.py、cart.py、README.md）で calc_price を gross_price に改名しました。",
            {"prices.py": "changed", "cart.py": "changed", "README.md": "changed"},
        ),
        ("以下のファイルを修正しました：\n- a.py\n- docs/b.md：例", {"a.py": "changed", "docs/b.md": "changed"}),
        ("変更したファイル:\n・a.py\n・b.py（変更なし）", {"a.py": "changed"}),
        ("全ファイル（a.py と b.py）を更新しました。", {"a.py": "changed", "b.py": "changed"}),
        ("Migration 002 was written and applied to shop.db.", {"shop.db": "changed"}),
        ("I applied the fix to `app.py`.", {"app.py": "changed"}),
        ("002.sql を shop.db に適用しました。", {"shop.db": "changed"}),
        ("deploy.sh now quotes its variables and stops at the first error.", {"deploy.sh": "changed"}),
        ("Done: the `Dockerfile` is slim, and `setup.py` now also declares flask.", {"setup.py": "changed"}),
        ("deploy.sh は変数を引用符で囲みました。", {"deploy.sh": "changed"}),
        ("a.py と b.py に型ヒントを付けました。", {"a.py": "changed", "b.py": "changed"}),
        ("a.py に型ヒントを付け、README.md も更新しました。", {"a.py": "changed", "README.md": "changed"}),
        ("README.md にも一覧を載せました。", {"README.md": "changed"}),
        ("設定は conf.json に入れて使います。", {}),
        ("a.py に付けた型は正しいです。a.py には型が付いています。", {}),
        ("README.md にはすでに載せてあります。", {}),
        ("app.py now prints 5.", {}),
        ("With that, app.py would now use it.", {}),
        ("If you set x, app.py now uses it.", {}),
        ("`a.py` now uses the value from conf.json through `f`.", {}),
        ("app.py は 5 を表示するようになりました。", {}),
        ("app.py は lib.py を使うので、lib.py を修正しました。", {"lib.py": "changed"}),
        ("It is applied to shop.db at the start; it can be applied to b.db.", {}),
        ("002.sql は shop.db に適用されます。", {}),
        ("Modified files: `a.py` and `b.py`.", {"a.py": "changed", "b.py": "changed"}),
        ("変更したファイル: a.py、b.py", {"a.py": "changed", "b.py": "changed"}),
        ("**Changes made**\n1. `a.py` – f is g\n\n**How to use**\n- config.toml: set x", {"a.py": "changed"}),
        ("## Changes\n- a.py\n- Unchanged:\n  - b.py", {"a.py": "changed"}),
        ("変更内容：\n- a.py\n\n**使い方**\n- config.toml: x を設定", {"a.py": "changed"}),
        ("I renamed it in the following files:\n- a.py", {"a.py": "changed"}),
        ("I renamed f everywhere it is used:\n- a.py", {"a.py": "changed"}),
        ("I renamed f; it is imported in these files: b.py, c.py.", {}),
        ("I changed it, which affects all files: b.py, c.py.", {}),
        ("I created 3 files and they import:\n- a.py", {}),
        ("f を g に改名しました。次のファイルで使われています：\n- b.py", {}),
        ("I read the following files:\n- a.py\n- b.py", {}),
        ("The following files should be changed:\n- a.py", {}),
        ("I changed the following files:\n- a.py\n\nThese use it:\n- b.py", {"a.py": "changed"}),
        ("Changed files:\n- a.py\n- b.py: unchanged", {"a.py": "changed"}),
        ("I updated the helper that is used in both files (a.py, b.py).", {}),
        ("I fixed the bug (see README.md).", {}),
        ("I updated CHANGES.md. Files changed in the last commit:\n- a.py\n- b.py", {"CHANGES.md": "changed"}),
        ("The following files were changed by that:\n- a.py", {}),
        ("以下のファイルを変更したコミットです：\n- a.py", {}),
        ("It was not renamed everywhere (README.md, a.py).", {}),
        ("次のファイルで使われています：\n- a.py", {}),
        ("全ファイル（a.py と b.py）を確認しました。", {}),
        ("以下のファイルを変更する必要があります：\n- a.py", {}),
        ("I changed nothing in the following files:\n- a.py", {}),
        ("None of these files were changed:\n- a.py", {}),
        ("I updated nothing in a.py.", {}),
        ("I updated README.md and left these files alone:\n- a.py", {"README.md": "changed"}),
        ("I created these files and nothing else:\n- a.py", {"a.py": "changed"}),
    ],
)
def test_what_an_answer_claims(answer: str, claimed: dict[str, str]) -> None:
    assert {one.path: one.how for one in claimed_files(answer)} == claimed


@each(
    ("request", "ordered"),
    [
        ("Fix add, rename greet to welcome everywhere, and write a README.md", ["README.md"]),
        ("Create memo.py and b.py.", ["memo.py", "b.py"]),
        ("Document the functions in docs/api.md", ["docs/api.md"]),
        ("Summarize the project into out.md", ["out.md"]),
        ("メモのプログラム memo.py を作成してください。", ["memo.py"]),
        ("README.md に使い方を書いてください", ["README.md"]),
        ("結果をresult.csvに保存してください", ["result.csv"]),
        ("memo.pyという名前のファイルを作って", ["memo.py"]),
        ("a.pyを直して", []),
        ("Write a haiku to notes.txt.", ["notes.txt"]),
        ("please create a new file x.py", ["x.py"]),
        ("Create a.py, which prints x", ["a.py"]),
        ("Write tests for a.py.", []),
        ("Fix a.py.", []),
        ("Write README.md if there is none.", []),
        ("Create a class like in base.py", []),
        ("Explain what b.py writes to out.txt", []),
        ("Write a script to save the results to out.csv", []),
        ("Write a function in a.py that exports the data to out.csv", []),
        ("The program should save its state to state.json", []),
        ("結果を out.csv に保存する関数を書いて", []),
        ("out.csv を書き出すスクリプトを作成してください", []),
        ("Write a script and save it as count.py", ["count.py"]),
        ("a.py を直して", []),
        ("Add a function to a.py", []),
        ("Create either a.py or b.py", []),
        ("a.py の関数を一覧して", []),
        ("Put the findings of a.py and b.py into findings.md.", ["findings.md"]),
        ("Save it as chart.svg", ["chart.svg"]),
        ("Where does it save the rows to out.csv?", []),
        ("結果を report.md に保存しているが遅い。", []),
    ],
)
def test_what_a_request_orders(request: str, ordered: list[str]) -> None:
    assert ordered_files(request) == ordered


@each(
    ("answer", "removed"),
    [
        ("main.py is deleted and geo.py is now geometry.py.", ["main.py"]),
        ("I deleted `old.py` and `older.py`.", ["old.py", "older.py"]),
        ("I removed the unused file lib/a.py, and ran the tests.", ["lib/a.py"]),
        ("main.py を削除し、geo.py の名前を変えました。", ["main.py"]),
        ("`a.py` と `b.py` は削除しました。", ["a.py", "b.py"]),
        ("old.py を消しました。", ["old.py"]),
        ("I removed f from a.py.", []),
        ("I removed the a.py import.", []),
        ("I removed a.py from the list.", []),
        ("I removed `a.py` and `b.py` from the Makefile.", []),
        ("I removed main.py, app.py from SOURCES.", []),
        ("I removed a.py and its import from main.py.", []),
        ("In the list I deleted a.py.", []),
        ("a.py was removed as an entry point.", []),
        ("`.gitignore` から a.py を削除しました。", []),
        ("README.md の `a.py` を削除しました。", []),
        ("If a.py is deleted, it fails.", []),
        ("a.py was not deleted.", []),
        ("a.py の f を削除しました。", []),
        ("f を a.py から削除しました。", []),
        ("a.py は削除していません。", []),
        ("a.py を削除してください。", []),
        ("a.py を削除しますか？", []),
    ],
)
def test_what_an_answer_calls_deleted(answer: str, removed: list[str]) -> None:
    assert removed_files(answer) == removed


def test_a_file_that_is_somewhere_in_the_project_is_not_missing(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").touch()
    assert not is_missing(ProjectListing(tmp_path), "docs/a.md")
    assert not is_missing(ProjectListing(tmp_path), "a.md")
    assert is_missing(ProjectListing(tmp_path), "docs/b.md")


def test_a_file_is_known_behind_other_words_without_blanks(tmp_path: Path) -> None:
    (tmp_path / "要約.md").touch()
    (tmp_path / "b.md").touch()
    [ordered] = ordered_files("報告.md の要点を要約.md にまとめて")
    assert not is_missing(ProjectListing(tmp_path), ordered)
    assert is_touched(["要約.md"], ordered)
    [other] = ordered_files("報告.md の要点を概要.md にまとめて")
    assert is_missing(ProjectListing(tmp_path), other)
    assert not is_touched(["要約.md"], other)
    assert is_missing(ProjectListing(tmp_path), "売上要約.md")
    assert is_missing(ProjectListing(tmp_path), "ab.md")


def test_a_changed_file_is_known_by_its_name() -> None:
    assert is_touched(["src/a.py"], "a.py")
    assert not is_touched(["src/a.py"], "b.py")
