"""A passage is found by the first step that finds it, and what it does not change stays as it is there."""

import pytest

from localllm.text.matching import TooManyPlacesError, find, without_numbers
from localllm.text.merging import MOST_PUT, TooMuchTextError
from tests.support.each import each

CODE = "class A:\n    def f(self):\n        x = 1  \n        return x\n\n    def g(self):\n        return 'two'\n"


@each(
    ("text", "old", "step"),
    [
        (CODE, "return x", "exact"),
        (CODE, "4: return x", "numbers"),
        (CODE, "return \\'two\\'", "escapes"),
        ("a -> b\n", "a -&gt; b", "escapes"),
        (CODE, "```python\ndef g(self):\n```", "fence"),
        (CODE, "        x = 1\n        return x", "trailing"),
        (CODE, "x = 1\nreturn x", "indent"),
        (CODE, "return ‘two’", "punctuation"),
        (CODE, "def g( self ):", "space"),
        (CODE.replace("class A:", "class Reciever:"), "class Receiver:\n    def f(self):", "typos"),
    ],
)
def test_each_step_finds_what_is_its_own(text: str, old: str, step: str) -> None:
    found = find(text, old, "new")
    assert found is not None
    assert (found.step, len(found.spans)) == (step, 1)


def test_what_an_earlier_step_finds_twice_is_not_unique_by_a_later_one() -> None:
    found = find("a = 1\nb\na = 1\n  c\n", "a = 1", "x")
    assert found is not None
    assert len(found.spans) == 2


@each(
    ("there", "old", "new", "expected"),
    [
        ("\tif a:\n\t\tb()\n", "if a:\n  b()", "if a:\n  if c:\n    b()", "\tif a:\n\t\tif c:\n\t\t\tb()\n"),
        ("    if a:\n        b()\n", "if a:\n\tb()", "if a:\n\tb()\n\tc()", "    if a:\n        b()\n        c()\n"),
        ("say(“yes”, 1)\n", 'say("yes", 1)', 'say("yes", 2)', "say(“yes”, 2)\n"),
        ("f( a,  b )\n", "f(a, b)", "f(a, c)", "f( a, c )\n"),
        ("x = 1   \ny = 2\n", "x = 1\ny = 2\n", "x = 1\nz = 0\ny = 2\n", "x = 1   \nz = 0\ny = 2\n"),
        ("  one\n  two\n", " one\n two\n", "", ""),
        ("say 'x'   \nb\n", "say 'x'\nb", "b", "b\n"),
        ('say("x")\n', "say(“x”)", "say(“x”, “y”)", 'say("x", "y")\n'),
        ("    a()\n", "a()", "a()\n\nb()", "    a()\n\nb()\n"),
        ("    a()\n    b()\n", "a()\nb()", "a()\nb()\n\nc()", "    a()\n    b()\n\n    c()\n"),
        ("a = 1\nb = 2\n", "a = 1\n", "a = 3", "a = 3\nb = 2\n"),
        ("f(\n1)\n", "f(\n", "f(", "f(1)\n"),
        ("timeout: 10\n", "timeout:10", "timeout:30", "timeout: 30\n"),
        ("A=1\n", "A = 1", "A = 2", "A=2\n"),
        ("def f(a, b=1):\n", "def f(a, b = 1):", "def f(a, b = 2):", "def f(a, b=2):\n"),
        ("TIMEOUT = 10\n", "TIMEOUT=10", "TIMEOUT=30", "TIMEOUT = 30\n"),
        ("P=8000\nH=x\n", "P = 8000\nH = x", "P = 9000\nH = x", "P=9000\nH=x\n"),
        ("return(x)\n", "return (x)", "return y", "return y\n"),
    ],
)
def test_a_change_is_put_into_what_is_there(there: str, old: str, new: str, expected: str) -> None:
    found = find(there, old, new)
    assert found is not None
    (span,) = found.spans
    assert there[: span.start] + span.text + there[span.end :] == expected


@pytest.mark.parametrize(
    ("there", "old", "new"),
    [
        (
            "for a in b:\n    c()\nd()\n",
            "    for a in b:\n    c()\n    d()",
            "    for a in b:\n    c()\n    d()\n    e()",
        ),
        ("names:\n  one\n  two\ncodes:\n  1: uno\n", "1: one\n2: two", "1: uno\n2: two"),
        ("if masked_values is None:\n    stop(now)\n", "if marked_values is None:\n    stop(now)", "go(now)"),
        ("<p>Tom & Jerry</p>\n", "Tom &amp; Jerry", "&lt;3"),
        ("a < b\n", "a &lt; b", "a < b &amp;&amp; c"),
    ],
    ids=["indentation torn", "keys like line numbers", "another name", "entity in markup", "entities and signs"],
)
def test_what_is_uncertain_is_not_found(there: str, old: str, new: str) -> None:
    assert find(there, old, new) is None


@pytest.mark.parametrize(
    ("passage", "bare"),
    [
        ("1: a\n2: b", "a\nb"),
        ("  9→a\n 10→  b\n", "a\n  b\n"),
        ("L5: a", "a"),
        ("7\ta\n8\t\n9\tb", "a\n\nb"),
        ("1 | a\n2 | b", "a\nb"),
        ("1: a\n3: b", None),
        ("a: 1\nb: 2", None),
        ("1: a\nb", None),
        ("", None),
    ],
)
def test_line_numbers_of_a_listing(passage: str, bare: str | None) -> None:
    assert without_numbers(passage) == bare


