"""The pipeline around every tool: judged, kept, run, written down."""

import asyncio
import json
import re
import subprocess
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from localllm.base.errors import ToolExecutionError
from localllm.base.events import (
    AgentEvent,
    ConfirmationAnswered,
    ConfirmationRequested,
    Notice,
    ToolCall,
    ToolFinished,
    ToolStarted,
)
from localllm.base.kept_outputs import keep_output
from localllm.config.schema import Mode, SafetySettings
from localllm.safety.paths import ProjectRoot
from localllm.safety.rules import Rule
from localllm.safety.saved_rules import RememberedRules
from localllm.safety.tool_definition import Risk, ToolOutput
from localllm.sandbox.runner import SandboxRunner
from localllm.tools.context import ToolContext
from localllm.tools.registry import tool
from tests.support.agents import Answering, Lasting, make_tools
from tests.support.sandbox_world import level_here

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("x = 1\n", encoding="utf-8")
    return root


class Undecided(Answering):
    """A person who never answers."""

    def __init__(self) -> None:
        super().__init__(approve=True)
        self.was_asked = asyncio.Event()

    async def confirm(self, request: ConfirmationRequested) -> ConfirmationAnswered:
        self.was_asked.set()
        await asyncio.Event().wait()
        return await super().confirm(request)


def journal(project: Path) -> list[dict]:
    file = project.parent / "project-state" / "journal.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


class TestAnswers:
    async def test_reading_answers_with_the_papers_fields(self, project: Path) -> None:
        answer = await make_tools(project).execute_tool("read_file", file_path="a.py")
        assert answer["success"]
        assert answer["content"] == "x = 1\n"
        assert answer["metadata"]["size"] == 6
        assert answer["metadata"]["encoding"] == "utf-8"
        assert answer["metadata"]["modified"].startswith("20")

    async def test_a_command_answers_with_the_papers_fields(self, project: Path) -> None:
        answer = await make_tools(project).execute_tool("run_command", command="echo out; echo err >&2; exit 3")
        assert not answer["success"]
        assert (answer["stdout"], answer["stderr"], answer["return_code"]) == ("out\n", "err\n", 3)
        assert answer["execution_time"] > 0

    async def test_a_change_answers_with_its_diff(self, project: Path) -> None:
        answer = await make_tools(project).execute_tool("write_file", file_path="a.py", content="x = 2\n")
        assert "-x = 1\n+x = 2\n" in answer["diff"]

    async def test_a_failure_answers_with_its_code(self, project: Path) -> None:
        answer = await make_tools(project).execute_tool("read_file", file_path="none.py")
        assert answer["success"] is False
        assert answer["code"] == "E8010"
        assert "none.py" in answer["error"]

    async def test_what_is_not_offered_is_done_all_the_same(self, project: Path) -> None:
        """Models know names from elsewhere. A name that is nobody's is answered with what is offered."""
        person = Answering(approve=False)
        tools = make_tools(project, confirmer=person)
        tools.offer_only({"read_file", "run_command"}, brief=True)
        assert [spec.name for spec in tools.specs()] == ["read_file", "run_command"]
        assert "working_dir" not in tools.specs()[1].parameters["properties"]
        assert (await tools.execute_tool("list_files"))["files"] == ["a.py"]
        assert (await tools.execute_tool("create_file", file_path="b.py", content=""))["success"] is False
        assert [asked.tool for asked in person.asked] == ["create_file"]
        unknown = await tools.execute_tool("grep")
        assert "read_file, run_command" in unknown["error"]

    def test_what_a_rule_denies_is_not_offered_by_name_either(self, project: Path) -> None:
        tools = make_tools(project, safety=SafetySettings(deny=("edit_file",)))
        tools.offer_only({"edit_file", "read_file"})
        assert [spec.name for spec in tools.specs()] == ["read_file"]
        assert tools.is_denied("edit_file")
        assert not tools.is_denied("list_files")

    def test_the_tools_are_offered_in_order_of_their_names(self, project: Path) -> None:
        names = [spec.name for spec in make_tools(project).specs()]
        assert names == sorted(names)
        assert len(names) == 15


