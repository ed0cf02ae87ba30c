"""How a dossier is cut: of results, texts and files what matters most stays, and what is missing is told."""

import json
from typing import Any

import pytest

from localllm.agent.panel.dossier import (
    Read,
    cut_end,
    cut_middle,
    dossier_text,
    excerpt,
    make_dossier,
    question_only,
    shown_files,
)
from localllm.agent.panel.records import Attempt, Dossier
from localllm.base.events import ToolCall
from localllm.llm.messages import AssistantMessage, Message, SystemMessage, ToolMessage, ToolSpec, UserMessage
from localllm.llm.tokens import estimate_tokens


def call(name: str, number: int = 1, **arguments: Any) -> ToolCall:
    return ToolCall(f"c{number}", name, json.dumps(arguments, ensure_ascii=False))


def done(asked: ToolCall, text: str) -> list[Message]:
    return [AssistantMessage("", (asked,)), ToolMessage(asked.id, asked.name, text)]


def read(path: str, text: str, number: int = 1) -> list[Message]:
    return done(call("read_file", number, file_path=path), text)


def lines(first: int, last: int) -> str:
    return "\n".join(f"l{number} = {number}" for number in range(first, last + 1))


class TestExcerpt:
    @staticmethod
    def noise(count: int) -> list[str]:
        return [f"compiling module {number} of many" for number in range(count)]

    def test_of_many_errors_the_last_and_the_first_ones_stay(self) -> None:
        errors = [f"a.c:{number}: error: nothing like it ({number})" for number in range(60)]
        text = "\n".join(one for error in errors for one in (error, *self.noise(9)))
        kept = [line for line in excerpt(text, 200).split("\n") if "error" in line]
        assert kept[0] == errors[0]
        assert kept[-1] == errors[-1]
        assert 3 < len(kept) < 20
        assert kept == [error for error in errors if error in kept]

    def test_equal_errors_stand_once(self) -> None:
        text = "\n".join([*self.noise(90), *["error: the same", *self.noise(9)] * 40, *self.noise(90)])
        assert excerpt(text, 200).count("error: the same") == 1

    @pytest.mark.parametrize(
        "line",
        ["E   assert 3 == 4", "Exit code 2.", "KeyError: 'x'", "make: *** cannot open", "ファイルが見つかりません"],
    )
    def test_the_lines_around_an_error_stay_where_there_is_room(self, line: str) -> None:
        text = "\n".join([*(f"a{n}" for n in range(300)), line, *(f"b{n}" for n in range(300))])
        kept = excerpt(text, 150).split("\n")
        place = kept.index(line)
        assert kept[place - 2 : place + 3] == ["a298", "a299", line, "b0", "b1"]

    def test_every_gap_is_counted(self) -> None:
        text = "\n".join([*self.noise(100), "error: one", *self.noise(200), "error: two", *self.noise(300)])
        kept = excerpt(text, 250).split("\n")
        gaps = [int(line.split()[1]) for line in kept if line.startswith("[…")]
        assert len(gaps) == 3
        assert sum(gaps) + len(kept) - len(gaps) == 602
        assert estimate_tokens(excerpt(text, 250)) <= 260

    def test_what_fits_is_whole(self) -> None:
        text = "\n".join(self.noise(20)) + "\n"
        assert excerpt(text, estimate_tokens(text)) == text
        assert excerpt(text, estimate_tokens(text) - 1) != text

    def test_of_one_line_that_is_too_long_both_ends_stay(self) -> None:
        made = excerpt("error: " + "x" * 9_000 + " the end", 100)
        assert made.startswith("error: x")
        assert made.endswith("x the end")


