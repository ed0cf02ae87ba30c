"""A hand-off as it is asked for: what is tried again, and what is no summary."""

import random
from collections.abc import AsyncGenerator

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.context.budget import NO_MODEL, Scale
from localllm.context.conversation import Conversation, Spoken
from localllm.context.pruning import prune
from localllm.context.summary import (
    Begins,
    Summariser,
    Summary,
    count_open,
    fitting_transcript,
    head_text,
    plain_state,
    to_nobody,
    transcript,
)
from localllm.llm.client import LLMClient
from localllm.llm.messages import (
    AssistantMessage,
    CompletionRequest,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from localllm.llm.providers.base import Chunk, FinishChunk, TextChunk, UsageChunk
from localllm.llm.providers.scripted import Script, Scripted

pytestmark = pytest.mark.anyio

DOWN = LLMConnectionError("llm_server_failed", url="u", status=500, reason="")
GOOD = "The goal is to find the leak; cache.py was read, and nothing has been changed so far."


class Model(Scripted):
    """Refuses as many requests as too long as it is told to, then says GOOD and ends so."""

    name = "told"

    def __init__(
        self, refused: int = 0, finish: str = "stop", *, says: str = GOOD, error: LLMConnectionError | None = None
    ) -> None:
        super().__init__(Script(turn=()))
        self.asked: list[str] = []
        self.requests: list[CompletionRequest] = []
        self._refused = refused
        self._finish = finish
        self._says = says
        self._error = error or LLMConnectionError("llm_context_overflow")

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        self.asked.append(request.messages[-1].text)
        self.requests.append(request)
        if len(self.asked) <= self._refused:
            raise self._error
        yield TextChunk(self._says)
        yield UsageChunk(3_000, 30)
        yield FinishChunk(self._finish)


def talk(*paths: str) -> Conversation:
    messages: list[Message] = [SystemMessage("system"), UserMessage("Find the leak.")]
    for path in paths:
        messages += [
            AssistantMessage("", (ToolCall("c", "read_file", f'{{"file_path": "{path}"}}'),)),
            ToolMessage("c", "read_file", f"x = {path}\n" * 2_000),
        ]
    return Conversation(tuple(messages), (Spoken("Find the leak.", 1),))


async def summed_up(model: Scripted, wish: str = "", begins: Begins = to_nobody) -> Summary:
    conversation = talk(*(f"module_{number}.py" for number in range(30)))
    scale = Scale(LLMClient(model, model="m", context_window=8_192, max_retries=0), (), 0.85)
    budget = scale.budget(conversation.messages[0])
    return await Summariser(scale._client).summarise(conversation, scale, budget, wish, begins)


async def test_a_request_that_is_too_long_is_made_again_half_as_long() -> None:
    model = Model(refused=1)
    assert (await summed_up(model)).text == GOOD
    first, second = map(len, model.asked)
    assert second < 0.6 * first


async def test_two_that_are_too_long_are_enough() -> None:
    model = Model(refused=3)
    summary = await summed_up(model)
    assert (summary.text, len(model.asked)) == ("", 2)
    assert "does not fit" in summary.why


async def test_one_that_was_cut_at_the_limit_is_no_summary() -> None:
    summary = await summed_up(Model(finish="length"))
    assert (summary.text, summary.why) == ("", "it is too long")


def test_what_was_changed_is_not_listed_as_read() -> None:
    conversation = talk("a.py", "b.py")
    edit = ToolCall("e", "edit_file", '{"file_path": "a.py"}')
    more = (AssistantMessage("", (edit,)), ToolMessage("e", "edit_file", "Edited."))
    state = plain_state(Conversation((*conversation.messages, *more), conversation.spoken))
    assert "\nread: b.py\n" in state
    assert "\nchanged: a.py\n" in state


async def test_a_request_leaves_room_for_an_answer_of_the_length_that_is_asked_for() -> None:
    model = Model(refused=1)
    await summed_up(model)
    for request, share, summary in zip(model.requests, (1, 2), (819, 772), strict=True):
        asked = LLMClient(Scripted(Script(turn=())), model="m").estimate_prompt(request.messages)
        assert request.max_tokens == 2 * summary
        assert 0.5 < asked / ((8_192 - 2 * summary) / share) <= 0.81
        assert f"at most {int(0.6 * summary)} words" in request.messages[0].text
        assert request.tools == ()


async def test_who_waits_is_told_once_and_what_it_cost_is_known() -> None:
    told: list[str] = []
    summary = await summed_up(Model(refused=1), begins=lambda: told.append("begins"))
    assert told == ["begins"]
    assert (await summed_up(Model(says="hm"))).usage.prompt_tokens == 3_000, "of no use, and paid for"
    assert (summary.usage.prompt_tokens, summary.usage.completion_tokens) == (3_000, 30)


@pytest.mark.parametrize("wish", ["", "the numbers of the lines"])
async def test_a_wish_stands_behind_what_is_to_be_summed_up(wish: str) -> None:
    model = Model()
    await summed_up(model, wish)
    rest = model.asked[0].rpartition("</transcript>")[2]
    assert (f"keep: {wish}" in rest) == bool(wish)
    assert ("keep:" in rest) == bool(wish)
    assert model.asked[0].startswith("<transcript>\n")


@pytest.mark.parametrize("name", ["scripted", "embedded"])
async def test_who_answers_by_rules_is_asked_for_no_summary(name: str) -> None:
    model, told = Model(), list[str]()
    model.name = name
    assert await summed_up(model, begins=lambda: told.append("begins")) == Summary(why=NO_MODEL)
    assert (model.asked, told) == ([], [])


async def test_a_server_that_fails_otherwise_is_not_asked_again() -> None:
    model = Model(refused=1, error=DOWN)
    assert await summed_up(model) == Summary(why=DOWN.what)
    assert len(model.asked) == 1


WORDS = random.Random(1)
PROSE = " ".join("".join(WORDS.choices("aeinorst", k=WORDS.randint(2, 9))) for _ in range(1_200))


@pytest.mark.parametrize(
    ("says", "why"),
    [
        ("  \n", "returned an empty answer"),
        ("x" * 39, "it is too short to be one"),
        ("The leak is in the pool, which nobody ca", ""),
        ("again and again. " * 23, ""),
        ("again and again. " * 25, "it repeats itself"),
        (PROSE[:4_200], ""),
        (PROSE, "it is too long"),
    ],
    ids=["nothing", "short", "long enough", "alike but short", "chanting", "a little too long", "much too long"],
)
async def test_what_is_no_summary(says: str, why: str) -> None:
    summary = await summed_up(Model(says=says))
    assert why in summary.why
    assert summary.text == ("" if summary.why else says.strip())
    assert bool(summary.why) == bool(why)


def calling(name: str, arguments: str, result: str) -> list[Message]:
    return [AssistantMessage("", (ToolCall("c", name, arguments),)), ToolMessage("c", name, result)]


class TestThePlainState:
    def test_of_many_steps_the_newest_stand_and_the_others_are_counted(self) -> None:
        steps = [message for n in range(45) for message in calling("look", f'{{"at": "{n}"}}', f"it is {n}")]
        done = plain_state(Conversation((SystemMessage("s"), *steps))).partition("## Done\n")[2].split("\n\n")[0]
        assert done.splitlines() == ["- (… 5 earlier steps)", *(f"- look(at={n}) → it is {n}" for n in range(5, 45))]
        few = plain_state(Conversation((SystemMessage("s"), *steps[:80])))
        assert "earlier steps" not in few

    def test_equal_steps_in_a_row_stand_once(self) -> None:
        same, other = calling("look", '{"at": "a"}', "it is a"), calling("look", '{"at": "b"}', "it is b")
        state = plain_state(Conversation((SystemMessage("s"), *same, *same, *same, *other, *same)))
        assert "- look(at=a) → it is a (×3)\n- look(at=b) → it is b\n- look(at=a) → it is a\n" in state

    @pytest.mark.parametrize(
        ("tool", "result", "outcome"),
        [
            ("read_file", "one\ntwo\nthree", "3 lines"),
            ("read_file", "There is no such file.", "There is no such file."),
            ("look", "one\ntwo", "one two"),
            ("look", "x" * 110, "x" * 110),
            ("look", "x" * 111, "x" * 109 + "…"),
        ],
    )
    def test_what_came_of_a_step(self, tool: str, result: str, outcome: str) -> None:
        state = plain_state(Conversation((SystemMessage("s"), *calling(tool, '{"at": "a"}', result))))
        assert f"- {tool}(at=a) → {outcome}\n" in state

    def test_of_what_was_left_out_the_call_stands_alone(self) -> None:
        before = Conversation((SystemMessage("s"), *calling("look", '{"at": "a"}', "x" * 900)))
        assert "- look(at=a)\n" in plain_state(prune(before, 9))

    def test_the_newest_words_of_the_model_stand_in_short(self) -> None:
        said = [AssistantMessage(text) for text in ("first", "x" * 500 + "y", " ")]
        told = plain_state(Conversation((SystemMessage("s"), *said))).partition("## Said last\n")[2].split("\n")[0]
        assert told == "x" * 499 + "…"

    def test_what_was_handed_over_before_stands_once(self) -> None:
        changed = calling("edit_file", '{"file_path": "a.py"}', "Edited.")
        first = plain_state(Conversation((SystemMessage("s"), *changed)))
        again = Conversation((SystemMessage("s"), UserMessage(head_text([], first)), UserMessage("more")))
        second = plain_state(again)
        assert second.count("changed: a.py") == second.count("## Record") == 1
        assert second.count("edit_file(file_path=a.py) → Edited.") == 1


def asked(text: str, *rest: Message) -> list[Message]:
    return [UserMessage(text), *rest]


class TestTheOpenRequest:
    CALLED = (AssistantMessage("", (ToolCall("c", "look", "{}"),)), ToolMessage("c", "look", "it"))
    ANSWERED = (*CALLED, AssistantMessage("Done."))

    @staticmethod
    def talk(*messages: Message) -> Conversation:
        spoken = (Spoken(one.text, at) for at, one in enumerate(messages, 1) if isinstance(one, UserMessage))
        return Conversation((SystemMessage("s"), *messages), tuple(spoken))

    @pytest.mark.parametrize(
        ("messages", "count"),
        [
            ([*asked("a", *ANSWERED), *asked("b", *ANSWERED), *asked("c", *CALLED)], 1),
            ([*asked("a", *ANSWERED), *asked("b", *CALLED), *asked("and c")], 2),
            ([*asked("a", *CALLED), *asked("and b", *CALLED)], 0),
            ([*asked("a", *ANSWERED), *asked("b", *ANSWERED)], 0),
            ([*CALLED], 0),
        ],
    )
    def test_it_is_what_was_said_after_the_last_answer(self, messages: list[Message], count: int) -> None:
        assert count_open(self.talk(*messages)) == count

    def test_it_is_marked(self) -> None:
        text = head_text(["a", "b", "c"], "all", left=1)
        assert "oldest first:\n\n<said>\na\n</said>\n\n<said>\nb\n</said>\n\nOpen now:\n\n<said>\nc\n</said>" in text
        for same in (head_text(["a"], "all", left=1), head_text(["a", "b"], "all", "", "c", left=1)):
            assert "Open now" not in same

    @pytest.mark.parametrize("handed", [head_text(list("abc"), "x", left=2), head_text(list("ab"), "x", "", "c")])
    def test_it_is_known_after_another_hand_off(self, handed: str) -> None:
        left = 2 if "Open now" in handed else 1
        talk = Conversation((SystemMessage("s"), UserMessage(handed), *self.CALLED), tuple(Spoken(w, 1) for w in "abc"))
        assert count_open(talk) == left

    def test_without_a_mark_it_is_not_known(self) -> None:
        head = UserMessage(head_text(["a", "b"], "x"))
        assert count_open(Conversation((SystemMessage("s"), head), (Spoken("a", 1), Spoken("b", 1)))) == 0


class TestTheTranscript:
    def test_everything_that_was_said_and_done_is_in_it(self) -> None:
        messages = (
            *(SystemMessage("s"), UserMessage("offered\n\nfind it\n\n[Project p]"), AssistantMessage("I look.")),
            *calling("look", '{"at": "a"}', "it is a"),
        )
        assert transcript(Conversation(messages, (Spoken("find it", 1),)), 100).split("\n") == [
            *("USER: find it", "ASSISTANT: I look.", 'CALL look {"at": "a"}', "RESULT of look: it is a"),
        ]

    def test_of_an_earlier_hand_off_the_state_is_told(self) -> None:
        handed = UserMessage(head_text(["find it"], "all is done"))
        assert transcript(Conversation((SystemMessage("s"), handed)), 100) == "USER: all is done"
        assert transcript(Conversation((SystemMessage("s"), UserMessage("a remark"))), 100) == "USER: a remark"

    def test_what_is_long_is_cut_in_its_middle_words_less_than_results(self) -> None:
        text = "".join(f"{n:04}" for n in range(300))
        told = (UserMessage(text), AssistantMessage(text), *calling("look", text, text))
        user, said, call, result = transcript(Conversation((SystemMessage("s"), *told)), 90).split("\n")
        for line, most in ((user, 360), (said, 360), (call, 90), (result, 90)):
            cut = line.partition(" " if "CALL" not in line and "RESULT" not in line else "look")[2]
            first, _, last = cut.strip(": ").partition(" … ")
            assert text.startswith(first)
            assert text.endswith(last)
            assert len(first) + len(last) == most
            assert len(last) == 2 * len(first), "errors and results stand at the end"

    def test_results_are_as_long_as_there_is_room_for(self) -> None:
        scale = Scale(LLMClient(Scripted(Script(turn=())), model="m"), (), 0.85)
        conversation = talk("a.py", "b.py", "c.py")
        whole = fitting_transcript(conversation, 9_000, scale)
        assert whole == transcript(conversation, 4_000)
        for tokens in (700, 1_500, 3_000):
            fitted = fitting_transcript(conversation, tokens, scale)
            assert 0.4 * tokens < scale.text(fitted) <= tokens
            assert "characters left out" not in fitted
        assert "characters left out" in fitting_transcript(conversation, 60, scale)

    def test_what_was_handed_over_before_stands_at_its_beginning(self) -> None:
        scale = Scale(LLMClient(Scripted(Script(turn=())), model="m"), (), 0.85)
        handed = UserMessage(head_text(["find it"], "all of it is " + "done and " * 2_000 + "seen"))
        conversation = Conversation((SystemMessage("s"), handed, *talk("a.py").messages[2:]))
        fitted = fitting_transcript(conversation, 1_000, scale)
        first, _, rest = fitted.partition("\n\n")
        assert first.startswith("Handed over before:\nall of it is done")
        assert first.endswith("done and seen")
        assert 400 < scale.text(first) <= 510
        assert 250 < scale.text(rest) <= 500
        assert "characters left out" not in rest, "results are shorter instead"
