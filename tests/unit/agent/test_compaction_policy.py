"""When room is made, what is done with what came of it, and what is told: over a manager that does as it is told."""

from collections.abc import Callable
from typing import Any, Literal, cast

import pytest

from localllm.agent.compaction import MOST_FAILURES, Compaction, Surroundings
from localllm.agent.history import History
from localllm.agent.middleware import Inject, RunState
from localllm.agent.system_prompt import remark
from localllm.base import events
from localllm.base.errors import LLMConnectionError, ToolExecutionError
from localllm.base.events import AgentEvent, Notice, ToolCall, Usage
from localllm.context.budget import NO_MODEL
from localllm.context.context_manager import Compacted, SmartContextManager
from localllm.context.conversation import Conversation, Spoken
from localllm.context.summary import head_text
from localllm.llm.client import LLMClient
from localllm.llm.messages import AssistantMessage, Completion, SystemMessage, ToolSpec, UserMessage
from localllm.llm.overflow import Overflow
from localllm.tools.results import ToolResult, failed
from tests.support.agents import scripted

pytestmark = pytest.mark.anyio

OVERFLOW = LLMConnectionError("llm_context_overflow")
OTHER = LLMConnectionError("llm_server_failed", url="u", status=500, reason="")
CALL = ToolCall("c", "look", "{}")
TOO_LONG = LLMConnectionError("context_words_too_long", words="9", room="1", window="2")


class Manager(SmartContextManager):
    """Makes of a conversation what it is told to, and keeps what it was asked."""

    def __init__(self, client: LLMClient) -> None:
        super().__init__(client)
        self.made: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.fault: LLMConnectionError | None = None
        self.words_have_room = True

    def words_fit(self, conversation: Conversation, tools: Any) -> bool:
        return self.words_have_room

    async def compact(self, conversation: Conversation, tools: Any, **given: Any) -> Compacted:
        self.asked.append({"tools": tools, **given})
        if self.fault:
            raise self.fault
        if "begins" in given:
            cast("Callable[[], None]", given["begins"])()
        told = self.made.pop(0) if self.made else {}
        whole: dict[str, Any] = {"how": "summarised", "before": 900, "after": 100, "fits": True} | told
        return Compacted(conversation=conversation, **whole)


