"""The lines that tell of a fault are found, and no more is given than was asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.text import error_lines
from localllm.text.error_lines import telling_lines


def test_a_fault_with_those_around_it() -> None:
    text = "\n".join(["fine"] * 30 + ["a.py", "3: error: no such name", "  here", ""] + ["fine"] * 30)
    told = telling_lines(text, 60)
    assert told.splitlines()[:4] == ["…", "a.py", "3: error: no such name", "  here"]
    assert telling_lines(text, 30) == "…\n3: error: no such name"


def test_each_kind_once_and_every_kind_before_what_is_around_it() -> None:
    text = "\n".join(f"a.c:{n}: error: one\n  source {n}\n" for n in range(50)) + "\nb.c:1: error: two\n"
    told = telling_lines(text, 50)
    assert "a.c:0: error: one" in told
    assert "b.c:1: error: two" in told
    assert "a.c:1:" not in told


def test_what_only_speaks_of_faults_is_none() -> None:
    text = "test_error_texts PASSED\n0 errors, no failures\nerror_page.html written\nmy-error-handler ok"
    assert telling_lines(text, 500) == ""


def test_lines_of_a_stack_trace_that_name_a_file_of_the_project() -> None:
    own = [
        "    #1 0x55d0aaaa in table_add src/table.c:12",
        "#2  0x000055d0 in main (argc=1) at tests/test_count.c:14",
        "    at total (/srv/shop/src/cart.js:12:5)",
        "        at com.shop.Cart.total(Cart.java:31)",
        "             at src/main.rs:4:5",
    ]
    foreign = [
        "    #0 0x7f2a in memcpy ../../../src/libsanitizer/interceptors.inc:827",
        "    #3 0x7f2a in start_call_main ../sysdeps/nptl/libc_start_call_main.h:58",
        "    at Module._compile (node:internal/modules/cjs/loader.js:1256:14)",
        "    at run (/srv/shop/node_modules/mocha/lib/runner.js:9:1)",
        "look at src/table.c:12",
    ]
    told = telling_lines("\n".join(line for pair in zip(own, foreign, strict=True) for line in pair), 2_000)
    assert [line for line in told.splitlines() if line != "…"] == own


def test_of_a_very_long_line_the_part_about_the_fault() -> None:
    told = telling_lines("x" * 50_000 + " TypeError: not a function " + "y" * 50_000, 500)
    assert "TypeError: not a function" in told
    assert len(told) < 300


@given(st.lists(st.sampled_from(["error: x", "fine", "", "失敗しました", "E   KeyError: 1", "\r"])), st.integers(0, 80))
def test_it_is_never_longer_than_asked_for(lines: list[str], most: int) -> None:
    assert len(telling_lines("\n".join(lines), most)) <= most


_WORDS = (
    *(
        "error",
        "Errors",
        "FATAL",
        "panicked",
        "ValueError",
        "SomeException",
        "failed",
        "failure",
        "conflict",
        "0 errors",
    ),
    *(
        "caused by",
        "undefined",
        "unresolved",
        "cannot",
        "can't",
        "could not",
        "couldn't",
        "unable to",
        "denied",
        "refused",
    ),
    *(
        "not found",
        "no such",
        "Segmentation fault",
        "aborted",
        "timed out",
        "killed",
        "エラー",
        "失敗",
        "不合格",
        "例外",
    ),
    *(
        "異常終了",
        "できません",
        "できなかった",
        "見つかりません",
        "fine",
        "no error",
        "error-page",
        "KILLED",
        "見つかり",
    ),
)


@given(st.lists(st.sampled_from([*_WORDS, "", *("plain text",) * 40]), max_size=200))
def test_in_many_lines_the_same_are_found_as_in_each_alone(words: list[str]) -> None:
    lines = [f"{number} {word}." for number, word in enumerate(words)]
    alone = [line for line in lines if telling_lines(line, 200)]
    kinds = {line.partition(" ")[2]: line for line in reversed(alone)}
    found = telling_lines("\n".join(lines), 100_000).splitlines()
    assert set(kinds.values()) <= set(found)
    if not alone:
        assert found == []


def test_of_very_many_lines_the_first_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_lines, "_MOST_LINES", 10)
    for count in (9, 10):
        text = "fine\n" * (count - 1) + "error: last\nerror: beyond"
        assert telling_lines(text, 400).splitlines()[-1] == ("error: beyond" if count == 9 else "error: last")
    assert not error_lines.has_telling_lines("fine\n" * 10 + "error: beyond")
