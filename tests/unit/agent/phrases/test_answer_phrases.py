"""What an answer says of itself, as its words tell it."""

import re

import pytest

from localllm.agent.phrases import answer_phrases
from localllm.agent.phrases.admitted_failures import marks_failing
from localllm.agent.phrases.answer_phrases import (
    admits_failing_tests,
    admits_failure,
    admits_not_run,
    finds_none,
    names_as_open,
    needs_nothing,
    says_all_pass,
    says_changed,
    says_committed,
    says_tests_pass,
    wants_input,
)
from localllm.agent.phrases.request_phrases import asks_for_change
from tests.support.each import each
from tests.support.pattern_cost import risks


@each(
    ("answer", "fails"),
    [
        ("I fixed the failing test.", False),
        ("The broken test is fixed now.", False),
        ("I repaired the two failing tests in a.py.", False),
        ("All tests pass.", False),
        ("The test in b.py still fails.", True),
        ("I fixed one failing test. Two tests still fail.", True),
        ("3 failed, 10 passed.", True),
        ("b.py のテストは失敗したままです。", True),
        ("The two test failures (test_a, test_b) are not related to this change: total skips an item.", True),
        ("The new test passes. The failure of test_b was already there before my change.", True),
        ("My tests pass; the 2 remaining failures are unrelated.", True),
        ('The new test passes. "slug with spaces" was failing already: only the first is replaced.', True),
        ("なお、`test_a` の失敗は、今回の変更前からのものです。", True),
        ("追加したテストは成功しました。既存の test_b の失敗は今回の変更とは関係ありません。", True),
        ("I fixed the pre-existing failure of test_b as well.", False),
        ("The new test passes. test_b was already failing before my change.", True),
        ("My test passes; test_b fails for an unrelated reason.", True),
        ("test_b, which was failing before, now passes.", False),
        ("以前から失敗していたテストも直しました。", False),
        ("The failure came from a missing import. All tests pass now.", False),
        ("失敗の原因は import の漏れでした。テストはすべて成功しました。", False),
        ("All 12 tests pass; no failures remain.", False),
        ("I fixed the parser. There are no remaining failures.", False),
        ("All tests pass, with no pre-existing failures.", False),
        ("All tests pass: the old failure was resolved.", False),
        ("The failures that existed before are gone. test_b no longer fails.", False),
        ("すべてのテストが成功しました。残りの失敗はありません。", False),
        ("All tests pass but two: 2 failures remain.", True),
        ("No new failures; the two remaining failures are unrelated.", True),
        ("失敗は変更と関係ありません。", True),
        ("All tests pass except test_b.", True),
        ("All tests but test_b pass.", True),
        ("10 tests pass, but test_b is left.", True),
        ("No test passes.", True),
        ("test_b 以外のテストは成功しました。", True),
        ("All tests pass except for the skipped ones.", False),
        ("Other than that, all tests pass.", False),
        ("I fixed slug; its test passes now. The truncate test still fails, which is a different bug.", True),
        ("slug を直し、slug のテストは通りました。truncate のテストはまだ失敗しています(今回の依頼の範囲外)。", True),
        ("2 tests pass; `test_count` fails, and it failed before my change as well. Shall I fix that too?", True),
        ("test_count fails as it did before (5 != 15); the other two tests pass.", True),
        ("The slug tests pass, while the test of truncate does not pass yet.", True),
        ("My two tests pass, but test_total is red.", True),
        ("All the other tests pass; test_b fails.", True),
        ("slug のテストは通りましたが、truncate のテストは通っていません。", True),
        ("テストは3件中1件(test_count)が失敗していますが、ほかのテストは通りました。", True),
        ("追加したテストは成功しました。test_b は以前と同じく落ちています。", True),
        ("The parser fails on empty input; that is handled now, and the tests pass.", False),
        ("test_count failed because count was ignored. The tests pass.", False),
        ("The test fails without the fix. With it, the tests pass.", False),
        ("The tests pass now; none fails.", False),
        ("All tests pass. test_b still fails in CI.", False),
        ("テストはすべて成功しました。test_b はまだ失敗しています。", False),
        ("test_b は失敗していましたが、直してテストは通りました。", False),
        ("テストが失敗する場合は知らせてください。テストは成功しました。", False),
    ],
)
def test_a_test_that_was_fixed_is_none_that_fails(answer: str, fails: bool) -> None:
    assert admits_failing_tests(answer) == fails


