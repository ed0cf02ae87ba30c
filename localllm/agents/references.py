"""Files named in a request as @path, @path:line or @path:first-last."""

import re

import msgspec

_REFERENCE = r"""(?<![^\s(\[{（「『【])@            # an @ that begins a word
    (?:"(?P<quoted>[^"\n]+)"|(?P<bare>[^\s"@()\[\]{}（）「」『』【】、。，：:;,]+?))
    (?::(?P<first>\d+)(?:-(?P<last>\d+))?)?
    (?=[.!?]*(?:[\s()\[\]{}（）「」『』【】、。，：:;,]|$))"""


class FileReference(msgspec.Struct, frozen=True):
    """A file, or some of its lines: `first_line` counts from 1 and is 0 for the whole file."""

    path: str
    first_line: int = 0
    line_count: int = 0


def find_references(text: str) -> list[FileReference]:
    """The references in `text`, each once, in order. An e-mail address is none: an @ begins a word."""
    found: dict[FileReference, None] = {}
    for match in re.finditer(_REFERENCE, text, re.VERBOSE) if "@" in text else ():
        first = int(match["first"] or 0)
        last = int(match["last"] or first)
        found[FileReference(match["quoted"] or match["bare"], first, max(1, last - first + 1) if first else 0)] = None
    return list(found)
