"""The conversation: valid whatever happens, and never changed where it was sent."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.agent.history import Forgotten, History, Mark, with_remark
from localllm.base.events import ToolCall
from localllm.context.conversation import PUT_ASIDE, Conversation, Spoken
from localllm.llm.message_format import normalised
from localllm.llm.messages import AssistantMessage, Image, Message, SystemMessage, ToolMessage, UserMessage
from localllm.sessions.entries import Kept, Noted, Rewritten, Withdrawn, Worded

CALL = ToolCall("c1", "look", "{}")


def check_valid(messages: tuple[Message, ...]) -> None:
    """One system message, first; user and model in turn; every call answered before anything else, once."""
    assert isinstance(messages[0], SystemMessage)
    open_calls: list[str] = []
    for before, message in itertools.pairwise(messages):
        match message:
            case SystemMessage():
                pytest.fail("a second system message")
            case UserMessage():
                assert not isinstance(before, UserMessage | ToolMessage)
                assert not open_calls
            case AssistantMessage():
                assert not open_calls
                assert isinstance(before, UserMessage | ToolMessage)
                open_calls = [call.id for call in message.tool_calls]
            case ToolMessage(call_id):
                open_calls.remove(call_id)
    assert not open_calls


ACTIONS = st.sampled_from(["user", "answer", "call", "two calls", "result", "note", "close"])


@given(st.lists(ACTIONS, max_size=40))
def test_no_sequence_of_events_makes_it_invalid(actions: list[str]) -> None:
    history = History("system")
    sent: tuple[Message, ...] = ()
    for number, action in enumerate(actions):
        try:
            match action:
                case "user":
                    history.add_user(f"user {number}")
                case "answer":
                    history.add_assistant(AssistantMessage(f"answer {number}"))
                case "call" | "two calls":
                    count = 2 if action == "two calls" else 1
                    calls = tuple(ToolCall(f"{number}.{index}", "look", "{}") for index in range(count))
                    history.add_assistant(AssistantMessage("", calls))
                case "result":
                    history.add_result(history.open_calls[0].id if history.open_calls else "none", "result")
                case "note":
                    history.append_note("note")
                case _:
                    history.close_turn("interrupted", "interrupted")
        except ValueError:
            pass
        else:
            if not history.open_calls and isinstance(history.messages[-1], UserMessage | ToolMessage):
                now = history.messages_to_send()
                assert now[: len(sent)] == sent, "what was sent has changed"
                sent = now
    history.close_turn("interrupted", "interrupted")
    check_valid(history.messages)
    history.add_user("it can always be gone on with")


@pytest.mark.parametrize("ending", ["user", "result", "answer"])
def test_a_remark_that_is_not_kept_stands_where_one_that_is_does(ending: str) -> None:
    history = History("system")
    history.add_user("user")
    if ending != "user":
        history.add_assistant(AssistantMessage("", (CALL,)) if ending == "result" else AssistantMessage("answer"))
    if ending == "result":
        history.add_result(CALL.id, "result")
    before = history.messages
    remarked = with_remark(before, "remark")
    assert history.messages == before
    history.add_remark("remark")
    assert history.messages == remarked
    check_valid(remarked)


def summed_up(history: History, number: int) -> Conversation:
    """The conversation with all but its newest answer and results in one message, as a compaction makes it."""
    now = history.conversation
    answers = [n for n, message in enumerate(now.messages) if isinstance(message, AssistantMessage)]
    start = answers[-1] if answers else len(now.messages)
    head = UserMessage("\n".join([f"summary {number}", *(said.text for said in now.spoken if said.message < start)]))
    spoken = tuple(Spoken(said.text, max(1, said.message - start + 2)) for said in now.spoken)
    return Conversation((now.messages[0], head, *now.messages[start:]), spoken)


MORE = st.sampled_from(
    ["user", "answer", "call", "two calls", "result", "remark", "close", "rewrite", "mark", "rewind", "restore"]
)


def say(history: History, action: str, number: int) -> str:
    """Do one thing that a run does; what of it are the person's words."""
    said = f"words {number}"
    match action:
        case "user":
            history.add_user(f"{said} and a file", words=said)
            return said
        case "answer":
            history.add_assistant(AssistantMessage(f"answer {number}"))
        case "call" | "two calls":
            count = 2 if action == "two calls" else 1
            calls = tuple(ToolCall(f"{number}.{index}", "look", "{}") for index in range(count))
            history.add_assistant(AssistantMessage("", calls))
        case "result":
            history.add_result(history.open_calls[0].id if history.open_calls else "none", "result")
        case "remark":
            history.add_remark(f"[steer] {said}", words=said)
            return said
        case "rewrite":
            history.rewrite(summed_up(history, number))
        case _:
            history.close_turn("interrupted", "interrupted")
    return ""