@each(
    ("answer", "fails"),
    [
        ("x を 2 にしました。他のファイルは変更していません。", False),
        ("それ以外のコードは修正しておりません。", False),
        ("ほかの部分は一切変更を加えていません。", False),
        ("a.py は変更していません。", True),
        ("他の箇所の修正に失敗しました。", True),
        ("他の箇所は修正できませんでした。", True),
        ("残りの 2 件は修正していません。", True),
    ],
)
def test_that_the_rest_was_kept_is_no_failure(answer: str, fails: bool) -> None:
    assert admits_failure(answer) == fails


def test_a_long_row_of_digits_is_no_count_of_failures() -> None:
    assert not risks(answer_phrases._STILL_FAILS)
    assert admits_failing_tests("Ran 120 tests: 100 failed.")
    assert admits_failing_tests("120 件中 10 件が失敗。")


@each(
    ("answer", "wants"),
    [
        ("Please paste the file.", True),
        ("I'm unable to open your project.", True),
        ("I cannot see the code.", True),
        ("ファイルを見せてください。", True),
        ("The file is read at the start.", False),
        ("You can read the code in a.py.", False),
    ],
)
def test_whether_it_wants_what_it_could_read(answer: str, wants: bool) -> None:
    assert wants_input(answer) == wants


@each(
    ("answer", "is_said"),
    [
        ("`words(text)` is added to src/slug.js. It has no test yet, and I ran nothing.", True),
        ("I fixed subtotal and ran nothing after that.", True),
        ("I checked nothing.", True),
        ("Nothing has been executed since.", True),
        ("I ran no tests after the edit.", True),
        ("直しました。テストは走らせていません。", True),
        ("直しましたが、まだ動かしていません。", True),
        ("I ran everything.", False),
        ("Nothing else was changed.", False),
        ("テストを走らせました。", False),
    ],
)
def test_that_nothing_was_run_is_said_in_many_words(answer: str, is_said: bool) -> None:
    assert admits_not_run(answer) == is_said


@each(
    ("answer", "is_said"),
    [
        ("`subtotal` is linear; there is nothing worth optimising. Shall I fix the bug in line 16?", True),
        ("There is nothing left to clean.", True),
        ("Nothing that needs cleaning was found.", True),
        ("There is nothing to improve.", True),
        ("I optimised it; it is worth nothing to you now.", False),
    ],
)
def test_that_nothing_is_to_be_done(answer: str, is_said: bool) -> None:
    assert needs_nothing(answer) == is_said


@each(
    ("answer", "is_said"),
    [
        ("The work tree is clean; only ignored caches are there, and I left them.", True),
        ("The caches are ignored by git, so I left those in place.", True),
        ("I left everything else.", False),
        ("I cleaned up.", False),
    ],
)
def test_that_all_was_left_as_it_is(answer: str, is_said: bool) -> None:
    assert finds_none(answer, "Clean up the repository") == is_said


def test_plain_answers_need_no_pattern_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(pattern: str, *_: object) -> None:
        raise AssertionError(pattern)

    monkeypatch.setattr(re, "search", compiled)
    monkeypatch.setattr(re, "match", compiled)
    assert not asks_for_change("Where is the retry logic?")
    assert not says_tests_pass("It is in client.py, line 40.")
    assert not wants_input("It is in client.py, line 40.")


@pytest.mark.parametrize(
    "answer",
    [
        "Done: f now returns 9.",
        "f now returns 9.",
        "I made f return 9.",
        "The function returns 9 now.",
        "f は9を返すようになりました。",
        "9 を返すようにしました。",
    ],
)
def test_a_change_may_be_claimed_in_many_words(answer: str) -> None:
    assert says_changed(answer)


@pytest.mark.parametrize(
    "answer",
    [
        *("f returns 1.", "It is in a.py:3.", "f is not used now that g is there.", "f は 1 を返します。"),
        *("I changed nothing.", "I've edited no files.", "Understood: we have not, and I wrote none of it."),
        *("I made no changes.", "I made a list of the open points.", "I made sure that a.py is there."),
        *("エラーになりました。", "原因が明らかになりました。", "README を参考にしました。"),
    ],
)
def test_what_something_does_is_no_claim(answer: str) -> None:
    assert not says_changed(answer)