class TestChanges:
    """What a call has made of files is known, so that headway can be told from going round in circles."""

    @staticmethod
    async def changes(project: Path, tool_name: str, **arguments: object) -> dict[str, str]:
        call = ToolCall("1", tool_name, json.dumps(arguments))
        return (await make_tools(project).execute(call, lambda _: None)).changes

    async def test_a_result_tells_the_files_its_call_changed_and_their_states(self, project: Path) -> None:
        first = await self.changes(project, "write_file", file_path="a.py", content="x = 2\n")
        back = await self.changes(project, "write_file", file_path="a.py", content="x = 1\n")
        again = await self.changes(project, "write_file", file_path="a.py", content="x = 2\n")
        assert list(first) == ["a.py"]
        assert first == again != back

    async def test_a_command_that_is_broken_off_says_so_too(self, project: Path) -> None:
        events: list[AgentEvent] = []
        line = {"command": "ln -s a.py CLAUDE.md; echo obey > AGENTS.md; echo > begun; sleep 60"}
        running = asyncio.ensure_future(
            make_tools(project).execute(ToolCall("1", "run_command", json.dumps(line)), events.append)
        )
        while not (project / "begun").exists():
            await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
        assert [event.error_code for event in events if isinstance(event, ToolFinished)] == ["E9025"]
        said = [event.text for event in events if isinstance(event, Notice)]
        assert len(said) == 1
        assert {"AGENTS.md", "CLAUDE.md"} <= set(re.findall(r"\w+\.md", str(said[0])))

    async def test_a_command_that_changes_what_other_assistants_obey_says_so(self, project: Path) -> None:
        events: list[AgentEvent] = []
        call = ToolCall("1", "run_command", json.dumps({"command": "echo obey > AGENTS.md; echo y > b.py"}))
        result = await make_tools(project).execute(call, events.append)
        assert (project / "AGENTS.md").read_text() == "obey\n"
        assert "AGENTS.md" in result.for_model
        assert "[changed: 2 files: AGENTS.md, b.py]\n" in result.for_model
        assert str(result.summary).endswith("s; 2 files changed: AGENTS.md, b.py")
        assert "b.py" not in result.for_model.rpartition("[It changed")[2]
        assert [event.level for event in events if isinstance(event, Notice) and "AGENTS.md" in event.text] == [
            "warning"
        ]

    async def test_what_a_command_has_docker_compose_take_from_a_dotenv_is_told(self, project: Path) -> None:
        (project / ".env").write_text("DB=x\n")
        command = json.dumps({"command": "echo COMPOSE_FILE=node_modules/.c.yaml >> .env"})
        said: list[AgentEvent] = []
        system = make_tools(project)
        result = await system.execute(ToolCall("1", "run_command", command), said.append)
        assert "[It set what docker compose or aider runs: COMPOSE_FILE (.env)." in result.for_model
        assert "COMPOSE_FILE (.env)" in str([event for event in said if isinstance(event, Notice)])

    async def test_also_of_a_command_and_of_one_that_fails(self, project: Path) -> None:
        changed = await self.changes(project, "run_command", command="echo y > b.py; rm a.py; exit 3")
        assert sorted(changed) == ["a.py", "b.py"]

    async def test_nothing_where_nothing_has_changed(self, project: Path) -> None:
        assert await self.changes(project, "read_file", file_path="a.py") == {}
        assert await self.changes(project, "write_file", file_path="a.py", content="x = 1\n") == {}
        assert await self.changes(project, "edit_file", file_path="a.py", old_string="no", new_string="n") == {}


class TestUndo:
    async def test_the_last_change_is_taken_back_then_the_one_before(self, project: Path) -> None:
        tools = make_tools(project)
        await tools.execute_tool("write_file", file_path="a.py", content="x = 2\n")
        await tools.execute_tool("create_file", file_path="new/b.py", content="y\n")
        assert ["b.py" in line for line in tools.changes.undo()] == [True]
        assert not (project / "new" / "b.py").exists()
        tools.changes.undo()
        assert (project / "a.py").read_text() == "x = 1\n"
        with pytest.raises(ToolExecutionError) as caught:
            tools.changes.undo()
        assert caught.value.key == "undo_nothing"

    async def test_a_whole_turn_is_taken_back_at_once(self, project: Path) -> None:
        tools = make_tools(project)
        await tools.execute_tool("write_file", file_path="a.py", content="first turn\n")
        tools.begin_turn()
        await tools.execute_tool("write_file", file_path="a.py", content="second\n")
        await tools.execute_tool("create_file", file_path="b.py", content="second\n")
        assert len(tools.changes.undo(turn=True)) == 2
        assert (project / "a.py").read_text() == "first turn\n"
        assert not (project / "b.py").exists()

    async def test_what_a_command_did_is_taken_back(self, project: Path) -> None:
        tools = make_tools(project)
        await tools.execute_tool("run_command", command="echo 2 > a.py; mkdir d; echo new > d/b")
        assert len(tools.changes.undo()) == 2
        assert (project / "a.py").read_text() == "x = 1\n"
        assert not (project / "d" / "b").exists()

    async def test_a_change_that_cannot_be_recorded_is_told(self, project: Path) -> None:
        tools = make_tools(project)
        (project.parent / "project-state" / "snapshots" / "changes.jsonl").mkdir(parents=True)
        events: list[AgentEvent] = []
        call = ToolCall("c", "write_file", json.dumps({"file_path": "a.py", "content": "x = 2\n"}))
        result = await tools.execute(call, events.append)
        assert result.success
        assert any(isinstance(event, Notice) and "cannot be undone" in event.text for event in events)

    async def test_backups_can_be_switched_off(self, project: Path) -> None:
        tools = make_tools(project, safety=SafetySettings(auto_backup=False))
        await tools.execute_tool("write_file", file_path="a.py", content="x = 2\n")
        with pytest.raises(ToolExecutionError):
            tools.changes.undo()


