"""A test that was asked for, or is claimed, is looked for at the end of the run."""

from pathlib import Path
from typing import Any

import pytest

from localllm.agent.checks.claimed_tests import has_newer
from localllm.agent.checks.claimed_tests import test_wanted as wanted
from localllm.agent.run_stats import AgentResult
from localllm.base.directory_walk import ProjectListing
from localllm.llm.messages import UserMessage
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import call, make_agent, make_tools, scripted
from tests.support.each import each

pytestmark = pytest.mark.anyio


@each(
    ("request_", "is_asked"),
    [
        ("Add a flag --seconds to the CLI, with a test and a line in the README.", True),
        ("Fix add and write a regression test.", True),
        ("Implement retries, with unit tests", True),
        ("Add `remove` to the store and tests for it.", True),
        ("Add a test for parse().", True),
        ("Fix the crash; also add a test case that covers it", True),
        ("Write tests for a.py", True),
        ("--seconds を追加して。テストも書いて。", True),
        ("add を直して、テストを追加してください", True),
        ("テスト付きで実装して", True),
        ("parse にテストケースも足してください。", True),
        ("Fix the failing test.", False),
        ("Add a flag and run the tests.", False),
        ("Add a flag and test it.", False),
        ("Add a flag and make sure the tests pass.", False),
        ("Add a test mode to the CLI.", False),
        ("Add a flag without tests.", False),
        ("Add a flag. No tests needed.", False),
        ("Write the rows to test data", False),
        ("Add a test server to compose.yaml", False),
        ("Rename x to y in tests/test_a.py", False),
        ("Fix the bug with the tests in CI", False),
        ("Add a CI job with the tests", False),
        ("Add logging, and the tests should still pass", False),
        ("add を直して、テストを実行して", False),
        ("add を直して。テストは不要。", False),
        ("テストが通るように直してください", False),
    ],
)
def test_what_asks_for_a_test(request_: str, is_asked: bool) -> None:
    assert (wanted(request_, "Done.") == "asked") == is_asked


@each(
    ("answer", "is_claimed"),
    [
        ("I added the flag, fixed the bug, and updated the README; a test was added.", True),
        ("I added `remove` with a test in tests/store.rs.", True),
        ("Added the flag and two unit tests.", True),
        ("I wrote a regression test for it.", True),
        ("Tests for remove were added.", True),
        ("I wrote a test that covers both cases.", True),
        ("フラグを追加し、テストも追加しました。", True),
        ("remove を実装しました。テストケースを 2 件追加しています。", True),
        ("テストコードを作成しました。", True),
        ("I added the flag and the tests pass.", False),
        ("I added error handling. All existing tests pass.", False),
        ("I did not add a test.", False),
        ("You should add a test for it.", False),
        ("I added a test mode.", False),
        ("I wrote a typing test game.", False),
        ("Added a section about tests.", False),
        ("I wrote a load test in locustfile.py.", False),
        ("I added a smoke test to `deploy.sh`.", False),
        ("I added a test to tests/test_a.py.", True),
        ("I fixed what the test found.", False),
        ("If you want, a test can be added.", False),
        ("I added the flag and ran the tests.", False),
        ("フラグを追加し、テストを実行しました。", False),
        ("テストは追加していません。", False),
        ("フラグを追加しました。テストはすべて成功しました。", False),
        ("必要ならテストを追加してください。", False),
        ("次に、テストを作成します。", False),
        ("テストが通るように関数を追加しました。", False),
        ("テストも 2 件追加されました。", True),
        ("I wrote the function that the test expects.", False),
        ("I wrote the function the test expects.", False),
        ("テストを 2 件追加しました。", True),
    ],
)
def test_what_claims_a_test(answer: str, is_claimed: bool) -> None:
    assert (wanted("Set x to 2.", answer) == "claimed") == is_claimed


EDIT = call("edit_file", file_path="a.py", old_string="x = 1", new_string="x = 2")
RUST = call(
    "edit_file", file_path="a.rs", old_string="fn f() {}", new_string="fn f() {}\n#[test]\nfn g() {\n    f();\n}"
)
DOCTEST = call("edit_file", file_path="a.py", old_string="x = 1", new_string='"""Hold x.\n\n>>> x\n2\n"""\nx = 2')
NEW = call("write_file", file_path="test_a.py", content="import a\n\n\ndef test_x():\n    assert a.x == 2\n")
ASKED = "[A new test is asked for, and no file with tests was changed. Write it, or say that there is none.]"
CLAIMED = "[A new test is claimed, and no file with tests was changed. Write it, or say that there is none.]"
REQUEST = "Set x to 2 in a.py, with a test."
SAID = "x is 2 now; nothing was run."


async def ended(root: Path, request: str, *turns: dict[str, Any] | str) -> tuple[AgentResult, list[str]]:
    (root / "a.py").write_text("x = 1\n")
    (root / "a.rs").write_text("fn f() {}\n")
    (root / "test_b.py").write_text("def test_b():\n    pass\n")
    tools = make_tools(root, confirmer=HeadlessConfirmer(approve_all=True))
    agent = make_agent(scripted(*turns), root, tools=tools)
    result = await agent.execute_query(request)
    return result, [said.text for said in agent.history.messages if isinstance(said, UserMessage)][1:]


@pytest.mark.parametrize(
    ("request_", "answer", "remark"),
    [
        (REQUEST, SAID, ASKED),
        (REQUEST, f"{SAID} A test was added.", CLAIMED),
        ("Set x to 2.", f"{SAID} I added a test for it.", CLAIMED),
        ("x を 2 にして、テストも書いて。", "x を 2 にしました。未検証です。", ASKED),
        ("x を 2 に変更してください。", "x を 2 に変更し、テストも追加しました。未検証です。", CLAIMED),
    ],
)
async def test_a_test_that_was_not_written_is_told_once(
    tmp_path: Path, request_: str, answer: str, remark: str
) -> None:
    result, told = await ended(tmp_path, request_, EDIT, answer, answer)
    assert told == [remark]
    assert result.status == "done"
    assert any("test" in str(one) and "written" in str(one) for one in result.unverified)


@pytest.mark.parametrize(
    ("step", "answer"),
    [
        (NEW, f"{SAID} A test was added."),
        (RUST, f"{SAID} A test was added."),
        (DOCTEST, f"{SAID} A test was added."),
        (EDIT, f"{SAID} I did not write a test."),
        (EDIT, f"{SAID} There is no test yet: the project has no place for it."),
        (EDIT, "x を 2 にしました。未検証です。テストは追加していません。"),
        (EDIT, "x を 2 にしました。未検証です。既存のテストで確認済みのため、テストの追加は不要です。"),
    ],
)
async def test_one_that_was_written_or_is_said_to_be_missing_is_not(
    tmp_path: Path, step: dict[str, Any], answer: str
) -> None:
    result, told = await ended(tmp_path, REQUEST, EDIT if step is not DOCTEST else step, step, answer)
    assert (result.answer, told) == (answer, [])


async def test_one_that_an_earlier_turn_wrote_counts(tmp_path: Path) -> None:
    result, told = await ended(tmp_path, "Write a test for x in test_a.py", NEW, SAID)
    assert (result.answer, told) == (SAID, [])


def test_a_link_to_nowhere_is_no_new_test(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").symlink_to("missing")
    assert not has_newer(ProjectListing(tmp_path), 0)
    (tmp_path / "test_b.py").touch()
    assert has_newer(ProjectListing(tmp_path), 0)
