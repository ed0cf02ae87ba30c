"""What reaches a screen is inert, and ordinary text passes untouched."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.text.sanitising import (
    clean,
    clusters,
    cut_unfinished,
    display_width,
    escape_json,
    json_report,
    shorten,
    shorten_start,
    without_hidden,
)
from tests.support.each import each


@pytest.mark.parametrize("raw", ["\x1b]0;x\x07", "\x7f", "\x9b31m", "\u202e", "\u200b", "a\x7fb\r", "\U000e0041", "終"])
def test_what_is_printed_as_json_steers_nothing(raw: str) -> None:
    plain = json.dumps(raw), json.dumps(raw, ensure_ascii=False)
    for text in (json_report({raw: [raw]}), *map(escape_json, plain)):
        assert clean(text) == text
    assert json.loads(json_report({raw: [raw]})) == {raw: [raw]}


def test_half_a_pair_from_a_file_name_is_printed_as_json() -> None:
    assert json.loads(json_report({"name": "\udcff"})) == {"name": "\ufffd"}


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


@each(
    ("text", "shown"),
    [
        ("\x1b[2J\x07", "␛[2J␇"),
        ("\x1b]0;title\x1b\\", "␛]0;title␛\\"),
        ("a\x9b31mb", "a<U+009B>31mb"),
        ("del\x7f nul\x00", "del␡ nul␀"),
        ("x\ry", "x␍y"),
        ("line\r\nnext\n\ttab", "line\nnext\n\ttab"),
        ("abc\u202edef\u2066", "abc<U+202E>def<U+2066>"),
        ("zero\u200bwidth\ufeff", "zero<U+200B>width<U+FEFF>"),
        ("tags\U000e0041", "tags<U+E0041>"),
        ("lone\ud800", "lone<U+D800>"),
        ("a\u200db", "a<U+200D>b"),
        ("a\ufe0fb", "a<U+FE0F>b"),
        ("😀\ufe0f\ufe0f", "😀\ufe0f<U+FE0F>"),
        ("か\U000e0100", "か<U+E0100>"),
        ("\u2028", "<U+2028>"),
    ],
)
def test_what_is_made_visible(text: str, shown: str) -> None:
    assert clean(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plain text",
        "日本語と、English。",
        FAMILY,
        "❤\ufe0f 1\ufe0f\u20e3",
        "葛\U000e0100城",
        "می\u200cخواهم",
        "é e\u0301 ｶﾞ",
    ],
)
def test_what_passes(text: str) -> None:
    assert clean(text) == text


def test_one_line_shows_its_line_ends() -> None:
    assert clean("a\r\nb\tc", keep_newlines=False) == "a␍␊b␉c"


@given(st.text(alphabet=st.characters()))
def test_nothing_that_acts_is_left(text: str) -> None:
    left = set(clean(text)) - {"\n", "\t"}
    joiners = {"\u200c", "\u200d"}
    assert not {c for c in left if unicodedata.category(c) in ("Cc", "Cs")}
    assert not {
        c for c in left - joiners if unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI")
    }
    assert clean(clean(text)) == clean(text)


@given(st.lists(st.text(alphabet=st.sampled_from("ab\r\n日葛\U0001f468\u200d\ufe0f\x1b"))))
def test_text_in_pieces_is_cleaned_like_the_whole(pieces: list[str]) -> None:
    shown, held = "", ""
    for piece in pieces:
        ready, held = cut_unfinished(held + piece)
        shown += clean(ready)
    assert shown + clean(held) == clean("".join(pieces))


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("abc", 3),
        ("日本", 4),
        ("e\u0301", 1),
        (FAMILY, 2),
        ("葛\U000e0100", 2),
        ("ｶﾞ", 2),
        ("", 0),
        ("\u0915\u093e", 2),
        ("-" + "\u1b44" * 8, 9),
        ("\u0903", 1),
        ("\u302e", 2),
        ("\u0e01\u0e33", 2),
    ],
)
def test_display_width(text: str, cells: int) -> None:
    assert display_width(text) == cells


@given(st.text(alphabet=st.sampled_from("aé日本e\u0301\U0001f468\u200d…")), st.integers(0, 12))
def test_shortened_text_fits(text: str, width: int) -> None:
    for cut in (shorten(text, width), shorten_start(text, width)):
        assert cut == text or display_width(cut) <= width
    assert shorten(text, 1000) == text == shorten_start(text, 1000)


def test_shorten_says_that_something_is_missing() -> None:
    assert shorten("日本語テキスト", 5) == "日本…"
    assert shorten_start("日本語テキスト", 5) == "…スト"
    assert shorten("abc", 0) == ""


@given(st.text(alphabet=st.sampled_from("aé日e\u0301\U0001f468\u200d")))
def test_clusters_cover_the_text(text: str) -> None:
    parts = list(clusters(text))
    assert "".join(text[start:end] for start, end, _ in parts) == text


def test_json_is_the_same_with_what_hides_in_it_escaped() -> None:
    text = json.dumps(["\x9b31m", "\u202e", "\U000e0041", "\u2028", "終\U0001f600"], ensure_ascii=False)
    escaped = escape_json(text)
    assert json.loads(escaped) == json.loads(text)
    assert escaped == clean(escaped)
    assert "終" in escaped


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
KISS = "\U0001f9d1\U0001f3fb\u200d\u2764\ufe0f\u200d\U0001f48b\u200d\U0001f9d1\U0001f3fc"


@pytest.mark.parametrize("text", [FAMILY, FAMILY * 3, KISS, KISS + FAMILY])
def test_signs_of_several_emoji_stay(text: str) -> None:
    assert clean(text) == text


def test_a_chain_of_joiners_that_is_no_sign_is_shown() -> None:
    assert clean("\u2500\u200d\u2500") == "\u2500<U+200D>\u2500"
    chain = "\u200d".join(["\U0001f468"] * 200)
    assert (clean(chain).count("\u200d"), clean(chain).count("<U+200D>")) == (3, 196)


def test_what_hides_in_a_line_becomes_a_sign_of_its_own() -> None:
    text = f"echo \u202egnp.exe\u202c {FAMILY} \u200b終\U000e0041"
    assert without_hidden(text) == f"echo \ufffdgnp.exe\ufffd {FAMILY} \ufffd終\ufffd"
