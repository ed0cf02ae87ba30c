"""Neutralise control sequences in text for the screen.

Text from a model, a file, a command or a page can move the cursor, recolour, retitle or reorder the output; here such
sequences become visible: C0 and DEL as control pictures (`␛`), everything else as code points (`<U+202E>`).
"""

import re
from collections.abc import Iterator
from functools import cache
from unicodedata import category, east_asian_width

import msgspec

from localllm.base.jsontext import encode_json

_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f"  # C0 except newline and tab, and DEL
    "\x80-\x9f"  # C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction marks, embeddings and isolates
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f"  # invisible
    "\U00013441\U00013442\U00016fe4\U0001d159"  # hieroglyphic blanks, a filler, a note without a head
    "\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"  # tags: can encode a hidden text
    "\ud800-\udfff"  # lone surrogates
)
_EMOJI = "\u00a9\u00ae\u203c-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_JOINED = "\u2194-\u21aa\u231a-\u23ff\u2600-\u27bf\u2b05-\u2b55\U0001f000-\U0001faff"
"""Emoji that joiners combine to one; not lines and arrows of drawings."""

_MOST_JOINED = 3
"""Joiners in the longest emoji, a family of four: terminals render longer chains differently."""

_IDEOGRAPH = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_JOINING_SCRIPT = "\u0600-\u07ff\u0900-\u0dff\u1780-\u17ff"


@cache
def _suspect(more: str = "") -> re.Pattern[str]:
    """Compile, on first use, a pattern of characters that may have to be escaped."""
    return re.compile(f"[{more}{_HIDDEN}\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]")


@cache
def _legitimate() -> re.Pattern[str]:
    return re.compile(
        # The joiner combines emoji (a selector may precede it); the non-joiner separates letters.
        f"(?<=[{_JOINED}\ufe0f])\u200d(?=[{_JOINED}])"
        f"|(?<=[{_JOINING_SCRIPT}])\u200c(?=[{_JOINING_SCRIPT}])"
        # One variation selector after a character with variants; a second or misplaced one hides data.
        f"|(?<=[#*0-9{_EMOJI}])[\ufe0e\ufe0f]"
        f"|(?<=[{_IDEOGRAPH}{_EMOJI}\u3000-\u303f\uff01-\uff1f])[\ufe00-\ufe0d]"
        f"|(?<=[{_IDEOGRAPH}])[\U000e0100-\U000e01ef]"
    )


@cache
def _clinging() -> re.Pattern[str]:
    """Match a character whose cleaning, or that of the following one, may depend on its neighbours."""
    return re.compile(f"[{_EMOJI}\u200d\ufe0e\ufe0f\r]")


def clean(text: str, *, keep_newlines: bool = True) -> str:
    """Make everything in `text` visible that is not plain text.

    Newlines and tabs are kept, and a Windows line end becomes a newline; if `keep_newlines` is false these are made
    visible as well, so that the result is one line.
    """
    if text.isascii() and text.isprintable():
        return text
    if not keep_newlines:
        return _suspect("\n\t").sub(_shown, text)
    return _suspect().sub(_shown, text.replace("\r\n", "\n"))


def without_hidden(text: str) -> str:
    """Replace each character that `clean` would escape by U+FFFD; the length is preserved."""
    if text.isascii() and text.isprintable():
        return text
    return _suspect().sub(lambda match: match[0] if _is_legitimate(match) else "\ufffd", text)


def escape_json(json: str) -> str:
    """Escape the characters in JSON that `clean` would escape, so that it can be printed safely."""
    return json if json.isascii() and "\x7f" not in json else _suspect().sub(_escaped, json)


def json_report(value: object) -> str:
    """Encode `value` as indented JSON that can be printed safely."""
    return escape_json(msgspec.json.format(encode_json(value), indent=2).decode())


def _is_legitimate(match: re.Match[str]) -> bool:
    return bool(_legitimate().match(match.string, match.start())) and not (
        match[0] == "\u200d" and _joiners_before(match.string, match.start()) >= _MOST_JOINED
    )


def _joiners_before(text: str, at: int) -> int:
    """Count the joiners of the same emoji before the one at `at`, up to the limit."""
    count = 0
    while count < _MOST_JOINED:
        at -= 1
        while at > 0 and (text[at] == "\ufe0f" or "\U0001f3fb" <= text[at] <= "\U0001f3ff"):
            at -= 1
        at -= 1
        if at < 1 or text[at] != "\u200d":
            break
        count += 1
    return count


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if character in "\n\r" or _is_legitimate(match):
        return character
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _shown(match: re.Match[str]) -> str:
    if _is_legitimate(match):
        return match[0]
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"<U+{code:04X}>"


def cut_unfinished(text: str) -> tuple[str, str]:
    """Split `text` into a part to clean now, and an end whose cleaning may depend on what follows.

    For streamed text; the end is one character, or the emoji and joiners it belongs to.
    """
    border = max(len(text) - 1, 0)
    while border and _clinging().match(text, border - 1):
        border -= 1
    return text[:border], text[border:]


def display_width(text: str) -> int:
    """Return the width of `text` in terminal cells: two for a wide (CJK) character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(cells for _, _, cells in clusters(text))


def clusters(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield the start, end and cells of each part of `text` that a terminal shows as one glyph.

    That is a character with its combining marks, or emoji joined by zero-width joiners. A spacing mark, as of Indic
    scripts, has cells of its own, since most terminals give it one.
    """
    from wcwidth import wcswidth, wcwidth

    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and (text[end - 1] == "\u200d" or wcwidth(text[end]) == 0):
            end += 1
        cells = max(0, wcswidth(text[start:end]))
        if cells == 0 or end > start + 1:
            first = max(wcwidth(text[start]), _spacing(text[start]))
            cells = max(cells, first + sum(map(_spacing, text[start + 1 : end])))
        yield start, end, cells
        start = end


def _spacing(mark: str) -> int:
    """Return the cells of a mark, if it may be a spacing one: those of newer scripts are not known here."""
    if category(mark) not in ("Mc", "Cn"):
        return 0
    return 2 if east_asian_width(mark) in "WF" else 1


def shorten(text: str, width: int) -> str:
    """Truncate `text` to `width` cells, ending in “…” if truncated."""
    if display_width(text) <= width:
        return text
    room, cut = width - 1, 0
    for _, end, cells in clusters(text):
        room -= cells
        if room < 0:
            break
        cut = end
    return text[:cut] + "…" if width > 0 else ""


def shorten_start(text: str, width: int) -> str:
    """Truncate the start of `text` to `width` cells, beginning with “…” if truncated."""
    if display_width(text) <= width:
        return text
    room, cut = width - 1, len(text)
    for start, _, cells in reversed(list(clusters(text))):
        room -= cells
        if room < 0:
            break
        cut = start
    return "…" + text[cut:] if width > 0 else ""
