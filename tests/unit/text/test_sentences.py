from localllm.text.sentences import LONGEST, Span, split_sentences, whole_sentences
from tests.support.each import each


@each(
    ("text", "parts"),
    [
        ("Dr. Smith paid $3.5 million. He left.", ["Dr. Smith paid $3.5 million.", "He left."]),
        ("Acme Inc. grew in the U.S. The rest fell.", ["Acme Inc. grew in the U.S.", "The rest fell."]),
        ("Is it so? Yes! It is.", ["Is it so?", "Yes!", "It is."]),
        ("彼は「行く。」と言った。雨だ。", ["彼は「行く。」と言った。", "雨だ。"]),
        ("Yahoo!ニュースが伝えた。本当だ！", ["Yahoo!ニュースが伝えた。", "本当だ！"]),
        ("Title\n\n- one item\n- two items\n1. Third", ["Title", "- one item", "- two items", "1. Third"]),
        (
            "The line was wrapped at the width of a printed page, as it is in a\nPDF file.",
            ["The line was wrapped at the width of a printed page, as it is in a\nPDF file."],
        ),
        ("It rose in 2024.[3] It fell.", ["It rose in 2024.", "[3] It fell."]),
        ("", []),
        ("Ask Mara (ext. 412) for a key. It is free.", ["Ask Mara (ext. 412) for a key.", "It is free."]),
        ("Call tel. 030 12. See p. 7 (incl. 19 % tax).", ["Call tel. 030 12.", "See p. 7 (incl. 19 % tax)."]),
    ],
)
def test_sentences_end_where_they_end(text: str, parts: list[str]) -> None:
    assert [text[start:end] for start, end in split_sentences(text)] == parts


def test_a_span_grows_to_its_sentence() -> None:
    text = "First one. The plant made 3.5 million cars in 2020. Last one."
    at = text.index("3.5 million")
    start, end = whole_sentences(text, Span(at, at + 11))
    assert text[start:end] == "The plant made 3.5 million cars in 2020."


def test_a_sentence_without_end_is_cut() -> None:
    text = "word " * 1_000
    start, end = whole_sentences(text, Span(2_500, 2_510))
    assert start <= 2_500 < 2_510 <= end
    assert end - start <= LONGEST