def test_numbers_that_are_in_the_file_are_text() -> None:
    found = find("1: a\n2: b\n", "1: a", "1: c")
    assert found is not None
    assert found.step == "exact"


@pytest.mark.parametrize(
    ("there", "old"),
    [
        ("def get_user(self):\n    return self.user_name\n", "def set_user(self):\n    return self.user_name\n"),
        ("value = compute(items, 10)\nstore(value)\n", "value = compute(items, 11)\nstore(value)\n"),
        ("if not ready and waiting_for_input:\n    go()\n", "if ready and waiting_for_input:\n    go()\n"),
        ("short = 1\n", "shord = 1\n"),
        ("# note\nfirst_thing()\nsecond_thing()\n", "first_thing()\nthird_thing()\n"),
    ],
)
def test_a_slip_of_the_pen_is_none_where_it_could_mean_another_place(there: str, old: str) -> None:
    assert find(there, old, "x") is None


def test_an_edit_that_was_made_before_is_not_made_again() -> None:
    there = "first_thing(here)\n# a note on it\nsecond_thing(there)\n"
    old, new = "first_thing(here)\nsecond_thing(there)\n", there
    assert find(there, old, new) is None


def test_of_overlapping_places_there_are_always_two() -> None:
    found = find("a" * 30_000, "a" * 20_000, "b")
    assert found is not None
    assert len(found.spans) > 1


def test_what_is_at_too_many_places_is_not_replaced_everywhere() -> None:
    with pytest.raises(TooManyPlacesError):
        find("a" * 10_001, "a", "b", apart=True)
    found = find("a" * 10_000, "a", "b", apart=True)
    assert found is not None
    assert len(found.spans) == 10_000


DEEP = " " * 10_000


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("a" * 10_000, "a", "b" * (MOST_PUT // 10_000 + 1)),
        (f"{DEEP}x = 1\n{DEEP}y = 2\n", "x = 1\ny = 2", "x = 1\n" + "z\n" * (MOST_PUT // len(DEEP)) + "y = 2"),
        ("x  =  1\n" * 10_000, "x = 1\n", "y\n" * (MOST_PUT // 10_000) + "\n"),
    ],
)
def test_what_would_fill_the_memory_is_not_made(text: str, old: str, new: str) -> None:
    with pytest.raises(TooMuchTextError):
        find(text, old, new, apart=True)


@each(
    ("there", "old", "new", "expected"),
    [
        ("t: 10", "t:10", "t:2.5", "t: 2.5"),
        ("t: 1", "t:1", "t:-1", "t: -1"),
        ("k: v", "k:v", "k:w # c", "k: w # c"),
        ("a : 1", "a: 1", "b: 2", "b : 2"),
        ("A=1", "A = 1", 'A = "x y"', 'A="x y"'),
        ("A=f(x)", "A = f(x)", "A = g(f(x))", "A=g(f(x))"),
        (
            "def f(a, b=1):\n    return a*b\n",
            "def f(a, b = 1):\n    return a * b\n",
            "def f(a, b = 2):\n    return a * b\n",
            "def f(a, b=2):\n    return a*b\n",
        ),
        ("--a=1 -b 2", "--a = 1 -b 2", "--a = 1 -b 3", "--a=1 -b 3"),
        ("\tgcc  -O2 a.c", "\tgcc -O2 a.c", "\tgcc -O3 a.c", "\tgcc  -O3 a.c"),
        ("f(a,\n  b)", "f(a, b)", "f(a, c)", "f(a, c)"),
        ("a*b", "a * b", "c + d", "c+d"),
        ("[80, 443]", "[80,443]", "[80,443,8080]", "[80, 443, 8080]"),
        ("n=1,2,3", "n = 1, 2, 3", "n = 1, 2, 3, 4", "n=1,2,3,4"),
        ("{ a }", "{a}", "{a, b}", "{ a, b }"),
        ("A=-1", "A = -1", "A = 1", "A=1"),
        ("k: -1", "k:-1", "k:1", "k: 1"),
        ("x=not y", "x = not y", "x = y", "x=y"),
        ("(a + b)*c", "(a+b)*c", "(a)*c", "(a)*c"),
        ("a\tb\tc", "a b c", "a b d", "a\tb\td"),
        # what the change gives is meant
        ("t:  10", "t:10", "t: 30", "t: 30"),
        ("A=1", "A = 1", "A = 1\nB = 2", "A=1\nB = 2"),
        # words are not joined, and operators neither joined nor parted
        ("x = 1", "x=1", "x+=1", "x += 1"),
        ("x = 1", "x=1", "x==1", "x == 1"),
        ("a<b", "a < b", "a < -b", "a< -b"),
    ],
)
def test_the_white_space_of_the_text_stands_before_what_is_replaced(
    there: str, old: str, new: str, expected: str
) -> None:
    found = find(there, old, new)
    assert found is not None
    assert found.step == "space"
    (span,) = found.spans
    assert there[: span.start] + span.text + there[span.end :] == expected