class TestCuts:
    @pytest.mark.parametrize("text", ["x" * 9_000, "値が違います。" * 900, "x" * 3_000 + "値" * 3_000])
    @pytest.mark.parametrize("most", [100, 200, 1_000])
    def test_the_middle_goes_and_is_counted(self, text: str, most: int) -> None:
        made = cut_middle(text, most)
        head, _, rest = made.partition(" [… ")
        count, _, tail = rest.partition(" characters left out …] ")
        assert text.startswith(head)
        assert text.endswith(tail)
        assert int(count) == len(text) - len(head) - len(tail)
        assert 0.5 * most < estimate_tokens(made) <= most + 2
        assert len(head) == pytest.approx(2 * len(tail), abs=3)

    def test_what_fits_stays(self) -> None:
        text = "a few words. " * 9
        assert cut_middle(text, estimate_tokens(text)) == cut_end(text, estimate_tokens(text)) == text
        assert cut_middle(text, estimate_tokens(text) - 1) != text != cut_end(text, estimate_tokens(text) - 1)

    @pytest.mark.parametrize(
        ("text", "ends"),
        [
            ("値が違います。" * 90, "値が違います。 …"),
            ("one line of it\n" * 90, "one line of it …"),
            ("It is. " * 90, "It is. …"),
            ("x" * 900, "x …"),
        ],
    )
    def test_the_end_goes_from_where_a_sentence_does(self, text: str, ends: str) -> None:
        made = cut_end(text, 60)
        assert made.endswith(ends)
        assert 40 < estimate_tokens(made) <= 61


class TestShownFiles:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("x = 1\ny = 2\n", (("x = 1", "y = 2"), 1)),
            ("a.py (lines 5-6 of 90)\nx = 1\ny = 2", (("x = 1", "y = 2"), 5)),
            ("a.py (全 90 行中 5-6 行)\nx = 1\ny = 2", (("x = 1", "y = 2"), 5)),
            ("b.py (lines 5-6 of 90)\nx = 1", (("b.py (lines 5-6 of 90)", "x = 1"), 1)),
            ("[left out to make room: read_file(file_path=a.py)]", ((), 1)),
            ("x = 1", (("x = 1",), 1)),
        ],
        ids=["whole", "a part", "a part, in Japanese", "no title of it", "left out", "one line"],
    )
    def test_what_was_read_of_a_file(self, text: str, expected: tuple[tuple[str, ...], int]) -> None:
        (file,) = shown_files(read("a.py", text))
        assert (file.path, (file.lines, file.first), file.change) == ("a.py", expected, "")

    @pytest.mark.parametrize(
        "messages",
        [
            read("a.py", "There is no file a.py."),
            [ToolMessage("c9", "read_file", "x = 1\n")],
            done(call("search_files", path="a.py"), "x = 1\ny = 2"),
            done(call("read_file"), "x = 1\ny = 2"),
            done(call("edit_file", file_path="a.py"), "Edited."),
            [UserMessage('<file path="a.py">\nx = 1')],
        ],
        ids=["an error", "no call", "a search", "no path", "never read", "no end"],
    )
    def test_what_shows_no_file(self, messages: list[Message]) -> None:
        assert shown_files(messages) == []

    def test_each_file_the_user_names(self) -> None:
        said = 'look\n\n<file path="a.py">\nx = 1\n</file>\n\n<file path="b.py">\ny = 2\nz = 3\n</file>'
        found = [(file.path, file.lines) for file in shown_files([UserMessage(said)])]
        assert found == [("a.py", ("x = 1",)), ("b.py", ("y = 2", "z = 3"))]

    @pytest.mark.parametrize("tool", ["edit_file", "write_file"])
    def test_a_change_makes_a_file_the_newest_one_and_is_forgotten_when_it_is_read_again(self, tool: str) -> None:
        changed = done(call(tool, 3, file_path="a.py"), "Changed.")
        before = [*read("a.py", "x = 1\n"), *read("b.py", "y = 2\n", 2), *changed]
        assert [(file.path, file.change) for file in shown_files(before)] == [("b.py", ""), ("a.py", "Changed.")]
        again = shown_files([*before, *read("a.py", "x = 3\n", 4)])
        assert [(file.lines, file.change) for file in again] == [(("y = 2",), ""), (("x = 3",), "")]
        assert [file.change for file in shown_files(before, {"Changed."})] == ["", ""], "a failure"


