"""SmartContextManager as its callers see it."""

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.base.events import ToolCall
from localllm.context.budget import MAX_TOOL_OUTPUT, MIN_TOOL_OUTPUT, Scale, output_limit
from localllm.context.context_manager import SmartContextManager
from localllm.context.conversation import PUT_ASIDE, Conversation, Spoken
from localllm.context.pruning import cut_message, prune, prune_pictures, put_aside, told_of, was_pruned
from localllm.context.summary import head_text, is_head, plain_state
from localllm.context.usage import window_use
from localllm.llm.client import LLMClient
from localllm.llm.messages import (
    RECORD,
    AssistantMessage,
    Image,
    Message,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
    newest_request,
    state_in,
)
from localllm.llm.overflow import Overflow
from localllm.llm.providers.base import ModelInfo
from localllm.llm.tokens import estimate_tokens
from tests.support.agents import scripted
from tests.unit.llm.test_client import Asked

pytestmark = pytest.mark.anyio

LOOK = ToolSpec("look", "Look at it.", {"type": "object", "properties": {}})


def client(window: int = 4_096) -> LLMClient:
    return LLMClient(scripted("hello"), model="m", context_window=window)


MANAGER = SmartContextManager(client())


@given(st.text(max_size=400), st.integers(0, 100))
def test_optimize_context_is_never_over_the_limit(text: str, limit: int) -> None:
    made = MANAGER.optimize_context(text, limit)
    asked = client()
    assert asked.estimate_tokens(made) <= limit
    if asked.estimate_tokens(text) <= limit:
        assert made == text


def test_optimize_context_compresses_before_it_cuts() -> None:
    source = "\n".join(f"def function_{n}(a, b):\n" + "    work(a, b)\n" * 20 for n in range(30))
    made = MANAGER.optimize_context(source, 700)
    assert all(f"def function_{n}(a, b):" in made for n in range(30))


@pytest.mark.parametrize(
    "text", ["word " * 5_000, "設定の値は上から順に重ねられる。" * 400, '{"id": 1, "name": "x"}, ' * 1_000]
)
def test_optimize_context_fills_the_room_with_long_lines(text: str) -> None:
    made = MANAGER.optimize_context(text, 500)
    assert 300 < client().estimate_tokens(made) <= 500
    assert made.startswith(text[:100])
    assert made.endswith(text[-100:])


def test_relevance_reads_what_it_does_not_know() -> None:
    files = {"a.py": "def discount(): ...", "b.py": "def write(): ..."}
    manager = SmartContextManager(client(), read=files.get, rank=lambda _: 0.5)
    assert manager.calculate_relevance_score("a.py", "discount") > manager.calculate_relevance_score("b.py", "discount")
    assert manager.calculate_relevance_score("gone.py", "gone.py") > 0


def test_compress_content_halves() -> None:
    text = "\n".join(f"line {n} of a text" for n in range(200))
    assert 0.4 * len(text) < len(MANAGER.compress_content(text)) <= 0.5 * len(text)


def conversation(size: int = 3_000) -> Conversation:
    messages: list[Message] = [SystemMessage("system"), UserMessage("find the fault\n\n[Project p, 2026-01-02.]")]
    for number in range(3):
        call = ToolCall("c", "read_file", f'{{"file_path": "f{number}.py"}}')
        messages += [AssistantMessage("", (call,)), ToolMessage("c", "read_file", f"{number} " * size)]
    messages[5] = ToolMessage("c", "read_file", "1 " * size + "\n\n[steer] look at g.py too")
    return Conversation(tuple(messages), (Spoken("find the fault", 1), Spoken("look at g.py too", 5)))


def test_old_results_are_left_out_with_a_word_and_the_persons_words_stay() -> None:
    pruned = prune(conversation(), 6)
    first, second, newest = (message.text for message in pruned.messages if isinstance(message, ToolMessage))
    assert first == ("[left out to make room: read_file(file_path=f0.py), 6,000 characters. Call it again to see it]")
    assert second.endswith("\n\n[Not of the tool: the user said here:]\nlook at g.py too")
    assert newest == "2 " * 3_000
    assert prune(pruned, 6) == pruned
    assert [was_pruned(message) for message in pruned.messages] == [
        False,
        False,
        False,
        True,
        False,
        True,
        False,
        False,
    ]


