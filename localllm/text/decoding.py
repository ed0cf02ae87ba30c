"""Decode text files and encode them again, preserving encoding, byte order mark and newlines."""

import codecs
import re
from contextlib import suppress
from typing import Literal

import msgspec

from localllm.base.lazy_patterns import late_pattern

Newline = Literal["\n", "\r\n", "\r", "mixed"]


class Decoded(msgspec.Struct, frozen=True):
    """A decoded text file.

    `text` has `\\n` newlines, unless `newline` is "mixed" (both `\\r\\n` and `\\n`): then they are as in the file.
    `encoding` is a Python codec name; `bom`: the file starts with a byte order mark.
    """

    text: str
    encoding: str = "utf-8"
    bom: bool = False
    newline: Newline = "\n"

    @property
    def codec(self) -> str:
        """The Python codec that gives the text without the byte order mark: "utf-8-sig", "utf-16"."""
        if not self.bom:
            return self.encoding
        return "utf-8-sig" if self.encoding == "utf-8" else self.encoding.removesuffix("-le").removesuffix("-be")


class NotTextError(ValueError):
    """The bytes are no text: `kind` is "binary", or "encoding" if they may be text in an unknown encoding; `likely` is
    the one to try first."""

    def __init__(self, kind: Literal["binary", "encoding"], likely: str = "latin-1") -> None:
        super().__init__(kind)
        self.kind: Literal["binary", "encoding"] = kind
        self.likely = likely


_NO_CHARSETS = frozenset({"punycode", "idna", "undefined", "unicode-escape", "raw-unicode-escape"})
"""Codecs of Python that are for other things than files; the first two take quadratic time."""

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_MARK_OF = {encoding: mark for mark, encoding in _MARKS}
_JAPANESE_ENCODINGS = ("cp932", "euc_jp")  # cp932 is Windows' Shift_JIS, with ① and 髙
_LIKELY = 0.8
_SAMPLE = 8_000
_SHORTEST_UTF16 = 4
_LIKELY_UTF16 = 0.97  # the wrong byte order, or binary data, gives random ideographs and almost no ASCII
_EXPECTED_IN_UTF16 = "[\t\n\r -~\u00a0-\u017f\u2010-\u203f\u3000-\u30ff\u4e00-\u9fff\uff01-\uff9f]"
_EUROPEAN = "[À-ÖØ-öø-ÿŒœŠšŽžŸ\u00a0¡£§©ª«®°±²³´µ·¹º»¼½¾¿×€‚„…‰‘’“”•–—™]{1,3}"
_DECLARATION = late_pattern(r"""(?:#.*coding[:=][ \t]*|^<\?xml[^>]*\sencoding=["'])([-\w.]+)""")
_BEGINNING = 1_000  # bytes in which an encoding is declared
_WIDER = {"shift_jis": ("cp932",), "iso8859-1": ("iso8859-1", "cp1252")}
"""Declared encoding → those that its files really have, as for browsers."""
_WESTERN = frozenset({"iso8859-1", "iso8859-15", "cp1252"})
"""Encodings that tools declare without a look at the text."""
_ODD_IN_WORD = late_pattern("[a-z][ÀÁ-ÖØ-ÞŒŠŽŸ•„‰™]")
_ASCII = late_pattern(r"[\x00-\x7f]+")
_C1 = late_pattern(r"[\x80-\x9f]")  # control characters in Latin-1, signs in Windows-1252
_CONTROL = late_pattern("[\x00-\x06\x0e-\x1a\x1c-\x1f]")


def decode(data: bytes, encoding: str = "") -> Decoded:
    """Decode `data` as UTF-8, UTF-16 or ISO-2022-JP, else in the encoding that it declares, else as Shift_JIS or EUC-JP
    if it reads as Japanese, as Latin-1 or Windows-1252 if it reads as a European language.

    With `encoding` it is decoded as that. Raises NotTextError if it is no text (a NUL byte suffices, unless all of it
    reads as UTF-16), and LookupError for an unknown encoding.
    """
    if encoding:
        return _decode_as(data, encoding)
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _decoded(_strict(data[len(mark) :], name), name, bom=True)
    if b"\0" in data:
        name = unmarked_utf16(data)
        if not name:
            raise NotTextError("binary")
    elif b"\x1b$" in data and _is_iso2022(data):
        name = "iso2022_jp"
    else:
        try:
            return _decoded(data.decode(), "utf-8", bom=False)
        except UnicodeDecodeError:
            name = _declared(data) or _guess(data)
    return _decoded(_strict(data, name), name, bom=False)


