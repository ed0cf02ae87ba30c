"""Finish discipline: an announced step is asked for; a real answer is never answered back."""

import tomllib
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from localllm.agent.phrases.announcements import announces
from localllm.agent.plan_mode import plan_note
from localllm.base.events import Notice
from localllm.llm.messages import CompletionRequest, ToolChoice, UserMessage
from localllm.llm.providers.base import Chunk
from localllm.llm.providers.scripted import Script, Scripted
from tests.support.agents import call, make_agent, play, scripted
from tests.support.each import each

WORDS = tomllib.loads((Path(__file__).parent / "last_words.toml").read_text(encoding="utf-8"))


@each("text", WORDS["announcements"])
def test_an_announcement(text: str) -> None:
    assert announces(text)


@each("text", WORDS["answers"])
def test_an_answer(text: str) -> None:
    assert not announces(text)


def test_there_are_enough_of_each() -> None:
    assert len(set(WORDS["announcements"])) >= 30
    assert len(set(WORDS["answers"])) >= 30


class Recording(Scripted):
    """A model that plays its script and remembers which choice of tools it was given."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.choices: list[ToolChoice] = []

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        self.choices.append(request.tool_choice)
        async for chunk in super().stream(request):
            yield chunk


def recording(*turns: dict[str, object] | str) -> Recording:
    return Recording(scripted(*turns)._script)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    return folder


@pytest.mark.anyio
class TestInARun:
    async def test_an_announced_step_is_asked_for_once(self, project: Path) -> None:
        model = recording("Let me read the file.", call("read_file", file_path="a.py"), "It says x = 1.")
        agent = make_agent(model, project)
        result = await agent.execute_query("what does a.py say?")
        assert (result.status, result.answer, result.steps) == ("done", "It says x = 1.", 3)
        assert model.choices == ["auto", "auto", "auto"]
        asked = [message.text for message in agent.history.messages if isinstance(message, UserMessage)]
        assert "called no tool" in asked[1]

    @pytest.mark.parametrize(("request_", "steps"), [("なぜ遅いのですか？", 2), ("中国語で説明して", 1), ("why?", 1)])
    async def test_a_chinese_answer_to_a_japanese_request_is_asked_for_again(
        self, project: Path, request_: str, steps: int
    ) -> None:
        chinese = "问题在于这个模块没有缓存，请检查日志并修复。"
        agent = make_agent(recording(*[chinese] * 3), project)
        result = await agent.execute_query(request_)
        assert (result.status, result.steps) == ("done", steps)

    async def test_then_a_call_is_required_then_it_is_let_be(self, project: Path) -> None:
        model = recording("Let me read the file.", "I will read the file.", "I will now read the file.", "more")
        events = await play(make_agent(model, project), "go")
        assert model.choices == ["auto", "auto", "required"]
        assert getattr(events[-1], "answer", "").startswith("I will now read the file.\n\nNot finished: a step was")
        assert getattr(events[-1], "status", "") == "incomplete"
        (told,) = [event for event in events if isinstance(event, Notice) and event.level == "warning"]
        assert "did not take it, though it was asked to twice" in told.text

    async def test_after_a_call_the_next_announcement_is_the_first_again(self, project: Path) -> None:
        read = call("read_file", file_path="a.py")
        model = recording("Let me read the file.", read, "Let me read it again.", read, "It says x = 1.")
        result = await make_agent(model, project).execute_query("what does a.py say?")
        assert (result.status, result.answer) == ("done", "It says x = 1.")
        assert model.choices == ["auto"] * 5

    async def test_an_answer_to_the_asking_is_the_answer(self, project: Path) -> None:
        model = recording("Let me check.", "The answer is 4.")
        assert (await make_agent(model, project).execute_query("2+2?")).answer == "The answer is 4."

    async def test_the_person_who_speaks_again_begins_afresh(self, project: Path) -> None:
        model = recording(*["Let me look at it."] * 6)
        agent = make_agent(model, project)
        await play(agent, "go")
        await play(agent, "go on")
        assert model.choices == ["auto", "auto", "required"] * 2

    async def test_announcing_before_every_call_is_told(self, project: Path) -> None:
        turns: list[dict[str, object] | str] = []
        for line in range(3):
            turns += ["Let me read on.", call("read_file", file_path="a.py", start_line=1, max_lines=line + 1)]
        agent = make_agent(recording(*turns, "done"), project)
        assert (await agent.execute_query("go")).answer == "done"
        told = [message.text for message in agent.history.messages if isinstance(message, UserMessage)]
        assert "same answer" in told[-1]

    async def test_a_plan_may_end_with_what_will_be_done(self, project: Path) -> None:
        plan = "The port is read in a.py as a number, though the file may hold a text. " * 3 + "Then I will edit a.py."
        agent = make_agent(recording(plan, "more"), project)
        agent.offer(plan_note())
        assert (await agent.execute_query("plan it")).answer == plan

    async def test_a_short_announcement_is_no_plan(self, project: Path) -> None:
        agent = make_agent(recording("Let me read a.py.", "The plan: edit a.py."), project)
        agent.offer(plan_note())
        assert (await agent.execute_query("plan it")).answer == "The plan: edit a.py."


@pytest.mark.anyio
async def test_each_asking_is_said_to_the_person_in_one_dim_line(project: Path) -> None:
    script = scripted("Let me read the file now.", "Now I will read it.", "It is a file.")
    told = [event for event in await play(make_agent(script, project), "look") if isinstance(event, Notice)]
    assert [(event.level, event.text.partition(":")[0]) for event in told] == [
        ("info", "The model announced a step without taking it and was asked to take it."),
        ("info", "The model announced a step again and must take one now."),
    ]
