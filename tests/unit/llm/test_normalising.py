"""The normaliser: whatever it is given, what it gives is valid; and it never takes back what was sent."""

from collections.abc import Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from localllm.base.events import ToolCall
from localllm.llm.message_format import BEGINNING, LOOKING, NO_ANSWER, NOT_RUN, Normaliser, normalised
from localllm.llm.messages import AssistantMessage, Image, Message, SystemMessage, ToolMessage, UserMessage
from tests.support.call_count import calls_in
from tests.support.each import each
from tests.support.pictures import JPEG, PNG, WEBP

READ = ToolCall("1", "read_file", "{}")
LOOK = ToolCall("2", "git_status", "{}")
VALID: tuple[Message, ...] = (
    SystemMessage("You help."),
    UserMessage("Look"),
    AssistantMessage("I look.", (READ, LOOK), "Hm"),
    ToolMessage("2", "git_status", "clean"),
    ToolMessage("1", "read_file", "x"),
    AssistantMessage("Done."),
    UserMessage("Thanks"),
)

ids = st.sampled_from(["", "a", "b", "c0", "call_1", "functions.read:0", "ABCdef123", "\ud800"])
names = st.sampled_from(["read_file", "file.read", "", "名前", "x" * 80])
texts = st.sampled_from(["", " ", "one", "two\n", "三"])
calls = st.builds(ToolCall, ids, names, st.sampled_from(["{}", '{"a":', ""]))
images = st.lists(st.sampled_from([PNG, JPEG, WEBP]), max_size=2).map(tuple)
messages = st.one_of(
    st.builds(SystemMessage, texts),
    st.builds(UserMessage, texts, images),
    st.builds(AssistantMessage, texts, st.lists(calls, max_size=3).map(tuple), texts),
    st.builds(ToolMessage, ids, names, texts, images),
)
conversations = st.lists(messages, max_size=12)


def fault(sent: Sequence[Message]) -> str:
    """What is wrong with a conversation; empty where it is valid."""
    opened: list[ToolCall] = []
    seen: set[str] = set()
    before: Message | None = None
    for message in sent:
        match message:
            case SystemMessage() if before is not None:
                return "a system message that is not the first"
            case UserMessage() if isinstance(before, UserMessage | ToolMessage) or opened:
                return "a user message out of turn"
            case AssistantMessage() if not isinstance(before, UserMessage | ToolMessage) or opened:
                return "an answer out of turn"
            case AssistantMessage(text, made):
                if not (text.strip() or made):
                    return "an empty answer"
                if any(not call.id or not call.name for call in made) or len({*seen, *(c.id for c in made)}) < len(
                    seen
                ) + len(made):
                    return "an id that is empty or not the only one"
                seen |= {call.id for call in made}
                opened = list(made)
            case ToolMessage(call_id, name, _, pictures):
                if pictures:
                    return "a picture in a result"
                answered = next((call for call in opened if (call.id, call.name) == (call_id, name)), None)
                if answered is None:
                    return "a result of no call"
                opened.remove(answered)
            case _:
                pass
        before = message
    return "a call without a result" if opened else ""


@given(conversations, st.booleans())
def test_any_conversation_becomes_valid_and_stays_as_it_is_then(given_: list[Message], short_ids: bool) -> None:
    sent = normalised(given_, short_ids=short_ids)
    assert fault(sent) == ""
    assert normalised(sent, short_ids=short_ids) == sent
    assert all(mine is theirs for mine, theirs in zip(sent, normalised(sent, short_ids=short_ids), strict=True))


@given(st.lists(st.tuples(st.integers(0, 12), st.lists(messages, max_size=4)), max_size=6), st.booleans())
def test_what_is_made_of_a_continuation_is_what_is_made_of_the_whole(
    steps: list[tuple[int, list[Message]]], short_ids: bool
) -> None:
    normaliser = Normaliser()
    conversation: list[Message] = []
    for kept, new in steps:
        conversation = [*conversation[:kept], *new] if kept < 6 else [*conversation, *new]
        made = normaliser.normalised(conversation, thinking=True, short_ids=short_ids)
        assert made == normalised(conversation, short_ids=short_ids)


def test_of_a_continuation_only_what_is_new_is_made() -> None:
    normaliser = Normaliser()
    conversation = [*VALID] * 50

    def cost() -> int:
        return calls_in(lambda: normaliser.normalised(conversation, thinking=True, short_ids=False))

    first = cost()
    conversation += VALID[1:]
    assert cost() < first / 10


