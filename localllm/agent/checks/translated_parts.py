"""Find the headings, table rows, list items and links of a Markdown file that its translation lacks.

Parts are counted, as their words are others. Which of them are missing is told by what stays the same in a translation:
digits, code, addresses and names. A whole list may have become a sentence, headings may be set in bold, and links may
lead to another language.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePosixPath
from typing import NamedTuple

from localllm.agent.checks.source_numbers import rendering
from localllm.agent.phrases.phrase_search import ends_of
from localllm.base.lazy_patterns import late_pattern
from localllm.text.sanitising import shorten

MARKDOWN = (".md", ".markdown")
_PART_ONLY = late_pattern(
    r"(?i)\b(?:only|just|first|last|sections?|parts?|excerpts?|paragraphs?|chapters?|titles?|intro\w*|beginning|except"
    r"|without|skip\w*|omit\w*|leav(?:e|ing) out|exclud\w*|shorten\w*|short|simpl\w*|condens\w*|brief\w*|abridg\w*"
    r"|comments?|lines?|merg\w*|split|half|rest|remaining|the (?:\w+ )?(?:tables?|lists?|headings?) (?:in|of|from))\b"
    r"|だけ|のみ|以外|除[いくき]|抜き|省[いきくか略]|[章節]|部分|冒頭|最初|最後|一部|前半|後半|続き|残り|簡潔|短く|簡単|やさしく|コメント"
    r"|行目|段落|抄訳|意訳|(?:表|見出し|箇条書き)を"
)
"""Matches orders to translate a part of a text, or not exactly."""
_LEFT_OUT = late_pattern(
    r"(?i)\b(?:left out|leav(?:e|ing) out|omit\w*|skip\w*|dropp\w*|untranslated|except|exclud\w*|removed|merged"
    r"|shortened|without the|(?:not|n't) (?:yet )?(?:been )?(?:translat\w*|includ\w*)|no longer)\b"
    r"|省[いき略]|除[いき]|訳(?:して|せて|出して)(?:い|お)?(?:ない|ません)|未訳|割愛|飛ば|以外|まとめ(?:て|まし|た)|統合|削[除っり]"
)
_LANGUAGE = late_pattern(r"(?i)[._-](?:[a-z]{2}(?:[-_][a-z]{2,4})?|jpn?|japanese|english|german|french|translated)$")
_FENCE = late_pattern(r"[ >]{0,12}(```|~~~)")
_HEADING = late_pattern(r" {0,3}(#{1,6})[ \t]++(.*)")
_UNDERLINE = late_pattern(r" {0,3}(?:=+|-{2,})\s*$")
_BOLD = late_pattern(r"\s{0,3}(?:\*\*|__)[^*_]{1,80}(?:\*\*|__)[:：]?\s*$")
_HTML_HEADING = late_pattern(r"(?i)<h[1-6]\b")
_ITEM = late_pattern(
    r"[\s>]{0,40}(?:(?:[-*+•]|\d{1,3}[.)])\s+|[・‣◦①-⑳]\s*|[(（]\d{1,2}[)）]\s*|\d{1,2}[)）．]\s*)(?=\S)"
)
_ENTRY = late_pattern(r"\[[^\]\n]{1,200}\]\(#[^()\n]{0,200}\)\s*$")
_CONTENTS = late_pattern(r"(?i)(?:table of )?contents?|目次|inhalt\w*|toc")
"""Matches the heading of a table of contents, which a translation may have of its own, as its entries."""
_LINK = late_pattern(
    r"\]\(\s*<?([^\s<>()]{1,500}(?:\([^\s()]{0,100}\))?[^\s<>()]{0,500})|<([^\s<>]{1,500}[./][^\s<>]{1,500})>"
    r"|^[ ]{0,3}\[[^^\]\n][^\]\n]{0,100}\]:\s*<?(\S{1,500}?)>?(?:\s|$)|\b(?:href|src)\s*=\s*[\"']([^\"'\n]{1,500})"
    r"|(https?://[^\s<>()\"'、。」）]{1,500})",
    re.MULTILINE,
)
_COMMENT = late_pattern(r"(?s)\A---\n.*?\n---\n|<!--.*?(?:-->|\Z)")
_KEPT = late_pattern(r"\d+(?:[.,:]\d+)*|`[^`\n]{1,80}`|[A-Za-z][\w.-]{0,60}", re.ASCII)
_MARKS = late_pattern(r"[*_`|]{1,3}")
_CODE_INDENT = 4
_LONGEST = 200_000
_MOST_COMPARED = 250_000
"""Pairs of parts."""
_NAME_LENGTH = 40


@dataclass
class _Part:
    """A heading, row or item: its text, and what stays the same of that and what belongs to it."""

    text: str
    level: int
    """Of a heading, or twice the indentation of an item, and one more if it is numbered."""
    group: int = 0
    """Which table or list it is of."""
    kept: set[str] = field(default_factory=set[str])
    size: int = 0


@dataclass
class _Document:
    headings: list[_Part] = field(default_factory=list[_Part])
    sections: list[list[str]] = field(default_factory=list[list[str]])
    """The lines of each section, and first those above the first heading."""
    bold: int = 0


def is_of_whole(request: str) -> bool:
    """Return whether a request orders to translate a whole text as it is."""
    return rendering(request) == "translation" and not _PART_ONLY.search(ends_of(request))


def says_left_out(answer: str) -> bool:
    """Return whether an answer tells of something that was left out or merged."""
    return bool(_LEFT_OUT.search(ends_of(answer)))


def translations(
    changed: Sequence[str], created: Collection[str], read: Collection[str], request: str
) -> dict[str, str]:
    """Return which of the files that were `changed` are translations, and of which of those that were `read`: by their
    names, else the only file that was `created` as a whole of the only one that it may be of."""
    texts = [one for one in read if one.lower().endswith(MARKDOWN)]
    written = [one for one in changed if one.lower().endswith(MARKDOWN)]
    alike = {path: [one for one in texts if one != path and _plain_name(one) == _plain_name(path)] for path in written}
    if any(alike.values()):
        return {path: sources[0] for path, sources in alike.items() if len(sources) == 1}
    new = [path for path in written if path in created]
    named = [one for one in texts if PurePosixPath(one).name in request] if len(texts) > 1 else texts
    return {new[0]: named[0]} if len(new) == len(named) == 1 else {}


def _plain_name(path: str) -> str:
    """Return the name of a file without its ending and that of a language: guide for guide.ja.md."""
    return _LANGUAGE.sub("", PurePosixPath(path).stem).lower()


class Missing(NamedTuple):
    """A part that a translation lacks: what it is, and how its source names it."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def missing_parts(source: str, translation: str, path: str = "") -> list[Missing]:
    """Return what a translation, which is in the file `path`, lacks of its source: headings, then rows, items and links
    of the other sections."""
    if max(len(source), len(translation)) > _LONGEST:
        return []
    before, after = _document(source), _document(translation)
    lost = {*_lost_headings(before, after)}
    found = [_named("heading", before.headings[at]) for at in sorted(lost)]
    kept = [line for at, lines in enumerate(before.sections) if at - 1 not in lost for line in lines]
    now = [line for lines in after.sections for line in lines]
    rows, items = _rows(kept), _items(kept)
    new_rows, new_items = _rows(now), _items(now)
    as_items = max(0, len(new_items) - len(items)) if _groups(new_rows) < _groups(rows) else 0
    as_rows = max(0, len(new_rows) - len(rows)) if _groups(new_rows) > _groups(rows) else 0
    if len(rows) > len(new_rows) + as_items + translation.lower().count("<tr"):
        left = (rows[at] for at in _of_living_groups(rows, _left(rows, new_rows), 2))
        found += [_named("table row", one) for one in _lost(left, kept, now)]
    if len(items) > len(new_items) + as_rows + translation.lower().count("<li"):
        left = (items[at] for at in _of_living_groups(items, _left(items, new_items), len(items)))
        found += [_named("list item", one) for one in _lost(left, kept, now)]
    found += [Missing("link to", target) for target in _lost_links("\n".join(kept), translation, path)]
    return found


