"""Find the headings of a review in a reviewer's reply, in any form models write them.

Markdown headings of any level, bold, 【brackets】, tags, numbered, underlined, with colons and text after them, in
English, Japanese or both. Lines in code blocks are excluded.
"""

import re
from typing import Literal

import msgspec

from localllm.base.lazy_patterns import late_pattern
from localllm.text.lexer import plain
from localllm.text.markdown_blocks import FENCE

Part = Literal["evaluation", "final"]

INLINE = 3
"""The strength of a heading of plain words, a colon and text after it."""

PLAIN = 6
"""Of a line of plain words."""

BOLD, BRACKETED, UNDERLINED, HIGHEST = 9, 10, 18, 20
"""Of headings in bold, in brackets or tags, and underlined; of one with n hash marks HIGHEST - n."""

_HAS_TEXT_BEHIND = 4
"""Reduction for a bold or bracketed heading with text after it on its line."""

RULE = late_pattern(r"\s{0,3}(?:-\s*){3,}|\s{0,3}(?:\*\s*){3,}|\s{0,3}(?:_\s*){3,}")
"""A thematic break, as Markdown has it: of one sign."""


class Heading(msgspec.Struct, frozen=True):
    """A heading that starts a part of the review.

    `line`: its index; `end`: the index after it (an underline belongs to it). `strength`: how surely it divides the
    reply: a weaker one after a stronger one is inside the stronger one's part. `rest`: text after it on its line.
    `is_doubtful`: a word such as "analysis" or "synthesis", which may also be a heading within an answer.
    """

    part: Part
    line: int
    end: int
    strength: int
    rest: str
    is_doubtful: bool = False


_OF = r"(?:\s+(?:of|on|for|to|from|about)\s+[a-z ,'&]{1,50})?"
_BEFORE = (
    r"(?:(?:the|my|our|an?|your|of|each|overall|brief|short|quick|detailed|individual|critical|comparative|answers?"
    r"|workers?'?|agents?'?|responses?|reviewer'?s?|chief|peer)\s+){0,4}"
)
_GOOD = (
    r"(?:(?:the|my|our|single|best|improved|integrated|merged|combined|unified|synthesi[sz]ed|complete|comprehensive"
    r"|consolidated|revised|corrected|polished|new|one)[\s,]+){0,4}"
)
_OF_ANSWERS = r"(?:各|全|個別)?(?:の|ワーカー|エージェント|AI|回答|候補|それぞれ|者){0,6}(?:の|に対する|への)?"
_SURE_EVALUATION = (
    rf"{_BEFORE}(?:evaluations?|reviews?|assessments?|critiques?|review\s+comments?){_OF}"
    rf"|{_OF_ANSWERS}(?:簡潔な|総合的?な?|個別|詳細な?|簡単な)?(?:評価|レビュー|講評|査定)(?:結果|コメント|内容)?"
)
_DOUBTFUL_EVALUATION = (
    rf"{_BEFORE}(?:analys[ei]s|judge?ments?|comparison|comments?|feedback){_OF}"
    rf"|{_OF_ANSWERS}(?:分析|検証|比較|検討|コメント)(?:結果)?"
)
_SURE_FINAL = (
    rf"{_GOOD}final[\s_-]+{_GOOD}(?:answer|response|reply){_OF}"
    rf"|{_GOOD}(?:integrated|merged|combined|unified|synthesi[sz]ed|consolidated)\s+(?:answer|response)"
    r"|(?:統合|改善|修正|訂正)?(?:した|された|後の|版の?|済みの?)?最終(?:的|統合|版)?(?:な|の)?(?:統合)?(?:回答|解答|答え|答案|応答|返答)(?:文|案)?"
    r"|統合(?:した|された|版の?|後の)?回答"
)
_DOUBTFUL_FINAL = (
    rf"{_GOOD}final[\s_-]+{_GOOD}(?:output|solution|result){_OF}|integration|synthesis"
    r"|最終(?:的な)?(?:結論|出力|結果|案)|統合(?:結果|版|案)?"
)
_NAMES = late_pattern(
    rf"(?P<final>{_SURE_FINAL})|(?P<evaluation>{_SURE_EVALUATION})"
    rf"|(?P<doubtful_final>{_DOUBTFUL_FINAL})|(?P<doubtful>{_DOUBTFUL_EVALUATION})",
    re.IGNORECASE,
)
_STEP = r"(?:step|part|task|section|phase|ステップ|手順|タスク|第)\s*\d{1,2}(?:部|段階)?(?!\w)"
_LEAD = late_pattern(rf"(?>(?:{_STEP}|\d{{1,2}}(?=[\W_])|[ivx]{{1,4}}(?=[.)])|[\W_①-⑳Ⅰ-Ⅻ])*)", re.IGNORECASE)
_ASIDE = late_pattern(r"[\s*_】」\]]*(?:\((?P<round>[^()\n]{1,60})\)|\[[^\[\]\n]{1,60}\])")
_OTHER = late_pattern(
    r"\s*[/|・&]\s*(?:final\s+answer|evaluation|review|最終回答|評価)(?:\s*[/|・&]\s*(?:final\s+answer|最終回答))?",
    re.IGNORECASE,
)
_CLOSING = late_pattern(r"[\s*_#=\]】〉》」』>~–—-]*+")
_TAG = late_pattern(
    r"\s*+<(?P<close>/?)\s*+(?P<name>h[1-6]|[a-z_ -]{4,24}|評価|最終回答)\s*+>(?P<rest>.*)", re.IGNORECASE
)
_UNDERLINE = late_pattern(r"\s*(?:={3,}|-{3,})\s*")
_HTML = late_pattern(r"h[1-6]", re.IGNORECASE)
_BRACKETS = "【[〈《「『■◆●▼▶◇□◎★"
_LONGEST = 60
"""Characters of decoration before the words."""