def test_ids_given_again_and_again_are_soon_made_different() -> None:
    def cost(count: int) -> int:
        answers = [AssistantMessage("", (ToolCall("call_0", "t", "{}"),)) for _ in range(count)]
        return calls_in(lambda: normalised(answers))

    assert cost(400) < 5 * cost(100)


@given(conversations, conversations, st.booleans(), st.booleans())
def test_what_was_sent_is_the_beginning_of_what_is_sent_later(
    before: list[Message], after: list[Message], short_ids: bool, keep: bool
) -> None:
    """At every point at which a request may be sent: after a user message, or the results of all calls."""
    answers = next((at for at in range(len(before) - 1, -1, -1) if not isinstance(before[at], ToolMessage)), -1)
    wanted = before[answers].tool_calls if answers >= 0 and isinstance(before[answers], AssistantMessage) else ()
    given_ids = [message.call_id for message in before[answers + 1 :] if isinstance(message, ToolMessage)]
    asked = bool(before) and isinstance(before[-1], UserMessage)
    if not asked and (not wanted or sorted(given_ids) != sorted(call.id for call in wanted)):
        return
    sent = normalised(before, thinking=keep, short_ids=short_ids)
    later = normalised([*before, *after], thinking=keep, short_ids=short_ids)
    assert later[: len(sent) - 1] == sent[:-1]
    assert later[len(sent) - 1].text.startswith(sent[-1].text), "only more of the user's words may come behind"
    assert shown(later[len(sent) - 1])[: len(shown(sent[-1]))] == shown(sent[-1]), "and more of the user's pictures"
    if (
        isinstance(sent[-1], ToolMessage)
        or not after
        or (isinstance(after[0], AssistantMessage) and (after[0].text.strip() or after[0].tool_calls))
    ):
        assert later[: len(sent)] == sent


@given(conversations)
def test_no_picture_is_lost_or_made_up(given_: list[Message]) -> None:
    """But for those in results of no call; the others keep their order within an answer."""
    sent = [image for message in normalised(given_) for image in shown(message)]
    users = [image for message in given_ if isinstance(message, UserMessage) for image in message.images]
    everything = [image for message in given_ for image in getattr(message, "images", ())]
    assert len(users) <= len(sent) <= len(everything)
    assert not [image for image in sent if image not in everything]


@given(conversations)
def test_without_pictures_nothing_is_said_of_any(given_: list[Message]) -> None:
    bare = [msgspec.structs.replace(m, images=()) if isinstance(m, UserMessage | ToolMessage) else m for m in given_]
    assert LOOKING not in [message.text for message in normalised(bare)]


def shown(message: Message) -> tuple[Image, ...]:
    return message.images if isinstance(message, UserMessage) else ()


def test_pictures_of_results_are_shown_by_the_user_behind_all_results() -> None:
    results = (
        ToolMessage("2", "git_status", "clean"),
        ToolMessage("1", "read_file", "x", (PNG, JPEG)),
    )
    before = (UserMessage("a"), AssistantMessage("", (READ, LOOK)))
    sent = normalised([*before, *results])
    assert sent == (
        *before,
        ToolMessage("2", "git_status", "clean"),
        ToolMessage("1", "read_file", "x"),
        AssistantMessage(LOOKING),
        UserMessage("[pictures 1 to 2: from result 2, of read_file]", (PNG, JPEG)),
    )
    later = normalised([*before, *results, AssistantMessage("I see."), UserMessage("b", (WEBP,))])
    assert later == (*sent, AssistantMessage("I see."), UserMessage("b", (WEBP,)))


def test_pictures_of_several_results_say_whose_they_are() -> None:
    made = AssistantMessage("", (READ, LOOK))
    results = [ToolMessage("1", "read_file", "x", (PNG,)), ToolMessage("2", "git_status", "y", (WEBP,))]
    *_, last = normalised([UserMessage("a"), made, *results, UserMessage("b", (JPEG,))])
    assert last == UserMessage(
        "[picture 1: from result 1, of read_file]\n[picture 2: from result 2, of git_status]\n\nb", (PNG, WEBP, JPEG)
    )


def test_pictures_of_a_result_are_shown_though_another_result_is_missing() -> None:
    made = AssistantMessage("", (READ, LOOK))
    sent = normalised([UserMessage("a"), made, ToolMessage("1", "read_file", "x", (PNG,))])
    assert [type(message) for message in sent[2:]] == [ToolMessage, ToolMessage, AssistantMessage, UserMessage]
    assert sent[3] == ToolMessage("2", "git_status", NOT_RUN)


