"""The record of the work needs no model, and is carried on from one hand-off to the next."""

from localllm.base.events import ToolCall
from localllm.context.conversation import Conversation, Spoken
from localllm.context.summary import record
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
