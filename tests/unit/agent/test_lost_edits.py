"""An edit that failed is not forgotten because another place of the file was edited."""

from pathlib import Path

import pytest

from localllm.agent.run_stats import AgentResult
from localllm.llm.messages import UserMessage
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import call, make_agent, make_tools, scripted

pytestmark = pytest.mark.anyio
SECONDS = call(
    "edit_file",
    file_path="cli.js",
    old_string="const args = [];\nif (args.length == 0) {",
    new_string="const args = [];\nconst seconds = args.includes('-s');\nif (args.length == 0) {",
)
PRINT = call("edit_file", file_path="cli.js", old_string="print(args);", new_string="print(seconds ? 1 : args);")
MADE = call(
    "edit_file",
    file_path="cli.js",
    old_string="const args = [];",
    new_string="const args = [];\nconst seconds = args.includes('-s');",
)
SAID = "I added the flag to cli.js; nothing was run."


class TestLostEdits:
    async def ended(self, folder: Path, *turns: dict[str, object] | str) -> tuple[AgentResult, list[str]]:
        (folder / "cli.js").write_text("const args = [];\nif (args.length === 0) {\n  stop();\n}\nprint(args);\n")
        tools = make_tools(folder, confirmer=HeadlessConfirmer(approve_all=True))
        agent = make_agent(scripted(*turns), folder, tools=tools)
        result = await agent.execute_query("Add a flag -s to cli.js.")
        return result, [said.text for said in agent.history.messages if isinstance(said, UserMessage)][1:]

    async def test_an_edit_that_failed_is_open_though_another_place_was_edited(self, tmp_path: Path) -> None:
        result, told = await self.ended(tmp_path, SECONDS, PRINT, SAID, SAID)
        assert told == [
            "[Your edit of cli.js with const seconds = args.includes('-s'); failed, and was not made since. Make it, "
            "or say that it is not needed.]"
        ]
        assert "an edit to cli.js failed and was not made since" in [str(one) for one in result.unverified]

    async def test_one_that_was_made_since_is_not(self, tmp_path: Path) -> None:
        for turns in ((SECONDS, MADE, PRINT), (SECONDS, PRINT, MADE)):
            result, told = await self.ended(tmp_path, *turns, SAID)
            assert (result.answer, told) == (SAID, [])

    async def test_one_that_was_made_with_the_names_of_the_file_is_not(self, tmp_path: Path) -> None:
        guessed = call("edit_file", file_path="cli.js", old_string="print(argv);", new_string="print(argv.length);")
        right = call("edit_file", file_path="cli.js", old_string="print(args);", new_string="print(args.length);")
        result, told = await self.ended(tmp_path, guessed, right, SAID)
        assert (result.answer, told) == (SAID, [])

    async def test_one_that_is_not_needed_is_not(self, tmp_path: Path) -> None:
        answer = f"{SAID} The other change is not needed."
        result, told = await self.ended(tmp_path, SECONDS, PRINT, answer)
        assert (result.answer, told) == (answer, [])
