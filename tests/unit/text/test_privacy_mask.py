"""Personal data is masked (personal_data.txt: `kind | text with ⟦what is to be masked⟧`), and what a simpler pattern
would take for such stays (looks_personal.txt)."""

import re
import time
from pathlib import Path

import pytest

from localllm.text.privacy_mask import MARKS, mask, without_marks
from tests.support.each import each

HERE = Path(__file__).parent
HITS = (HERE / "personal_data.txt").read_text(encoding="utf-8").replace("¦", "").splitlines()
"""A broken bar cuts what scanners for leaked keys would take for one."""

MISSES = (HERE / "looks_personal.txt").read_text(encoding="utf-8").splitlines()


def hits() -> list[tuple[str, str]]:
    return [(kind.strip(), text.strip()) for kind, _, text in (line.partition("|") for line in HITS)]


@each(("kind", "text"), hits())
def test_personal_data_is_masked_and_nothing_around_it(kind: str, text: str) -> None:
    given = re.sub(r"[⟦⟧]", "", text)
    expected = re.sub(r"⟦[^⟧]*⟧", MARKS[kind], text)
    assert "⟦" in text
    masked = mask(given)
    assert masked.text == expected
    assert set(masked.kinds) == {kind}
    assert mask(masked.text) == (masked.text, ())


@each("text", MISSES)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert mask(text) == (text, ())


def test_the_tables_are_as_large_as_they_should_be() -> None:
    assert len(hits()) >= 60
    assert len(MISSES) >= 60
    assert {kind for kind, _ in hits()} == {*MARKS}


def test_the_kinds_stand_in_the_order_of_the_text() -> None:
    masked = mask("090-1234-5678 か taro@example.com、4111 1111 1111 1111 と 192.168.1.4 に")
    assert masked.kinds == ("phone", "email", "card", "private_ip")
    assert masked.text == "[PHONE] か [EMAIL]、[CREDIT_CARD] と [IP] に"


def test_what_is_masked_can_be_told_from_what_is_left() -> None:
    assert without_marks(mask("taro@example.com 090-1234-5678").text).strip() == ""
    assert without_marks(mask("hotel of taro@example.com").text).split() == ["hotel", "of"]


HOSTILE = [
    *(
        "0",
        "1 ",
        "0-",
        "09",
        "a@",
        "a.",
        "@a.",
        "10.",
        "fe80:",
        "fd00::",
        "+1",
        "+1 ",
        "(0",
        "4111 ",
        "4111-",
        "eyJaaaaaaaaa-",
    ),
    *(
        "sk-",
        "password ",
        "-----BEGIN PRIVATE KEY-----",
        "ー1",
        "０３－",
        "tel ",
        "電話",
        "a+",
        "0120-",
        "x://a:",
        "マイナンバー",
    ),
]
"""Pieces that patterns begin with: repeated, each gives as many beginnings as there can be."""


@pytest.mark.parametrize("piece", HOSTILE)
def test_twice_the_text_takes_about_twice_the_time(piece: str) -> None:
    def seconds(length: int) -> float:
        text = (piece * (length // len(piece) + 1))[:length]
        best = float("inf")
        for _ in range(3):
            began = time.process_time()
            mask(text)
            best = min(best, time.process_time() - began)
        return best

    mask(piece * 10)
    short, long = seconds(10_000), seconds(80_000)
    assert long < 30 * max(short, 0.001), f"{short:.4f} s, {long:.4f} s for eight times as much"