def _groups(parts: Sequence[_Part]) -> int:
    return len({part.group for part in parts})


def _lost(parts: Iterable[_Part], before: Sequence[str], after: Sequence[str]) -> list[_Part]:
    """Return the parts of which something that stays the same is not elsewhere as often as before; the others may have
    been merged with their neighbours."""
    was, now = Counter(_kept("\n".join(before))), Counter(_kept("\n".join(after)))
    return [part for part in parts if not part.kept or any(now[one] < was[one] for one in part.kept)]


def _named(kind: str, part: _Part) -> Missing:
    return Missing(kind, f"“{shorten(_MARKS.sub('', part.text).strip(), _NAME_LENGTH)}”")


def _document(text: str) -> _Document:
    """Return the headings and sections of a Markdown text, without code blocks and comments."""
    made = _Document(sections=[[]])
    lines = _without_code(_COMMENT.sub("", text).splitlines())
    for at, line in enumerate(lines):
        above = lines[at - 1] if at else ""
        heading = _HEADING.match(line)
        if heading and not _CONTENTS.fullmatch(heading[2].rstrip(" \t#")):
            made.headings.append(_Part(heading[2].rstrip(" \t#"), len(heading[1])))
            made.sections.append([heading[2]])
        elif _UNDERLINE.match(line) and _is_text(above):
            made.sections[-1].pop()
            made.headings.append(_Part(above.strip(), 1 if "=" in line else 2))
            made.sections.append([above])
        else:
            made.bold += bool(_BOLD.match(line) or _HTML_HEADING.search(line))
            made.sections[-1].append(line)
    for part, section in zip(made.headings, made.sections[1:], strict=True):
        _note(part, "\n".join(section))
    return made


def _is_text(line: str) -> bool:
    return bool(line.strip()) and "|" not in line and not _ITEM.match(line) and not line.lstrip().startswith((">", "#"))


