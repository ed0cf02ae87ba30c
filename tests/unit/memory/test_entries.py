"""How entries are written: marks in their own style, texts tidied and compared."""

import pytest

from localllm.memory.entries import plain, restyled, tidy, without_bullet
from tests.support.each import each


@each(
    ("mark", "styled"),
    [
        ("", "[x] "),
        ("[ ] ", "[x] "),
        ("[ ]\t", "[x]\t"),
        ("[todo] ", "[done] "),
        ("【予定】", "【完了】"),
        ("[予定] ", "[完了] "),
        ("[未]", "[完了]"),
        ("[済]", "[完了]"),
        ("[✓]", "[x] "),
    ],
)
def test_a_mark_is_written_in_its_own_style(mark: str, styled: str) -> None:
    assert restyled(mark, "done") == styled


@each(
    ("text", "lines"),
    [
        ("  a\tb  \r\n   c  \n     d\n\n", ["a b", "c", "  d"]),
        ("a\x1b", ["a␛"]),
        ("a\rb", ["a", "b"]),
        ("a", ["a"]),
    ],
)
def test_a_text_to_be_kept_is_tidied(text: str, lines: list[str]) -> None:
    assert tidy(text) == lines


def test_texts_are_compared_without_what_makes_no_difference() -> None:
    assert plain(" Ａ\tB ") == plain("a b")
    long = "Ａ " * 1_001
    assert plain(long) == long.strip()
    assert plain(long[:2_000]) == "a " * 999 + "a"
    assert (without_bullet("- * a"), without_bullet("・ a"), without_bullet("- -")) == ("* a", "a", "- -")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Check ![](https://e.example/?k=1) and ![a][b]", [r"Check !\[](https://e.example/?k=1) and !\[a][b]"]),
        ("<img src=x> and </script>", [r"\<img src=x> and \</script>"]),
        ("look\n[b]: https://e.example/?k=1", ["look", r"\[b]: https://e.example/?k=1"]),
        ("vec![1, 2], List<int>, [bug]: crash, [x](y)", ["vec![1, 2], List<int>, [bug]: crash, [x](y)"]),
        ("![a [b] c](x), ![d]", [r"!\[a [b] c](x), !\[d]"]),
        ("![a\nb](x)", [r"!\[a", "b](x)"]),
        (r"![a\]b](x)", [r"!\[a\]b](x)"]),
        ("[b]: https://e.example/?k=1", [r"\[b]: https://e.example/?k=1"]),
        ("look\n- [b]:\n  <//e.example>", ["look", r"- \[b]:", "  <//e.example>"]),
        ("<IMG src=x> <div style='background:url(x)'>", [r"\<IMG src=x> \<div style='background:url(x)'>"]),
        (r"twice: !\[](x)", [r"twice: !\[](x)"]),
    ],
)
def test_no_preview_fetches_an_address(text: str, lines: list[str]) -> None:
    assert tidy(text) == lines
    assert tidy("\n".join(tidy(text))) == lines
