"""What is laid before the panel: the goal, the exact errors, the pieces of files, in at most 3,000 tokens."""

import json
from typing import Any

import pytest

from localllm.agent.panel.dossier import MOST_TOKENS, cut_end, dossier_text, excerpt, make_dossier, shown_files
from localllm.agent.panel.records import Attempt
from localllm.base.events import ToolCall
from localllm.llm.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from localllm.llm.tokens import estimate_tokens

ERROR = "old_string was not found in shop/prices.py. Closest: lines 41-42 (87 % alike):\n  return sum(p) * rate"


def call(name: str, number: int = 1, **arguments: Any) -> ToolCall:
    return ToolCall(f"c{number}", name, json.dumps(arguments, ensure_ascii=False))


def edit(number: int = 1, old: str = "return total(p)") -> ToolCall:
    return call("edit_file", number, file_path="shop/prices.py", old_string=old, new_string="x")


def read(path: str, text: str, number: int) -> list[Message]:
    asked = call("read_file", number, file_path=path)
    return [AssistantMessage("", (asked,)), ToolMessage(asked.id, "read_file", text)]


def conversation(*parts: list[Message]) -> list[Message]:
    return [SystemMessage("s"), UserMessage("q"), *(message for part in parts for message in part)]


def test_every_exact_error_is_there_and_equal_ones_are_there_once() -> None:
    other = "Exit code 1.\nE   AssertionError: 3 != 4"
    tests = call("run_command", 9, command="pytest -q")
    tried = [Attempt(edit(n), ERROR, failed=True) for n in (1, 2, 3)] + [Attempt(tests, other, failed=True)]
    text = dossier_text(make_dossier("Fix the total", "The same edit fails.", tried, conversation()))
    assert text.count(ERROR) == 1
    assert "(3 times)" in text
    assert other in text
    assert "Fix the total" in text
    assert "The same edit fails." in text


def test_what_has_worked_is_left_out_unless_nothing_has_failed() -> None:
    worked = Attempt(call("list_files", 5, path="."), "a.py b.py", failed=False)
    assert "a.py b.py" not in dossier_text(make_dossier("g", "p", [worked, Attempt(edit(), ERROR, failed=True)], []))
    assert "a.py b.py" in dossier_text(make_dossier("g", "p", [worked, worked], []))


def test_of_a_long_result_the_error_lines_stay_letter_by_letter_and_the_cut_is_told() -> None:
    noise = [f"compiling module {number} of many, all is well so far" for number in range(3000)]
    errors = ["src/a.c:12:5: error: ‘n’ undeclared (first use in this function)", "make: *** [all] Error 2"]
    result = "\n".join([*noise[:1500], errors[0], *noise[1500:], errors[1], "done"])
    text = dossier_text(make_dossier("g", "p", [Attempt(call("run_command", command="make"), result, failed=True)], []))
    assert all(f"\n{error}\n" in text for error in errors)
    assert "lines left out" in text
    assert estimate_tokens(text) <= MOST_TOKENS


def test_of_a_long_result_without_an_error_the_first_line_and_the_last_six_stay() -> None:
    lines = [f"module {number} of many" for number in range(500)]
    assert excerpt("\n".join(lines), 1_000).split("\n") == [lines[0], "[… 493 lines left out …]", *lines[-6:]]


def test_it_never_grows_beyond_its_room() -> None:
    japanese = "失敗しました。ファイルが見つかりません。" * 400
    huge = "x" * 40_000
    tried = [Attempt(edit(n, old=f"{n} {huge}"), f"{n} Error: {huge}", failed=True) for n in range(5)]
    tried += [Attempt(edit(n, old=f"{n}"), f"{n} {japanese}", failed=True) for n in range(20, 30)]
    files = [read("shop/prices.py", "y = 1\n" * 9_000, 50), read("b.py", japanese, 51)]
    for goal in ("g", huge, japanese):
        text = dossier_text(make_dossier(goal, huge, tried, conversation(*files)))
        assert estimate_tokens(text) <= MOST_TOKENS
        assert "left out" in text