def _without_code(lines: Sequence[str]) -> list[str]:
    kept: list[str] = []
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
            kept.append("")
        elif not fence:
            kept.append(line)
    return kept


def _note(part: _Part, text: str) -> None:
    part.kept = {*_kept(text)}
    part.size = len(text)


def _kept(text: str) -> list[str]:
    return [one.strip("`.,-:").lower() for one in _KEPT.findall(text)]


def _rows(lines: Sequence[str]) -> list[_Part]:
    """Return the rows of the tables, with their heads."""
    found: list[_Part] = []
    table, in_table = 0, False
    for above, line in pairwise((*lines, "")):
        is_head = not in_table and _is_delimiter(line) and "|" in above
        table += is_head
        if is_head or (in_table and not _is_delimiter(above)):
            cells = [cell.strip() for cell in above.strip().strip("|").split("|")]
            part = _Part(next(filter(None, cells), above.strip()), 0, table)
            _note(part, above)
            found.append(part)
        in_table = is_head or (in_table and "|" in line)
    return found


def _is_delimiter(line: str) -> bool:
    return "|" in line and "-" in line and not line.strip(" \t|:-")


def _items(lines: Sequence[str]) -> list[_Part]:
    """Return the items of the lists; those below one item are a group of their own."""
    found: list[_Part] = []
    above: list[int] = []
    lists, in_list = 0, False
    for line in lines:
        mark = _ITEM.match(line)
        if mark and _ENTRY.match(line, mark.end()):
            continue
        indent = len(line) - len(line.lstrip())
        if mark and (in_list or indent < _CODE_INDENT) and line.strip("-* "):
            level = 2 * indent + any(map(str.isdecimal, mark[0]))
            above = [at for at in above if in_list and found[at].level // 2 < indent]
            lists += not (in_list and (above or found[-1].level == level or level // 2 < found[-1].level // 2))
            part = _Part(line[mark.end() :], level, -1 - above[-1] if above else lists)
            _note(part, part.text)
            above.append(len(found))
            found.append(part)
            in_list = True
        elif line.strip() and not indent:
            in_list = False
    return found


def _lost_headings(before: _Document, after: _Document) -> list[int]:
    """Return which headings have none in the translation, which may set some in bold."""
    spare = max(0, after.bold - before.bold)
    if len(before.headings) <= len(after.headings) + spare:
        return []
    left = _left(before.headings, after.headings)
    return left[: len(before.headings) - len(after.headings) - spare]


def _of_living_groups(parts: Sequence[_Part], lost: Sequence[int], most: int) -> Iterator[int]:
    """Yield what is missing of groups of which more is there, or that have more than `most` parts: a whole list may
    have become a sentence."""
    whole, missing = Counter(one.group for one in parts), Counter(parts[at].group for at in lost)
    for at in lost:
        group = parts[at].group
        if missing[group] < whole[group] or whole[group] > most:
            yield at


def _left(before: Sequence[_Part], after: Sequence[_Part]) -> list[int]:
    """Return the parts that are left if each of the fewer ones `after` is matched with another, in the same order, so
    that they are most alike."""
    count, fewer = len(before), len(after)
    spare = count - fewer
    if spare <= 0 or fewer * (spare + 1) > _MOST_COMPARED:
        return []
    best = [[0.0] * (spare + 1) for _ in range(fewer + 1)]

    for n in range(1, fewer + 1):
        highest = float("-inf")
        for skipped in range(spare + 1):
            highest = max(highest, best[n - 1][skipped])
            best[n][skipped] = highest + _likeness(before[n - 1 + skipped], after[n - 1])
    matched: list[int] = []
    most = spare
    for n in range(fewer, 0, -1):
        skipped = max(range(most + 1), key=lambda one: (best[n][one], one))
        matched.append(n - 1 + skipped)
        most = skipped
    return sorted(set(range(count)) - set(matched))


def _likeness(one: _Part, other: _Part) -> float:
    same = len(one.kept & other.kept)
    fewest = min(len(one.kept), len(other.kept))
    alike = 4 * same / fewest if fewest else 0.0 if not (one.kept or other.kept) else -0.5
    return alike + (one.level == other.level) + min(one.size, other.size) / max(one.size, other.size, 1)


def _lost_links(source: str, translation: str, path: str) -> list[str]:
    """Return the targets of links that a translation lacks, in another language, too; not those to the text itself in
    any language."""
    targets, others = _targets(source), _targets(translation)
    known = {_stem(one) for one in (*others, path)}
    lost = [one for one in targets if _stem(one) not in known and one not in translation]
    return lost[: max(0, len(targets) - len(others))]


def _targets(text: str) -> list[str]:
    found = (one[one.lastindex or 0] for one in _LINK.finditer(text))
    return list(dict.fromkeys(target for target in found if not target.startswith("#")))


def _stem(target: str) -> str:
    """Return what a target is called in every language: guide for docs/guide.ja.md."""
    plain = target.partition("#")[0].rstrip("/")
    return plain.rpartition("/")[2].partition(".")[0].lower() or plain
