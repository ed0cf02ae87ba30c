"""What a request says of tests and runs, as its words tell it."""

from localllm.agent.phrases.requested_checks import asks_for_check, asks_for_passing, asks_for_tests, knows_of_failing
from tests.support.each import each


@each(
    ("request", "is_to_pass"),
    [
        ("Fix the failing test", True),
        ("The test rounds fails. Fix it.", True),
        ("Fix the tests in api/", True),
        ("Change x until all tests pass", True),
        ("Set x to 2. The tests must pass.", True),
        ("The build is broken, repair it", True),
        ("src/a.rs does not compile. Fix that.", True),
        ("テストが失敗しています。直してください。", True),
        ("ビルドが通るように修正してください。", True),
        ("Fix the discount in prices.py", False),
        ("Set x to 3 and run the tests", False),
        ("Add a failing test for the bug in a.py", False),
        ("Rename x in a.py; ignore failing tests", False),
        ("Why does the test fail?", False),
        ("x を 3 に変更してテストを実行してください。", False),
        ("失敗するテストを追加してください。", False),
        ("pytest fails, fix it", True),
        ("test_rounds is failing. Can you fix that?", True),
        ("Please make test_rounds pass.", True),
        ("Fix test_rounds", True),
        ("test_rounds を直して", True),
        ("Fix the typo in test_rounds", False),
        ("Fix test_rounds.py", False),
        ("test_rounds.py を直して", False),
        ("Fix the tests now", True),
        ("pytestが通らないので直して", True),
        ("CIが落ちているので直してください。", True),
        ("失敗している3件のテストを直して", True),
        ("テストを全部グリーンにして", True),
        ("テストを実行し、失敗したら直してください。", True),
        ("Fix the build script", False),
        ("Fix the test helper in tests/conftest.py", False),
        ("Fix the latest release notes, they are broken", False),
        ("Change the error message shown when a check fails to 'bad'", False),
        ("接続テストに失敗したらリトライする処理を追加してください。", False),
        ("ログインに失敗した場合のテストを追加してください。", False),
        ("失敗時の処理のテストを書いてください。", False),
        ("ビルドエラー時のメッセージを変更してください。", False),
        ("テストコードのエラー表示を直してください。", False),
    ],
)
def test_whether_tests_are_to_pass(request: str, is_to_pass: bool) -> None:
    assert asks_for_passing(request) == is_to_pass


@each(
    ("request", "is_to_run"),
    [
        ("テストを実行して結果を教えて。", True),
        ("テストを実行して、結果を教えてください。", True),
        ("テストを走らせて失敗したものを教えて", True),
        ("tests/ のテストを実行して、どのテストが失敗するか教えて", True),
        ("pytest を実行して結果をまとめて", True),
        ("テストを実行して失敗する理由を説明して", True),
        ("テストの実行方法を教えて", False),
        ("テストを実行する手順を説明して", False),
        ("テストを実行して確認する方法を教えて", False),
        ("どうやってテストを実行して結果を見るのか教えて", False),
        ("テストを実行せずに、問題点を教えて", False),
        ("テストを実行している箇所を教えて", False),
        ("テストを実行しても落ちない理由を教えて", False),
    ],
)
def test_a_run_may_be_ordered_with_words_about_it(request: str, is_to_run: bool) -> None:
    assert asks_for_check(request) == is_to_run


@each(
    ("request", "is_of_tests"),
    [
        ("Skip test_rate with a decorator, the server is gone.", True),
        ("Mark test_parse as an expected failure for now.", True),
        ("test_rate はデコレータでスキップして", True),
        ("テストだけ更新して", True),
        ("Fix test_rate", False),
        ("test_rate を直して", False),
    ],
)
def test_whether_tests_are_to_be_changed(request: str, is_of_tests: bool) -> None:
    assert asks_for_tests(request) == is_of_tests


@each(
    ("request", "knows"),
    [
        ("Fix a.py; test_rate fails because the server is down, ignore it", True),
        ("Add a test, and fix nothing even when it fails", True),
        ("Leave the other failure, Mia works on it.", True),
        ("もう一つの失敗は別の人が対応中だから触らないで", True),
        ("Add a failing test for x", False),
        ("Fix the failing test", False),
        ("テストが失敗するので直して", False),
    ],
)
def test_whether_the_user_knows_of_failing_tests(request: str, knows: bool) -> None:
    assert knows_of_failing(request) == knows
