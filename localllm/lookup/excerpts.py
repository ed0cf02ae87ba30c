"""What a definition says of itself: its signature, and the comment or docstring that goes with it."""

import re
from collections.abc import Mapping

import msgspec

_MOST_SIGNATURE = 6
_LONGEST_SIGNATURE = 240
_LONGEST_QUOTE = 280
_MOST_COMMENT = 12
_OPENING = re.compile(r"^\s*[rRuUbBfF]{0,2}(\"\"\"|'''|\"|')")
_COMMENT = re.compile(
    r"^\s*(?:///?!?|#(?!\[|!|\s*(?:define|include|if|endif|else|pragma))|--|;+|/\*+!?|\*+/?|\"\"\"|%+)\s?"
)
_DECORATION = re.compile(r"^\s*(?:@[\w.]+(?:\(.*)?|#\[.*\]|\[[A-Z]\w*.*\]|template\s*<.*>)\s*$")
_TAGS = re.compile(
    r"^\s*(?:@\w+|:\w+|\\\w+|Args:|Parameters|Returns|Raises|Examples?|See Also|Notes?|=+|-+|~+|\*+)\b"
    r"|^\s*(?:[=~*^-]{3,})\s*$"
)


class Quote(msgspec.Struct, frozen=True):
    """A definition's own words: `start` is the line of its first decorator or of itself."""

    signature: str
    doc: str
    start: int
    whole_doc: str = ""


def quote_at(lines: Mapping[int, str], line: int) -> Quote:
    """The quote of what is defined at `line`, from the lines around it."""
    start = line
    while _DECORATION.match(lines.get(start - 1, "")):
        start -= 1
    signature, end = _signature(lines, line)
    doc = _docstring(lines, end) or _comment_above(lines, start - 1)
    return Quote(signature, first_sentences(doc), start, doc)


def module_doc(lines: Mapping[int, str]) -> str:
    """The comment or docstring at the beginning of a file."""
    for number in range(1, 30):
        text = lines.get(number, "").strip()
        if not text or text.startswith(("#!", "<?", "// @", "'use strict'", '"use strict"')) or "coding" in text[:20]:
            continue
        if _OPENING.match(text):
            return _docstring(lines, number - 1)
        if _COMMENT.match(lines[number]):
            end = number
            while _COMMENT.match(lines.get(end + 1, "")):
                end += 1
            return _comment_above(lines, end)
        return ""
    return ""


def first_sentences(doc: str) -> str:
    """The first sentence of a text, or the first paragraph where that is short."""
    paragraph: list[str] = []
    for line in doc.split("\n"):
        if not line.strip() or _TAGS.match(line):
            if paragraph:
                break
            continue
        paragraph.append(line.strip())
    text = " ".join(paragraph)
    if len(text) <= _LONGEST_QUOTE:
        return text
    cut = max(text.rfind(mark, 40, _LONGEST_QUOTE) for mark in (". ", "。", ".) "))
    return text[: cut + 1] if cut > 0 else text[: text.rfind(" ", 0, _LONGEST_QUOTE)] + " …"


def _signature(lines: Mapping[int, str], line: int) -> tuple[str, int]:
    """What is defined, to the end of its parameters, in one line; and the line where that ends."""
    parts: list[str] = []
    depth = 0
    for number in range(line, line + _MOST_SIGNATURE * 3):
        text = lines.get(number)
        if text is None:
            break
        plain = re.sub(r"\"[^\"]*\"|'[^']*'|(?:#|//).*$", "", text)
        depth += sum(plain.count(mark) for mark in "([") - sum(plain.count(mark) for mark in ")]")
        parts.append(re.sub(r"\s+(?:#|//)\s.*$", "", text).strip())
        if depth <= 0:
            break
    joined = re.sub(r"(?<=[(\[]) | (?=[)\]])", "", " ".join(parts)).removesuffix(" {").removesuffix("{")
    joined = re.sub(r",(?=\))", "", joined).rstrip()
    if len(joined) > _LONGEST_SIGNATURE:
        joined = joined[:_LONGEST_SIGNATURE].rsplit(" ", 1)[0] + " …"
    return joined, line + max(len(parts), 1) - 1


def _docstring(lines: Mapping[int, str], end: int) -> str:
    """The string that is the first statement after line `end`."""
    number = end + 1
    while number <= end + 2 and not lines.get(number, "").strip():
        number += 1
    opening = _OPENING.match(lines.get(number, ""))
    if not opening:
        return ""
    mark = opening[1]
    text = lines[number][opening.end() :]
    found: list[str] = []
    while mark not in text:
        found.append(text.rstrip())
        number += 1
        if number not in lines or len(mark) == 1:
            return "\n".join(found).strip() if len(mark) > 1 else ""
        text = lines[number]
    return "\n".join([*found, text[: text.index(mark)].rstrip()]).strip()


def _comment_above(lines: Mapping[int, str], end: int) -> str:
    """The comment that ends at line `end`."""
    found: list[str] = []
    number = end
    while number in lines and _COMMENT.match(lines[number]) and len(found) < _MOST_COMMENT * 3:
        found.append(_COMMENT.sub("", lines[number], count=1).replace("*/", "").rstrip())
        number -= 1
    return "\n".join(reversed(found)).strip()
