"""A run does not end in silence with a Python module that uses what it never imports."""

from pathlib import Path

import pytest

from localllm.agent.run_stats import AgentResult
from localllm.llm.messages import UserMessage
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import call, make_agent, make_tools, scripted

pytestmark = pytest.mark.anyio
USED = call(
    "edit_file", file_path="views.py", old_string="return objects", new_string="return objects[: settings.SIZE]"
)
IMPORTED = call(
    "edit_file", file_path="views.py", old_string="objects = []", new_string="import settings\nobjects = []"
)
SAID = "views.py shows settings.SIZE objects; nothing was run."
REMARK = "Nothing in this file defines or imports settings: import it, or correct the name."


async def ended(folder: Path, *turns: dict[str, object] | str) -> tuple[AgentResult, list[str]]:
    (folder / "views.py").write_text("objects = []\n\n\ndef shown():\n    return objects\n")
    agent = make_agent(
        scripted(*turns), folder, tools=make_tools(folder, confirmer=HeadlessConfirmer(approve_all=True))
    )
    result = await agent.execute_query("Show at most settings.SIZE objects in views.py.")
    return result, [said.text for said in agent.history.messages if isinstance(said, UserMessage)][1:]


async def test_an_answer_over_a_missing_import_is_asked_about_once(tmp_path: Path) -> None:
    result, told = await ended(tmp_path, USED, SAID, SAID)
    assert told == [f"[views.py: {REMARK}]"]
    reason = "views.py uses settings, which nothing in it defines or imports"
    assert reason in [str(one) for one in result.unverified]


async def test_one_that_was_imported_since_is_not(tmp_path: Path) -> None:
    result, told = await ended(tmp_path, USED, IMPORTED, SAID)
    assert (result.answer, told) == (SAID, [])