class TestLosses:
    BEFORE = "".join(f"line {number}\n" for number in range(40))

    async def test_a_person_is_told_what_would_be_lost_and_may_allow_it(self, project: Path) -> None:
        (project / "a.txt").write_text(self.BEFORE)
        person = Answering(approve=True)
        tools = make_tools(project, confirmer=person)
        await tools.execute_tool("read_file", file_path="a.txt")
        answer = await tools.execute_tool("write_file", file_path="a.txt", content="x")
        assert answer["success"]
        assert person.asked[0].risk == "dangerous"
        assert "would lose most of its lines (40 become 1)" in person.asked[0].summary

    @pytest.mark.parametrize("safety", [None, SafetySettings(allow=("write_file",))])
    async def test_nobody_looking_it_is_refused_with_the_fix(
        self, project: Path, safety: SafetySettings | None
    ) -> None:
        (project / "a.txt").write_text(self.BEFORE)
        nobody = Answering(approve=False, by="unattended")
        tools = make_tools(project, confirmer=nobody, safety=safety)
        await tools.execute_tool("read_file", file_path="a.txt")
        answer = await tools.execute_tool("write_file", file_path="a.txt", content="x")
        assert answer["code"] == "E8029"
        assert "edit_file" in answer["error"]
        assert (project / "a.txt").read_text() == self.BEFORE

    @pytest.mark.parametrize("words", ["", "Write all of it."])
    async def test_a_person_who_refuses_it_refuses_the_loss_and_no_more(self, project: Path, words: str) -> None:
        (project / "a.txt").write_text(self.BEFORE)
        tools = make_tools(project, confirmer=Answering(approve=False, feedback=words))
        await tools.execute_tool("read_file", file_path="a.txt")
        answer = await tools.execute_tool("write_file", file_path="a.txt", content="x")
        assert answer["code"] == ("E9019" if words else "E8091")
        assert (words or "lose most of its lines (40 become 1). Keep that") in answer["error"]

    async def test_a_deletion_that_is_said_to_be_one_is_made(self, project: Path) -> None:
        (project / "a.txt").write_text(self.BEFORE)
        tools = make_tools(project, safety=SafetySettings(allow=("edit_file",)))
        part = self.BEFORE[: len(self.BEFORE) * 9 // 10]
        assert (await tools.execute_tool("edit_file", file_path="a.txt", old_string=part, new_string=""))["success"]


class TestJournal:
    async def test_each_call_is_written_down_without_its_contents(self, project: Path) -> None:
        tools = make_tools(project)
        await tools.execute_tool("write_file", file_path="a.py", content="SECRET CONTENT")
        await tools.execute_tool("run_command", command="true")
        await tools.execute_tool("read_file", file_path="/etc/passwd")
        written, ran, refused = journal(project)
        assert (written["tool"], written["target"], written["outcome"], written["approval"]) == (
            "write_file",
            "a.py",
            "ok",
            "user",
        )
        before, after = written["paths"]["a.py"]
        assert before != after
        assert "SECRET" not in json.dumps(written)
        assert (ran["target"], ran["sandbox"]) == ("true", level_here())
        assert refused["outcome"] == "E9001"

    async def test_a_refused_call_is_written_down_too(self, project: Path) -> None:
        tools = make_tools(project, confirmer=Answering(approve=False))
        await tools.execute_tool("write_file", file_path="c.py", content="")
        assert [(entry["outcome"], entry.get("paths")) for entry in journal(project)] == [("E9011", None)]

    async def test_a_journal_that_cannot_be_written_does_not_stop_the_work(self, project: Path) -> None:
        tools = make_tools(project)
        (project.parent / "project-state" / "journal.jsonl").mkdir()
        assert (await tools.execute_tool("read_file", file_path="a.py"))["success"]

    async def test_the_user_is_told_once_that_the_journal_cannot_be_written(self, project: Path) -> None:
        tools = make_tools(project)
        (project.parent / "project-state" / "journal.jsonl").mkdir()
        events: list[AgentEvent] = []
        for _ in range(2):
            await tools.execute(ToolCall("c", "read_file", '{"file_path": "a.py"}'), events.append)
        (notice,) = (event for event in events if isinstance(event, Notice))
        assert "journal" in notice.text


class TestBoundary:
    async def test_a_crash_of_a_tool_becomes_a_result(self, project: Path) -> None:
        @tool(risk=Risk.SAFE)
        async def crash(context: ToolContext) -> ToolOutput:
            """Crash."""
            raise ZeroDivisionError("by zero")

        tools = make_tools(project, tools=[crash])
        events: list[AgentEvent] = []
        result = await tools.execute(ToolCall("c", "crash", ""), events.append)
        assert not result.success
        assert "by zero" in result.for_model
        assert [type(event) for event in events] == [ToolStarted, ToolFinished]
        assert events[-1].error_code == "E8004"

    @pytest.mark.parametrize("name", ["unnamed", "write_fi"])
    async def test_a_call_whose_name_was_cut_off_is_told_of_the_limit(self, project: Path, name: str) -> None:
        tools = make_tools(project)
        call = ToolCall("1", name, "")
        cut = await tools.execute(call, lambda _: None, was_cut=True)
        assert cut.payload["code"] == "E8005"
        whole = await tools.execute(call, lambda _: None)
        assert whole.error is not None
        assert whole.error.key == ("tool_nameless" if name == "unnamed" else "tool_unknown")

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("run_tests", "Did you mean run_command?"),
            ("searchCodebase", "Did you mean search_files?"),
            ("list_code_definitions", "Did you mean analyze_code or list_files?"),
            ("frobnicate_file", "Tools: "),
        ],
    )
    async def test_a_tool_that_is_not_there_is_told_from_those_called_alike(
        self, project: Path, name: str, meant: str
    ) -> None:
        result = await make_tools(project).execute(ToolCall("1", name, "{}"), lambda _: None)
        assert f"There is no tool “{name}”. {meant}" in result.for_model

    async def test_long_output_is_capped_and_kept_whole(self, project: Path) -> None:
        tools = make_tools(project, output_limit=2_000)
        result = await tools.execute(
            ToolCall("c", "run_command", json.dumps({"command": "seq 1 5000"})), lambda _: None
        )
        assert len(result.for_model) < 2_500
        assert result.for_model.startswith("1\n2\n")
        assert "4999\n5000" in result.for_model
        (kept,) = (project / ".localllm" / "tool-output").iterdir()
        assert kept.name in result.for_model
        assert len(kept.read_text().splitlines()) == 5000
        again = await tools.execute_tool(
            "read_file", file_path=f".localllm/tool-output/{kept.name}", start_line=2500, max_lines=1
        )
        assert again["content"] == "2500\n"