class Room:
    """A conversation in a window, full or not."""

    def __init__(self, tokens: int = 5, window: int = 4_096, *, assumes: bool = False) -> None:
        self.client = LLMClient(scripted("x"), model="m", context_window=0 if assumes else window)
        self.history = History("s")
        self.history.add_user("go " + "a b c d e " * (tokens * 36 // 100), words="go")
        self.notes: list[Compacted] = []
        self.told: list[AgentEvent] = []
        self.readied = 0
        self.policy = Compaction(
            self.client,
            self.history,
            lambda: (ToolSpec("look", "", {}),),
            compact_at=0.85,
            surroundings=Surroundings(),
            note=self.notes.append,
        )
        self.manager = Manager(self.client)
        self.policy.__dict__["manager"] = self.manager
        self.state = RunState("go", self.history, self.told.append)

    @property
    def notices(self) -> list[Notice]:
        return [event for event in self.told if isinstance(event, Notice)]

    async def step(self) -> str:
        decision = await self.policy.before_step(self.state)
        return decision.text if isinstance(decision, Inject) else ""


def cut_off(count: int = 1) -> list[ToolResult]:
    whole = ToolResult(call=CALL, success=True, payload={}, for_model="", summary="")
    return [whole, failed(CALL, ToolExecutionError("tool_cut_arguments", name="look")), whole][: count + 1]


class TestBeforeAStep:
    async def test_where_there_is_room_nothing_is_done(self) -> None:
        room = Room()
        assert await room.step() == ""
        assert (room.manager.asked, room.told) == ([], [])

    async def test_where_there_is_too_little_it_is_made_and_told(self) -> None:
        room = Room(3_500)
        assert await room.step() == ""
        (asked,) = room.manager.asked
        assert (asked["tools"], asked["overflow"]) == ((ToolSpec("look", "", {}),), None)
        begun, made, told = room.told
        assert isinstance(begun, Notice)
        assert begun.text.startswith("The context window is nearly full")
        assert isinstance(made, events.Compacted)
        assert (made.how, made.before, made.after) == ("summarised", 900, 100)
        assert [cast("Any", one)["role"] for one in made.messages] == ["system", "user"]
        assert isinstance(told, Notice)
        assert told.text.endswith("about 900 → 100 tokens. Your own messages are kept.")
        assert [one.after for one in room.notes] == [100]

    async def test_a_window_that_was_a_guess_is_asked_for_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        room = Room(9_000, assumes=True)

        async def get_ready(_client: LLMClient) -> None:
            room.readied += 1

        monkeypatch.setattr(LLMClient, "get_ready", get_ready)
        monkeypatch.setattr(LLMClient, "context_window", property(lambda _: 65_536 if room.readied else 8_192))
        assert await room.step() == ""
        assert (room.readied, room.manager.asked) == (1, [])

    @pytest.mark.parametrize("words_have_room", [True, False])
    async def test_in_a_window_that_is_a_guess_words_that_do_not_fit_are_left_to_the_server(
        self, words_have_room: bool
    ) -> None:
        room = Room(9_000, assumes=True)
        assert room.client.assumes_window
        room.manager.words_have_room = words_have_room
        await room.step()
        assert len(room.manager.asked) == words_have_room

    async def test_in_one_that_is_known_they_are_not(self) -> None:
        room = Room(3_500)
        room.manager.words_have_room = False
        await room.step()
        assert len(room.manager.asked) == 1


class TestAfterACut:
    @pytest.mark.parametrize(
        ("tokens", "half", "told"),
        [(5, False, "smaller_call"), (2_400, True, "room_made"), (1_900, False, "smaller_call")],
    )
    async def test_the_model_is_told_what_is_true_of_a_call(self, tokens: int, half: bool, told: str) -> None:
        room = Room(tokens)
        room.policy.after_results(room.state, cut_off())
        assert await room.step() == remark(told)
        assert len(room.manager.asked) == half
        assert await room.step() == "", "it is told once"

    @pytest.mark.parametrize("count", [0, 1, 2])
    async def test_one_cut_call_among_others_counts(self, count: int) -> None:
        room = Room()
        room.policy.after_results(room.state, cut_off(count))
        assert bool(await room.step()) == (count > 0)

    async def test_whole_calls_after_it_take_it_back(self) -> None:
        room = Room(2_400)
        room.policy.after_results(room.state, cut_off())
        room.policy.after_results(room.state, cut_off(0))
        assert await room.step() == ""
        assert room.manager.asked == []

    @pytest.mark.parametrize(
        ("text", "finish", "makes_room"),
        [("", "length", True), (" \n", "length", True), ("It is", "length", False), ("", "stop", False)],
    )
    async def test_thinking_that_was_cut_gets_room_and_no_word(self, text: str, finish: Any, makes_room: bool) -> None:
        room = Room(2_400)
        said = Completion(AssistantMessage(text), finish, Usage())
        assert await room.policy.after_answer(room.state, said) is None
        assert await room.step() == ""
        assert len(room.manager.asked) == makes_room


class TestWhatCameOfIt:
    @pytest.mark.parametrize(
        ("how", "why", "text"),
        [
            ("pruned", "", "Old tool output was dropped to make room: about 900 → 100 tokens."),
            ("summarised", NO_MODEL, "Your own messages are kept."),
            (
                "summarised",
                "it repeats itself",
                "Your own messages are kept. The model's summary could not be used (it repeats itself); a plain list "
                "of what was done takes its place.",
            ),
        ],
    )
    @pytest.mark.parametrize("fits", [True, False])
    async def test_it_is_told(self, how: str, why: str, text: str, fits: bool) -> None:
        room = Room(3_500)
        room.manager.made = [{"how": how, "why": why, "fits": fits, "usage": Usage(prompt_tokens=7)}]
        await room.step()
        told = room.notices[-1]
        assert told.text.endswith(text)
        assert told.level == ("info" if fits else "warning")
        (event,) = [event for event in room.told if isinstance(event, events.Compacted)]
        assert (event.how, event.usage.prompt_tokens) == (how, 7)

    @pytest.mark.parametrize("after", [900, 901])
    async def test_what_is_no_shorter_is_not_taken(self, after: int) -> None:
        room = Room(3_500)
        room.manager.made = [{"after": after}]
        await room.step()
        assert (room.history.generation, room.notes) == (0, [])
        assert [event for event in room.told if not isinstance(event, Notice)] == []
        assert len(room.notices) == 1

    @pytest.mark.parametrize("made", [{"fits": False}, {"after": 900}])
    async def test_so_many_in_a_row_that_do_not_help_end_the_run(self, made: dict[str, Any]) -> None:
        room = Room(3_500)
        for _ in range(2):
            room.manager.made = [made] * MOST_FAILURES
            for _ in range(MOST_FAILURES - 1):
                await room.step()
            with pytest.raises(LLMConnectionError) as raised:
                await room.step()
            assert raised.value.key == "context_full"
            assert "3" in str(raised.value)
            assert f"{made.get('after', 100)}" in str(raised.value)

    @pytest.mark.parametrize("between", ["one that helps", "room"])
    async def test_only_in_a_row(self, between: Literal["one that helps", "room"]) -> None:
        room = Room(3_500)
        room.manager.made = [{"fits": False}] * 2 + [{}] * (between != "room") + [{"fits": False}] * 2
        await room.step()
        await room.step()
        if between == "room":
            room.history.withdraw()
            room.history.add_user("short", words="short")
            await room.step()
            room.history.withdraw()
            room.history.add_user("go " + "a b c d e " * 1_300, words="go")
        else:
            await room.step()
        await room.step()
        await room.step()
        assert room.manager.made == []

    @pytest.mark.parametrize(("kind", "stays"), [("request", False), ("head", True), ("result", True)])
    async def test_a_request_that_has_no_room_is_taken_back(self, kind: str, stays: bool) -> None:
        room = Room(3_500)
        if kind == "head":
            text = head_text(["go"], "x " * 6_000)
            room.history.rewrite(Conversation((SystemMessage("s"), UserMessage(f"{text} go")), (Spoken("go", 1),)))
        elif kind == "result":
            room.history.add_assistant(AssistantMessage("", (CALL,)))
            room.history.add_result("c", "x")
        count = len(room.history.messages)
        room.manager.fault = TOO_LONG
        with pytest.raises(LLMConnectionError):
            await room.step()
        assert len(room.history.messages) == count - (not stays)


class TestAfterARefusal:
    async def test_room_is_made_by_what_the_server_has_said(self) -> None:
        room = Room()
        refusal = LLMConnectionError("llm_context_overflow")
        await room.policy.recover(refusal, room.told.append)
        assert isinstance(room.manager.asked[0]["overflow"], Overflow)
        assert room.history.generation == 1

    async def test_what_tells_of_something_else_is_raised_as_it_is(self) -> None:
        room = Room()
        with pytest.raises(LLMConnectionError) as raised:
            await room.policy.recover(OTHER, room.told.append)
        assert raised.value is OTHER
        assert room.manager.asked == []

    @pytest.mark.parametrize(("made", "raises"), [({"after": 900}, True), ({"fits": False}, False)])
    async def test_where_nothing_could_be_left_out_it_is_raised(self, made: dict[str, Any], raises: bool) -> None:
        room = Room()
        room.manager.made = [made]
        if not raises:
            await room.policy.recover(OVERFLOW, room.told.append)
            return
        with pytest.raises(LLMConnectionError) as raised:
            await room.policy.recover(OVERFLOW, room.told.append)
        assert raised.value is OVERFLOW

    @pytest.mark.parametrize(("tokens", "made"), [(1_900, False), (2_400, True)])
    async def test_room_for_a_longer_answer_is_made_from_half_of_the_window_on(self, tokens: int, made: bool) -> None:
        room = Room(tokens)
        assert await room.policy.make_room(room.told.append) == made
        assert len(room.manager.asked) == made


class TestByHand:
    @pytest.mark.parametrize(
        ("why", "ends"), [("", "are kept."), (NO_MODEL, "takes the place of a summary."), ("hm", "takes its place.")]
    )
    async def test_it_is_summed_up_and_told(self, why: str, ends: str) -> None:
        room = Room()
        room.manager.made = [{"why": why}]
        made = await room.policy.by_hand(room.told.append, "the numbers")
        assert made.after == 100
        (asked,) = room.manager.asked
        assert (asked["wish"], asked["by_hand"]) == ("the numbers", True)
        assert (len(room.notices), room.history.generation, len(room.notes)) == (1, 1, 1)
        assert room.notices[0].text.endswith(ends)

    async def test_where_that_makes_it_no_shorter_it_is_said(self) -> None:
        room = Room()
        room.manager.made = [{"after": 900}]
        await room.policy.by_hand(room.told.append)
        assert [one.text for one in room.notices] == ["There is nothing to summarise yet."]
        assert (room.history.generation, room.notes) == (0, [])


def test_where_the_window_goes_counts_the_tools_and_what_is_kept_free() -> None:
    room = Room()
    use = room.policy.use()
    assert (use.window, use.reserve, use.assumed) == (4_096, 1_024, False)
    assert use.parts["tools"] > 0
    assert Room(assumes=True).policy.use().assumed
