"""What the messages of a request say."""

from localllm.base.events import ToolCall
from localllm.context.summary import head_text
from localllm.llm.messages import (
    AssistantMessage,
    CompletionRequest,
    Message,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
    framed,
)
from localllm.lookup.calls import call
from localllm.lookup.conversation import read_talk

SITUATION = "[Project my shop, 2024-05-01. Top level: README.md shop/ … (50 in all)]"


def talk(*messages: Message):
    tools = (ToolSpec("read_file", "", {}),)
    return read_talk(CompletionRequest(model="m", messages=(SystemMessage("s"), *messages), tools=tools))


def test_the_question_without_what_comes_with_it() -> None:
    said = f'explain this\n\n<file path="a b.py">\nx = 1\n</file>\n\n<stdin>\nTraceback\n</stdin>\n\n{SITUATION}'

    read = talk(UserMessage(said))

    assert read.question == "explain this"
    assert [(file.path, file.text) for file in read.attached] == [("a b.py", "x = 1")]
    assert read.pasted == "Traceback"
    assert (read.project.name, read.project.top) == ("my shop", ("README.md", "shop/"))


def test_an_empty_folder() -> None:
    assert talk(UserMessage("hi\n\n[Project x, 2024-05-01. Top level: empty]")).project.top == ()


def test_the_situation_of_the_first_turn_holds_for_later_ones_and_the_answer_before_is_known() -> None:
    read = talk(
        UserMessage(f"where is it?\n\n{SITUATION}"), AssistantMessage("`A` — a.py:1"), UserMessage("and who calls it?")
    )

    assert (read.question, read.earlier, read.project.name) == ("and who calls it?", "`A` — a.py:1", "my shop")


def test_results_belong_to_calls_whatever_the_order_of_their_arguments() -> None:
    made = ToolCall("1", "read_file", '{"max_lines": 3, "file_path": "a"}')

    read = talk(UserMessage("q"), AssistantMessage("", (made,)), ToolMessage("1", "read_file", "text"))

    result = read.result(call("read_file", file_path="a", max_lines=3))
    assert result is not None
    assert result.text == "text"
    assert read.result(call("read_file", file_path="b")) is None


def test_a_tool_that_is_not_offered_is_an_answer_in_itself() -> None:
    result = talk(UserMessage("q")).result(call("run_command", command="ls"))

    assert result is not None
    assert result.error == "not_offered"


def test_of_a_long_paste_the_line_that_asks_is_the_question() -> None:
    paste = "\n".join(f"line {number} of the log" for number in range(5_000))

    asked_last = talk(UserMessage(f"{paste}\n\nwhere does this come from?"))
    asked_first = talk(UserMessage(f"where does this come from?\n\n{paste}"))

    assert asked_last.question == asked_first.question == "where does this come from?"
    assert "line 4999 of the log" in asked_last.pasted


def test_what_was_summed_up_leaves_the_newest_question() -> None:
    place = "[Project shop, 2026-01-02. Top level: cart.py docs/]"
    again = talk(UserMessage(head_text(["Where is Cart defined?", "And its tests?"], "## Done\nlooked", place)))
    assert (again.question, again.project.name, again.project.top) == ("And its tests?", "shop", ("cart.py", "docs/"))
    fresh = talk(UserMessage(head_text(["Where is Cart defined?"], "## Done\nlooked", place, "What does add do?")))
    assert (fresh.question, fresh.project.name) == ("What does add do?", "shop")


def test_what_the_project_says_of_itself_is_no_part_of_the_question() -> None:
    notes = framed("project-notes", "Kept.", "Open TODOs:\n- tabcd Where is the login?")
    told = talk(UserMessage(f"where is the cart?\n\n{notes}\n\n{SITUATION}"))
    assert told.question == "where is the cart?"
    assert told.project.name == "my shop"