@each(
    ("answer", "is_committed"),
    [
        ('I fixed `add`, ran the tests (2 passed) and committed the fix as "Fix add".', True),
        ("Everything is committed.", True),
        ("All changes have been committed.", True),
        ("Committed: Fix add", True),
        ("I made a commit.", True),
        ("Commit `a1b2c3d` holds the fix.", True),
        ("修正をコミットしました。", True),
        ("テストの後、コミットしています。", True),
        ("コミット済みです。", True),
        ("Done. The fix was committed with the message 'x'.", True),
        ("The fix is not committed.", False),
        ("I could not commit it.", False),
        ("Nothing was committed.", False),
        ("It should be committed by you.", False),
        ("Shall it be committed?", False),
        ("コミットしていません。", False),
        ("コミットできませんでした。", False),
        ("It is uncommitted.", False),
        ("committing needs your name: set user.name first.", False),
        ("I compared it with the last committed version.", False),
        ("You can commit it now.", False),
    ],
)
def test_whether_it_claims_a_commit(answer: str, is_committed: bool) -> None:
    assert says_committed(answer) == is_committed


@each(
    ("answer", "claims"),
    [
        ("Everything passes now.", True),
        ("x is 2 now. All green.", True),
        ("値を直しました。すべて通りました。", True),
        ("全部パスしました。", True),
        ("He passed everything to me.", False),
        ("All of it passed through the queue.", False),
        ("Everything is green in the picture, as the palette says.", False),
        ("すべてのファイルを通りました。", False),
        ("すべて通りましたか？", False),
    ],
)
def test_what_passes_is_tests_also_without_the_word(answer: str, claims: bool) -> None:
    assert says_tests_pass(answer) == claims


@each(
    ("answer", "is_open"),
    [
        ("I fixed the parser. What remains is `test_rate`: it needs the server.", True),
        ("Everything is green, only test_rate needs the server.", True),
        ("残る失敗は `test_rate` で、サーバーが止まっているためです。", True),
        ("I fixed test_rate.", False),
        ("test_rate was red because of a comma.", False),
        ("What remains is test_rate_limit.", False),
        ("test_rate を直しました。", False),
    ],
)
def test_a_failing_test_that_is_named_as_what_is_left(answer: str, is_open: bool) -> None:
    assert names_as_open(answer, ["test_rate"]) == is_open


@each(
    ("answer", "is_marked"),
    [
        ("- `test_tax` ✅\n- `test_rate` ❌ – the server decides what it should be.", True),
        ("The new test passes:\n```\nok 1 - test_tax\nnot ok 2 - test_rate\n```", True),
        ("| test | result |\n|---|---|\n| test_rate | FAIL |", True),
        ("4 of 5 tests pass; ❌ `test_rate` is the odd one out, it needs a server.", True),
        ("test_tax ok; `test_rate` FAILED as before.", True),
        ("4件中3件OK、NGは `test_rate` の1件です。", True),
        ("All 5 tests pass. ❌ test_rate needs a server.", False),
        ("`test_rate`: ❌ before, ✅ now", False),
        ("❌ test_rate: fixed", False),
        ("❌ test_rate_limit", False),
        ("I changed what test_rate expects.", False),
    ],
)
def test_a_failing_test_that_is_marked_as_failing(answer: str, is_marked: bool) -> None:
    assert marks_failing(answer, ["test_rate"], may_be_unnamed=False) == is_marked


@each(
    ("answer", "is_marked"),
    [
        ("| Test | Status |\n|---|---|\n| slug | ✅ |\n| two spaces | ❌ (`slugify`, not touched) |", True),
        ("テスト結果: 追加 ✅、不足 ❌", True),
        ("❌ Before: `price`\n✅ After: `price * count`\nThe tests are happy.", False),
        ("❌ 修正前: `price`\n✅ 修正後: `price * count`\nテストも通ります。", False),
        ("❌ docs/api.md", False),
    ],
)
def test_a_failing_test_that_is_marked_without_a_name_that_is_known(answer: str, is_marked: bool) -> None:
    assert marks_failing(answer, [], may_be_unnamed=True) == is_marked


@each(
    ("answer", "all_pass"),
    [
        ("6件すべて成功しました。", True),
        ("直したので5件とも通ります。", True),
        ("All 5 tests pass.", True),
        ("6件中5件が成功しました。", False),
        ("5件すべて通るようになるはずです。", False),
        ("5件とも成功しませんでした。", False),
    ],
)
def test_that_all_tests_are_said_to_pass(answer: str, all_pass: bool) -> None:
    assert says_all_pass(answer) == all_pass


@each(
    ("answer", "is_change"),
    [
        ("I've set `debug` to `false`.", True),
        ("I bumped the version.", True),
        ("The button is green now.", True),
        ("The port is now 9000.", True),
        ("debug を false に設定しました。", True),
        ("ブランチを切り替えました。", True),
        ("The set is empty.", False),
        ("It is up to date now?", False),
    ],
)
def test_that_something_is_said_to_be_changed(answer: str, is_change: bool) -> None:
    assert says_changed(answer) == is_change