def test_a_result_of_no_call_shows_nothing() -> None:
    assert normalised([UserMessage("a"), ToolMessage("1", "read_file", "x", (PNG,))]) == (UserMessage("a"),)


def test_neighbouring_pictures_of_the_user_stay_together() -> None:
    assert normalised([UserMessage("a", (PNG,)), UserMessage("b", (JPEG,))]) == (UserMessage("a\n\nb", (PNG, JPEG)),)


def test_what_is_valid_passes_unchanged() -> None:
    assert fault(VALID) == ""
    assert all(mine is theirs for mine, theirs in zip(normalised(VALID), VALID, strict=True))
    assert normalised(()) == ()


@each(
    ("conversation", "sent"),
    [
        ([SystemMessage("a"), SystemMessage("b"), UserMessage("c")], [SystemMessage("a\n\nb"), UserMessage("c")]),
        (
            [UserMessage("a"), AssistantMessage("b"), SystemMessage("c"), UserMessage("d")],
            [UserMessage("a"), AssistantMessage("b"), UserMessage("c\n\nd")],
        ),
        ([UserMessage("a"), UserMessage("b")], [UserMessage("a\n\nb")]),
        ([UserMessage("a"), AssistantMessage("  ", thinking="x"), UserMessage("b")], [UserMessage("a\n\nb")]),
        (
            [UserMessage("a"), AssistantMessage("b"), AssistantMessage("c", thinking="d")],
            [UserMessage("a"), AssistantMessage("b\n\nc", thinking="d")],
        ),
        ([AssistantMessage("a")], [UserMessage(BEGINNING), AssistantMessage("a")]),
        (
            [
                UserMessage("a"),
                AssistantMessage("", (READ, LOOK)),
                ToolMessage("2", "git_status", "x"),
                UserMessage("b"),
            ],
            [
                UserMessage("a"),
                AssistantMessage("", (READ, LOOK)),
                ToolMessage("2", "git_status", "x"),
                ToolMessage("1", "read_file", NOT_RUN),
                AssistantMessage(NO_ANSWER),
                UserMessage("b"),
            ],
        ),
        (
            [UserMessage("a"), ToolMessage("1", "read_file", "x"), AssistantMessage("b")],
            [UserMessage("a"), AssistantMessage("b")],
        ),
        (
            [
                UserMessage("a"),
                AssistantMessage("", (READ,)),
                ToolMessage("1", "read_file", "x"),
                AssistantMessage("", (READ,)),
                ToolMessage("1", "read_file", "y"),
            ],
            [
                UserMessage("a"),
                AssistantMessage("", (READ,)),
                ToolMessage("1", "read_file", "x"),
                AssistantMessage("", (ToolCall("1_2", "read_file", "{}"),)),
                ToolMessage("1_2", "read_file", "y"),
            ],
        ),
        (
            [UserMessage("a"), AssistantMessage("", (ToolCall("", "file.read", "{}"),)), ToolMessage("", "", "x")],
            [
                UserMessage("a"),
                AssistantMessage("", (ToolCall("call_1", "file_read", "{}"),)),
                ToolMessage("call_1", "file_read", "x"),
            ],
        ),
    ],
)
def test_what_is_made_of_what_is_not(conversation: list[Message], sent: list[Message]) -> None:
    assert list(normalised(conversation)) == sent


def test_ids_of_nine_letters_and_digits_for_the_families_that_insist() -> None:
    made = (ToolCall("call_0123456789ab", "look", "{}"), ToolCall("aB3dE6gH9", "look", "{}"))
    results = [ToolMessage(call.id, "look", "x") for call in made]
    _, answer, first, second = normalised([UserMessage("a"), AssistantMessage("", made), *results], short_ids=True)
    assert isinstance(answer, AssistantMessage)
    short, kept = (call.id for call in answer.tool_calls)
    assert (len(short), short.isalnum(), kept) == (9, True, "aB3dE6gH9")
    assert [result.call_id for result in (first, second) if isinstance(result, ToolMessage)] == [short, kept]


def test_thinking_is_left_out_where_the_family_does_not_need_it() -> None:
    sent = normalised(VALID, thinking=False)
    assert sent[2] == AssistantMessage("I look.", (READ, LOOK))
    assert [mine for mine in sent if not isinstance(mine, AssistantMessage)] == [
        theirs for theirs in VALID if not isinstance(theirs, AssistantMessage)
    ]
