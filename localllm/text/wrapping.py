"""Wrap text to terminal lines: at spaces between words, and between characters in scripts without spaces.

Japanese and Chinese text may break after any character, but no line starts with closing punctuation or ends with an
opening bracket (the common core of kinsoku: JIS X 4051).
"""

import re
from functools import cache
from itertools import pairwise

from localllm.text.sanitising import clusters, display_width

_NOT_FIRST = frozenset("、。，．・：；？！ー）］｝〕〉》」』】〙〗’”ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ々…‥％")
_NOT_LAST = frozenset("（［｛〔〈《「『【〘〖‘“")
_WIDE = (
    "\u1100-\u115e\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7af\uf900-\ufaff"
    "\ufe30-\ufe4f\uff01-\uff60\uffe0-\uffe6\U00020000-\U0003ffff"
)


@cache
def _piece() -> re.Pattern[str]:
    """Match one wide character with its marks, a word of others, or white space."""
    return re.compile(f"[{_WIDE}][\u0300-\u036f\u3099\u309a\ufe00-\ufe0f\U000e0100-\U000e01ef]*|[^\\s{_WIDE}]+|\\s+")


def break_offsets(text: str, width: int) -> list[int]:
    """Return the offsets of the second and later lines of `text`, each at most `width` cells.

    `text` is one paragraph. White space at a break stays at the end of its line and may exceed the width. A word longer
    than a line is split.
    """
    offsets: list[int] = []
    column = 0
    for start, piece in _unbreakable(text):
        cells = display_width(piece.rstrip())
        if column and column + cells > width:
            offsets.append(start)
            column = 0
        if cells > width:
            cuts, column = _cut(piece, start, width)
            offsets.extend(cuts)
        else:
            column += display_width(piece)
    return offsets


def wrap(text: str, width: int) -> list[str]:
    """Wrap `text` to lines of at most `width` cells, keeping its newlines, without trailing spaces."""
    if "\n" not in text and display_width(text) <= width:
        return [text.rstrip()]
    lines: list[str] = []
    for paragraph in text.split("\n"):
        borders = [0, *break_offsets(paragraph, max(width, 2)), len(paragraph)]
        lines.extend(paragraph[a:b].rstrip() for a, b in pairwise(borders))
    return lines


def longest_piece(text: str) -> int:
    """Return the minimum width in cells to which `text` can be wrapped without splitting a word."""
    return max((display_width(piece.rstrip()) for _, piece in _unbreakable(text)), default=0)


def _unbreakable(text: str) -> list[tuple[int, str]]:
    """Return the pieces between which a line may break, with offsets. White space belongs to the preceding piece."""
    pieces: list[tuple[int, str]] = []
    for match in _piece().finditer(text):
        piece = match[0]
        if pieces and (piece.isspace() or piece[0] in _NOT_FIRST or pieces[-1][1][-1] in _NOT_LAST):
            start, before = pieces[-1]
            pieces[-1] = (start, before + piece)
        else:
            pieces.append((match.start(), piece))
    return pieces


def _cut(piece: str, start: int, width: int) -> tuple[list[int], int]:
    """Return the offsets at which a piece wider than a line is split, and the end column of its last part."""
    offsets: list[int] = []
    column = 0
    word = piece.rstrip()
    for begin, _, cells in clusters(word):
        if column and column + cells > width:
            offsets.append(start + begin)
            column = 0
        column += cells
    return offsets, column + len(piece) - len(word)
