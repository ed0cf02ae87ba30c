"""Tell the exit code of a search or comparison at the end of a command from that of the tests before it."""

import re

from localllm.agent.checks.command_kinds import ENDING, FAILED, crashed, kinds_of, parts_of, segments_of
from localllm.agent.checks.test_output import LOOKED_AT, has_result
from localllm.base.lazy_patterns import late_pattern

_ANSWERERS = frozenset("ag cmp diff egrep fgrep grep rg test [ [[".split())
_COMPARES = late_pattern(r"\b(?:cmp|diff)\b")
_OF_GIT = late_pattern(r"git (?:-\S+ )*(?:diff|grep|log|show|status)\b")
_SHELLS = late_pattern(r"(?:\S*/)?(?:ba|da|z)?sh|\./\S+")
"""Scripts that may fail without a word."""
_FOR_SUCCESS = late_pattern(r"pass|succe|\bok\b|成功", re.IGNORECASE)
_NONE_FOUND = late_pattern(r"(?:[^\s:]{1,200}:)?0|")
"""Matches a line of `grep -c`, or a blank one."""
_COMPARED = late_pattern(
    r"[-+<> ][^\n]*|\d+(?:,\d+)?[acd]\d+(?:,\d+)?|@@ [^\n]*|(?:diff|index|Only in) [^\n]*|[^\n]{1,400} differ\b[^\n]*"
)
_WELL = late_pattern(
    r"(?:ok|pass(?:ed)?)\b[^\n]{0,40}|(?:all |every )[^\n]{1,60}\b(?:ok|pass(?:ed|es)?|good)\b[^\n]{0,20}",
    re.IGNORECASE,
)


def ended_by_answer(command: str, output: str) -> bool:
    """Return whether exit code 1 is the answer of a search or comparison, and the tests before it passed.

    `pytest && grep -rn old .` ends so where nothing is left. What fails silently, as a shell script may, counts as
    failed.
    """
    segments, end = segments_of(command), output[-LOOKED_AT:]
    tests = [at for at, one in enumerate(segments) if kinds_of(one.plain) & {"test", "build"}]
    if not tests or FAILED.search(end) or crashed(command, 1, end):
        return False
    last, behind = tests[-1], segments[tests[-1] + 1 :]
    if any(one.operator not in ("&&", ";", "\n") or not _only_looks(one.plain) for one in behind):
        return False
    first = max((at for at, one in enumerate(segments) if at and one.operator != "&&"), default=0)
    if not any(_answers([*parts_of(one.plain)][-1:]) for one in segments[max(first, last) :]):
        return False
    is_apart = first > last or (len(tests) == 1 and _answers([*parts_of(segments[last].plain)][-1:]))
    if is_apart and not (first > last and ENDING.search(command)):
        return first > last or not _FOR_SUCCESS.search(segments[last].text)
    lines = [line for line in end.splitlines() if not _NONE_FOUND.fullmatch(line.strip())]
    if any(_COMPARES.search(one.plain) for one in behind):
        lines = [line for line in lines if not _COMPARED.fullmatch(line)]
    if has_result(end) or (lines and _WELL.fullmatch(lines[-1].strip())):
        return True
    is_silent = any(_SHELLS.fullmatch(part.split()[0]) for at in tests for part in parts_of(segments[at].plain))
    return not lines and not is_silent


def _answers(parts: list[str]) -> bool:
    """Return whether one of the programs answers by its exit code."""
    return any(part.split()[0] in _ANSWERERS or _OF_GIT.match(part) for part in parts)


def _only_looks(plain: str) -> bool:
    """Return whether a pipeline only reads."""
    return kinds_of(plain) <= {"reading"} or all(_answers([part]) for part in parts_of(plain))
