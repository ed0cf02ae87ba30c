"""The ReAct loop over real tools: what it does, how it ends, and that the conversation is always valid."""

import asyncio
import os
from contextlib import aclosing, suppress
from pathlib import Path

import pytest

from localllm.agent.react_agent import ReActAgent
from localllm.base.events import (
    AgentEvent,
    ConfirmationAnswered,
    ConfirmationRequested,
    MessageCompleted,
    Notice,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from localllm.config.schema import AgentSettings, SafetySettings
from localllm.llm.messages import AssistantMessage, Image, ToolMessage, UserMessage
from localllm.llm.providers.openai_compatible import OpenAICompatible
from tests.support.agents import Answering, call, make_agent, make_tools, play, scripted
from tests.support.wire_server import Reply, WireServer, calls, delta, fails, says, sse
from tests.unit.agent.test_history import check_valid

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("x = 1\n", encoding="utf-8")
    (root / "b.md").write_text("# Title\n\nText.\n", encoding="utf-8")
    return root


def server_of(server: WireServer) -> OpenAICompatible:
    return OpenAICompatible("lmstudio", server.url, timeout=5, idle_timeout=5)


def results(agent: ReActAgent) -> list[str]:
    return [message.text for message in agent.history.messages if isinstance(message, ToolMessage)]


class TestRun:
    async def test_a_basic_query_is_answered_with_the_data_of_the_tools(self, project: Path) -> None:
        agent = make_agent(scripted(call("list_files", path="."), "There are two files."), project)
        result = await agent.execute_query("ファイル一覧を表示してください")
        assert result.success
        assert set(result.data["files"]) == {"a.py", "b.md"}
        assert str(result) == "There are two files."
        assert result.steps == 2

    async def test_the_events_tell_the_run_in_order(self, project: Path) -> None:
        seen: list[AgentEvent] = []
        agent = make_agent(scripted(call("read_file", file_path="a.py"), "It sets x."), project, listener=seen.append)
        events = await play(agent, "What does a.py do?")
        assert events == seen
        kinds = [type(event) for event in events if not isinstance(event, TextDelta)]
        assert kinds == [RunStarted, MessageCompleted, ToolStarted, ToolFinished, MessageCompleted, RunFinished]
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "It sets x."
        finished = events[-1]
        assert isinstance(finished, RunFinished)
        assert (finished.status, finished.answer) == ("done", "It sets x.")

    async def test_several_calls_of_one_answer_run_in_order_and_are_all_answered(self, project: Path) -> None:
        turn = {
            "calls": [
                {"name": "create_file", "arguments": {"file_path": "new.txt", "content": "one"}},
                {"name": "read_file", "arguments": {"file_path": "new.txt"}},
            ]
        }
        agent = make_agent(scripted(turn, "ok"), project)
        await play(agent, "go")
        assert "one" in results(agent)[1]
        check_valid(agent.history.messages)

    async def test_think_act_and_observe_stand_on_their_own(self, project: Path) -> None:
        agent = make_agent(scripted(call("read_file", file_path="a.py")), project)
        agent.history.add_user("look")
        events: list[AgentEvent] = []
        thought = await agent.think(events.append)
        assert [made.name for made in thought.message.tool_calls] == ["read_file"]
        [done] = [result async for result in agent.act(thought, events.append)]
        assert done.payload["content"] == "x = 1\n"
        assert not any(isinstance(message, ToolMessage) for message in agent.history.messages)
        agent.observe(done)
        assert "x = 1" in agent.history.messages[-1].text

    async def test_the_thoughts_kept_are_those_of_one_run(self, project: Path) -> None:
        agent = make_agent(scripted(call("read_file", file_path="a.py"), "one", "two"), project)
        await play(agent, "go")
        assert [thought.message.text for thought in agent.thought_history] == ["", "one"]
        await play(agent, "go on")
        assert [thought.message.text for thought in agent.thought_history] == ["two"]


class TestReferences:
    async def test_files_named_in_the_query_come_with_it(self, project: Path) -> None:
        agent = make_agent(scripted("ok"), project)
        await play(agent, "Explain @a.py and @b.md:1, mail me@x.org")
        sent = agent.history.messages[1].text
        assert '<file path="a.py">\na.py (1 line)\nx = 1' in sent
        assert '<file path="b.md">' in sent
        assert "# Title" in sent
        assert "Text." not in sent

    async def test_a_file_that_is_too_long_says_so_to_the_model(self, project: Path) -> None:
        (project / "long.txt").write_text("a line of text\n" * 1000)
        agent = make_agent(scripted("ok"), project, tools=make_tools(project, output_limit=1_000))
        await play(agent, "Explain @long.txt")
        sent = agent.history.messages[1].text
        assert len(sent) < 2_000
        assert "1000 lines in all" in sent

    async def test_pictures_travel_with_what_named_them(self, project: Path) -> None:
        data = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1"
        (project / "a.png").write_bytes(data)
        agent = make_agent(scripted(call("read_file", file_path="a.png"), "ok"), project)
        await play(agent, "What is on @a.png")
        images = [
            message.images for message in agent.history.messages if isinstance(message, UserMessage | ToolMessage)
        ]
        assert images == [(Image("image/png", data),)] * 2

    async def test_what_was_offered_goes_with_the_next_request_and_only_with_that(self, project: Path) -> None:
        agent = make_agent(scripted("seen", "and now"), project)
        agent.offer("[The user ran this: make]\nit failed")
        await agent.execute_query("Why?")
        await agent.execute_query("And now?")
        first, second = [message.text for message in agent.history.messages if isinstance(message, UserMessage)]
        assert first.startswith("[The user ran this: make]\nit failed\n\nWhy?")
        assert second == "And now?"

    async def test_a_context_is_shown_before_the_query_and_names_no_file(self, project: Path) -> None:
        agent = make_agent(scripted("seen", "and now"), project)
        await agent.execute_query("Why?", {"issue": "It fails. See @a.py", "tries": 3})
        await agent.execute_query("And now?")
        first, second = [message.text for message in agent.history.messages if isinstance(message, UserMessage)]
        assert first.startswith("issue:\nIt fails. See @a.py\n\ntries:\n3\n\nWhy?")
        assert "<file" not in first
        assert second == "And now?"

    async def test_a_missing_or_forbidden_file_is_said_and_nothing_is_loaded(self, project: Path) -> None:
        agent = make_agent(scripted("ok"), project)
        (project / "data.bin").write_bytes(b"\0\1")
        events = await play(agent, "Explain @none.py and @../../etc/passwd and @data.bin")
        missing, outside, binary = [event.text for event in events if isinstance(event, Notice)]
        assert missing == "@none.py: There is no file none.py."
        assert "outside the project" in outside
        assert "not a text file" in binary
        request = agent.history.messages[1].text
        assert "<file" not in request
        assert "\n\n[@none.py is not attached: There is no file none.py. " in request
        assert request.count(" is not attached: ") == 3


class TestMistakesOfTheModel:
    @pytest.mark.parametrize(
        ("turn", "told"),
        [
            (call("fly_away"), "list_files"),
            ({"calls": [{"name": "read_file", "arguments": '{"file_path": "a.p'}]}, "JSON"),
            ({"calls": [{"name": "read_file", "arguments": '["a.py"]'}]}, "file_path"),
            (call("read_file"), "file_path"),
            (call("read_file", file_path="a.py", start_line="many"), "start_line"),
            (call("read_file", file_path="a.py", color="red"), "color"),
            (call("read_file", file_path="../../etc/passwd"), "outside"),
            (
                {
                    "calls": [{"name": "write_file", "arguments": '{"file_path": "a.py", "content": "x'}],
                    "finish": "length",
                },
                "token limit",
            ),
        ],
    )
    async def test_a_bad_call_is_explained_and_the_model_goes_on(self, project: Path, turn: dict, told: str) -> None:
        agent = make_agent(scripted(turn, "It could not be done."), project)
        result = await agent.execute_query("go")
        assert result.answer.startswith("It could not be done.")
        assert told in results(agent)[0]
        assert (project / "a.py").read_text() == "x = 1\n"

    async def test_of_the_calls_of_an_answer_that_was_cut_the_last_is_the_one_that_is_not_whole(
        self, project: Path
    ) -> None:
        begun = {"name": "write_file", "arguments": '{"file_path": "a.py", "content": "x'}
        turn = {"calls": [{"name": "list_files", "arguments": "{"}, begun], "finish": "length"}
        agent = make_agent(scripted(turn, "I see."), project)
        await play(agent, "go")
        assert ["token limit" in result for result in results(agent)] == [False, True]
        assert (project / "a.py").read_text() == "x = 1\n"

    async def test_arguments_nested_without_end_end_no_run(self, project: Path) -> None:
        """Models in a circle write such; with a real provider, which sends what was called again."""
        nested = {"name": "read_file", "arguments": '{"file_path": ' + "[" * 3_000 + "]" * 3_000 + "}"}
        with WireServer([calls(("read_file", nested["arguments"])), says("I see.")]) as server:
            agent = make_agent(server_of(server), project)
            result = await agent.execute_query("go")
            await agent.llm_client.aclose()
        assert (result.status, result.answer) == ("done", "I see.")
        agent = make_agent(scripted({"calls": [nested]}, "I see."), project)
        assert (await agent.execute_query("go")).status == "done"

    async def test_arguments_other_tools_taught_are_understood(self, project: Path) -> None:
        agent = make_agent(scripted(call("READ_FILE", path="a.py"), "ok"), project)
        await play(agent, "go")
        assert "x = 1" in results(agent)[0]


class TestLoops:
    async def test_repetition_is_noticed_told_and_stopped(self, project: Path) -> None:
        same = call("read_file", file_path="a.py")
        agent = make_agent(scripted(*[same] * 9), project)
        result = await agent.execute_query("go")
        assert agent.detect_loop()
        assert result.status == "stuck"
        assert not result.success
        assert result.steps == 5
        assert "3" in results(agent)[2]
        assert "Step back" in results(agent)[3]
        assert results(agent)[0] == results(agent)[1] == "a.py (1 line)\nx = 1"
        assert "read_file" in result.answer
        check_valid(agent.history.messages)

    async def test_different_steps_are_no_repetition(self, project: Path) -> None:
        turns = [call("read_file", file_path=name) for name in ("a.py", "b.md", "a.py", "b.md")]
        agent = make_agent(scripted(*turns, "ok"), project)
        assert (await agent.execute_query("go")).success
        assert not agent.detect_loop()

    async def test_a_new_request_begins_afresh(self, project: Path) -> None:
        same = call("read_file", file_path="a.py")
        agent = make_agent(scripted(same, same, "ok", same, same, "ok"), project)
        assert (await agent.execute_query("go")).success
        assert (await agent.execute_query("again")).success

    async def test_steps_are_limited(self, project: Path) -> None:
        turns = [call("read_file", file_path="a.py", start_line=1, max_lines=number + 1) for number in range(9)]
        agent = make_agent(scripted(*turns), project, settings=AgentSettings(max_iterations=3))
        result = await agent.execute_query("go")
        assert (result.status, result.steps) == ("limit", 3)
        check_valid(agent.history.messages)

    async def test_time_is_limited_also_in_the_middle_of_an_answer(self, project: Path) -> None:
        endless = Reply(sse(delta(content="Once"), delta(content="!")), hold_before=1)
        with WireServer([endless]) as server:
            agent = make_agent(server_of(server), project, settings=AgentSettings(time_limit=0.3))
            result = await agent.execute_query("go")
            assert server.disconnected.wait(5)
            await agent.llm_client.aclose()
        assert result.status == "limit"
        assert "agent.time_limit" in result.answer
        check_valid(agent.history.messages)

    async def test_an_answer_cut_at_the_token_limit_is_not_done(self, project: Path) -> None:
        agent = make_agent(scripted({"text": "It is beca", "finish": "length"}), project)
        events = await play(agent, "why?")
        assert isinstance(events[-1], RunFinished)
        assert (events[-1].status, events[-1].answer) == ("limit", "It is beca")
        assert any(isinstance(event, Notice) and "llm.max_tokens" in event.text for event in events)

    async def test_the_report_of_what_blocks_is_short(self, project: Path) -> None:
        big = call("write_file", file_path="big.txt", content="x" * 50_000)
        agent = make_agent(scripted(big), project, settings=AgentSettings(max_iterations=1))
        result = await agent.execute_query("go")
        assert len(result.answer) < 1_500
        assert "write_file big.txt" in result.answer


class TestPermission:
    EDIT = call("edit_file", file_path="a.py", old_string="x = 1", new_string="x = 2")

    async def test_a_change_is_asked_about_with_its_diff(self, project: Path) -> None:
        person = Answering(approve=True)
        agent = make_agent(scripted(self.EDIT, "done"), project, tools=make_tools(project, confirmer=person))
        events = await play(agent, "go")
        assert (project / "a.py").read_text() == "x = 2\n"
        assert person.asked[0].detail_kind == "diff"
        assert "-x = 1" in person.asked[0].detail
        asked = [type(e) for e in events if isinstance(e, ConfirmationRequested | ConfirmationAnswered)]
        assert asked == [ConfirmationRequested, ConfirmationAnswered]

    async def test_a_persons_no_is_told_to_the_model(self, project: Path) -> None:
        person = Answering(approve=False, feedback="use y instead")
        agent = make_agent(scripted(self.EDIT, "Then not."), project, tools=make_tools(project, confirmer=person))
        result = await agent.execute_query("go")
        assert (project / "a.py").read_text() == "x = 1\n"
        assert "use y instead" in results(agent)[0]
        assert (result.status, result.answer) == ("done", "Then not.")

    async def test_where_nobody_can_say_yes_the_answer_says_what_was_not_done(self, project: Path) -> None:
        tools = make_tools(project, confirmer=Answering(approve=False, by="unattended"))
        result = await make_agent(scripted(self.EDIT, "I could not."), project, tools=tools).execute_query("go")
        assert (result.status, result.success) == ("refused", False)
        assert result.answer.startswith("I could not.")
        assert "edit_file a.py" in result.answer
        assert "--yes" in result.answer

    async def test_a_path_outside_is_a_mistake_and_no_refusal(self, project: Path) -> None:
        agent = make_agent(scripted(call("read_file", file_path="../x"), "Sorry."), project)
        result = await agent.execute_query("go")
        assert (result.status, result.answer) == ("done", "Sorry.")
        assert "outside" in results(agent)[0]

    async def test_what_changed_while_the_person_was_asked_is_not_overwritten(self, project: Path) -> None:
        class Meddling(Answering):
            answers = "person"

            async def confirm(self, request: ConfirmationRequested) -> ConfirmationAnswered:
                (project / "a.py").write_text("x = 1\ny = 2\n")
                return await super().confirm(request)

        write = call("write_file", file_path="a.py", content="x = 3\n")
        agent = make_agent(scripted(write, "ok"), project, tools=make_tools(project, confirmer=Meddling(approve=True)))
        await play(agent, "go")
        assert (project / "a.py").read_text() == "x = 1\ny = 2\n"
        assert "nothing was changed" in results(agent)[0]

    async def test_reading_is_not_asked_about(self, project: Path) -> None:
        person = Answering(approve=False)
        agent = make_agent(
            scripted(call("read_file", file_path="a.py"), "ok"), project, tools=make_tools(project, confirmer=person)
        )
        assert (await agent.execute_query("go")).success
        assert person.asked == []

    async def test_a_denied_tool_is_not_offered_and_not_run(self, project: Path) -> None:
        tools = make_tools(project, safety=SafetySettings(deny=("edit_file",)))
        assert "edit_file" not in [spec.name for spec in tools.specs()]
        agent = make_agent(scripted(self.EDIT, "ok"), project, tools=tools)
        await play(agent, "go")
        assert (project / "a.py").read_text() == "x = 1\n"

    async def test_an_edit_that_cannot_match_is_not_even_asked_about(self, project: Path) -> None:
        person = Answering(approve=True)
        miss = call("edit_file", file_path="a.py", old_string="y = 1", new_string="y = 2")
        agent = make_agent(scripted(miss, "ok"), project, tools=make_tools(project, confirmer=person))
        await play(agent, "go")
        assert person.asked == []
        assert "not found" in results(agent)[0]


def running(argument: str) -> bool:
    """Whether a process of this machine has been given the argument."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if argument.encode() in file.read_bytes().split(b"\0"):
                return True
    return False


class TestInterrupts:
    async def test_in_the_middle_of_a_stream(self, project: Path) -> None:
        endless = Reply(sse(delta(content="Once upon"), delta(content=" a time")), hold_before=1)
        with WireServer([endless, says("Second answer.")]) as server:
            agent = make_agent(server_of(server), project)
            seen: list[AgentEvent] = []
            async for event in agent.run("tell"):
                seen.append(event)
                if isinstance(event, TextDelta):
                    agent.interrupt()
            assert isinstance(seen[-1], RunFinished)
            assert seen[-1].status == "interrupted"
            assert server.disconnected.wait(5)
            assert isinstance(agent.history.messages[-1], AssistantMessage)
            assert agent.history.messages[-1].text.startswith("Once upon [interrupted")
            assert (await agent.execute_query("and then?")).answer == "Second answer."
            check_valid(agent.history.messages)
            await agent.llm_client.aclose()

    async def test_by_closing_the_generator(self, project: Path) -> None:
        endless = Reply(sse(delta(content="Once upon"), delta(content=" a time")), hold_before=1)
        with WireServer([endless]) as server:
            seen: list[AgentEvent] = []
            agent = make_agent(server_of(server), project, listener=seen.append)
            async with aclosing(agent.run("tell")) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        break
            assert server.disconnected.wait(5)
            assert isinstance(seen[-1], RunFinished), "listeners are told of the end"
            check_valid(agent.history.messages)
            await agent.llm_client.aclose()

    async def test_in_the_middle_of_a_command(self, project: Path) -> None:
        mark = f"60.{os.getpid()}{id(project)}"  # its own process number tells nothing where it has numbers of its own
        agent = make_agent(scripted(call("run_command", command=f"sleep {mark}; echo"), "never said"), project)
        async for event in agent.run("wait"):
            if isinstance(event, ToolStarted):
                while not running(mark):
                    await asyncio.sleep(0.01)
                agent.interrupt()
        assert not running(mark)
        assert results(agent)[-1].endswith(
            "Stopped by the user while it ran; what it had changed by then stays as it is."
        )
        check_valid(agent.history.messages)

    async def test_what_a_command_had_printed_is_shown_and_told(self, project: Path) -> None:
        seen: list[AgentEvent] = []
        agent = make_agent(scripted(call("run_command", command="echo out; touch ready; sleep 60"), "never"), project)
        async for event in agent.run("wait"):
            seen.append(event)
            if isinstance(event, ToolStarted):
                while not (project / "ready").exists():
                    await asyncio.sleep(0.01)
                agent.interrupt()
        (finished,) = (event for event in seen if isinstance(event, ToolFinished))
        assert finished.payload["stdout"] == "out\n"
        assert "stays as it is. It had printed:\nout" in results(agent)[-1]
        check_valid(agent.history.messages)

    async def test_before_it_has_begun(self, project: Path) -> None:
        agent = make_agent(scripted("never said"), project)
        run = agent.run("go")
        first = asyncio.ensure_future(anext(run))
        await asyncio.sleep(0)
        agent.interrupt()
        events = [await first, *[event async for event in run]]
        assert [event.status for event in events if isinstance(event, RunFinished)] == ["interrupted"]

    async def test_between_two_calls_the_second_is_not_made(self, project: Path) -> None:
        calls_made = {
            "calls": [
                {"name": "run_command", "arguments": {"command": "true"}},
                {"name": "write_file", "arguments": {"file_path": "a.py", "content": "x = 2\n"}},
            ]
        }
        agent = make_agent(scripted(calls_made), project)
        async for event in agent.run("go"):
            if isinstance(event, ConfirmationRequested):
                agent.interrupt()
        assert (project / "a.py").read_text() == "x = 1\n"

    async def test_a_change_under_way_is_finished_and_can_be_taken_back(self, project: Path) -> None:
        tools = make_tools(project)
        write = call("write_file", file_path="a.py", content="y = 2\n" * 100_000)
        agent = make_agent(scripted(write), project, tools=tools)
        async for event in agent.run("go"):
            if isinstance(event, ConfirmationAnswered):
                await asyncio.sleep(0.01)
                agent.interrupt()
        if (project / "a.py").read_text() != "x = 1\n":
            tools.changes.undo()
        assert (project / "a.py").read_text() == "x = 1\n"

    async def test_while_a_person_is_asked(self, project: Path) -> None:
        class Silent(Answering):
            answers = "person"

            async def confirm(self, request: ConfirmationRequested) -> ConfirmationAnswered:
                await asyncio.Event().wait()
                raise AssertionError("never answered")

        edit = call("write_file", file_path="a.py", content="")
        agent = make_agent(scripted(edit), project, tools=make_tools(project, confirmer=Silent(approve=True)))
        async for event in agent.run("go"):
            if isinstance(event, ConfirmationRequested):
                agent.interrupt()
            elif isinstance(event, ConfirmationAnswered):
                answered = event
        assert (answered.approved, answered.by) == (False, "interrupt")
        assert (project / "a.py").read_text() == "x = 1\n"
        check_valid(agent.history.messages)


class TestFailures:
    async def test_a_failing_server_ends_the_run_and_not_the_conversation(self, project: Path) -> None:
        with WireServer([fails(500), says("Here again.")]) as server:
            agent = make_agent(server_of(server), project)
            failed = await agent.execute_query("hello")
            assert (failed.status, failed.error_code) == ("error", "E2009")
            assert failed.error
            assert (await agent.execute_query("are you there?")).answer == "Here again."
            check_valid(agent.history.messages)
            roles = [message["role"] for message in server.bodies()[-1]["messages"]]
            assert roles == ["system", "user", "assistant", "user"]
            await agent.llm_client.aclose()

    async def test_what_was_cut_off_by_the_server_is_not_called_an_interrupt(self, project: Path) -> None:
        with WireServer([Reply(sse(delta(content="half an ans")), cut=True)]) as server:
            agent = make_agent(server_of(server), project)
            await agent.execute_query("hello")
            await agent.llm_client.aclose()
        assert agent.history.messages[-1].text.startswith("half an ans [no answer:")

    async def test_retries_are_told(self, project: Path) -> None:
        with WireServer([fails(503, headers={"retry-after": "0"}), says("ok")]) as server:
            agent = make_agent(server_of(server), project, max_retries=1)
            events = await play(agent, "hello")
            assert [event.level for event in events if isinstance(event, Notice)] == ["warning"]
            await agent.llm_client.aclose()


class TestPrefix:
    async def test_each_request_begins_with_all_of_the_one_before(self, project: Path) -> None:
        """Twenty-one steps over three turns, with good calls and bad ones, changes and a command among them."""
        steps: list[Reply] = []
        for turn in range(3):
            steps += [
                calls(("read_file", {"file_path": "a.py", "max_lines": turn + 1}), text="Reading 読む"),
                calls(("read_file", '{"file_path": "a.p')),
                calls(("no_such_tool", {})),
                calls(("list_files", {}), ("search_files", {"pattern": f"x{turn}"})),
                calls(("write_file", {"file_path": "c.txt", "content": f"turn {turn}"})),
                calls(("run_command", {"command": f"echo {turn}"})),
                says(f"Answer {turn}."),
            ]
        with WireServer(steps) as server:
            agent = make_agent(server_of(server), project)
            for turn in range(3):
                assert (await agent.execute_query(f"Request {turn} with @b.md")).success
            await agent.llm_client.aclose()
        assert len(server.requests) == 21
        for earlier, later in zip(server.requests, server.requests[1:], strict=False):
            assert later.startswith(earlier.removesuffix(b"]}"))
        check_valid(agent.history.messages)
        assert isinstance(agent.history.messages[1], UserMessage)
