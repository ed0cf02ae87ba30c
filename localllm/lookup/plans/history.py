"""What git knows: the last commits, what is not committed yet."""

import re

from localllm.lookup.calls import NOT_OFFERED, Call, Plan, Result, call
from localllm.lookup.conversation import Talk
from localllm.lookup.places import is_secret
from localllm.lookup.questions import Question
from localllm.lookup.results import read_changes
from localllm.lookup.wording import say

_COMMITS = 10
_MOST_COMMITS = 50
_MOST_FILES = 30
_MOST_LINES = 40
_NUMBERS = (
    ("one", "一"), ("two", "二"), ("three", "三"), ("four", "四"), ("five", "五"), ("six", "六"), ("seven", "七"),
    ("eight", "八"), ("nine", "九"), ("ten", "十"),
)  # fmt: skip
_SINGLE = re.compile(
    r"\b(?:the|last|latest|previous|most recent) commit\b(?!s)|(?:最後|最新|直前|直近)のコミット(?!を?\d)",
    re.IGNORECASE,
)
_DIGITS = (
    re.compile(r"(?<![\w.])(\d{1,3})(?=\s*(?:commits?|個|件|つ|回|コミット|changes?|$|の))"),
    re.compile(r"\b(?:last|latest|recent|previous|直近|最近|最新|最後)\D{0,5}(\d{1,3})"),
)
_COMMIT = re.compile(r"([0-9a-f]{7,40}) (\d{4}-\d\d-\d\d) (.+?): (.*)")


def commits(talk: Talk, question: Question) -> Plan:
    """The last commits, as many as were asked for, of one file where one is named."""
    count = _how_many(talk.question)
    asked = call("git_log", max_count=count, file_path=question.subject or None)
    (result,) = yield (asked,)
    if told := _no_git(talk, asked, result):
        return told
    lines = [f"- {line}" for line in result.text.split("\n") if _COMMIT.match(line)]
    if not lines:
        return say(talk.japanese, "no_commits")
    key = "commits_of" if question.subject else "commits"
    return "\n".join([say(talk.japanese, key, count=len(lines), path=question.subject), *lines])


def status(talk: Talk) -> Plan:
    """git's own words: the branch, and the files that changed."""
    asked = call("git_status")
    (result,) = yield (asked,)
    return _no_git(talk, asked, result) or result.text


def diff(talk: Talk, question: Question) -> Plan:
    """What is not committed: for each file how many lines, and the first of them; else the last commits."""
    unstaged = call("git_diff", file_path=question.subject or None)
    staged = call("git_diff", file_path=question.subject or None, staged=True)
    state = call("git_status")
    results = yield (state, unstaged, staged)
    if told := _no_git(talk, state, results[0]):
        return told
    changes = read_changes(results[0].text)
    patches = [patch for result in results[1:] for patch in _patches(result.text)]
    if not changes and not patches:
        recent = yield from commits(talk, Question("commits", question.subject))
        return f"{say(talk.japanese, 'unchanged')}\n\n{recent}"
    listed = [f"- {letters} {path}" for letters, path in changes[:_MOST_FILES]]
    shown = [line for path, lines in patches for line in _shown(talk, path, lines)]
    if len(shown) > _MOST_LINES:
        shown = [*shown[:_MOST_LINES], f"… (+{len(shown) - _MOST_LINES})"]
    block = ["", "```diff", *shown, "```"] if shown else []
    return "\n".join([say(talk.japanese, "changed"), *listed, *block])


def _shown(talk: Talk, path: str, lines: list[str]) -> list[str]:
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    hidden = say(talk.japanese, "not_shown")
    return [
        f"{path}: +{added} -{removed}",
        *([hidden] if is_secret(path) else [line for line in lines if line[:1] in "+-"]),
    ]


def _patches(text: str) -> list[tuple[str, list[str]]]:
    """The files of a unified diff and the lines of their hunks."""
    found: list[tuple[str, list[str]]] = []
    inside = False
    for line in text.split("\n"):
        if line.startswith("diff --git "):
            found.append((line.rsplit(" b/", 1)[-1].strip('"'), []))
            inside = False
        elif line.startswith("@@"):
            inside = True
        elif found and inside:
            found[-1][1].append(line)
    return found


def _no_git(talk: Talk, asked: Call, result: Result) -> str:
    if result.error == NOT_OFFERED:
        return say(talk.japanese, "no_tool", tool=asked.name)
    return say(talk.japanese, "no_git", reason=result.text) if result.error else ""


def _how_many(text: str) -> int:
    """How many commits are asked for, in digits or in words."""
    digits = next((match for pattern in _DIGITS if (match := pattern.search(text))), None)
    if digits:
        return max(1, min(int(digits[1]), _MOST_COMMITS))
    for number, (english, japanese) in enumerate(_NUMBERS, 1):
        if re.search(rf"\b{english}\b|{japanese}(?:つ|個|件)", text, re.IGNORECASE):
            return number
    return 1 if _SINGLE.search(text) else _COMMITS
