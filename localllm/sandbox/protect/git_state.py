"""Filter what git keeps of an interrupted rebase, cherry-pick, revert or bisection: what is left to do, and how.

A todo list may contain programs to run, and a strategy names one; git runs them when the user continues. Older versions
of git run other files as shell code. Commands may leave such files, but with nothing that runs and was not there
before.
"""

import re
import shlex

from localllm.sandbox.git_config import parse

NAMES = tuple(
    """
    BISECT_NAMES rebase-merge/author-script rebase-apply/author-script rebase-merge/git-rebase-todo
    rebase-merge/strategy rebase-merge/strategy_opts rebase-merge/gpg_sign_opt rebase-apply/apply-opt
    rebase-apply/gpg_sign_opt sequencer/todo sequencer/opts
    """.split()
)
"""Paths in the data folder of a repository or work tree."""

_ENDINGS = tuple(f"/{name.casefold()}" for name in NAMES)
_STEPS = frozenset(
    b"pick p reword r edit e squash s fixup f drop d label l reset t merge m noop break b update-ref u revert".split()
)
_OPTION = re.compile(
    r"(?:--)?(?:ours|theirs|patience|histogram|minimal|ignore-(?:space-change|all-space|space-at-eol|cr-at-eol|whitespace|date)"
    r"|renormalize|no-renormalize|no-renames|find-renames(?:=\d+%?)?|rename-threshold=\d+%?|subtree"
    r"|diff-algorithm=[a-z]+|whitespace=[a-z-]+(?:,[a-z-]+)*|keep-cr|no-keep-cr|reject)|-[pC]\d+|-3|"
)
"""Options of strategies and of `git apply` that name no file, command or key."""
_STRATEGIES = frozenset({"", "ort", "recursive", "resolve", "octopus", "ours", "subtree"})
_QUOTED = r"'[^'\0]*+(?:'\\['!]'[^'\0]*+)*'"  # a word, as git quotes it for the shell
_WORDS = re.compile(rf"(?:\s*+{_QUOTED})*\s*")  # paths of a bisection; git before 2.36 evaluates them
_AUTHOR = re.compile(rf"(?:GIT_AUTHOR_(?:NAME|EMAIL|DATE)={_QUOTED}\s*+)*")  # sourced by git rebase before 2.34
_MOST_WORDS = 65_536  # bytes; each word costs the regular expression memory
_FIRST_WORD = re.compile(rb"[ \t]*([^ \t\r]*)")


def is_unfinished_work(path: str) -> bool:
    """Return whether the path is that of such a file, in any folder."""
    return path.casefold().endswith(_ENDINGS)


def harmless_part(path: str, before: bytes, after: bytes) -> bytes | None:
    """Return what may stay of a file that now has the content `after`; None for nothing."""
    if path.casefold().endswith("todo"):
        known = set(before.splitlines())
        return b"".join(line for line in after.splitlines(keepends=True) if line.strip() in known or _is_step(line))
    for ending, pattern in (("/bisect_names", _WORDS), ("/author-script", _AUTHOR)):
        if path.casefold().endswith(ending):
            is_words = len(after) <= _MOST_WORDS and pattern.fullmatch(after.decode("utf-8", "replace"))
            return after if after == before or is_words else None
    is_known = _has_known_options if path.casefold().endswith(_OPTIONS) else _has_known_strategy
    return after if after == before or is_known(path, after) else None


def _is_step(line: bytes) -> bool:
    found = _FIRST_WORD.match(line.rstrip(b"\n"))
    word = found[1] if found else b""
    return not word or word.startswith(b"#") or word in _STEPS


_OPTIONS = ("/strategy_opts", "/apply-opt", "/gpg_sign_opt")


def _has_known_options(_path: str, content: bytes) -> bool:
    try:
        return all(_OPTION.fullmatch(one) for one in shlex.split(content.decode()))
    except ValueError:
        return False


def _has_known_strategy(path: str, content: bytes) -> bool:
    if path.casefold().endswith("opts"):
        named = [
            (one.section, one.value) for one in parse(content) if one.section != "options" or one.name == "strategy"
        ]
        options = [one.value or "" for one in parse(content) if one.name == "strategy-option"]
        is_known = all(section == "options" and value in _STRATEGIES for section, value in named)
        return is_known and all(map(_OPTION.fullmatch, options))
    return content.decode("utf-8", "replace").strip() in _STRATEGIES