class TestPolicy:
    """What the pipeline tells the policy, and what it makes of the answers."""

    async def test_plan_mode_is_an_ordinary_denial_that_asks_for_a_plan(self, project: Path) -> None:
        tools = make_tools(project, safety=SafetySettings(mode="plan"))
        assert "write_file" in [spec.name for spec in tools.specs()]
        answer = await tools.execute_tool("write_file", file_path="a.py", content="x\n")
        assert (answer["success"], answer["code"]) == (False, "E9015")
        assert "plan" in answer["error"]
        assert (await tools.execute_tool("read_file", file_path="a.py"))["success"]

    async def test_what_is_broken_off_at_its_question_was_not_done(self, project: Path) -> None:
        """A model that heard that it may have been done all the same would look, and do it anew."""
        person, events = Undecided(), list[AgentEvent]()
        tools = make_tools(project, confirmer=person)
        call = ToolCall("1", "write_file", json.dumps({"file_path": "a.py", "content": "x = 2\n"}))
        running = asyncio.ensure_future(tools.execute(call, events.append))
        await person.was_asked.wait()
        running.cancel()
        await asyncio.wait([running])
        assert [event.error_code for event in events if isinstance(event, ToolFinished)] == ["E9024"]
        assert (project / "a.py").read_text("utf-8") == "x = 1\n"

    async def test_an_answer_that_lasts_is_a_rule_from_then_on(self, project: Path) -> None:
        person = Lasting(always="project", scope="")
        remembered = RememberedRules(project.parent / "rules.json", project)
        tools = make_tools(project, confirmer=person, remembered=remembered)
        for content in ("x = 2\n", "x = 3\n"):
            assert (await tools.execute_tool("write_file", file_path="a.py", content=content))["success"]
        assert [request.lasting for request in person.asked] == [True]
        assert [str(rule) for rule in RememberedRules(project.parent / "rules.json", project).rules()] == ["write_file"]

    async def test_who_allows_a_command_allows_to_filter_its_output(self, project: Path) -> None:
        person = Lasting(always="session", scope="touch a")
        remembered = RememberedRules(project.parent / "rules.json", project)
        tools = make_tools(project, confirmer=person, remembered=remembered)
        allowed = ("touch a 2>&1 | tail -5", "touch a | grep -v x | head", "touch a")
        for command in (*allowed, "touch a | tee log", "touch b | tail"):
            await tools.execute_tool("run_command", command=command)
        assert [request.scope for request in person.asked] == ["touch a", "touch a | tee log", "touch b"]

    async def test_who_allows_a_command_allows_it_in_each_folder_of_the_project(self, project: Path) -> None:
        (project / "src").mkdir()
        person = Lasting(always="session", scope="touch")
        remembered = RememberedRules(project.parent / "rules.json", project)
        tools = make_tools(project, confirmer=person, remembered=remembered)
        allowed = ("cd src && touch a", "cd src && touch b 2>&1 | tail -5", "touch c")
        for command in (*allowed, "cd .. && touch a", "cd src && touch a > log", "cd src && ls"):
            await tools.execute_tool("run_command", command=command)
        assert [request.scope for request in person.asked] == [
            "touch a",
            "cd .. && touch a",
            "cd src && touch a > log",
            "ls",
        ]

    async def test_what_may_last_is_the_command_or_the_folder_and_nothing_dangerous(self, project: Path) -> None:
        person = Lasting(always="session", scope="ls")
        remembered = RememberedRules(project.parent / "rules.json", project)
        tools = make_tools(project, confirmer=person, remembered=remembered)
        await tools.execute_tool("create_file", file_path="docs/b.md", content="x\n")
        await tools.execute_tool("create_file", file_path="top.md", content="x\n")
        await tools.execute_tool("run_command", command=" touch a ")
        await tools.execute_tool("run_command", command="rm -rf none")
        asked = [(request.scope, request.lasting) for request in person.asked]
        assert asked == [("docs/", True), ("top.md", True), ("touch a", True), ("", False)]
        assert remembered.rules() == []  # “ls” would allow none of them

    @pytest.mark.parametrize("fails", [False, True])
    async def test_a_kept_page_that_a_hook_or_an_error_shows_is_text_of_strangers(
        self, project: Path, fails: bool
    ) -> None:
        page = "\n".join(f"The page has a line on topic number {number}, as all pages do." for number in range(9))
        keep_output(project / ".localllm/tool-output", "fetch_page", page)

        @tool(risk=Risk.SAFE)
        async def git_commit(context: ToolContext) -> ToolOutput:
            """Show what a hook prints."""
            if fails:
                raise ToolExecutionError("tool_crashed", name="hook", reason=page[:300])
            return ToolOutput(payload={}, for_model=page[:300], summary="")

        tools = make_tools(project, tools=[git_commit])
        await tools.execute_tool("git_commit")
        assert tools.tainted

    async def test_after_text_of_strangers_what_sends_is_asked_about(self, project: Path) -> None:
        @tool(risk=Risk.SAFE, sends=("query",))
        async def ask_web(context: ToolContext, query: str) -> ToolOutput:
            """Search."""
            return ToolOutput(payload={}, for_model="page", summary="", untrusted=True)

        person = Answering(approve=False)
        tools = make_tools(project, confirmer=person, tools=[ask_web], safety=SafetySettings(mode="auto"))
        tools.begin_turn("Search red shoes.")
        assert not tools.tainted
        assert (await tools.execute_tool("ask_web", query="blue shoes"))["success"]
        assert tools.tainted
        assert (await tools.execute_tool("ask_web", query="red  shoes"))["success"]
        assert (await tools.execute_tool("ask_web", query="green shoes"))["code"] == "E9011"
        assert ["web" in request.reason for request in person.asked] == [True]

    @pytest.mark.parametrize("approve", [False, True])
    async def test_what_is_asked_before_reading_is_left_out_where_it_is_not_named(
        self, project: Path, approve: bool
    ) -> None:
        (project / "secrets").mkdir()
        (project / "secrets/k.py").write_text("PIN = 4077\ndef alpha(): pass\nx = 1\ny = 2\nz = 3\n", encoding="utf-8")
        person = Answering(approve=approve)
        safety = SafetySettings(mode="auto", ask=("read_file(secrets/)",))
        tools = make_tools(project, safety=safety, confirmer=person)
        answers = [
            await tools.execute_tool("search_files", pattern="PIN|x = 1"),
            await tools.execute_tool("analyze_code", path="."),
            await tools.execute_tool("edit_file", file_path="secrets/k.py", old_string="PIN = 4078", new_string="P"),
            await tools.execute_tool("write_file", file_path="secrets/k.py", content="new\n"),
        ]
        assert "a.py" in str(answers[0])
        assert not any(text in str(answers) for text in ("4077", "alpha"))
        assert person.asked == []
        found = await tools.execute_tool("search_files", pattern="PIN", path="secrets")
        assert ("4077" in str(found)) == approve
        assert len(person.asked) == 1

    @pytest.mark.parametrize(("command", "is_foreign"), [("curl --version", True), ("echo x", False)])
    async def test_without_a_sandbox_a_commands_text_says_what_it_may_print(
        self, project: Path, command: str, is_foreign: bool
    ) -> None:
        runner = SandboxRunner(project, levels=(), accept_no_sandbox=True)
        tools = make_tools(project, runner=runner)
        await tools.execute_tool("run_command", command=command)
        assert (tools.has_downloaded, tools.tainted) == (is_foreign, False)

    @pytest.mark.parametrize(
        ("name", "arguments"),
        [
            ("read_file", {"file_path": "{kept}"}),
            ("read_file", {"file_path": "./{kept}", "start_line": 2}),
            ("search_files", {"pattern": "strangers", "path": ".localllm/tool-output"}),
            ("run_command", {"command": "cat {kept}"}),
            ("run_command", {"command": "cd .localllm && cat */*"}),
        ],
    )
    async def test_a_kept_page_is_text_of_strangers_in_later_sessions_too(
        self, project: Path, name: str, arguments: dict[str, str]
    ) -> None:
        folder = project / ".localllm/tool-output"
        kind = "ensemble_answer" if "start_line" in arguments else "fetch_page"
        kept = keep_output(folder, kind, "words of\nstrangers\n").relative_to(project)
        other = keep_output(folder, "run_command", "words of\nours\n").relative_to(project)
        tools = make_tools(project, confirmer=Answering(approve=True))
        assert (await tools.execute_tool("read_file", file_path=str(other)))["success"]
        assert (await tools.execute_tool("run_command", command="echo x"))["success"]
        assert not tools.tainted
        given = {key: value.format(kept=kept) if isinstance(value, str) else value for key, value in arguments.items()}
        assert (await tools.execute_tool(name, **given))["success"]
        assert tools.tainted

    async def test_the_host_of_an_address_can_be_allowed_from_now_on(self, project: Path) -> None:
        @tool(risk=Risk.SAFE, fetches=("url",))
        async def fetch(context: ToolContext, url: str) -> ToolOutput:
            """Fetch."""
            return ToolOutput(payload={}, for_model="page", summary="", untrusted=True)

        remembered = RememberedRules(project.parent / "rules.json", project)
        person = Lasting(always="session", scope="https://a.example:8443")
        tools = make_tools(project, confirmer=person, tools=[fetch], remembered=remembered)
        tools.begin_turn("Go.", beside="Read https://piped.example/a.")
        for path in ("a?b", "c"):
            assert (await tools.execute_tool("fetch", url=f"https://a.example:8443/{path}"))["success"]
        await tools.execute_tool("fetch", url="https://piped.example/a")
        assert [(request.scope, request.needs_person) for request in person.asked] == [
            ("https://a.example:8443", True),
            ("https://piped.example", True),
        ]

    async def test_a_call_is_judged_beside_the_display(self, project: Path) -> None:
        class Rules(RememberedRules):
            def rules(self) -> list[Rule]:
                threads.add(threading.current_thread())
                return []

        threads: set[threading.Thread] = set()
        tools = make_tools(project, remembered=Rules(project.parent / "rules.json", project))
        await tools.safe_command_execution("echo x")
        assert threads
        assert threading.current_thread() not in threads


