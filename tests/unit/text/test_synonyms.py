"""Synonyms: words and phrases of a text, and the others for them."""

import gzip

import msgspec
import pytest

from localllm.text.synonyms import Table, find_synonyms
from scripts.pack_synonyms import PACKED, table


def others(text: str) -> dict[str, tuple[str, ...]]:
    return {text[one.start : one.end]: one.others for one in find_synonyms(text)}


@pytest.mark.parametrize(
    ("text", "said", "other"),
    [
        ("Are my wages late?", "wages", "salary"),
        ("Who RESIGNS?", "RESIGNS", "退職"),  # in any form
        ("I need time off on Friday", "time off", "休暇"),
        ("給料はいつですか", "給料", "salary"),
        ("在宅勤務をしたい", "在宅勤務", "remote work"),  # the longest of several
        ("my father", "father", "relative"),
    ],
)
def test_a_word_or_phrase_has_others_for_it(text: str, said: str, other: str) -> None:
    assert other in others(text)[said]


def test_what_is_wider_is_not_called_by_what_is_narrower() -> None:
    assert "father" not in others("a relative").get("relative", ())


def test_no_word_is_its_own_synonym() -> None:
    found = others("salary wages 給料 overtime 残業")
    assert set(found) == {"salary", "wages", "給料", "overtime", "残業"}
    assert all(word not in synonyms for word, synonyms in found.items())


def test_an_ideograph_inside_a_word_is_no_word() -> None:
    assert set(others("本日の議題")) == set()
    assert "day" in others("3日の休み")["日"]


def test_what_has_none_has_none() -> None:
    assert others("The quokka, ウォンバット and 3.5 of them") == {}
    assert others("") == {}


def test_what_is_packed_is_what_is_written() -> None:
    packed = msgspec.json.decode(gzip.decompress(PACKED.read_bytes()), type=Table)
    assert packed == table(), "run scripts/pack_synonyms.py"
