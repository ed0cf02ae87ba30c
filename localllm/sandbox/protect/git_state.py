"""What git keeps of a rebase, cherry-pick or revert that was interrupted: what is left to do, and by which strategy.

A list may say to run programs, and a strategy names one; git obeys when the user goes on. Commands may leave such
files, but in none of them anything that runs and was not there before.
"""

import re

from localllm.sandbox.git_config import parse

NAMES = (
    "rebase-merge/git-rebase-todo",
    "rebase-merge/strategy",
    "sequencer/todo",
    "sequencer/opts",
)
"""Paths in the folder of a repository, or of a worktree."""

_STEPS = frozenset(
    b"pick p reword r edit e squash s fixup f drop d label l reset t merge m noop break b update-ref u revert".split()
)
_STRATEGIES = frozenset({"", "ort", "recursive", "resolve", "octopus", "ours", "subtree"})
_FIRST_WORD = re.compile(rb"[ \t]*([^ \t\r]*)")


def is_unfinished_work(path: str) -> bool:
    """Whether it is one of these files, wherever it lies."""
    return path.casefold().endswith(tuple(f"/{name}" for name in NAMES))


def harmless_part(path: str, before: bytes, after: bytes) -> bytes | None:
    """What may stay of a file that now has `after`; None for nothing."""
    if path.casefold().endswith("todo"):
        known = set(before.splitlines())
        return b"".join(line for line in after.splitlines(keepends=True) if line.strip() in known or _is_step(line))
    return after if after == before or _has_known_strategy(path, after) else None


def _is_step(line: bytes) -> bool:
    found = _FIRST_WORD.match(line.rstrip(b"\n"))
    word = found[1] if found else b""
    return not word or word.startswith(b"#") or word in _STEPS


def _has_known_strategy(path: str, content: bytes) -> bool:
    if path.casefold().endswith("opts"):
        named = [
            (one.section, one.value) for one in parse(content) if one.section != "options" or one.name == "strategy"
        ]
        return all(section == "options" and value in _STRATEGIES for section, value in named)
    return content.decode("utf-8", "replace").strip() in _STRATEGIES