class TestChecks:
    def test_a_file_operation(self, project: Path) -> None:
        tools = make_tools(project, safety=SafetySettings(deny=("edit_file(a.py)",)))
        assert tools.validate_file_operation("a.py", "read") == (True, "")
        assert tools.validate_file_operation("b.py", "write_file")[0]
        for path, operation in (("a.py", "edit"), ("../x", "read"), (".git/config", "write"), ("a.py", "burn")):
            valid, reason = tools.validate_file_operation(path, operation)
            assert not valid
            assert reason

    def test_a_backup(self, project: Path) -> None:
        tools = make_tools(project)
        assert tools.create_backup("a.py")

    def test_dangerous_commands(self, project: Path) -> None:
        tools = make_tools(project)
        assert tools.filter_dangerous_commands("ls; sudo x") == (False, "sudo")
        assert tools.filter_dangerous_commands("grep sudo x") == (True, "")

    def test_destruction(self, project: Path) -> None:
        tools = make_tools(project)
        code = "".join(f"def f{number}():\n    return {number}\n\n\n" for number in range(10))
        assert tools.detect_code_destruction(code, "", "a.py")["destructive"]
        assert tools.detect_code_destruction(code, code + "x = 1\n", "a.py") == {"destructive": False}

    async def test_a_command(self, project: Path) -> None:
        tools = make_tools(project, confirmer=Answering(approve=False))
        assert (await tools.safe_command_execution("make"))["code"] == "E9011"


