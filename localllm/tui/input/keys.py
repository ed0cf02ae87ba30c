"""Keys out of the bytes a terminal sends: a sequence may come in pieces, and Escape begins every one of them."""

import codecs
import re
import unicodedata
from typing import Literal

import msgspec

KeyName = Literal[
    "text", "enter", "newline", "queue", "escape", "backspace", "erase_line", "erase_word", "up", "mode", "other"
]


class Key(msgspec.Struct, frozen=True):
    """A key, or a piece of `text`: characters that were typed, or all of what was pasted, with its line ends."""

    name: KeyName
    text: str = ""


PASTE_ON, PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"
"""Have the terminal mark what is pasted (bracketed paste, DEC mode 2004), or not."""

_PASTE_BEGINS, _PASTE_ENDS = "\x1b[200~", "\x1b[201~"

_ESCAPE = "\x1b"
# A whole sequence: CSI or SS3, also with Alt; else Alt and a character.
_SEQUENCE = re.compile(r"\x1b\x1b?(?:\[[0-?]*[ -/]*[@-~]|O.)|\x1b[^\x1b\[O]", re.DOTALL)
_UNFINISHED = re.compile(r"\x1b\x1b?(?:\[[0-?]*[ -/]*|O)?\Z")
_LONGEST_SEQUENCE = 64  # characters; what is longer and does not end is none

_CONTROLS: dict[str, KeyName] = {
    "\r": "enter",
    "\n": "newline",
    "\t": "queue",
    "\x7f": "backspace",
    "\b": "backspace",
    "\x15": "erase_line",
    "\x17": "erase_word",
}
# Besides what every terminal sends, the forms of xterm's modifyOtherKeys and of the kitty keyboard protocol.
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
    """Makes keys of bytes as they come. What may be the beginning of more is `held` until it is whole, or `flush`ed."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = ""
        self._pasted: str | None = None

    @property
    def held(self) -> bool:
        """Whether an Escape, or a sequence begun, waits for what may follow it."""
        return bool(self._rest) and self._pasted is None

    @property
    def pasting(self) -> bool:
        """Whether the end of what is being pasted has not come yet."""
        return self._pasted is not None

    def feed(self, data: bytes) -> list[Key]:
        """The keys that `data` makes whole."""
        return self.read(self._decoder.decode(data))

    def read(self, text: str) -> list[Key]:
        """As `feed`, of text."""
        self._rest += text
        keys: list[Key] = []
        while (key := self._next()) is not None:
            keys.append(key)
        return _joined(keys)

    def flush(self) -> list[Key]:
        """Nothing follows: an Escape alone is the key, any other beginning is nothing; a paste ends here."""
        rest, self._rest = self._rest, ""
        if self._pasted is not None:
            pasted, self._pasted = self._pasted, None
            return [Key("text", _lines(pasted + rest))]
        return [Key("escape")] * len(rest) if set(rest) == {_ESCAPE} else []

    def _next(self) -> Key | None:
        """The next whole key, taken from what is there; None where more must come."""
        if self._pasted is not None:
            return self._paste()
        if not self._rest:
            return None
        if not self._rest.startswith(_ESCAPE):
            return self._take(1, _CONTROLS.get(self._rest[0], "text" if _is_text(self._rest[0]) else "other"))
        if self._rest.startswith(_PASTE_BEGINS):
            self._rest, self._pasted = self._rest.removeprefix(_PASTE_BEGINS), ""
            return self._paste()
        if found := _SEQUENCE.match(self._rest):
            return self._take(found.end(), _SEQUENCES.get(found[0], "other"))
        if _UNFINISHED.match(self._rest) and len(self._rest) < _LONGEST_SEQUENCE:
            return None
        return self._take(1, "escape")

    def _take(self, length: int, name: KeyName) -> Key:
        text, self._rest = self._rest[:length], self._rest[length:]
        return Key(name, text if name == "text" else "")

    def _paste(self) -> Key | None:
        inside, end, after = self._rest.partition(_PASTE_ENDS)
        if not end:  # what may be the beginning of the end stays
            cut = max(len(inside) - len(_PASTE_ENDS) + 1, 0)
            self._pasted, self._rest = (self._pasted or "") + inside[:cut], inside[cut:]
            return None
        text = (self._pasted or "") + inside
        self._pasted, self._rest = None, after
        return Key("text", _lines(text))


def _lines(text: str) -> str:
    """Pasted text with line ends as ours, and nothing in it that is no text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    return "".join(character for character in text if _is_text(character) or character == "\n")


def _is_text(character: str) -> bool:
    """Also the ideographic space, and the joiners within emoji and words of some scripts."""
    return character.isprintable() or character in "\u200c\u200d" or unicodedata.category(character) == "Zs"


def _joined(keys: list[Key]) -> list[Key]:
    """The same, with each run of text in one piece."""
    joined: list[Key] = []
    for key in keys:
        if key.name == "text" and joined and joined[-1].name == "text":
            joined[-1] = Key("text", joined[-1].text + key.text)
        elif key.name != "other":
            joined.append(key)
    return joined
