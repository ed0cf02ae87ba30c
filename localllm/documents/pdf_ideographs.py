"""Restore the ideographs in the text of a PDF that has identical-looking radicals instead.

Japanese fonts draw 水 (U+6C34) and the radical ⽔ (U+2F54) with one glyph, and PDF printers record the
first character of a glyph: searching for or copying 水 then gives ⽔. The tables that map glyphs to characters
(ToUnicode, ISO 32000-1, 9.10.3) are corrected; the appearance does not change.
"""

import importlib
import importlib.util
import io
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

_SUPPLEMENT = dict(zip("⺟⺠⻁⻄⻑⻘⻝⻤⻨⻩⻫⻭⻯⻲⻳", "母民虎西長青食鬼麦黄斉歯竜亀龟", strict=True))
"""Radicals of the supplement (U+2E80 to U+2EFF) sharing a glyph; Unicode maps those from U+2F00 on."""

_SECTION = re.compile(r"\d+ beginbf(?:char|range)\n.*?endbf(?:char|range)\n", re.DOTALL)
_RANGE = re.compile(r"<([0-9A-Fa-f]+)> <([0-9A-Fa-f]+)> <([0-9A-Fa-f]{4})>")
_CHARACTER = re.compile(r"^<([0-9A-Fa-f]+)> <([0-9A-Fa-f]+)>$", re.MULTILINE)
_MOST_IN_SECTION = 100
_FIRST, _LAST = 0x2E80, 0x2FD5


def with_ideographs(data: bytes) -> bytes:
    """Return the PDF with ideographs; unchanged if it has no such radicals, or pypdf is not installed."""
    if importlib.util.find_spec("pypdf") is None:
        return data
    pypdf: Any = importlib.import_module("pypdf")
    writer: Any = pypdf.PdfWriter(clone_from=io.BytesIO(data))
    changed = False
    for table in _tables(writer):
        text = table.get_data().decode("latin-1")
        if (right := right_table(text)) != text:
            table.set_data(right.encode("latin-1"))
            changed = True
    if not changed:
        return data
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def _tables(writer: Any) -> Iterator[Any]:
    """Yield the table of each font, once."""
    seen: set[int] = set()
    for page in writer.pages:
        fonts = page.get("/Resources", {}).get("/Font", {})
        for font in fonts.values():
            table = font.get_object().get("/ToUnicode")
            if table is not None and id(table.get_object()) not in seen:
                seen.add(id(table.get_object()))
                yield table.get_object()


def right_table(table: str) -> str:
    """Return the table with ideographs for radicals; unchanged if it has none."""
    glyphs: dict[str, str] = {}
    for section in _SECTION.findall(table):
        glyphs |= dict(_range(section) if "beginbfrange" in section else _CHARACTER.findall(section))
    right = {glyph: _ideograph(character) for glyph, character in glyphs.items()}
    if right == glyphs:
        return table
    lines = [f"<{glyph}> <{character}>\n" for glyph, character in right.items()]
    parts = [lines[start : start + _MOST_IN_SECTION] for start in range(0, len(lines), _MOST_IN_SECTION)]
    sections = "".join(f"{len(part)} beginbfchar\n{''.join(part)}endbfchar\n" for part in parts)
    head, _, tail = _SECTION.sub("", table).partition("endcmap")
    return f"{head}{sections}endcmap{tail}"


def _range(section: str) -> Iterator[tuple[str, str]]:
    for first, last, character in _RANGE.findall(section):
        for step in range(int(last, 16) - int(first, 16) + 1):
            yield f"{int(first, 16) + step:0{len(first)}X}", f"{int(character, 16) + step:04X}"


def _ideograph(character: str) -> str:
    """Return the ideograph that looks like the character (in hexadecimal), else the character."""
    if len(character) != 4 or not _FIRST <= int(character, 16) <= _LAST:
        return character
    radical = chr(int(character, 16))
    return f"{ord(_SUPPLEMENT.get(radical) or unicodedata.normalize('NFKC', radical)):04X}"