_LONGEST_PLAIN = 40
"""Characters of a heading that is plain words."""


def headings(lines: list[str]) -> list[Heading]:
    """Find the headings in `lines`, which have no line ends. An unclosed code block does not count as code."""
    hidden = code_lines(lines)
    found: list[Heading] = []
    for index, line in enumerate(lines):
        if index in hidden or not line.strip():
            continue
        below = lines[index + 1] if index + 1 < len(lines) else ""
        if heading := _heading(index, line, below):
            found.append(heading)
    return found


def code_lines(lines: list[str]) -> set[int]:
    """Return the indices of the lines in closed code blocks, fences included."""
    hidden: set[int] = set()
    start, mark = 0, ""
    for index, line in enumerate(lines):
        text = line.strip()
        if not mark:
            if opened := FENCE.match(line):
                start, mark = index, opened[1]
        elif text.startswith(mark) and not text.strip(mark[0]):
            hidden.update(range(start, index + 1))
            mark = ""
    return hidden


def closing_tag(line: str) -> bool:
    """Whether a line is only the closing tag of a part."""
    found = _TAG.fullmatch(line)
    return bool(
        found and found["close"] and not found["rest"].strip() and _NAMES.fullmatch(found["name"].replace("_", " "))
    )


def _heading(index: int, line: str, below: str) -> Heading | None:
    folded = plain(line)
    if (tag := _TAG.match(folded)) and not tag["close"]:
        return _tagged(index, tag, line)
    start = _end_of(_LEAD.match(folded), 0)
    name = _NAMES.match(folded, start) if start < _LONGEST else None
    if not name:
        return None
    at = name.end()
    while aside := (_ASIDE.match(folded, at) or _OTHER.match(folded, at)):
        at = aside.end()
    if folded[at : at + 1].isalnum():
        return None
    behind = _end_of(_CLOSING.match(folded, at), at)
    strength = _strength(folded[:start], folded[at:behind], folded[behind:])
    if not strength or (strength == PLAIN and at - start > _LONGEST_PLAIN):
        return None
    rest = _rest_of(line[behind:], is_bold_open="**" in folded[:start] and "**" not in folded[at:behind])
    if not rest and _UNDERLINE.fullmatch(below):
        return _made(name, index, index + 2, UNDERLINED, "")
    return _made(name, index, index + 1, strength, rest)


def _rest_of(tail: str, *, is_bold_open: bool) -> str:
    """Return the text after a heading and its colon. `is_bold_open`: bold type opened before the heading ends after the
    colon, or with the line."""
    rest = tail.lstrip(":：") if tail[:1] in (":", "：") else tail
    if not is_bold_open:
        return rest.strip()
    return rest.removeprefix("**").strip() if rest.startswith("**") else rest.strip().removesuffix("**").rstrip()


def _end_of(found: re.Match[str] | None, at: int) -> int:
    return found.end() if found else at


def _strength(lead: str, closed: str, tail: str) -> int:
    """Return how surely a line with these decorations is a heading; 0 for a sentence that begins with the same
    words."""
    is_bare, has_colon = not tail.strip(":* _"), tail[:1] == ":"
    is_closed = bool(closed.strip()) or has_colon
    if hashes := lead.count("#"):
        return HIGHEST - min(hashes, 6) if is_bare or is_closed else 0
    if any(mark in lead for mark in _BRACKETS):
        base = BRACKETED
    elif "**" in lead or "__" in lead:
        base = BOLD
    else:
        return PLAIN if is_bare else INLINE if has_colon else 0
    if is_bare:
        return base
    return base - _HAS_TEXT_BEHIND if is_closed else 0


def _tagged(index: int, tag: re.Match[str], line: str) -> Heading | None:
    name, rest, strength = tag["name"].strip(), line[tag.start("rest") :], BRACKETED
    if _HTML.fullmatch(name):
        strength = HIGHEST - int(name[1])
        name, _, behind = rest.partition("</")
        rest = behind.partition(">")[2]
    name = plain(name).replace("_", " ").replace("-", " ").strip(" :*")
    found = _NAMES.fullmatch(name, _end_of(_LEAD.match(name), 0))
    return _made(found, index, index + 1, strength, rest.strip()) if found else None


def _made(name: re.Match[str], line: int, end: int, strength: int, rest: str) -> Heading:
    part: Part = "final" if name["final"] or name["doubtful_final"] else "evaluation"
    return Heading(part, line, end, strength, rest, is_doubtful=bool(name["doubtful"] or name["doubtful_final"]))