def test_a_goal_of_usual_length_is_verbatim() -> None:
    goal = "価格の合計を直して。\n\n  - keep  the spaces\n" * 15
    assert goal in dossier_text(make_dossier(goal, "p", [], []))


def test_the_newest_content_of_the_file_around_the_place() -> None:
    body = "\n".join(f"line_{number} = {number}" for number in range(1, 1000))
    now = body.replace("line_700 = 700", "def total(p):\n    return sum(p) * rate")
    messages = conversation(
        read("shop/prices.py", "stale = True\n" + body, 1),
        read("other.py", "o = 1\n", 2),
        read("shop/prices.py", now, 3),
    )
    tried = [Attempt(edit(4, old="def total(p):\n  return sum(p) * rates"), "not found", failed=True)]
    dossier = make_dossier("g", "p", tried, messages)
    (piece,) = dossier.snippets
    assert "def total(p):" in piece
    assert "line_690 = 690" in piece
    assert "stale" not in piece
    assert "line_100 = 100" not in piece


def test_a_file_that_is_read_again_is_the_newest_again() -> None:
    files = [read("a.py", "old = 1\n", 1), read("b.py", "b = 1\n", 2), read("a.py", "new = 2\n", 3)]
    assert [(file.path, file.lines) for file in shown_files(conversation(*files))] == [
        ("b.py", ("b = 1",)),
        ("a.py", ("new = 2",)),
    ]


def test_line_numbers_of_a_part_are_those_of_the_file_and_a_traceback_names_the_place() -> None:
    part = "shop/prices.py (lines 201-700 of 900)\n" + "\n".join(f"l{number}" for number in range(201, 701))
    failed = 'File "shop/prices.py", line 650, in total\nZeroDivisionError: division by zero'
    tried = [Attempt(call("run_command", 7, command="pytest"), failed, failed=True)]
    (piece,) = make_dossier("g", "p", tried, conversation(read("shop/prices.py", part, 1))).snippets
    assert "\nl650\n" in piece
    first, last = piece.partition("lines ")[2].partition(":")[0].split("-")
    assert piece.endswith(f"l{last}")
    assert f":\nl{first}\n" in piece


def test_what_only_says_that_a_file_could_not_be_read_is_no_content() -> None:
    messages = conversation(read("shop/prices.py", "There is no file shop/prices.py.", 1))
    assert make_dossier("g", "p", [Attempt(edit(), ERROR, failed=True)], messages).snippets == ()


def test_a_file_the_person_has_named_is_shown() -> None:
    said = UserMessage('fix @shop/prices.py\n\n<file path="shop/prices.py">\nrate = 2\n</file>')
    dossier = make_dossier("fix", "p", [Attempt(edit(), ERROR, failed=True)], [SystemMessage("s"), said])
    assert dossier.snippets == ("shop/prices.py, lines 1-1:\nrate = 2",)


def test_arguments_that_are_no_json_are_shown_as_they_are() -> None:
    broken = ToolCall("c", "edit_file", '{"file_path": "a.py", "old_string": "x')
    text = dossier_text(make_dossier("g", "p", [Attempt(broken, "malformed", failed=True)], []))
    assert broken.arguments in text


def test_a_change_since_the_file_was_read_is_told() -> None:
    again = edit(8)
    messages = [
        *conversation(read("shop/prices.py", "rate = 2\n", 1)),
        AssistantMessage("", (edit(7),)),
        ToolMessage("c7", "edit_file", f"{ERROR}\n\n[a note]"),
        AssistantMessage("", (again,)),
        ToolMessage("c8", "edit_file", "Edited. Lines 1-1 are now:\nrate = 3"),
    ]
    (piece,) = make_dossier("g", "p", [Attempt(edit(), ERROR, failed=True)], messages).snippets
    assert piece == "shop/prices.py, lines 1-1:\nrate = 2\n[It was changed since: Edited. Lines 1-1 are now:\nrate = 3]"
    (before,) = make_dossier("g", "p", [Attempt(edit(), ERROR, failed=True)], messages[:-2]).snippets
    assert "changed" not in before


