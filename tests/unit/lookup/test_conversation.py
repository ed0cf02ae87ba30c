"""What the messages of a request say."""

from datetime import date

from localllm.agent.system_prompt import date_note
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
from localllm.lookup.conversation import Call, Talk, read_talk

SITUATION = "[Project my shop, 2024-05-01. Top level: README.md shop/ … (50 in all)]"


def talk(*messages: Message) -> Talk:
    tools = (ToolSpec("read_file", "", {}),)
    return read_talk(CompletionRequest(model="m", messages=(SystemMessage("s"), *messages), tools=tools))


def test_the_question_without_what_comes_with_it() -> None:
    said = f'explain the thing\n\n<file path="a b.py">\nx = 1\n</file>\n\n<stdin>\nTraceback\n</stdin>\n\n{SITUATION}'

    read = talk(UserMessage(said))

    assert read.question == "explain the thing"
    assert (read.attached, read.pasted) == (("a b.py",), "Traceback")


def test_a_question_that_points_back_names_what_the_last_answer_was_about() -> None:
    before = UserMessage(f"where is it?\n\n{SITUATION}")
    answer = AssistantMessage("`Cart` — shop/cart.py:1")

    assert talk(before, answer, UserMessage("and who calls it?")).question == "and who calls `Cart`?"
    assert talk(before, answer, UserMessage("explain that file")).question == "explain `shop/cart.py`"
    assert talk(before, answer, UserMessage("who calls its parser?")).question == "who calls its parser?"
    assert talk(UserMessage('explain this\n\n<file path="a.py">\nx\n</file>')).question == "explain `a.py`"


def test_results_belong_to_their_calls() -> None:
    made = (ToolCall("1", "git_log", '{"max_count": 3}'), ToolCall("2", "git_status", ""))

    read = talk(UserMessage("q"), AssistantMessage("", made), ToolMessage("1", "git_log", "text"))

    assert read.calls == (Call("git_log", {"max_count": 3}, "text"), Call("git_status", {}, None))


def test_of_a_long_paste_the_line_that_asks_is_the_question() -> None:
    paste = "\n".join(f"line {number} of the log" for number in range(5_000))

    asked_last = talk(UserMessage(f"{paste}\n\nwhere does the log come from?"))
    asked_first = talk(UserMessage(f"where does the log come from?\n\n{paste}"))

    assert asked_last.question == asked_first.question == "where does the log come from?"
    assert "line 4999 of the log" in asked_last.pasted


def test_what_was_summed_up_leaves_the_newest_question() -> None:
    place = "[Project shop, 2026-01-02. Top level: cart.py docs/]"
    again = talk(UserMessage(head_text(["Where is Cart defined?", "And the tests?"], "## Done\nlooked", place)))
    assert again.question == "And the tests?"
    fresh = talk(UserMessage(head_text(["Where is Cart defined?"], "## Done\nlooked", place, "What does add do?")))
    assert fresh.question == "What does add do?"


def test_what_the_project_says_of_itself_is_no_part_of_the_question() -> None:
    notes = framed("project-notes", "Kept.", "Open TODOs:\n- tabcd Where is the login?")
    assert talk(UserMessage(f"where is the cart?\n\n{notes}\n\n{SITUATION}")).question == "where is the cart?"


def test_a_command_of_the_user_that_printed_nothing_is_no_part_of_the_question() -> None:
    ran = "[The user ran this outside the sandbox: sleep 30\nExit code 130. It printed nothing.]\n\n"
    request = CompletionRequest(model="m", messages=(UserMessage(f"{ran}{ran}where is add?"),))
    assert read_talk(request).question == "where is add?"


def test_the_date_of_a_new_day_is_no_part_of_the_question() -> None:
    assert talk(UserMessage(f"where is add?\n\n{date_note(date(2026, 12, 30))}")).question == "where is add?"