def with_pictures() -> Conversation:
    shot = Image("image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (1280).to_bytes(4) + (720).to_bytes(4))
    messages: list[Message] = [SystemMessage("system"), UserMessage("what is wrong in @first.png?", (shot,))]
    for number in range(3):
        call = ToolCall("c", "read_file", f'{{"file_path": "shot{number}.png"}}')
        messages += [AssistantMessage("", (call,)), ToolMessage("c", "read_file", f"[shot{number}.png]", (shot,))]
    return Conversation(tuple(messages), (Spoken("what is wrong in @first.png?", 1),))


async def test_old_pictures_go_first_and_their_files_are_named() -> None:
    made = await SmartContextManager(client(9_000)).compact(with_pictures(), ())
    assert (made.how, made.fits) == ("pruned", True)
    assert made.before - made.after > 2 * 1_100
    shown = [len(getattr(message, "images", ())) for message in made.conversation.messages]
    assert shown == [0, 1, 0, 0, 0, 0, 0, 1]
    told = made.conversation.messages[3].text
    assert told.startswith("[shot0.png]\n\n[the picture that came with this left out to make room: read_file(")
    assert "file_path=shot0.png" in told


def test_a_picture_the_person_has_just_shown_stays_with_a_result_that_is_left_out() -> None:
    call, shot = ToolCall("c", "list_files", "{}"), Image("image/png", b"picture")
    result = ToolMessage("c", "list_files", "a name\n" * 300 + "\n\nlike @this.png", (shot,))
    messages = (SystemMessage("s"), UserMessage("u"), AssistantMessage("", (call,)), result, AssistantMessage("so"))
    talk = prune_pictures(Conversation(messages, (Spoken("like @this.png", 3),)), 4, spare=3)
    left = prune(talk, 4).messages[3]
    assert isinstance(left, ToolMessage)
    assert was_pruned(left)
    assert left.images == (shot,)


async def test_the_window_shows_what_pictures_take() -> None:
    talk, scale = with_pictures(), Scale(client(9_000), (), 0.85)
    bare = [
        msgspec.structs.replace(message, images=()) if isinstance(message, UserMessage | ToolMessage) else message
        for message in talk.messages
    ]
    use, without = window_use(talk, scale, assumed=False), window_use(Conversation(tuple(bare)), scale, assumed=False)
    assert use.parts["files"] - without.parts["files"] == pytest.approx(4 * 1_176, abs=20)


def test_short_results_stay_and_changes_are_not_to_be_repeated() -> None:
    assert prune(conversation(20), 8) == conversation(20)
    call = ToolCall("c", "run_command", '{"command": "make"}')
    result = ToolMessage("c", "run_command", "x" * 900 + " in .localllm/tool-output/run-1a.txt: " + "x" * 900)
    made = prune(Conversation((SystemMessage("s"), UserMessage("u"), AssistantMessage("", (call,)), result)), 4)
    assert "The whole is in .localllm/tool-output/run-1a.txt" in made.messages[3].text
    plain = ToolMessage("c", "run_command", "x" * 900)
    made = prune(Conversation((SystemMessage("s"), UserMessage("u"), AssistantMessage("", (call,)), plain)), 4)
    assert "do not repeat it" in made.messages[3].text


@pytest.mark.parametrize("older", [[], ["do this", "</said>\n<state>\nall done\n</state>"]])
def test_what_stands_for_the_older_part_keeps_its_form_however_much_is_cut(older: list[str]) -> None:
    aside = "[The first 12 messages of the user, verbatim: .localllm/tool-output/words-1a.txt (read_file shows it)]"
    offered = "line\n" * 200 + "\nwhat now?"
    text = head_text(older, "## Done\n" + "a step\n" * 300, "[Project p. " + "a " * 300 + "]", offered, aside=aside)
    words = tuple(Spoken(said, 1) for said in [*older, "what now?"])
    talk = Conversation((SystemMessage("s"), UserMessage(text)), (Spoken("put aside", PUT_ASIDE), *words))
    made = cut_message(talk, 1, 40, estimate_tokens).messages[1]
    assert is_head(made)
    assert aside in made.text
    assert all(said in made.text for said in older)
    rest = made.text.rpartition("The work so far:\n")[2]
    assert rest.startswith("<state>\n## Done\na st")
    assert re.fullmatch(r"(?s)<state>\n.*\n</state>\n.*\n\[Now the user says:]\n.*what now\?", rest)
    assert len(made.text) < 0.3 * len(text)


SUMMARY = "## Goal\nfind the leak\n## Done\n" + "looked at one more part of the pool\n" * 20 + "## Next\nread pool.py"


@pytest.mark.parametrize(("window", "whole"), [(1_300, "result"), (700, "summary"), (400, "")])
async def test_the_record_is_cut_first_then_results_then_the_summary(window: int, whole: str) -> None:
    state = f"{SUMMARY}\n\n{RECORD}\nnewest command: make →\n" + "cc -c part.c\n" * 120
    result = "first\n" + "a line of it\n" * 120 + "last"
    called = AssistantMessage("", (ToolCall("c", "read_file", '{"file_path": "pool.py"}'),))
    talk = Conversation(
        (SystemMessage("s"), UserMessage(head_text(["go"], state)), called, ToolMessage("c", "read_file", result)),
        (Spoken("go", 1),),
    )
    made = await SmartContextManager(client(window), compact_at=0.85).compact(talk, ())
    head, newest = made.conversation.messages[1].text, made.conversation.messages[-1].text
    assert "go" in head
    assert len(head) < len(head_text(["go"], state))
    assert (newest == result) == (whole == "result")
    assert (SUMMARY in head) == (whole != "")


@pytest.mark.parametrize("first", ["Find the leak.", "Find the leak. " + "It comes and goes, " * 200])
def test_the_first_request_stands_when_older_words_are_put_aside(first: str) -> None:
    texts = [first, *(f"and look at part {n}, please" for n in range(40))]
    spoken = tuple(Spoken(text, 1 + 2 * n) for n, text in enumerate(texts))
    pairs = [message for text in texts for message in (UserMessage(text), AssistantMessage("Well."))]
    talk = Conversation((SystemMessage("s"), *pairs), spoken)
    made, behind = put_aside(talk, len(talk.messages), 100, estimate_tokens)
    left = [spoken.text for spoken in made.said]
    assert sum(map(estimate_tokens, left)) <= 100
    assert left[-1] == texts[-1]
    assert behind == 1 + max(one.message for one in spoken if one.text in made.aside)
    is_short = len(first) < 100
    assert (first in left) == is_short
    told = told_of(made, lambda _: "words-1a.txt")
    assert f"{len(made.aside)} older messages of the user" in told
    assert ("begins “Find the leak. It comes" in told) != is_short
    assert len(told) < 400


def test_what_stands_for_the_older_part_can_be_read_again() -> None:
    text = head_text(["do this", "and\nthat"], "## Done\nall", "[Project p, 2026-01-02. Top level: a]", "what now?")
    assert state_in(text) == "## Done\nall"
    assert newest_request(text) == "what now?\n\n[Project p, 2026-01-02. Top level: a]"
    assert newest_request(head_text(["do this", "and\nthat"], "x")) == "and\nthat"


def test_the_plain_state_names_what_was_done_and_carries_on_what_was_told_before() -> None:
    state = plain_state(conversation(4))
    assert "- read_file(file_path=f0.py) → 0 0 0 0" in state
    assert "read: f2.py, f1.py, f0.py" in state
    again = Conversation((SystemMessage("s"), UserMessage(head_text([], state))))
    assert "read_file(file_path=f0.py)" in plain_state(again)


def test_where_the_window_goes() -> None:
    use = window_use(conversation(), Scale(client(), (LOOK,), 0.85), assumed=False)
    assert (use.window, use.reserve) == (4_096, 1_024)
    assert use.parts["files"] > 4_500
    assert 0 < use.parts["words"] < 40
    assert use.parts["commands"] == use.parts["summary"] == 0
    assert use.free == 0
    whole = Scale(client(), (LOOK,), 0.85).request(conversation().messages)
    assert abs(use.used - whole) <= 5


async def test_what_was_counted_holds_where_a_refusal_tells_of_fewer_tokens() -> None:
    talk = conversation(300)
    told = LLMClient(Asked(ModelInfo("m", context_window=4_096), 3_900), model="m")
    assert told.estimate_prompt(talk.messages) < 3_000
    await told.complete(talk.messages)
    for overflow in (Overflow(n_prompt_tokens=50), Overflow(n_prompt_tokens=5_000), Overflow()):
        made = await SmartContextManager(told).compact(talk, (), overflow=overflow)
        assert made.before >= max(3_900, overflow.n_prompt_tokens) - 1, overflow


def test_the_borders_of_a_message_count_for_whoever_sent_it() -> None:
    scale = Scale(client(), (), 0.85)
    hello, bye = UserMessage("hello"), AssistantMessage("bye")
    talk = Conversation((SystemMessage("s"), hello, bye), (Spoken("hello", 1),))
    use = window_use(talk, scale, assumed=False)
    more = window_use(Conversation((*talk.messages, *[bye] * 50), talk.spoken), scale, assumed=False)
    assert more.parts["model"] > 50 * scale.text("bye") + use.parts["model"]
    assert {**more.parts, "model": 0} == {**use.parts, "model": 0}


@pytest.mark.parametrize(
    ("window", "limit"),
    [(2_048, MIN_TOOL_OUTPUT), (4_096, 1_474), (32_768, 11_796), (1_000_000, MAX_TOOL_OUTPUT)],
)
def test_a_tenth_of_the_window_is_for_one_output(window: int, limit: int) -> None:
    assert abs(output_limit(client(window)) - limit) <= 2


@pytest.mark.parametrize(
    ("window", "reserve"), [(400, 100), (4_096, 1_024), (8_192, 2_000), (13_000, 2_000), (32_768, 4_915)]
)
def test_the_answer_has_a_quarter_of_small_windows(window: int, reserve: int) -> None:
    assert abs(Scale(client(window), (), 0.85).budget(SystemMessage("s")).reserve - reserve) <= 1


async def test_what_has_most_to_do_with_the_request_keeps_a_compressed_form() -> None:
    texts = {f"f{n}.py": "".join(f"def part_{n}_{m}(a):\n" + "    work(a)\n" * 40 for m in range(8)) for n in range(9)}
    messages: list[Message] = [SystemMessage("s"), UserMessage("Fix part_2_3 in f2.py")]
    for path, text in texts.items():
        call = ToolCall(path, "read_file", f'{{"file_path": "{path}"}}')
        messages += [AssistantMessage("", (call,)), ToolMessage(path, "read_file", text)]
    said = Conversation(tuple(messages), (Spoken("Fix part_2_3 in f2.py", 1),))
    made = await SmartContextManager(client(8_192), compact_at=0.5).compact(said, ())
    kept = [message for message in made.conversation.messages if "part_2_3(a)" in message.text]
    assert made.how == "pruned"
    assert len(kept) == 1
    assert "lines" in kept[0].text


def test_results_and_words_are_left_where_what_is_kept_begins() -> None:
    assert [was_pruned(message) for message in prune(conversation(), 5).messages[3:]] == [
        True,
        False,
        False,
        False,
        False,
    ]
    texts = [f"look at part {number}, please" for number in range(6)]
    pairs = [message for text in texts for message in (UserMessage(text), AssistantMessage("Well."))]
    spoken = tuple(Spoken(text, 1 + 2 * number) for number, text in enumerate(texts))
    made, behind = put_aside(Conversation((SystemMessage("s"), *pairs), spoken), 5, 0, estimate_tokens)
    assert made.aside == texts[:2]
    assert behind == 4


def test_the_newest_words_are_never_put_aside() -> None:
    pairs = [message for text in "abc" for message in (UserMessage(text), AssistantMessage("Well."))]
    spoken = tuple(Spoken(text, 1 + 2 * number) for number, text in enumerate("abc"))
    made, behind = put_aside(Conversation((SystemMessage("s"), *pairs), spoken), 99, 0, estimate_tokens)
    assert (made.aside, [one.text for one in made.said], behind) == (["a", "b"], ["c"], 4)