def unmarked_utf16(data: bytes) -> str:
    """Return the UTF-16 codec for `data`, which has no byte order mark; "" if it is not UTF-16."""
    sample = data if len(data) <= _SAMPLE else data[:_SAMPLE]
    if sample.count(0) * 4 < len(sample) and sample.isascii():  # plain text with NULs
        return ""
    for name in ("utf-16-le", "utf-16-be"):
        try:
            text = sample.decode(name)
        except UnicodeDecodeError:
            continue
        if len(text) >= _SHORTEST_UTF16 and len(re.findall(_EXPECTED_IN_UTF16, text)) >= len(text) * _LIKELY_UTF16:
            return name
    return ""


def encode(text: str, like: Decoded) -> bytes:
    """Encode `text` (with `\\n` newlines) with the encoding, byte order mark and newlines of `like`.

    Raises UnicodeEncodeError if the encoding lacks a character.
    """
    if like.newline in ("\r\n", "\r"):
        text = text.replace("\n", like.newline)
    mark = _MARK_OF[like.encoding] if like.bom else b""
    return mark + text.encode(like.encoding)


def split_lines(text: str) -> list[str]:
    """Split a text into lines without newlines; a final newline begins no further line."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def _decode_as(data: bytes, encoding: str) -> Decoded:
    name = codecs.lookup(encoding).name
    if name in _NO_CHARSETS:
        raise LookupError(encoding)
    for mark, marked in _MARKS:
        if data.startswith(mark) and name.removesuffix("-sig") in (marked, marked[: len("utf-16")]):
            return _decoded(_strict(data[len(mark) :], marked), marked, bom=True)
    return _decoded(_strict(data, name), name, bom=False)


def _strict(data: bytes, encoding: str) -> str:
    try:
        text = data.decode(encoding)
    except UnicodeError as error:
        raise NotTextError("encoding") from error
    if "\0" in text:
        raise NotTextError("binary")
    return text


def _decoded(text: str, encoding: str, *, bom: bool) -> Decoded:
    newline = _newline_of(text)
    if newline in ("\r\n", "\r"):
        text = text.replace(newline, "\n")
    return Decoded(text, encoding, bom, newline)


def _newline_of(text: str) -> Newline:
    if "\r" not in text:
        return "\n"
    ends, windows = text.count("\n"), text.count("\r\n")
    if not ends:
        return "\r"
    if windows == ends:
        return "\r\n"
    return "mixed" if windows else "\n"


def _is_iso2022(data: bytes) -> bool:
    """Return whether the escape sequences in `data` are those of ISO-2022-JP, used in old Japanese mail."""
    try:
        return data.isascii() and "\x1b" not in data.decode("iso2022_jp")
    except UnicodeDecodeError:
        return False


def _declared(data: bytes) -> str:
    """Return the encoding that the first two lines declare as Python (PEP 263), Emacs and XML files do; "" if there is
    none, or if it cannot be true: it would not give back the same bytes or the declaration itself, gives control
    characters, or letters where the text reads as Japanese."""
    first_lines = data[:_BEGINNING].decode("latin-1").split("\n")[:2]
    found = _DECLARATION.search("\n".join(first_lines))
    if not found:
        return ""
    with suppress(LookupError, UnicodeError):
        name = codecs.lookup(found[1]).name
        for one in (*_WIDER.get(name, ()), name):
            if one in _NO_CHARSETS or not _gives_back(data, one):
                continue
            text = data.decode(one)
            is_wrong = one in _WESTERN and _japanese_encoding(data)
            if found[0] in text and not _C1.search(text) and not is_wrong:
                return one
    return ""


def _gives_back(data: bytes, encoding: str) -> bool:
    try:
        return data.decode(encoding).encode(encoding) == data
    except UnicodeError:
        return False


def _japanese_encoding(data: bytes) -> str:
    """Return the encoding in which `data` reads as Japanese; "" if there is none."""
    scores = {name: _japanese_share(data, name) for name in _JAPANESE_ENCODINGS}
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] >= _LIKELY else ""


def _guess(data: bytes) -> str:
    """Return the encoding in which `data` reads as a language. Raises NotTextError if there is none."""
    if (name := _japanese_encoding(data)) and not _is_torn_utf8(data):
        return name
    if _looks_binary(data):
        raise NotTextError("binary")
    name = "cp1252" if _C1.search(data.decode("latin-1")) else "latin-1"
    if _may_be_japanese(data):
        raise NotTextError("encoding", likely="cp932")
    if _european_share(data, name) >= _LIKELY and not _is_damaged_utf8(data):
        return name
    raise NotTextError("encoding")


def _is_torn_utf8(data: bytes) -> bool:
    """Return whether more characters of a script such as Japanese are whole as UTF-8 than torn: what `cut -c` and
    `head -c` leave would give other ideographs as Shift_JIS."""
    whole = data[:2].lstrip(_REST_OF_UTF8) + data[2:]  # without the rest of the first character, which counts once
    text = whole.decode("utf-8", "replace")
    return len(_WIDE.findall(text)) > text.count("\ufffd") + (whole != data)


def _is_damaged_utf8(data: bytes) -> bool:
    """Return whether at least half of the bytes that are not ASCII are valid UTF-8."""
    valid = len(_ASCII.sub("", data.decode("utf-8", "ignore")).encode())
    return 2 * valid >= len(_ASCII.sub("", data.decode("latin-1")))


def _may_be_japanese(data: bytes) -> bool:
    """Return whether `data` is valid Shift_JIS with single characters that mostly stand alone, as in 5月1日: accented
    letters follow others."""
    try:
        text = data.decode("cp932")
    except UnicodeDecodeError:
        return False
    starts = [found.start() for found in _FOREIGN_RUN.finditer(text) if _SINGLE.search(found[0])]
    in_words = sum(at > 0 and text[at - 1].isalpha() for at in starts)
    return bool(starts) and 2 * in_words <= len(starts)


_REST_OF_UTF8 = bytes(range(0x80, 0xC0))
_WIDE = late_pattern("[\u0800-\ufffc]")  # of three bytes in UTF-8
_FOREIGN_RUN = late_pattern(r"[^\x00-\x7f]+")
_JAPANESE = "[\u2010-\u27bf\u3000-\u30ff\u3200-\u33ff\u4e00-\u9fff\uff01-\uff5e々〆ヶ]+"
_COUNTERS = late_pattern(
    "(?<=[0-9])[年月日時分秒週円人名件個回本枚台冊匹歳才点位番号度倍割階章節条項行列頁組泊社店](?![^\\x00-\\x7f])"
)
_SINGLE = late_pattern("[\u3000-\u30ff\u3200-\u33ff\u4e00-\u9fff\uff01-\uff60]|[\uff61-\uff9f]{2}")


def _japanese_share(data: bytes, encoding: str) -> float:
    """Return the share of non-ASCII characters that are in runs of at least two Japanese characters, or that count what
    stands before them (5月1日): accented Latin letters decoded as Shift_JIS give single ideographs; EUC-JP decoded as
    Shift_JIS gives half-width katakana."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return 0.0
    runs: list[str] = _FOREIGN_RUN.findall(text)
    japanese = sum(len(part) for run in runs for part in re.findall(_JAPANESE, run) if len(part) > 1)
    return (japanese + len(_COUNTERS.findall(text))) / max(1, sum(map(len, runs)))


def _european_share(data: bytes, encoding: str) -> float:
    """Return the share of non-ASCII characters that are in runs of at most three accented letters or signs: in other
    alphabets, whole words are such runs."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return 0.0
    runs: list[str] = _FOREIGN_RUN.findall(text)
    european = sum(len(run) for run in runs if re.fullmatch(_EUROPEAN, run)) - len(_ODD_IN_WORD.findall(text))
    return european / max(1, sum(map(len, runs)))


def _looks_binary(data: bytes) -> bool:
    sample = data[:4096].decode("latin-1")
    return len(_CONTROL.findall(sample)) > len(sample) // 100
