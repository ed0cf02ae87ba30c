"""What changes a file in a run that is to change nothing is not passed over."""

from pathlib import Path

import pytest

from localllm.agent.run_stats import AgentResult
from localllm.llm.messages import UserMessage
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import call, make_agent, make_tools, scripted

pytestmark = pytest.mark.anyio

EDIT = call("edit_file", file_path="a.py", old_string="x = 1", new_string="x = 2")
BACK = call("edit_file", file_path="a.py", old_string="x = 2", new_string="x = 1")
ANSWER = "x should be 2."
TOLD = "[The user wants nothing changed, and a.py changed. Put it back as it was, and answer in words.]"


async def ended(folder: Path, request: str, *turns: dict[str, object] | str) -> tuple[AgentResult, list[str]]:
    (folder / "a.py").write_text("x = 1\n")
    tools = make_tools(folder, confirmer=HeadlessConfirmer(approve_all=True))
    agent = make_agent(scripted(*turns), folder, tools=tools)
    result = await agent.execute_query(request)
    return result, [said.text for said in agent.history.messages if isinstance(said, UserMessage)][1:]


@pytest.mark.parametrize(
    "request_",
    [
        "Review a.py. Don't change anything, just list the problems.",
        "Check a.py without changing any files",
        "a.py をレビューしてください。変更はしないでください。",
    ],
)
async def test_a_change_against_the_request_is_told_once_and_is_not_finished(tmp_path: Path, request_: str) -> None:
    result, told = await ended(tmp_path, request_, EDIT, ANSWER, ANSWER)
    assert told == [TOLD]
    assert result.status == "incomplete"
    assert str(result.unverified[0]) == "a.py changed, though the request forbids changes"


async def test_one_that_was_put_back_is_finished(tmp_path: Path) -> None:
    result, told = await ended(tmp_path, "Review a.py, no changes please.", EDIT, ANSWER, BACK, ANSWER)
    assert (result.status, told, (tmp_path / "a.py").read_text()) == ("done", [TOLD], "x = 1\n")


@pytest.mark.parametrize(
    "request_",
    [
        "Set x to 2 in a.py. Don't change anything else.",
        "Set x to 2 in a.py; no changes to the tests.",
        "x を 2 に変更して。他の変更はしないで。",
    ],
)
async def test_a_limit_forbids_no_ordered_change(tmp_path: Path, request_: str) -> None:
    result, told = await ended(tmp_path, request_, EDIT, "x is 2 now; nothing was run.")
    assert (result.status, told) == ("done", [])


async def test_a_file_that_was_ordered_may_be_written(tmp_path: Path) -> None:
    write = call("write_file", file_path="review.md", content="x should be 2.\n")
    request = "Review a.py, but don't change any code. Write your findings to review.md."
    result, told = await ended(tmp_path, request, write, "The review is in review.md.")
    assert (result.status, told) == ("done", [])
