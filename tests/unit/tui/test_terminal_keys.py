"""Bytes from a terminal, in whatever pieces they come: which keys they are."""

from itertools import pairwise

import pytest

from localllm.tui.terminal_keys import Key, KeyReader
from tests.support.each import each


def text(words: str) -> Key:
    return Key("text", words)


ENTER, NEWLINE, QUEUE, ESCAPE, UP, BACK = (
    Key("enter"),
    Key("newline"),
    Key("queue"),
    Key("escape"),
    Key("up"),
    Key("backspace"),
)

CASES: list[tuple[str, list[Key]]] = [
    ("hello\r", [text("hello"), ENTER]),
    ("日本　語\x7f\n", [text("日本　語"), BACK, NEWLINE]),
    ("👨\u200d👩", [text("👨\u200d👩")]),
    ("a\x1b[Ab\x1bOP\x1bOAc", [text("a"), UP, text("b"), UP, text("c")]),
    ("\x1b\r\x1b\n\t", [QUEUE, QUEUE, QUEUE]),
    ("\x1b[13;3u\x1b[27;3;13~\x1b[13;2u\x1b[27u", [QUEUE, QUEUE, NEWLINE, ESCAPE]),
    ("\x1bx\x1b日\x1b[12;40R\x1b[1;5C\x1b[3~\x1b\x1b[Aq", [text("q")]),
    ("\x1b[200~one\r\ntwo\x1b[31m\tthree\r\x1b[201~\r", [Key("paste", "one\ntwo[31m    three\n"), ENTER]),
    ("!\x1b[200~x\x1b[201~y", [text("!"), Key("paste", "x"), text("y")]),
    ("\x1b[200~\x1b[201~a", [text("a")]),
    ("\x15\x17\x1b\x7f\x1b[Z\x04\x01", [Key("erase_line"), Key("erase_word"), Key("erase_word"), Key("mode")]),
    ("\x1b\x1bq", [ESCAPE]),
]


def joined(keys: list[Key]) -> list[Key]:
    """The same with pieces of text put together: where a piece ends depends on how the bytes came."""
    found: list[Key] = []
    for key in keys:
        if found and key.name == found[-1].name == "text":
            found[-1] = text(found[-1].text + key.text)
        elif key != text(""):
            found.append(key)
    return found


@each(("raw", "keys"), CASES)
def test_what_comes_at_once(raw: str, keys: list[Key]) -> None:
    reader = KeyReader()
    assert joined(reader.feed(raw.encode())) == keys
    assert not reader.held
    assert not reader.pasting
    assert reader.flush() == []


@each(("raw", "keys"), CASES)
def test_the_same_byte_by_byte_and_cut_anywhere_in_two(raw: str, keys: list[Key]) -> None:
    data = raw.encode()
    one_by_one = KeyReader()
    assert joined([key for byte in data for key in one_by_one.feed(bytes([byte]))]) == keys
    for cut in range(1, len(data)):
        reader = KeyReader()
        found = [key for start, end in pairwise((0, cut, len(data))) for key in reader.feed(data[start:end])]
        assert joined(found) == keys, cut


def test_an_escape_alone_is_a_key_only_when_nothing_follows() -> None:
    reader = KeyReader()
    assert reader.feed(b"a\x1b") == [text("a")]
    assert reader.held
    assert reader.flush() == [ESCAPE]
    assert not reader.held
    assert reader.feed(b"\x1b") == []
    assert reader.feed(b"[A") == [UP]
    assert reader.flush() == []


@pytest.mark.parametrize("begun", [b"\x1b[", b"\x1bO", b"\x1b[1;5", b"\x1b\x1b["])
def test_a_sequence_that_does_not_end_is_no_escape(begun: bytes) -> None:
    reader = KeyReader()
    assert reader.feed(begun) == []
    assert reader.held
    assert reader.flush() == []
    assert reader.feed(b"a") == [text("a")]


def test_what_never_ends_does_not_take_all_that_follows() -> None:
    reader = KeyReader()
    keys = reader.feed(b"\x1b[" + b"1;" * 40 + b"\r")
    assert keys[-1] == ENTER


def test_a_paste_whose_end_is_lost_is_kept() -> None:
    reader = KeyReader()
    assert reader.feed(b"\x1b[200~one\rtw") == []
    assert reader.pasting
    assert not reader.held
    assert reader.feed(b"o\x1b[20") == []
    assert reader.flush() == []
    assert reader.feed(b"x\r") == []
    (pasted,) = reader.end_paste()
    assert (pasted.name, pasted.text) == ("paste", "one\ntwo[20x\n")
    assert reader.feed(b"x\r") == [text("x"), ENTER]


@each(("raw", "keys"), CASES)
def test_the_same_with_a_pause_after_each_byte_of_a_paste(raw: str, keys: list[Key]) -> None:
    reader, found = KeyReader(), list[Key]()
    for byte in raw.encode():
        found += reader.feed(bytes([byte]))
        found += reader.flush() if reader.pasting else []
    assert joined(found) == keys
