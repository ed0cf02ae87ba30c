"""Tool calls as lines for a person."""

import pytest

from localllm.base.events import ToolFinished, ToolStarted
from localllm.text.sanitising import display_width
from localllm.tui.render.tool_lines import (
    DIFF_LINES,
    RESULT_ROWS,
    diff_lines,
    finished_lines,
    folded,
    result_lines,
    started_line,
)
from localllm.tui.theme import Line


def text(lines: list[Line]) -> list[str]:
    return ["".join(part for _, part in line) for line in lines]


def finished(success: bool = True, summary: str = "120 lines", **payload: object) -> ToolFinished:
    return ToolFinished(call_id="c", name="a_tool", success=success, summary=summary, payload=payload)


def started(**arguments: object) -> str:
    return text([started_line(ToolStarted(call_id="c", name="a_tool", arguments=arguments), 60)])[0]


def test_a_call_shows_the_argument_that_says_most() -> None:
    assert started(file_path="src/a.py", start_line=10) == "● a_tool src/a.py start_line=10"
    assert started(file_path="a.py", content="long\ntext") == "● a_tool a.py"
    assert started(command="ls\nrm x") == "● a_tool ls␊rm x"
    assert started(agent="Fix", files=["a.py", "b.py"]) == "● a_tool agent=Fix files=a.py, b.py"
    assert started(message="Fix it", files=[]) == "● a_tool message=Fix it"
    assert started() == "● a_tool"


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


def test_no_part_of_a_row_reaches_the_left_edge_whatever_the_terminal_joins() -> None:
    """Most give a spacing mark a cell of its own, and some each emoji of a family two."""
    for text_, cells in ((("-" + "\u1b44" * 8) * 40, 9 * 40), (FAMILY * 40, 8 * 40)):
        rows = folded((("", "    $ "), ("", text_)), 80)
        assert len(rows) > cells // 74
        for (_, indent), (_, row) in rows:
            assert len(indent) + sum(2 if one >= "\U0001f000" else 1 for one in row if one != "\u200d") <= 80


def test_a_call_is_one_line() -> None:
    assert display_width(started(command="日本語" * 100)) <= 60


def test_an_outcome() -> None:
    assert text(finished_lines(finished(), 60)) == ["  ✓ 120 lines"]
    assert text(finished_lines(finished(success=False, summary="no\nsuch file"), 60)) == ["  ✗ no␊such file"]
    assert text(finished_lines(finished(), 60, named=True)) == ["  ✓ a_tool: 120 lines"]


def test_a_long_outcome_goes_on_in_a_second_row() -> None:
    remark = "(Matched but for the form of quotes, dashes, spaces or full-width characters.)"
    edited = finished(summary=f"Edited a.py: 1 replaced (line 4). {remark}", file_path="a.py", diff="+x")
    first, second, change = text(finished_lines(edited, 80))
    assert f"{first} {second.lstrip()}" == f"  ✓ Edited a.py: 1 replaced (line 4). {remark}"
    assert second.startswith("    ")
    assert change == "    +x"
    assert text(result_lines(edited, 80)) == [first, second]
    endless = text(result_lines(finished(summary="word " * 100), 60))
    assert len(endless) == RESULT_ROWS
    assert endless[-1].endswith("…")
    assert max(map(display_width, endless)) <= 60


def test_a_change_is_shown_in_colour_and_capped() -> None:
    diff = "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same"
    assert [line[0][0] for line in diff_lines(diff, 60)] == ["dim", "dim", "hunk", "bad", "good", ""]
    long = finished(file_path="a", diff="+x\n" * 100)
    shown = text(finished_lines(long, 60))
    assert len(shown) == DIFF_LINES + 2
    assert shown[-1] == f"    … {100 - DIFF_LINES} more lines"
    assert len(finished_lines(long, 60, with_diff=False)) == 1


def test_nothing_in_a_change_hides_behind_a_carriage_return() -> None:
    [shown] = text(diff_lines("+good\r-evil\x0b\u2028x\n", 60))
    assert not {"\r", "\x0b", "\u2028"} & set(shown)


@pytest.mark.parametrize("sign", ["x", "日"])
def test_a_long_line_of_a_change_goes_on_below_its_text(sign: str) -> None:
    line = sign * 100
    for shown in (diff_lines(f"+{line}\n-b", 60), finished_lines(finished(file_path="a", diff=f"+{line}\n-b"), 60)[1:]):
        first, *more, last = text(shown)
        assert first.startswith(f"    +{sign}")
        assert more
        assert all(row.startswith(f"     {sign}") for row in more)
        assert last == "    -b"
        assert max(map(display_width, text(shown))) in (59, 60)


def test_tabs_in_output_are_columns() -> None:
    assert text(finished_lines(finished(stdout="12\tx = 1\n"), 60))[1:] == ["    12      x = 1"]


def test_output_that_writes_over_itself() -> None:
    assert text(finished_lines(finished(stdout="10%\r100%\r\ndone\n"), 60))[1:] == ["    100%", "    done"]
    assert text(finished_lines(finished(stderr="\x1b[31mFAILED\x1b[0m a\x08b\x1b]0;t\x07 \u202e\n"), 60))[1:] == [
        "    FAILED b <U+202E>"
    ]
    assert display_width(text(finished_lines(finished(stdout="x" * 500), 60))[1]) == 60


def test_a_command_shows_the_end_of_its_output() -> None:
    shown = text(finished_lines(finished(stdout="".join(f"out {n}\n" for n in range(20)), stderr="warning\n"), 60))
    assert shown[1] == "    … 15 lines above"
    assert shown[-2:] == ["    out 19", "    warning"]


def test_a_failed_command_shows_where_the_error_is() -> None:
    printed = (
        """   Compiling shop v0.1.0
error[E0308]: mismatched types
  --> src/parse.rs:11:56
   |
11 |     let rate: i64 = rate_of(line);
   |               ---   ^^^^^^^^^^^^^ expected `i64`, found `f64`

"""
        + "".join(f"note {n}\n" for n in range(9))
        + "For more information, try `rustc --explain E0308`.\n"
    )
    failed = finished(success=False, stderr=printed)
    shown = text(finished_lines(failed, 60))[1:]
    assert shown[0] == "       Compiling shop v0.1.0"
    assert {"    error[E0308]: mismatched types", "      --> src/parse.rs:11:56"} <= {*shown}
    assert any("expected `i64`" in line for line in shown)
    assert shown[-4:] == ["    …", "    note 7", "    note 8", "    For more information, try `rustc --explain E0308`."]
    assert len(shown) <= 13
    ended = text(finished_lines(finished(stderr=printed), 60))[1:]
    assert ended[0] == "    … 11 lines above"


def test_a_failed_command_without_a_word_of_it_shows_its_end() -> None:
    failed = finished(success=False, stdout="".join(f"out {n}\n" for n in range(20)))
    assert text(finished_lines(failed, 60))[1:] == ["    … 14 lines above", *(f"    out {n}" for n in range(14, 20))]