def pieces(messages: list[Message], *tried: Attempt, goal: str = "g", now: Read | None = None) -> tuple[str, ...]:
    return make_dossier(goal, "p", tried, messages, read=now).snippets


def failed(asked: ToolCall, result: str = "no") -> Attempt:
    return Attempt(asked, result, failed=True)


class TestPieces:
    def test_at_most_three_files_the_newest_first(self) -> None:
        messages = [one for n in range(5) for one in read(f"f{n}.py", f"x = {n}\n", n)]
        goal = "fix f0.py f1.py f2.py f3.py f4.py"
        assert [piece.split(",")[0] for piece in pieces(messages, goal=goal)] == ["f4.py", "f3.py", "f2.py"]

    @pytest.mark.parametrize(
        ("goal", "is_meant"),
        [
            ("fix shop/a.py", True),
            ("fix a.py.", True),
            ("`a.py`は", True),
            ("fix aa.py", False),
            ("fix a.pyc", False),
            ("fix a.py-old", False),
            ("fix it", False),
        ],
    )
    def test_a_file_is_meant_where_its_name_stands_alone(self, goal: str, is_meant: bool) -> None:
        assert bool(pieces(read("shop/a.py", "x = 1\n"), goal=goal)) == is_meant

    def test_what_is_gone_or_was_left_out_makes_room_for_older_ones(self) -> None:
        messages = [one for n in range(5) for one in read(f"f{n}.py", f"x = {n}\n", n)]
        messages += read("f4.py", "[left out to make room: read_file]", 9)
        goal = "fix f0.py f1.py f2.py f3.py f4.py"
        assert [piece.split(",")[0] for piece in pieces(messages, goal=goal)] == ["f3.py", "f2.py", "f1.py"]
        now = {f"f{n}.py": "y = 1\n" for n in (0, 1, 2, 4)}
        found = pieces(messages, goal=goal, now=now.get)
        assert [piece.split(",")[0] for piece in found] == ["f4.py", "f2.py", "f1.py"]

    @pytest.mark.parametrize(
        ("attempt", "line"),
        [
            (failed(call("edit_file", file_path="a.py", old_string="l500 = 500")), 500),
            (failed(call("edit_file", file_path="a.py", old_str="l501 = 501")), 501),
            (failed(call("run_command"), 'File "a.py", line 502, in f\nFile "b.py", line 9'), 502),
            (failed(call("run_command"), "src/a.py:503:7: error: x"), 503),
            (failed(call("run_command"), "a.py(504): error"), 504),
            (failed(call("run_command"), "a.py:505: x\na.py:506: y"), 506),
            (failed(call("run_command"), "a.py:507: x\na.py:9999: y"), 507),
            (failed(call("run_command"), "a.py is wrong"), 1),
            (failed(call("run_command"), "aa.py:600: and a.py is wrong"), 600),
        ],
    )
    def test_the_place_is_where_the_work_was(self, attempt: Attempt, line: int) -> None:
        (piece,) = pieces(read("a.py", lines(1, 900)), attempt)
        title, *shown = piece.split("\n")
        assert f"l{line} = {line}" in shown
        first, last = (int(number) for number in title.removesuffix(":").split("lines ")[1].split("-"))
        assert (shown[0], shown[-1]) == (f"l{first} = {first}", f"l{last} = {last}")
        assert len(shown) == 120
        assert line - first == pytest.approx(last - line, abs=2) if line > 60 else first == 1

    def test_the_newest_work_on_a_file_says_where(self) -> None:
        work = [failed(call("edit_file", n, file_path="a.py", old_string=f"l{n} = {n}")) for n in (200, 700)]
        other = failed(call("edit_file", file_path="b.py", old_string="l1 = 1"))
        (piece,) = pieces(read("a.py", lines(1, 900)), *work, other)
        assert "l700 = 700" in piece
        assert "l200 = 200" not in piece

    def test_a_part_is_counted_as_the_file_is(self) -> None:
        part = f"a.py (lines 401-700 of 900)\n{lines(401, 700)}"
        (piece,) = pieces(read("a.py", part), failed(call("run_command"), "a.py:650: error"))
        assert "l650 = 650" in piece
        first, *shown = piece.split("\n")
        assert shown[0] == f"l{first.split('lines ')[1].split('-')[0]} = {first.split('lines ')[1].split('-')[0]}"

    def test_at_the_end_of_a_file_more_stands_before(self) -> None:
        (piece,) = pieces(read("a.py", lines(1, 900)), failed(call("run_command"), "a.py:900: error"))
        assert piece.startswith("a.py, lines 781-900:\nl781 = 781\n")

    def test_room_is_shared_by_the_files_and_what_one_leaves_goes_to_the_next(self) -> None:
        wide = [f"x{n} = '{'wide ' * 40}'" for n in range(200)]
        messages = [*read("a.py", "\n".join(wide)), *read("b.py", "\n".join(wide), 2), *read("c.py", "y = 1\n", 3)]
        found = pieces(messages, goal="a.py b.py c.py")
        sizes = dict(zip("cba", map(estimate_tokens, found), strict=True))
        assert sizes["c"] < 30
        assert 1_200 < sizes["b"] < 1_600
        assert 1_200 < sizes["a"] < 1_600
        assert sum(sizes.values()) <= 3_000

    @pytest.mark.parametrize("line", [1, 100, 200])
    def test_wide_lines_before_and_after_the_place_fill_the_room_and_no_more(self, line: int) -> None:
        wide = "\n".join(f"x{n} = '{'wide ' * 60}'" for n in range(1, 201))
        (piece,) = pieces(read("a.py", wide), failed(call("run_command"), f"a.py:{line}: error"))
        assert 2_500 < estimate_tokens(piece) <= 2_950
        first, last = (int(number) for number in piece.partition(":")[0].split("lines ")[1].split("-"))
        assert first <= line <= last

    def test_of_a_change_that_is_long_the_beginning_is_told(self) -> None:
        changed = done(call("edit_file", 2, file_path="a.py"), "Edited: " + "and so on, " * 300)
        (piece,) = pieces([*read("a.py", "x = 1\n"), *changed], goal="a.py")
        told = piece.partition("[It was changed since: ")[2]
        assert told.startswith("Edited: and so on")
        assert 100 < estimate_tokens(told) < 160


