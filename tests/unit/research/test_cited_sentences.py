"""What is read of a model's text: sentences with the evidence they cite, and nothing without."""

import pytest

from localllm.research.cited_sentences import ids_in, is_sentence, read_sentences, tidy
from tests.support.each import each

ALLOWED = ("E1", "E2", "E17")


def read(text: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.text, one.evidence) for one in read_sentences(text, ALLOWED).sentences]


def test_marks_belong_to_their_sentence() -> None:
    tower, tall = "The tower opened in 1998.", "It is 120.5 m tall."
    both = [(tower, ("E1",)), (tall, ("E2",))]
    for text in (
        "The tower opened in 1998 [E1]. It is 120.5 m tall [E2].",
        "The tower opened in 1998. [E1] It is 120.5 m tall. [E2]",
        "The tower opened in 1998.[E1] It is 120.5 m tall.[E2]",
        "The tower opened in 1998 (E1). It is 120.5 m tall 【Ｅ２】.",
        "The tower opened in 1998 [E1]\n.It is 120.5 m tall [E2].".replace("\n.", ".\n"),
        "[E1] The tower opened in 1998.\n[E2] It is 120.5 m tall.",
        "- The tower opened in 1998. [E1]\n- It is 120.5 m tall. [E2]",
        "## Opening\n\n**Facts**\n\n1. The **tower** opened in 1998 [E1].\n2. It is 120.5 m tall [E2].",
        "```\nThe tower opened in 1998 [source: E1]. It is 120.5 m tall [evidence E2].\n```",
        "The tower opened in 1998 [E1]. It is 120.5 m tall [E2][E2].",
        "The tower opened in 1998.\n[E1]\nIt is 120.5 m tall.\n[E2]",
        "The tower opened in 1998.\n\n[E1]\n\nIt is 120.5 m tall.\n\n[E2].\n",
        "[E1]\nThe tower opened in 1998.\n[E2]\nIt is 120.5 m tall.",
    ):
        assert read(text) == both, text


@pytest.mark.parametrize("text", ["The tower opened in 1998.\n[E1]", "[E2]\nThe tower opened in 1998.\n[E1]", "[E1]"])
def test_a_mark_below_all_sentences_belongs_to_the_last(text: str) -> None:
    assert [sentence for sentence, ids in read(text) if "E1" in ids] == ["The tower opened in 1998."][: len(text) // 9]


def test_japanese_marks_belong_to_their_sentence() -> None:
    both = [("北塔は1998年に開業した。", ("E1",)), ("高さは120mである。", ("E2", "E17"))]
    for text in (
        "北塔は1998年に開業した[E1]。高さは120mである[E2, E17]。",
        "北塔は1998年に開業した。[E1]高さは120mである。[E2][E17]",
        "北塔は1998年に開業した【Ｅ１】。高さは120mである（E2、E17）。",
        "・北塔は1998年に開業した[E1]。\n・高さは120mである[E2・E17]。",
    ):
        assert read(text) == both, text


@pytest.mark.parametrize(
    "text",
    [
        "It lasts 5,000 cycles. (Battery life in years) [E1].",
        "It lasts 5,000 cycles. (Source: A battery guide; a.example) [E1]",
        "It lasts 5,000 cycles.\n(A battery guide; a.example) [E1]",
        "It lasts 5,000 cycles. [E1] (Source: A battery guide)",
    ],
)
def test_a_source_behind_a_sentence_is_none(text: str) -> None:
    assert read(text) == [("It lasts 5,000 cycles.", ("E1",))]


def test_a_statement_in_parentheses_is_a_sentence() -> None:
    heat = "It lasts 5,000 cycles [E1]. (This excludes heat) [E2]."
    assert read(heat) == [("It lasts 5,000 cycles.", ("E1",)), ("(This excludes heat).", ("E2",))]
    assert read("It lasts long. (This excludes all heat.) [E2]") == [("(This excludes all heat.)", ("E2",))]
    assert read("It lasts long.\n\n(This excludes heat) [E2]") == [("(This excludes heat)", ("E2",))]
    assert read("電池は5000回もつ。（出典：電池ガイド）[E1]。") == [("電池は5000回もつ。", ("E1",))]


def test_what_cites_nothing_is_dropped_and_counted() -> None:
    text = "It opened in 1998 [E1]. It is gold [E99]. It is loved by all. It is tall [E2][E98]. References: [E1]"
    found = read_sentences(text, ALLOWED)
    assert [(one.text, one.evidence) for one in found.sentences] == [
        ("It opened in 1998.", ("E1",)),
        ("It is tall.", ("E2",)),
    ]
    assert (found.dropped, found.unknown) == (2, 2)


@pytest.mark.parametrize("text", ["", "[E1]", "[E1][E2].", "…", "# Heading [E1]", "12 [E1].", "見出し：[E1]"])
def test_what_has_no_words_is_no_sentence(text: str) -> None:
    found = read_sentences(text, ALLOWED)
    assert found == ((), 0, 0)


@each(
    "given, expected",
    [
        ("It opened in 1998 [3].", "It opened in 1998."),
        ("It opened in 1998 [3, 4] [S2].", "It opened in 1998."),
        ("It opened [1998](http://x.example/a) as said.", "It opened 1998 as said."),
        ("See https://evil.example/?q=1 for it.", "See for it."),
        ("開業した【4】。", "開業した。"),
        ("See [here](javascript:alert) now.", "See here now."),
        ("- [E1] **Bold** claim.", "Bold claim."),
        ("A range of 3-4 [units] stays.", "A range of 3-4 [units] stays."),
    ],
)
def test_references_of_the_models_own_are_taken_out(given: str, expected: str) -> None:
    assert tidy(given) == expected


def test_paragraphs_and_items_are_kept() -> None:
    text = "First thing said [E1]. Second thing said [E2].\n\nThird thing said [E1].\n- Fourth thing said [E2]."
    assert [one.begins for one in read_sentences(text, ALLOWED).sentences] == ["", "", "paragraph", "item"]


def test_ids_in_any_form() -> None:
    assert ids_in("E7, [E12] ・ 3 Ｅ７") == ["E7", "E12", "E3"]
    assert ids_in("none") == []
    assert ids_in(f"E7, {'9' * 5_000}") == ["E7"]


def test_a_text_without_an_end_is_no_sentence() -> None:
    assert not is_sentence("word " * 200)
    assert is_sentence("It opened in 1998")
