"""The part of a long line that a passage means, though it differs by a word."""

import pytest

from localllm.text.nearest_passage import Passage, closest_passage

TEXT = """\
# 仕様

受注データは毎朝六時に取り込みます。取り込みに失敗した場合は担当者（営業二課）へメールで知らせ、再実行は手動で行います。
The importer retries three times and then writes the row to the error table. It never stops by itself.
ラーメンについて書いた。[前の記事](ramen.md)も見てください。
def total(a, b): return compute_total(a, b) if a else compute_total(b, default_tax_rate)
"""


@pytest.mark.parametrize(
    ("passage", "line", "text"),
    [
        ("担当者（営業一課）へメール", 3, "担当者（営業二課）へメール"),
        ("受注データを毎朝六時に取り込みます", 3, "受注データは毎朝六時に取り込みます"),
        ("失敗した時は担当者", 3, "失敗した場合は担当者"),
        ("The importer retries five times", 4, "The importer retries three times"),
        ("retries three time and then write", 4, "retries three times and then write"),
        ("  compute_total(b, tax_rate)  ", 6, "compute_total(b, default_tax_rate)"),
        ("def total(a,b):", 6, "def total(a, b):"),
    ],
)
def test_the_part_that_differs_by_a_word(passage: str, line: int, text: str) -> None:
    assert closest_passage(TEXT, passage) == Passage(line, text)


@pytest.mark.parametrize(
    "passage",
    ["", "a, b", "quite another sentence", "全く別の文章がここに", "two\nlines", "x" * 700, "def sum(values):"],
)
def test_what_is_similar_to_nothing(passage: str) -> None:
    assert closest_passage(TEXT, passage) is None


def test_the_work_is_bounded() -> None:
    assert closest_passage("ab" * 1_000_000 + " xabababyab ", "xabababyab") != Passage(1, "xabababyab")
    found = closest_passage("no line like it\n" * 50_000 + "here it stands, nearly", "there it stands: nearly")
    assert found == Passage(50_001, "here it stands, nearly")