class Travelling:
    """A conversation that goes back and forth, with what it should say at each place."""

    def __init__(self) -> None:
        self.history = History("system")
        self.words: list[str] = []
        self._marks: list[Mark] = []
        self._back: tuple[Forgotten, tuple[Message, ...], list[str]] | None = None

    def do(self, action: str, number: int, which: int) -> None:
        history = self.history
        match action:
            case "mark":
                history.close_turn("", "marked")
                self._marks.append(history.mark())
            case "rewind" if self._marks:
                before = history.messages, list(self.words)
                self._back = (history.rewind(self._marks[which % len(self._marks)]), *before)
                self.words = list(history.words)
            case "rewind" | "restore":
                if self._back and not history.open_calls:
                    history.restore(self._back[0])
                    assert history.messages == self._back[1]
                    self.words = self._back[2]
                self._back = None
            case _:
                if said := say(history, action, number):
                    self.words.append(said)
                self._back = None


@given(st.lists(st.tuples(MORE, st.integers(0, 3)), max_size=60))
def test_rewriting_and_going_back_leave_it_valid_and_lose_no_word(actions: list[tuple[str, int]]) -> None:
    travelling = Travelling()
    history = travelling.history
    for number, (action, which) in enumerate(actions):
        before = history.messages
        try:
            travelling.do(action, number, which)
        except ValueError:
            assert history.messages == before, "what failed has changed something"
        assert list(history.words) == travelling.words
        assert all(spoken.text in history.messages[spoken.message].text for spoken in history.conversation.spoken)
        if not history.open_calls and isinstance(history.messages[-1], UserMessage | ToolMessage):
            history.messages_to_send()
    history.close_turn("interrupted", "interrupted")
    check_valid(history.messages)
    assert normalised(history.messages) == history.messages
    history.add_user("it can always be gone on with")


def turn(history: History) -> None:
    history.add_user("do it: keep this", words="keep this")
    history.add_assistant(AssistantMessage("", (CALL,)))
    history.add_result("c1", "a long result")


@pytest.mark.parametrize(
    ("to", "why"),
    [
        ((SystemMessage("other"), UserMessage("keep this")), "system"),
        ((SystemMessage("s"), UserMessage("keep that")), "verbatim"),
        ((SystemMessage("s"), UserMessage("keep this"), AssistantMessage("x")), "speaks next"),
        ((SystemMessage("s"), UserMessage("keep this"), UserMessage("x")), "closed"),
        ((SystemMessage("s"), UserMessage("keep this"), ToolMessage("c9", "look", "x")), "open call"),
    ],
)
def test_what_it_is_not_rewritten_to(to: tuple[Message, ...], why: str) -> None:
    history = History("s")
    turn(history)
    before = history.conversation
    with pytest.raises(ValueError, match=why):
        history.rewrite(Conversation(to, (Spoken("keep this", 1),)))
    assert history.conversation == before


def spoken_twice() -> History:
    history = History("s")
    turn(history)
    history.add_assistant(AssistantMessage("done"))
    history.add_user("and this", words="and this")
    return history


def test_the_oldest_words_may_be_put_aside_and_are_known_still() -> None:
    history = spoken_twice()
    to = (SystemMessage("s"), UserMessage("[it is in a file] and this"))
    history.rewrite(Conversation(to, (Spoken("keep this", PUT_ASIDE), Spoken("and this", 1))))
    assert history.words == ("keep this", "and this")
    assert history.conversation.aside == ["keep this"]


def test_the_newest_words_stay_where_older_ones_do() -> None:
    history = spoken_twice()
    to = (SystemMessage("s"), UserMessage("keep this"))
    with pytest.raises(ValueError, match="verbatim"):
        history.rewrite(Conversation(to, (Spoken("keep this", 1), Spoken("and this", PUT_ASIDE))))


def test_a_generation_nobody_can_go_back_to_is_let_go() -> None:
    history = History("s")
    mark = history.mark()
    turn(history)
    for number in range(5):
        history.rewrite(summed_up(history, number))
    history.close_turn("", "")
    assert len(history.rewind(mark).earlier) == 1
    assert history.messages == (SystemMessage("s"),)


