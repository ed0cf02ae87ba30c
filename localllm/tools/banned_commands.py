"""Recognise commands that do what a request forbids: commit, or run a file."""

import posixpath
import re
from collections.abc import Sequence
from contextlib import suppress

from localllm.base.errors import LocalLLMError
from localllm.safety.command_line import Line
from localllm.safety.nested_commands import READERS, program_of
from localllm.safety.paths import ProjectRoot
from localllm.safety.shell_words import Word

_WITH_VALUE = ("-C", "-c", "--git-dir", "--work-tree")
"""Options of git whose value is the next word."""


def commits(line: Line) -> bool:
    """Return whether a part of it is `git commit`."""
    return "commit" in line.text and any(
        program_of(words[0]) == "git" and _verb([word.text for word in words]) == "commit"
        for words in line.commands
        if words
    )


def _verb(words: Sequence[str]) -> str:
    """Return the command of git, behind its options."""
    rest = iter(words[1:])
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, "")
        elif not word.startswith("-"):
            return word
    return ""


_RUNNERS = READERS | {".", "source", "ts-node", "tsx", "java", "dotnet"}
_WITH_RUN = frozenset({"uv", "deno", "bun", "go", "dart", "pdm", "poetry"})
_CHECKS = frozenset({"-n", "-c", "-l", "-m", "-e", "-lint", "--check", "--syntax-check", "--help", "--version"})
"""Options by which an interpreter only checks the file behind them, or runs something else."""


def files_run(line: Line, folder: str, root: ProjectRoot) -> list[str]:
    """Return the canonical paths of the files of the project that it may run, in its `folder`."""
    found: list[str] = []
    known = [tuple(word.text for word in words) for words in line.commands]
    for words, texts in zip(line.commands, known, strict=True):
        is_argument = any(len(one) > len(texts) and one[-len(texts) :] == texts for one in known)  # npx eslint src/a.js
        file = _file_run(words) if texts else ""
        if file and not (is_argument and file == texts[0] and not file.startswith((".", "/"))):
            with suppress(LocalLLMError):  # e.g. outside
                found.append(root.relative(posixpath.join(folder, file)))
    return found


def _file_run(words: Sequence[Word]) -> str:
    """Return the file that a simple command runs, by its own name or by an interpreter."""
    first, *rest = (word.text for word in words)
    program = program_of(words[0])
    if program in _WITH_RUN and rest[:1] == ["run"]:
        rest = rest[1:]
    elif program not in _RUNNERS:
        return first if "/" in first else ""
    if program == "python" and rest[:1] == ["-m"] and rest[1:]:
        return f"{rest[1].replace('.', '/')}.py"
    options = [*_until_operand(rest)]
    return "" if _CHECKS & set(options) else next(iter(rest[len(options) :]), "")


def _until_operand(words: Sequence[str]) -> Sequence[str]:
    at = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
    return words[:at]


def may_be_dry(line: Line) -> bool:
    """Return whether a word of it may ask for a dry run."""
    return bool(
        re.search(r"(?i)dry|no-?op|no-act|simulat|pretend|preview|what-?if|check|plan|(?<![\w-])-[a-z]?n\b", line.text)
    )
