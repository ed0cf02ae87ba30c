"""Where does a message come from: the line that holds a quoted text, or most of it."""

import re
from collections.abc import Sequence

from localllm.code.definition_patterns import escape
from localllm.lookup.answers import numbered, place, shorten
from localllm.lookup.calls import Plan, outline, search
from localllm.lookup.conversation import Talk
from localllm.lookup.inspect import innermost
from localllm.lookup.places import is_secret, place_of, worth
from localllm.lookup.questions import Question
from localllm.lookup.results import Hit, read_hits, read_outline
from localllm.lookup.wording import say

_FEWEST_WORDS = 2
_MOST_PIECES = 12
_ALIKE = 0.5
_SHOWN = 5
_PUT_IN = re.compile(
    r"""\S*[\d/\\=<>{}%@_]\S* | ['"‘’“”`「」][^'"‘’“”`「」]*['"‘’“”`「」] | [:;,.!?]\s | \s[-–—]\s""", re.VERBOSE
)
"""What may have been put into a text at run time: numbers, paths, quoted names; and what ends a sentence."""


def message(talk: Talk, question: Question) -> Plan:
    """The line where the text of the question stands; where it is put together at run time, the one with most of it."""
    text = question.subject
    (result,) = yield (search(_spaced(text), ignore_case=True, most=50),)
    hits = _in_order(read_hits(result.text).hits, text)
    exact = bool(hits)
    if not exact and (pieces := _pieces(text)):
        (result,) = yield (search("|".join(map(_spaced, pieces)), ignore_case=True, most=200),)
        hits = [hit for hit in _in_order(read_hits(result.text).hits, text) if _likeness(hit.text, text) >= _ALIKE]
    if not hits:
        return say(talk.japanese, "no_message", text=text)
    best = hits[0]
    (told,) = yield (outline(best.path),)
    inside = None if told.error else innermost(read_outline(told.text), best.line)
    return _answer(talk, text, hits, inside.name if inside else "", exact=exact)


def _answer(talk: Talk, text: str, hits: Sequence[Hit], inside: str, *, exact: bool) -> str:
    best = hits[0]
    at = place(best.path, best.line)
    where = f"{at} ({say(talk.japanese, 'in', name=inside)})" if inside else at
    lines = [say(talk.japanese, "message_at" if exact else "message_near", text=text, place=where)]
    if not is_secret(best.path):
        lines += ["", f"    {shorten(best.text)}"]
    others = [hit for hit in hits[1 : _SHOWN + 1] if (hit.path, hit.line) != (best.path, best.line)]
    if others:
        lines += ["", say(talk.japanese, "also"), *numbered((hit.path, hit.line, hit.text.strip()) for hit in others)]
    return "\n".join(lines)


def _spaced(text: str) -> str:
    """A pattern for the text with any white space, its apostrophes and quotation marks in any form, escaped or not."""
    parts = (re.sub(r"[\"'’‘“”`]", lambda _: r"\\?['\x22’‘“”`]", escape(part)) for part in text.split())
    return "[ ]+".join(parts)


def _pieces(text: str) -> list[str]:
    """Runs of words of the text without what may have been put in at run time; long ones first."""
    fixed = _PUT_IN.split(text)
    runs = [run.strip(" .:;,!?") for run in fixed]
    japanese: list[str] = re.findall(r"[ぁ-んァ-ヶ一-龠ー]{4,}", text)
    words = [run for run in runs if len(run.split()) >= _FEWEST_WORDS]
    halves = [half for run in words for half in _halves(run)]
    return sorted(dict.fromkeys([*words, *halves, *japanese]), key=len, reverse=True)[:_MOST_PIECES]


def _halves(run: str) -> list[str]:
    words = run.split()
    middle = len(words) // 2
    return [" ".join(words[:middle]), " ".join(words[middle:])] if middle >= _FEWEST_WORDS else []


def _in_order(hits: Sequence[Hit], text: str) -> list[Hit]:
    def order(hit: Hit) -> tuple[float, bool, str, int]:
        comment = hit.text.lstrip().startswith(("#", "//", "*"))
        code = 0.3 if place_of(hit.path) == "source" else 0.0
        return (-round(_likeness(hit.text, text) + code, 2), comment, f"{1 - worth(hit.path):.2f}{hit.path}", hit.line)

    return sorted(hits, key=order)


def _likeness(line: str, text: str) -> float:
    """The share of the text's words that are in the line."""
    wanted = re.findall(r"[A-Za-z']+|[ぁ-んァ-ヶ一-龠ー]{2,}", text.lower())
    there = line.lower()
    return sum(word in there for word in wanted) / len(wanted) if wanted else 0.0