@pytest.mark.parametrize("shown", ["rate = 2\nold = 1\n", "[left out to make room: 2 lines]"])
def test_files_are_shown_as_they_are_now(shown: str) -> None:
    messages = conversation(read("shop/prices.py", shown, 1))
    tried = [Attempt(edit(), ERROR, failed=True)]
    (piece,) = make_dossier("g", "p", tried, messages, read={"shop/prices.py": "rate = 3\nnew = 1\n"}.get).snippets
    assert piece == "shop/prices.py, lines 1-2:\nrate = 3\nnew = 1"
    assert make_dossier("g", "p", tried, messages, read=lambda _path: None).snippets == (), "it is gone"


def test_remarks_in_a_result_are_no_part_of_the_file() -> None:
    messages = conversation(read("a.py", "one = 1\n\n[You have made this same call 3 times.]", 1))
    tried = [Attempt(call("run_command", 2, command="python a.py"), "a.py fails", failed=True)]
    (piece,) = make_dossier("g", "p", tried, messages, read={"a.py": "one = 1\n"}.get).snippets
    assert piece == "a.py, lines 1-1:\none = 1"


def test_unsolved_are_those_that_have_not_succeeded_since() -> None:
    test = call("run_command", 3, command="pytest")
    other = call("run_command", 4, command="make")
    tried = [
        Attempt(edit(1), ERROR, failed=True),
        Attempt(test, "1 failed", failed=True),
        Attempt(other, "no rule", failed=True),
        Attempt(edit(2, old="now right"), "Edited.", failed=False),
        Attempt(test, "1 passed", failed=False),
    ]
    unsolved = make_dossier("g", "p", tried, [], unsolved=True)
    assert [attempt.result for attempt in unsolved.attempts] == ["no rule"]
    assert ERROR in dossier_text(make_dossier("g", "p", tried, []))
    assert make_dossier("g", "p", tried[3:], [], unsolved=True).attempts == ()


@pytest.mark.parametrize("room", [150, 300, 600, 1500, 2500])
def test_in_a_small_room_the_files_give_way_first_and_the_newest_error_last(room: int) -> None:
    body = "\n".join(f"line_{number} = {number}" for number in range(900))
    tried = [
        Attempt(call("run_command", n, command=f"make {n}"), f"error {n}: " + "no " * 90, failed=True) for n in range(6)
    ]
    tried.append(Attempt(edit(), ERROR, failed=True))
    dossier = make_dossier("Fix the total", "p", tried, conversation(read("shop/prices.py", body, 50)))
    text = dossier_text(dossier, room)
    assert estimate_tokens(text) <= room
    assert ERROR in text
    assert "Fix the total" in text
    assert ("earlier ones left out" in text) == (room <= 600)
    assert ("line_1 = 1" in text) == (room > 1000)


@pytest.mark.parametrize("unsolved", [True, False])
def test_attempts_stand_in_their_order_and_equal_ones_where_they_came_last(unsolved: bool) -> None:
    results = ["first", "second", "third", "first"]
    tried = [Attempt(call("run_command", command=f"make {result}"), result, failed=True) for result in results]
    dossier = make_dossier("g", "p", tried, [], unsolved=unsolved)
    assert [(attempt.result, attempt.count) for attempt in dossier.attempts] == [
        ("second", 1),
        ("third", 1),
        ("first", 2),
    ]


def test_a_text_ends_where_a_sentence_does_if_that_is_late_enough() -> None:
    early = cut_end("Yes. " + "and so on, " * 100, 40)
    assert early.startswith("Yes. and so on")
    assert estimate_tokens(early) > 30
    assert cut_end("It is the price. " * 20, 40).endswith("price. …")
