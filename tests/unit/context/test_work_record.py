"""The record of the work needs no model, and is carried on from one hand-off to the next."""

import pytest

from localllm.base.events import ToolCall
from localllm.context.conversation import Conversation, Spoken
from localllm.context.pruning import prune
from localllm.context.summary import listed, record
from localllm.llm.messages import RECORD, AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage


def calling(name: str, arguments: str, result: str) -> list[Message]:
    return [AssistantMessage("", (ToolCall("c", name, arguments),)), ToolMessage("c", name, result)]


def edited(path: str) -> list[Message]:
    return calling("edit_file", f'{{"file_path": "{path}"}}', f"Edited {path}.")


def talk(*messages: Message) -> Conversation:
    return Conversation((SystemMessage("s"), *messages))


def test_nothing_done_is_no_record() -> None:
    assert record(talk(UserMessage("hello"), AssistantMessage("Hello!"))) == ""


def test_what_was_changed_and_how_the_newest_command_ended() -> None:
    failed = calling("run_command", '{"command": "make"}', "Exit code 2.\n" + "cc x\n" * 300 + "a.c:3: error: b\nend")
    told = record(talk(*edited("a.py"), *edited("b.py"), *failed))
    assert told.startswith(f"{RECORD}\nchanged: b.py, a.py\n")
    assert "newest command: run_command(command=make) →\nExit code 2.\n" in told
    assert "a.c:3: error: b" in told
    assert len(told) < 900


def test_an_earlier_record_is_carried_on() -> None:
    run = calling("run_command", '{"command": "make"}', "Exit code 2.\nboom\n\nbang")
    earlier = "## Done\nmuch\n\n" + record(talk(*edited("a.py"), *run))
    told = record(talk(*edited("b.py")), earlier)
    assert "changed: b.py, a.py" in told
    assert "newest change: edit_file(file_path=b.py)" in told
    assert "newest command: run_command(command=make) →\nExit code 2.\nboom\n\nbang" in told
    assert told.count("newest change") == 1
    assert record(talk(), told) == told


def test_a_short_answer_stands_with_its_question() -> None:
    asked = AssistantMessage("I looked at both.\n\nShould I use (a) tabs or (b) spaces?")
    conversation = Conversation(
        (SystemMessage("s"), asked, UserMessage("b\n\n[Project p, 2026-01-02.]")), (Spoken("b", 2),)
    )
    assert record(conversation) == f"{RECORD}\nasked: Should I use (a) tabs or (b) spaces? → the user: b"
    assert record(Conversation(conversation.messages)) == ""


def test_of_many_short_answers_the_newest_are_kept() -> None:
    questions = [AssistantMessage(f"Should I mend part {number}?") for number in range(7)]
    pairs = [
        message for number, question in enumerate(questions) for message in (question, UserMessage(f"yes {number}"))
    ]
    spoken = tuple(Spoken(f"yes {number}", 2 + 2 * number) for number in range(7))
    lines = record(Conversation((SystemMessage("s"), *pairs), spoken)).splitlines()[1:]
    assert [line.rpartition(" ")[2] for line in lines] == ["2", "3", "4", "5", "6"]


def test_of_many_files_the_newest_are_named_and_the_others_counted() -> None:
    paths = [f"f{number}.py" for number in range(23)]
    told = record(talk(*(message for path in paths for message in edited(path))))
    line = told.splitlines()[1]
    assert line == f"changed: {', '.join(reversed(paths[3:]))} (… 3 more)"
    again = record(talk(*edited("new.py"), *edited("f22.py")), told).splitlines()[1]
    assert again.startswith("changed: f22.py, new.py, f21.py, ")
    assert again.endswith("f4.py (… 1 more)")
    assert listed("read", paths[:20]) == f"read: {', '.join(paths[:20])}"


@pytest.mark.parametrize(
    ("tool", "what"),
    [
        *((tool, "change") for tool in ("create_file", "write_file", "edit_file")),
        *((tool, "command") for tool in ("run_command", "command_output")),
    ],
)
def test_the_newest_of_each_kind_is_told(tool: str, what: str) -> None:
    messages = [*calling(tool, '{"id": 1}', "the first"), *calling(tool, '{"id": 2}', "the second")]
    told = record(talk(*messages, *calling("read_file", '{"id": 3}', "no change")))
    assert f"newest {what}: {tool}(id=2) →\nthe second" in told
    assert "the first" not in told
    assert "no change" not in told


def test_a_result_that_was_left_out_is_not_the_newest_one() -> None:
    run = [calling("run_command", f'{{"command": "make {n}"}}', f"exit {n}\n" * 200) for n in (1, 2)]
    both = talk(*run[0], *run[1])
    left = Conversation((*both.messages[:3], *prune(both, 9).messages[3:]))
    assert "newest command: run_command(command=make 1)" in record(left)
    earlier = record(both)
    assert "make 2" in record(talk(*prune(both, 9).messages[1:]), earlier), "the earlier record has it still"


def test_of_a_long_result_the_beginning_the_faults_and_the_end_stand() -> None:
    lines = ["it began so", *["a line of it"] * 200, "a.c:3: error: b", *["a line of it"] * 200, "it ended so"]
    told = record(talk(*calling("run_command", '{"command": "make"}', "\n".join(lines))))
    assert "→\nit began so" in told
    assert "\na.c:3: error: b" in told
    assert told.endswith("it ended so")
    assert len(told) < 900


def answered(question: AssistantMessage, words: str) -> str:
    said = UserMessage(f"{words}\n\n[Project p, 2026-01-02.]")
    return record(Conversation((SystemMessage("s"), question, said), (Spoken(words, 2),)))


@pytest.mark.parametrize(
    ("question", "words", "is_told"),
    [
        ("Tabs?", "y" * 60, True),
        ("Tabs?", "y" * 61, False),
        ("タブにしますか？", "はい", True),
        ("I use tabs.", "no", False),
        ("Tabs?\n\nI looked at it.", "no", False),
    ],
)
def test_only_a_few_words_after_a_question_need_it(question: str, words: str, is_told: bool) -> None:
    told = answered(AssistantMessage(question), words)
    assert (f"asked: {question} → the user: {words}" in told) == is_told
    assert bool(told) == is_told


def test_a_question_beside_a_call_was_not_answered_by_the_user() -> None:
    steered = (SystemMessage("s"), AssistantMessage("Tabs?", (ToolCall("c", "look", "{}"),)))
    result = ToolMessage("c", "look", "x\n\nyes")
    assert record(Conversation((*steered, result), (Spoken("yes", 2),))) == ""


def test_of_a_long_question_the_end_stands() -> None:
    told = answered(AssistantMessage("I mean this: " + "so and so, " * 40 + "or rather not?"), "the\n second")
    line = told.splitlines()[1]
    assert line.endswith("or rather not? → the user: the second")
    assert len(line) == len("asked:  → the user: the second") + 240


def test_answers_of_an_earlier_record_stand_before_the_new_ones() -> None:
    earlier = answered(AssistantMessage("Tabs?"), "yes")
    messages = (SystemMessage("s"), AssistantMessage("Spaces?"), UserMessage("no"))
    told = record(Conversation(messages, (Spoken("no", 2),)), earlier)
    assert told.splitlines()[1:] == ["asked: Tabs? → the user: yes", "asked: Spaces? → the user: no"]
