"""Decode the keys of the terminal, and edit a line with them."""

import re
import unicodedata
from collections.abc import Callable
from typing import Literal

import msgspec

from localllm.text.sanitising import clusters
from localllm.tui.bracketed_paste import PasteReader, Piece

KeyName = Literal[
    "text",
    "paste",
    "enter",
    "newline",
    "queue",
    "escape",
    "backspace",
    "erase_line",
    "erase_word",
    "up",
    "mode",
    "other",
]


class Key(msgspec.Struct, frozen=True):
    """A key, or a piece of `text`: typed characters, or a whole `paste` with its line ends."""

    name: KeyName
    text: str = ""


ESCAPE_SECONDS = 0.2
"""Seconds after which an Escape without a continuation is the key; sequences may be delayed on a slow connection."""

_ESCAPE = "\x1b"
# A complete sequence: CSI or SS3, also with Alt; else Alt and a character.
_SEQUENCE = re.compile(r"\x1b\x1b?(?:\[[0-?]*[ -/]*[@-~]|O.)|\x1b[^\x1b\[O]", re.DOTALL)
_UNFINISHED = re.compile(r"\x1b\x1b?(?:\[[0-?]*[ -/]*|O)?\Z")
_LONGEST_SIGN = 16  # characters; a grapheme seldom has more
_LONGEST_SEQUENCE = 64  # characters; a longer one without an end is invalid

_CONTROLS: dict[str, KeyName] = {
    "\r": "enter",
    "\n": "newline",
    "\t": "queue",
    "\x7f": "backspace",
    "\b": "backspace",
    "\x15": "erase_line",
    "\x17": "erase_word",
}
# Besides the common sequences, those of xterm's modifyOtherKeys and of the kitty keyboard protocol.
_SEQUENCES: dict[str, KeyName] = {
    "\x1b\r": "queue",
    "\x1b\n": "queue",
    "\x1b[13;3u": "queue",
    "\x1b[27;3;13~": "queue",
    "\x1b[13;2u": "newline",
    "\x1b[27;2;13~": "newline",
    "\x1b[13u": "enter",
    "\x1b[27u": "escape",
    "\x1b[A": "up",
    "\x1bOA": "up",
    "\x1b[Z": "mode",
    "\x1b\x7f": "erase_word",
    "\x1b\b": "erase_word",
}


class KeyReader:
    """Decode keys. A possible prefix of one is `held` until it is complete or `flush`ed; a paste is one, of its own."""

    def __init__(self, on_paste: Callable[[str], None] = lambda _: None, *, pastes: PasteReader | None = None) -> None:
        """`on_paste` is told of each pasted text. `pastes` is shared with what else reads the same terminal."""
        self._on_paste = on_paste
        self._pastes = pastes or PasteReader()
        self._rest = ""

    @property
    def held(self) -> bool:
        """Whether an Escape, or a partial sequence, waits for more input."""
        return bool(self._rest)

    @property
    def pasting(self) -> bool:
        """Whether a paste is incomplete."""
        return self._pastes.pasting

    def feed(self, data: bytes) -> list[Key]:
        """Return the keys completed by `data`."""
        return self._keys(self._pastes.feed(data))

    def read(self, text: str) -> list[Key]:
        """As `feed`, for text."""
        return self._keys(self._pastes.read(text))

    def typed(self, text: str) -> list[Key]:
        """As `read`, for text without pastes."""
        self._rest += text
        keys: list[Key] = []
        while (key := self._next()) is not None:
            keys.append(key)
        return _joined(keys)

    def flush(self) -> list[Key]:
        """End a prefix: an Escape alone is the key, another is dropped. A paste stays incomplete."""
        rest, self._rest = self._rest, ""
        return [Key("escape")] * len(rest) if set(rest) == {_ESCAPE} else []

    def end_paste(self) -> list[Key]:
        """End an incomplete paste."""
        return self._keys(self._pastes.end())

    def _keys(self, pieces: list[Piece]) -> list[Key]:
        keys: list[Key] = []
        for text, is_pasted in pieces:
            keys += self._paste(text) if is_pasted else self.typed(text)
        if self.pasting:
            self._rest = ""  # the begin of its mark
        return keys

    def _paste(self, text: str) -> list[Key]:
        self._rest = ""
        if not (lines := _lines(text)):
            return []
        self._on_paste(lines)
        return [Key("paste", lines)]

    def _next(self) -> Key | None:
        """Take the next complete key; None if more input is needed."""
        if not self._rest:
            return None
        if not self._rest.startswith(_ESCAPE):
            return self._take(1, _CONTROLS.get(self._rest[0], "text" if _is_text(self._rest[0]) else "other"))
        if found := _SEQUENCE.match(self._rest):
            return self._take(found.end(), _SEQUENCES.get(found[0], "other"))
        if _UNFINISHED.match(self._rest) and len(self._rest) < _LONGEST_SEQUENCE:
            return None
        return self._take(1, "escape")

    def _take(self, length: int, name: KeyName) -> Key:
        text, self._rest = self._rest[:length], self._rest[length:]
        return Key(name, text if name == "text" else "")


def _lines(text: str) -> str:
    """Normalise line ends of pasted text, and remove non-text characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    return "".join(character for character in text if _is_text(character) or character == "\n")


def _is_text(character: str) -> bool:
    """Whether a character is text, including the ideographic space, and the joiners in emoji and words of some
    scripts."""
    return character.isprintable() or character in "\u200c\u200d" or unicodedata.category(character) == "Zs"


def _joined(keys: list[Key]) -> list[Key]:
    """Merge adjacent pieces of typed text."""
    joined: list[Key] = []
    for key in keys:
        if key.name == "text" and joined and joined[-1].name == "text":
            joined[-1] = Key("text", joined[-1].text + key.text)
        elif key.name != "other":
            joined.append(key)
    return joined


def edited(line: str, key: Key) -> str:
    """Return a line after a key that is typed at its end."""
    match key.name:
        case "text":
            return line + key.text
        case "newline":
            return line + "\n"
        case "backspace":
            return _without_last(line)
        case "erase_line":
            return ""
        case "erase_word":
            return re.sub(r"\S*\s*\Z", "", line)
        case _:
            return line


def _without_last(text: str) -> str:
    """Remove the last grapheme."""
    if text[-2:].isascii():
        return text[:-1]
    rest, end = text[:-_LONGEST_SIGN], text[-_LONGEST_SIGN:]
    *_, (start, _, _) = clusters(end)
    return rest + end[:start]