def test_a_request_that_was_not_answered_is_taken_back() -> None:
    history = History("s")
    history.add_user("too long", words="too long")
    history.withdraw()
    assert (history.messages, history.words) == ((SystemMessage("s"),), ())
    history.withdraw()
    history.add_user("shorter", words="shorter")


def test_a_user_does_not_speak_twice() -> None:
    history = History("s")
    history.add_user("a")
    with pytest.raises(ValueError, match="closed"):
        history.add_user("b")


def test_the_model_is_not_asked_while_a_call_is_open() -> None:
    history = History("s")
    history.add_user("a")
    history.add_assistant(AssistantMessage("", (CALL,)))
    with pytest.raises(ValueError, match="results"):
        history.messages_to_send()


def test_what_was_sent_takes_no_note() -> None:
    history = History("s")
    history.add_user("a")
    history.append_note("today")
    assert history.messages_to_send()[-1] == UserMessage("a\n\ntoday")
    with pytest.raises(ValueError, match="never changed"):
        history.append_note("tomorrow")


def test_closing_answers_open_calls_and_gives_the_model_the_last_word() -> None:
    history = History("s")
    history.add_user("a")
    history.add_assistant(AssistantMessage("let me look", (CALL, ToolCall("c2", "look", "{}"))))
    history.add_result("c1", "seen")
    history.close_turn("not run", "stopped")
    assert history.messages[-3:] == (
        ToolMessage("c1", "look", "seen"),
        ToolMessage("c2", "look", "not run"),
        AssistantMessage("stopped"),
    )
    before = history.messages
    history.close_turn("again", "again")
    assert history.messages == before


def test_after_a_request_was_taken_back_the_next_one_takes_a_note() -> None:
    history = History("system")
    history.add_user("too long")
    history.messages_to_send()
    history.withdraw()
    history.add_user("short")
    history.append_note("[Plan mode]")
    assert history.messages[-1] == UserMessage("short\n\n[Plan mode]")


PICTURE, OTHER = Image("image/png", b"a"), Image("image/png", b"b")


class TestListeners:
    """The session's log is told of every change, with all that it needs to make it again."""

    @staticmethod
    def heard(history: History) -> list[object]:
        entries: list[object] = []
        history.listen(entries.append)
        return entries

    def test_every_message_is_told_with_the_users_words(self) -> None:
        history = History("s")
        entries = self.heard(history)
        history.begin_with("t")
        history.begin_with("t")
        history.add_user("go\n\na file", (PICTURE,), words="go", typed="g")
        history.add_assistant(AssistantMessage("", (CALL,)))
        history.add_result("c1", "a wall", (OTHER,))
        assert entries == [
            Kept(message=SystemMessage("t")),
            Kept(message=UserMessage("go\n\na file", (PICTURE,)), words="go", typed="g"),
            Kept(message=AssistantMessage("", (CALL,))),
            Kept(message=ToolMessage("c1", "look", "a wall", (OTHER,))),
        ]
        assert [entry.message for entry in entries if isinstance(entry, Kept)] == list(history.messages)

    def test_notes_and_remarks_are_told_as_they_stand(self) -> None:
        history = History("s")
        history.add_user("go", (PICTURE,), words="go")
        entries = self.heard(history)
        history.append_note("and fast", (OTHER,), words="fast")
        assert history.messages[-1] == UserMessage("go\n\nand fast", (PICTURE, OTHER))
        history.add_assistant(AssistantMessage("Well."))
        history.add_remark("why?", (PICTURE,), words="why?")
        assert entries == [
            Noted(text="and fast", images=(OTHER,), words="fast"),
            Kept(message=AssistantMessage("Well.")),
            Kept(message=UserMessage("why?", (PICTURE,)), words="why?"),
        ]
        assert history.conversation.spoken == (Spoken("go", 1), Spoken("fast", 1), Spoken("why?", 3))

    def test_what_is_rewritten_and_taken_back_is_told(self) -> None:
        history = History("s")
        history.add_user("go on", words="go on")
        entries = self.heard(history)
        made = Conversation((SystemMessage("s"), UserMessage("in short: go on")), (Spoken("go on", 1),))
        history.rewrite(made)
        history.withdraw()
        history.withdraw()
        assert entries == [Rewritten(messages=made.messages, words=(Worded("go on", 1),)), Withdrawn()]
        assert history.words == ()

    def test_going_back_is_told_by_whoever_asks_for_it(self) -> None:
        history = History("s")
        mark = history.mark()
        turn(history)
        history.close_turn("", "so")
        entries = self.heard(history)
        history.restore(history.rewind(mark))
        assert entries == []


