"""Find SQL statements in a command line that change every row of a table: a DELETE or UPDATE without WHERE."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from localllm.base.lazy_patterns import late_pattern
from localllm.safety.paths import ProjectRoot
from localllm.safety.plain_commands import plain_commands
from localllm.safety.shell_words import Word

_CLIENTS = frozenset(
    "sqlite3 duckdb psql mysql mariadb sqlcmd clickhouse-client cockroach usql litecli pgcli mycli".split()
)
_INTERPRETERS = late_pattern(r"(?:python|pypy|node|ruby|perl|php|deno|bun)[\d.]*")
_TABLE = r"[\w.\"`\[\]]{1,100}"
_STATEMENT = late_pattern(
    rf"(?:(?P<open>\"\"\"|'''|[\"'`])|^|[;\n(])\s*+(?P<what>delete\s+from\s+{_TABLE}|truncate\s+(?:table\s+)?{_TABLE}"
    rf"|update\s+(?:or\s+\w{{4,8}}\s+)?{_TABLE}\s+set)\b",
    re.IGNORECASE,
)
_NARROWED = late_pattern(r"\b(?:where|limit|using|join)\b|\breturning\s+0\b|[{$%]", re.IGNORECASE)
"""Matches what chooses rows, or what a program puts into the statement."""
_NO_LOSS = late_pattern(r":memory:|\brollback\b|\bexplain\b|\bcreate\s+trigger\b", re.IGNORECASE)
_QUERIED = late_pattern(r"\b(?:execute\w*|executescript|query|exec|raw|run|prepare)\s*\(", re.IGNORECASE)
_LONGEST = 100_000

_FLAGS = frozenset(
    "-header -noheader -column -csv -json -line -list -markdown -table -box -html -quote -tabs -batch -bail -echo"
    " -readonly -safe -interactive".split()
)
_BESIDE = frozenset({"sqlite3", "duckdb", "echo", "printf", "true", "ls", "pwd", "cat", "head", "tail"})
"""Commands in a line of which it is certain what its database's client changes: they write nothing."""
_ELSEWHERE = late_pattern(
    r"(?:^|[\"'])\s*+\.(?:open|shell|system|read|output|once|import|backup|restore|clone)\b|\battach\b",
    re.IGNORECASE | re.MULTILINE,
)
_HERE_DOCUMENT = late_pattern(
    r"[ \t]*<<-?[ \t]*(['\"]?)(\w{1,40})\1[ \t]*\n(?P<text>.*?)\n[ \t]*\2[ \t]*(?:\n|$)", re.DOTALL
)


def every_row_statement(line: str, commands: Iterable[Sequence[Word]]) -> str:
    """Return the first statement of a line that changes every row of a table, "delete from orders"; "" if none does, or
    nothing in it runs SQL. `commands`: those of the line, by their words."""
    if len(line) > _LONGEST or not _STATEMENT.search(line) or _NO_LOSS.search(line):
        return ""
    names = {words[0].text.rpartition("/")[2].lower() for words in commands if words}
    if not names & _CLIENTS and not (any(map(_INTERPRETERS.fullmatch, names)) and _QUERIED.search(line)):
        return ""
    return next(_every_row(line), "")


def _every_row(line: str) -> Iterator[str]:
    for found in _STATEMENT.finditer(line):
        opened = found["open"]
        ends = [
            end for end in (line.find(";", found.end()), line.find(opened, found.end()) if opened else -1) if end >= 0
        ]
        rest = line[found.end() : min(ends, default=len(line))]
        if not _NARROWED.search(rest):
            yield " ".join(found["what"].split()).strip("\"'`")


def keeps_rows(
    line: str, folder: str, root: ProjectRoot, would_bring_back: Callable[[ProjectRoot, Iterable[str]], bool]
) -> bool:
    """Return whether all that a line changes are database files of which `would_bring_back` is true: each client in it
    opens one that is written out. `folder`, where the line runs, and the paths are relative to `root`."""
    text = _HERE_DOCUMENT.sub("\n", line).strip()
    if _ELSEWHERE.search(line):
        return False
    commands = [command.texts for command in plain_commands(text)]
    below = ""
    if len(commands) > 1 and commands[0][0] == "cd" and len(commands[0]) == 2 and commands[0][1][:1] not in ("-", "/"):
        below, commands = f"{commands[0][1]}/", commands[1:]
    paths: list[str] = []
    for name, *rest in commands:
        if name not in _BESIDE:
            return False
        if name in ("sqlite3", "duckdb"):
            words = [word for word in rest if word not in _FLAGS]
            if not words or words[0][:1] in ("-", ":"):
                return False
            paths.append(words[0] if words[0].startswith("/") else below + words[0])
    inside = f"{root.path}/"
    relative = [os.path.join(inside, folder, path).removeprefix(inside) for path in paths]  # noqa: PTH118 - strings
    return bool(paths) and would_bring_back(root, relative)