class CountedRoot(ProjectRoot):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.read: list[str] = []  # also by what is made of it for a call

    def read_bytes(self, file_path: str, limit: int) -> bytes:
        self.read.append(file_path)
        return super().read_bytes(file_path, limit)


async def test_an_edit_that_is_asked_about_is_read_and_planned_once(project: Path) -> None:
    (project / "a.py").write_text("x = 1\n")
    tools = make_tools(project, confirmer=Answering(approve=True))
    root = CountedRoot(project)
    tools._context = msgspec.structs.replace(tools._context, root=root)
    edit = ToolCall("c", "edit_file", json.dumps({"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}))
    assert (await tools.execute(edit, lambda _: None)).success
    assert (project / "a.py").read_text() == "x = 2\n"
    assert root.read == ["a.py"]


def committed(project: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(project)]
    subprocess.run([*git, "init", "-q"], check=True)
    (project / ".gitignore").write_text("ignored/\n*.log\n")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)


class TestRemovals:
    """A dangerous command of the built-in list is judged by what it would destroy."""

    @staticmethod
    async def asked(project: Path, command: str, **safety: object) -> bool:
        person = Answering(approve=False)
        tools = make_tools(project, safety=SafetySettings(mode="auto", **safety), confirmer=person)
        await tools.execute_tool("run_command", command=command)
        return bool(person.asked)

    @pytest.mark.parametrize(
        "command",
        ["rm -rf build", "rm -rf ./build/ && mkdir build", "rm -rf build/deep a.py", "cd build && rm -rf deep"],
    )
    async def test_what_undo_brings_back_is_removed_and_brought_back(self, project: Path, command: str) -> None:
        (project / "build/deep").mkdir(parents=True)
        (project / "build/deep/x.txt").write_text("x")
        committed(project)
        person = Answering(approve=False)
        tools = make_tools(project, safety=SafetySettings(mode="auto"), confirmer=person)
        answer = await tools.execute_tool("run_command", command=command)
        assert (answer["success"], person.asked) == (True, [])
        assert not (project / "build/deep").exists()
        tools.changes.undo()
        assert (project / "build/deep/x.txt").read_text() == "x"
        assert (project / "a.py").read_text() == "x = 1\n"

    async def test_what_was_made_in_the_session_is_kept_as_well(self, project: Path) -> None:
        person = Answering(approve=False)
        tools = make_tools(project, safety=SafetySettings(mode="auto"), confirmer=person)
        await tools.execute_tool("run_command", command="mkdir build && echo x > build/x.txt")
        await tools.execute_tool("run_command", command="rm -rf build")
        assert (person.asked, (project / "build").exists()) == ([], False)

    @pytest.mark.parametrize(
        "command",
        [
            "rm -rf ignored",
            "rm -rf build ignored",
            "rm -rf a.log",
            "rm -rf .git",
            "rm -rf .",
            "rm -rf links",
            "rm -rf none",
            "rm -rf nested",
            "rm -rf big.bin",
            "rm -rf ../project",
            "rm -rf build/*",
            "rm -rf $PWD/build",
            "mv ignored build/x; rm -rf build",
            "find . -delete",
            "sudo rm -rf build",
            "chmod 777 build",
        ],
    )
    async def test_what_undo_does_not_bring_back_is_asked_about(self, project: Path, command: str) -> None:
        for name in ("build", "ignored", "links", "nested/.git"):
            (project / name).mkdir(parents=True)
            (project / name / "x.txt").write_text("x")
        (project / "links/a").symlink_to("../a.py")
        (project / "a.log").write_text("x")
        (project / "big.bin").write_bytes(bytes(1_100_000))
        committed(project)
        assert await self.asked(project, command)

    async def test_what_is_removed_in_the_background_is_asked_about(self, project: Path) -> None:
        (project / "build").mkdir()
        (project / "build/x.txt").write_text("x")
        committed(project)
        person = Answering(approve=False)
        tools = make_tools(project, safety=SafetySettings(mode="auto"), confirmer=person)
        await tools.execute_tool("run_command", command="ls; rm -rf build", background=True)
        assert (len(person.asked), (project / "build").exists()) == (1, True)

    @pytest.mark.parametrize(
        ("command", "is_asked"),
        [
            ("rm -r ignored", True),
            ("rm --recursive big", True),
            ("bash -c 'rm -r ignored'", True),
            ("find . -name big -exec rm -r {} +", True),
            ("rm -r $X", True),
            ("cd ignored && rm -r ../big", True),
            ("rm -r build", False),
            ("git rm -r build", False),
            ("grep -r rm .", False),
        ],
    )
    async def test_removing_folders_without_force_is_the_same(
        self, project: Path, command: str, is_asked: bool
    ) -> None:
        for name in ("build", "ignored", "big"):
            (project / name).mkdir()
            (project / name / "x.txt").write_text("x")
        (project / "big/x.bin").write_bytes(bytes(1_100_000))
        committed(project)
        assert await self.asked(project, command) is is_asked

    @pytest.mark.skipif(level_here() == "none", reason="nothing confines commands here")
    @pytest.mark.parametrize(
        ("command", "is_asked"),
        [
            ("mv big /tmp/old", True),
            ("mv ignored ~/old", True),
            ("mv build big /tmp", True),
            ("cp a.py /tmp; mv build /tmp", True),
            ("mv big old", False),
            ("mv build /tmp", False),
        ],
    )
    async def test_what_is_moved_to_where_it_is_lost_counts_as_removed(
        self, project: Path, command: str, is_asked: bool
    ) -> None:
        for name in ("build", "ignored", "big"):
            (project / name).mkdir()
            (project / name / "x.txt").write_text("x")
        (project / "big/x.bin").write_bytes(bytes(1_100_000))
        committed(project)
        assert await self.asked(project, command) is is_asked

    @pytest.mark.skipif(level_here() == "none", reason="nothing confines commands here")
    async def test_what_was_moved_to_where_it_is_lost_is_told_and_comes_back(self, project: Path) -> None:
        committed(project)
        tools = make_tools(project, safety=SafetySettings(mode="auto"))
        told: list[str] = []
        call = ToolCall("1", "run_command", json.dumps({"command": "mv a.py /tmp/b.py"}))
        result = await tools.execute(call, lambda event: told.append(getattr(event, "text", "")))
        assert "[What was moved to /tmp/b.py is gone (a.py)" in result.for_model
        assert any("moved to /tmp/b.py is gone" in text for text in told)
        tools.changes.undo()
        assert (project / "a.py").read_text() == "x = 1\n"

    @pytest.mark.skipif(level_here() == "none", reason="nothing confines commands here")
    async def test_all_that_is_moved_to_one_place_is_told_to_be_gone(self, project: Path) -> None:
        (project / "b.py").touch()
        committed(project)
        tools = make_tools(project, safety=SafetySettings(mode="auto"))
        call = ToolCall("1", "run_command", json.dumps({"command": "mv a.py /tmp; mv b.py /tmp"}))
        result = await tools.execute(call, lambda _event: None)
        assert "[What was moved to /tmp is gone (a.py, b.py)" in result.for_model

    @pytest.mark.skipif(level_here() == "none", reason="nothing confines commands here")
    async def test_what_the_same_command_moves_back_is_not_told_to_be_gone(self, project: Path) -> None:
        committed(project)
        tools = make_tools(project, safety=SafetySettings(mode="auto"))
        call = ToolCall("1", "run_command", json.dumps({"command": "mv a.py /tmp/t && mv /tmp/t A.py"}))
        result = await tools.execute(call, lambda _event: None)
        assert (project / "A.py").exists()
        assert "is gone" not in result.for_model

    async def test_entries_the_user_wrote_count_whatever_they_remove(self, project: Path) -> None:
        committed(project)
        assert not await self.asked(project, "rm -rf a.py")
        (project / "a.py").write_text("x = 1\n")
        assert await self.asked(project, "rm -rf a.py", dangerous_commands=("rm -rf",))
        assert not await self.asked(project, "rm -rf a.py", dangerous_commands=("git push",))
        (project / "a.py").write_text("x = 1\n")
        assert await self.asked(project, "rm -rf a.py", ask=("run_command(rm)",))
        assert await self.asked(project, "rm -rf a.py", auto_backup=False)


class TestReading:
    """Commands that only read the project run without a question where a full sandbox holds them."""

    @pytest.mark.skipif(level_here() not in ("namespaces", "bubblewrap"), reason="no full sandbox here")
    @pytest.mark.parametrize("mode", ["ask", "auto-edit", "auto"])
    async def test_nobody_is_asked(self, project: Path, mode: Mode) -> None:
        person = Answering(approve=False)
        tools = make_tools(project, safety=SafetySettings(mode=mode), confirmer=person)
        assert (await tools.execute_tool("run_command", command="cat a.py | head -1"))["stdout"] == "x = 1\n"
        assert person.asked == []

    @pytest.mark.parametrize(
        ("safety", "code"),
        [
            (SafetySettings(deny=("run_command(cat)",)), "E9010"),
            (SafetySettings(deny=("run_command",)), "E9010"),
            (SafetySettings(ask=("run_command(cat)",)), "E9011"),
            (SafetySettings(deny=("read_file(a.py)",)), "E9011"),
            (SafetySettings(ask=("read_file(a.py)",)), "E9011"),
            (SafetySettings(ask=("*(a.py)",)), "E9011"),
            (SafetySettings(ask=("read_file",)), "E9011"),
            (SafetySettings(dangerous_commands=("cat",)), "E9011"),
            (SafetySettings(mode="plan"), "E9015"),
        ],
    )
    async def test_rules_come_first(self, project: Path, safety: SafetySettings, code: str) -> None:
        tools = make_tools(project, safety=safety, confirmer=Answering(approve=False))
        assert (await tools.execute_tool("run_command", command="cat a.py"))["code"] == code

    async def test_where_the_sandbox_is_no_full_one_it_is_asked_about(self, project: Path) -> None:
        person = Answering(approve=False)
        tools = make_tools(project, confirmer=person, runner=SandboxRunner(project, levels=("landlock",)))
        assert (await tools.execute_tool("run_command", command="cat a.py"))["code"] == "E9011"
        assert len(person.asked) == 1


class TestRisk:
    """What the question about a command says of its risk."""

    async def risk(self, project: Path, command: str = "make test", **more: Any) -> str:
        person = Answering(approve=False)
        await make_tools(project, confirmer=person, **more).execute_tool("run_command", command=command)
        return person.asked[0].risk

    @pytest.mark.skipif(level_here() == "none", reason="no sandbox here")
    async def test_it_is_that_of_a_change_where_the_sandbox_holds_it_and_undo_takes_it_back(
        self, project: Path
    ) -> None:
        assert await self.risk(project) == "high"
        assert await self.risk(project, "rm -rf src") == "dangerous"
        assert await self.risk(project, "eval $X") == "highest"

    @pytest.mark.parametrize(
        "safety", [SafetySettings(auto_backup=False), SafetySettings(network_hosts=("a.example",))]
    )
    async def test_it_is_higher_where_undo_does_not_take_it_back_or_it_reaches_others(
        self, project: Path, safety: SafetySettings
    ) -> None:
        assert await self.risk(project, safety=safety) == "highest"

    async def test_it_is_higher_without_a_sandbox(self, project: Path) -> None:
        assert await self.risk(project, runner=SandboxRunner(project, levels=())) == "highest"