class TestTheDossier:
    TOOLS = (ToolSpec("look", "Look.", {"type": "object", "properties": {}}),)

    def test_the_main_prompt_comes_with_the_tools(self) -> None:
        messages: list[Message] = [SystemMessage("s"), UserMessage("u")]
        assert make_dossier("g", "p", (), messages).main is None
        main = make_dossier("g", "p", (), messages, tools=self.TOOLS).main
        assert main is not None
        assert (main.messages, main.tools) == (tuple(messages), self.TOOLS)

    def test_those_who_see_all_are_shown_the_goal_and_the_problem_alone(self) -> None:
        whole = make_dossier("goal " * 300, "p", [failed(call("look"))], read("a.py", "x"), tools=self.TOOLS)
        assert question_only(whole) == Dossier(goal=whole.goal, problem="p")
        short = question_only(whole, 50)
        assert 30 < estimate_tokens(short.goal) <= 52
        assert short.problem == "p"

    def test_goal_and_problem_have_their_shares(self) -> None:
        made = make_dossier("goal " * 3_000, "problem " * 3_000, (), ())
        assert 700 < estimate_tokens(made.goal) <= 802
        assert 150 < estimate_tokens(made.problem) <= 202

    def test_attempts_have_their_share_and_the_oldest_are_left_out_and_counted(self) -> None:
        tried = [failed(call("run_command", command=f"make {n}"), f"error {n}: " + "no " * 600) for n in range(9)]
        made = make_dossier("g", "p", tried, ())
        assert len(made.attempts) + made.left_out == 9
        assert [one.call for one in made.attempts] == [one.call for one in tried[-len(made.attempts) :]]
        assert 900 < sum(estimate_tokens(one.result) for one in made.attempts) <= 1_460
        assert all(estimate_tokens(one.result) <= 702 for one in made.attempts)
        assert f"(earlier ones left out: {made.left_out})" in dossier_text(made)

    def test_nothing_older_than_what_has_no_room_is_shown(self) -> None:
        small = failed(call("look", 1), "small")
        big = [failed(call("look", n, note="x" * 900, at="y" * 900), f"{n} " + "no " * 900) for n in range(2, 6)]
        made = make_dossier("g", "p", [small, *big], ())
        assert small not in made.attempts
        assert [one.call for one in made.attempts] == [one.call for one in big[-len(made.attempts) :]]

    def test_what_calls_take_is_room_that_results_have_not(self) -> None:
        asked = [call("write_file", n, file_path=f"{n}.py", content="x" * 9_000, note="y" * 9_000) for n in range(9)]
        made = make_dossier("g", "p", [failed(one, "no " * 900) for one in asked], ())
        assert 1 < len(made.attempts) < 5
        assert estimate_tokens(dossier_text(made)) < 1_600

    def test_how_often_an_attempt_was_made_adds_up(self) -> None:
        asked = call("run_command", command="make")
        tried = [Attempt(asked, "no", failed=True, count=3), failed(asked), failed(asked, "other")]
        made = make_dossier("g", "p", tried, ())
        assert [(one.result, one.count) for one in made.attempts] == [("no", 4), ("other", 1)]
        text = dossier_text(made)
        assert '1. run_command {"command":"make"} (4 times)\nno\n\n2. run_command {"command":"make"}\nother' in text

    def test_of_long_arguments_both_ends_stand(self) -> None:
        asked = call("write_file", file_path="a.py", content="first " + "x" * 9_000 + " last")
        text = dossier_text(make_dossier("g", "p", [failed(asked)], ()))
        assert '"content":"first x' in text
        assert 'x last"' in text
        assert '"file_path":"a.py"' in text
        assert estimate_tokens(text) < 250

    @pytest.mark.parametrize(
        ("tried", "later", "is_solved"),
        [
            (call("run_command", command="make"), call("run_command", command="make"), True),
            (call("run_command", command="make"), call("run_command", command="make test"), False),
            (call("edit_file", path="a.py", old="x"), call("edit_file", path="a.py", old="y"), True),
            (call("edit_file", path="a.py", old="x"), call("edit_file", path="b.py", old="x"), False),
            (call("edit_file", path="a.py", old="x"), call("read_file", path="a.py"), False),
        ],
    )
    def test_what_has_been_solved_since(self, tried: ToolCall, later: ToolCall, is_solved: bool) -> None:
        both = [failed(tried), Attempt(later, "done", failed=False)]
        assert (make_dossier("g", "p", both, (), unsolved=True).attempts == ()) == is_solved
        assert len(make_dossier("g", "p", both[::-1], (), unsolved=True).attempts) == 1, "it was before"

    def test_in_a_small_room_pieces_are_cut_before_attempts_go(self) -> None:
        dossier = Dossier(
            goal="g",
            problem="p",
            attempts=(failed(call("look", at=1), "first"), failed(call("look", at=2), "second")),
            snippets=("one: " + "x " * 300, "two: " + "y " * 300, "three"),
            left_out=2,
        )
        whole = dossier_text(dossier)
        assert dossier_text(dossier, estimate_tokens(whole)) == whole
        cut = dossier_text(dossier, 270)
        assert "first\n" in cut
        assert "one: x" in cut
        assert "two: y" not in cut
        tiny = dossier_text(dossier, 70)
        assert "second" in tiny
        assert "left out: " in tiny
        kept = tiny.count("look {")
        assert f"(earlier ones left out: {4 - kept})" in tiny
