"""Answers get labels that are no other letters of the text, and reviews get names back."""

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from localllm.ensemble.labels import ALPHABET, choose_labels, with_names
from tests.support.each import each

NAMES = {"A": "Worker B (qwen3:8b)", "B": "Worker A (Llama 3)", "C": "Ｃ係", "D": "x, y"}


@each(
    "count, texts, labels",
    [
        (3, ("What is a set?", "A set is a collection."), "ABC"),
        (2, ("Which is right? A) Paris B) Rome C) Bonn",), "DE"),
        (2, ("Is vitamin C good?", "Yes, vitamin C is."), "AB"),
        (3, ("Is vitamin C good?",), "DEF"),
        (2, ("点Aと点Bの距離は？",), "CD"),
        (2, ("選択肢Ａ、Ｂ、Ｄから選べ",), "EF"),
        (9, ("I think",), "ABCDEFGHJ"),
        (2, ("plan_A and B-tree",), "CD"),
        (2, tuple(letter for letter in ALPHABET if letter not in "CQ"), "CQ"),
        (0, (), ""),
    ],
)
def test_labels_are_letters_that_stand_nowhere_else(count: int, texts: tuple[str, ...], labels: str) -> None:
    assert choose_labels(count, texts, random.Random(1)) == list(labels)


def test_numbered_labels_stand_in_no_text_as_far_as_that_can_be() -> None:
    """Nor can a worker know them, who would score himself in what the reviewer quotes."""
    letters = " ".join(ALPHABET)
    most = " ".join(f"{letter}{number}" for letter in ALPHABET[1:] for number in range(1_000))
    (label,) = choose_labels(1, (letters, most), random.Random(1))
    assert label.startswith("A")
    assert len({choose_labels(1, (letters,), random.Random(seed))[0] for seed in range(20)}) > 10
    assert (
        len(choose_labels(2, (letters, most, " ".join(f"Ａ{number}" for number in range(1_000))), random.Random(1)))
        == 2
    )


def test_labels_are_numbered_where_there_are_too_few_letters() -> None:
    labels = choose_labels(30, (), random.Random(1))
    assert len(set(labels)) == 30
    assert all(re.fullmatch(r"[A-Z]\d{3}", label) for label in labels)
    assert with_names("Answer A3 is better than A12.", {"A3": "x", "A12": "y"}) == "x is better than y."


@each(
    "written, read",
    [
        ("Answer A is right.", "Worker B (qwen3:8b) is right."),
        ("**Answer A**: right", "**Worker B (qwen3:8b)**: right"),
        ("Answer **A** is right.", "**Worker B (qwen3:8b)** is right."),
        ("Answer (A) is right.", "(Worker B (qwen3:8b)) is right."),
        ('Answer "B" fails', '"Worker A (Llama 3)" fails'),
        ("ANSWER B fails", "Worker A (Llama 3) fails"),
        ("Worker B's answer", "Worker A (Llama 3)'s answer"),
        ("[Answer B]", "[Worker A (Llama 3)]"),
        ("Answers A and B agree.", "Worker B (qwen3:8b) and Worker A (Llama 3) agree."),
        ("Answers B, C, and A agree.", "Worker A (Llama 3), Ｃ係, and Worker B (qwen3:8b) agree."),
        ("Both A and B are right", "Both Worker B (qwen3:8b) and Worker A (Llama 3) are right"),
        ("B is better than A.", "Worker A (Llama 3) is better than Worker B (qwen3:8b)."),
        ("A: good\nB: bad", "Worker B (qwen3:8b): good\nWorker A (Llama 3): bad"),
        ("- A: good", "- Worker B (qwen3:8b): good"),
        ("1. **A** – good", "1. **Worker B (qwen3:8b)** – good"),
        ("| A | 8/10 |", "| Worker B (qwen3:8b) | 8/10 |"),
        ("A is right", "Worker B (qwen3:8b) is right"),
        ("A gives the year", "Worker B (qwen3:8b) gives the year"),
        ("### A", "### Worker B (qwen3:8b)"),
        ("(A)", "(Worker B (qwen3:8b))"),
        ("回答Aは正しい。", "Worker B (qwen3:8b)は正しい。"),
        ("回答 B：誤り", "Worker A (Llama 3)：誤り"),
        ("回答「A」は", "「Worker B (qwen3:8b)」は"),
        ("回答Ａは正しい", "Worker B (qwen3:8b)は正しい"),
        ("回答A、B、Cは", "Worker B (qwen3:8b)、Worker A (Llama 3)、Ｃ係は"),
        ("AとBは同じ", "Worker B (qwen3:8b)とWorker A (Llama 3)は同じ"),
        ("AはBより正確", "Worker B (qwen3:8b)はWorker A (Llama 3)より正確"),
        ("・A：良い", "・Worker B (qwen3:8b)：良い"),
        ("ワーカーDが", "x, yが"),
        ("A/B", "Worker B (qwen3:8b)/Worker A (Llama 3)"),
    ],
)
def test_labels_become_names(written: str, read: str) -> None:
    assert with_names(written, NAMES) == read


@each(
    "text",
    [
        "A good answer.",
        "A well-known fact about answers",
        "An answer a person gives",
        "The answer A4 paper",
        "API, DNA, Bonn, ABC",
        "C++ and C# and D-Day",
        "25 C and 25°C",
        "x = B + 2",
        "U.S.A. and e.B",
        "Answer E is not there",
        "answer a question",
        "回答ABCは",
        "```\nAnswer A = B\n```",
        "Use `x = B` here",
        "a_B and B_a",
        "$B and #B",
    ],
)
def test_what_is_no_label_stays(text: str) -> None:
    assert with_names(text, NAMES) == text


def test_without_labels_nothing_changes() -> None:
    assert with_names("Answer A is right", {}) == "Answer A is right"


@given(st.text(alphabet="ABCDabc answer回答は。,\n*`", max_size=60))
def test_a_name_that_holds_labels_is_not_replaced_in_turn(text: str) -> None:
    named = with_names(text, {"A": "‹B›", "B": "‹A›"})
    assert with_names(text, {"A": "‹1›", "B": "‹2›"}) == named.replace("‹B›", "‹1›").replace("‹A›", "‹2›")