def test_the_system_message_stays_from_the_first_answer_on() -> None:
    history = History("s")
    history.begin_with("t")
    history.add_user("go")
    history.begin_with("u")
    assert (history.messages[0], history.is_answered) == (SystemMessage("u"), False)
    history.add_assistant(AssistantMessage("Well."))
    assert history.is_answered
    with pytest.raises(ValueError, match="system message"):
        history.begin_with("v")


def test_results_come_in_any_order_each_for_its_call() -> None:
    history = History("s")
    history.add_user("go")
    history.add_assistant(AssistantMessage("", (CALL, ToolCall("c2", "find", "{}"), ToolCall("c2", "open", "{}"))))
    assert not history.awaits_answer
    history.add_result("c2", "first")
    history.add_result("c1", "second")
    assert [call.name for call in history.open_calls] == ["open"]
    history.add_result("c2", "third")
    assert history.messages[-3:] == (
        ToolMessage("c2", "find", "first"),
        ToolMessage("c1", "look", "second"),
        ToolMessage("c2", "open", "third"),
    )
    assert history.awaits_answer
    with pytest.raises(ValueError, match="c1"):
        history.add_result("c1", "again")


def test_it_is_rewritten_with_every_word() -> None:
    history = spoken_twice()
    to = (SystemMessage("s"), UserMessage("keep this and this"))
    for spoken in ((Spoken("and this", 1),), (Spoken("and this", 1), Spoken("keep this", 1))):
        with pytest.raises(ValueError, match="verbatim"):
            history.rewrite(Conversation(to, spoken))
    history.rewrite(Conversation(to, (Spoken("keep this", 1), Spoken("and this", 1))))
    assert history.words == ("keep this", "and this")


def test_what_was_rewritten_was_not_sent_yet() -> None:
    history = History("s")
    history.add_user("go", words="go")
    history.messages_to_send()
    history.add_assistant(AssistantMessage("Well."))
    history.add_user("on", words="on")
    to = (SystemMessage("s"), UserMessage("go on"))
    history.rewrite(Conversation(to, (Spoken("go", 1), Spoken("on", 1))))
    history.append_note("[a note]")
    assert history.messages_to_send() == (SystemMessage("s"), UserMessage("go on\n\n[a note]"))


def test_a_rewritten_conversation_has_another_number() -> None:
    history = History("s")
    turn(history)
    assert history.generation == 0
    mark = history.mark()
    history.rewrite(summed_up(history, 1))
    assert (history.generation, history.mark()) == (1, Mark(4, 1))
    history.rewrite(summed_up(history, 2))
    assert history.generation == 2
    history.close_turn("", "so")
    forgotten = history.rewind(mark)
    assert (history.generation, len(history.messages), history.words) == (0, 1, ())
    assert forgotten.count == 1, "what the user asked for"
    history.restore(forgotten)
    assert history.generation == 2
    turn(history)
    history.rewrite(summed_up(history, 3))
    assert history.generation == 3


def test_how_many_messages_are_forgotten_and_what_stays_stays_sent() -> None:
    history = History("s")
    turn(history)
    history.messages_to_send()
    history.add_assistant(AssistantMessage("so"))
    mark = history.mark()
    history.add_user("more", words="more")
    history.messages_to_send()
    history.add_assistant(AssistantMessage("and so"))
    forgotten = history.rewind(mark)
    assert (forgotten.count, history.words, len(history.messages)) == (2, ("keep this",), 5)
    history.add_user("other", words="other")
    history.append_note("a note to what was not sent yet")
    history.close_turn("", "so")
    history.rewind(mark)
    history.restore(forgotten)
    assert history.words == ("keep this", "more")
    with pytest.raises(ValueError, match="user message"):
        history.append_note("to an answer")


def test_what_came_after_the_place_gone_back_to_cannot_be_gone_to() -> None:
    history = History("s")
    first = history.mark()
    turn(history)
    history.rewrite(summed_up(history, 1))
    second = history.mark()
    history.rewrite(summed_up(history, 2))
    history.close_turn("", "so")
    forgotten = history.rewind(first)
    assert history.rewind(second).count == 0
    assert (history.generation, history.messages) == (0, (SystemMessage("s"),))
    history.restore(forgotten)
    history.rewind(second)
    assert history.generation == 1
