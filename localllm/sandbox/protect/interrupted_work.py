"""Filter what version control keeps of interrupted work: a rebase, cherry-pick, revert or bisection of git, and a
transaction of Mercurial.

A todo list may contain programs to run, and a strategy names one; git runs them when the user continues. Older versions
of git run other files as shell code, and so does a shell with git's own prompt the numbers of steps. Other files name
the refs that git then writes or deletes, or are shown by `git status` and the prompt. Mercurial's `recover` and
`rollback` write and truncate the files that a journal names, wherever they are. Commands may leave such files, but with
nothing that runs or leads elsewhere and was not there before.
"""

import re
import shlex

from localllm.base.folded_names import folded
from localllm.sandbox.git_config import parse

NAMES = tuple(
    """
    BISECT_NAMES BISECT_START rebase-merge/author-script rebase-apply/author-script rebase-merge/git-rebase-todo
    rebase-merge/strategy rebase-merge/strategy_opts rebase-merge/gpg_sign_opt rebase-apply/apply-opt
    rebase-apply/gpg_sign_opt sequencer/todo sequencer/opts rebase-merge/update-refs rebase-merge/refs-to-delete
    rebase-merge/head-name rebase-apply/head-name rebase-merge/msgnum rebase-merge/end rebase-apply/next
    rebase-apply/last rebase-merge/done
    """.split()
)
"""Paths in the data folder of a repository or work tree."""

_ENDINGS = tuple(f"/{name.casefold()}" for name in NAMES)

TRANSACTIONS = tuple(
    f"{data}/store/{name}"
    for data in (".hg", ".sl")
    for name in ("journal", "journal.backupfiles", "undo", "undo.backupfiles")
)
"""Journals of Mercurial and Sapling: files to truncate, and files to restore from backups."""

_OF_TRANSACTIONS = tuple(f"/{name}" for name in TRANSACTIONS)
_IN_STORE = re.compile(r"(?:(?!\.\.?(?:/|$))[^/\0\n]+(?:/|$))*")
_IN_DATA = re.compile(
    r"(?:(?:journal|undo|dirstate|branch|bookmarks|topic|remotenames|git-mapfile)[\w.-]*|cache/[\w-][\w.-]*)?"
)
"""The files beside the store that honest transactions back up, and none that Mercurial believes, such as hgrc."""
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
_REST = r"(?!\S*\.\.)[^\s\x00-\x1f\x7f-\x9f]+"  # of a ref; git shows it on the terminal
_BRANCHES = re.compile(rf"(?:refs/heads/{_REST}\n[0-9a-f]{{40,64}}\n[0-9a-f]{{40,64}}\n)*")
_LABELS = re.compile(rf"(?:refs/rewritten/{_REST}\n)*")
_BRANCH = re.compile(rf"(?:refs/heads/{_REST}|detached HEAD)?\n?")
_START = re.compile(r"(?!-)[^\s\x00-\x1f\x7f-\x9f]+\n?")
"""`git bisect reset` has `git checkout` read it, which takes `-f` for an option."""
_NUMBER = re.compile(r" *[0-9]*\n?")  # git-prompt.sh puts it into PS1, which bash and zsh expand
_BY_PATTERN = (
    ("/bisect_names", _WORDS),
    ("/bisect_start", _START),
    ("/author-script", _AUTHOR),
    ("/update-refs", _BRANCHES),
    ("/refs-to-delete", _LABELS),
    ("/head-name", _BRANCH),
    ("/msgnum", _NUMBER),
    ("/end", _NUMBER),
    ("/next", _NUMBER),
    ("/last", _NUMBER),
)
_MOST_WORDS = 65_536  # bytes; each word costs the regular expression memory
_UPDATED = re.compile(rb"\s*(?:update-ref|u)[ \t]+refs/heads/(?!\S*\.\.)[^\s\x00-\x1f\x7f]+\s*")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]")  # as the subject of a commit may have
_FIRST_WORD = re.compile(rb"[ \t]*([^ \t\r]*)")


def is_unfinished_work(path: str) -> bool:
    """Return whether the path is that of such a file, in any folder."""
    return folded(path).endswith(_ENDINGS) or folded(f"/{path}").endswith(_OF_TRANSACTIONS)


def harmless_part(path: str, before: bytes, after: bytes) -> bytes | None:
    """Return what may stay of a file that now has the content `after`; None for nothing."""
    if folded(f"/{path}").endswith(_OF_TRANSACTIONS):
        is_inside = _stays_in_store if folded(path).endswith(("journal", "undo")) else _backs_up_own_files
        return after if after == before or is_inside(after.decode("utf-8", "replace")) else None
    if folded(path).endswith(("todo", "/done")):
        known, is_done = set(before.splitlines()), folded(path).endswith("/done")
        lines = ((line, line.strip() in known) for line in after.splitlines(keepends=True))
        kept = ((line, is_known) for line, is_known in lines if is_known or is_done or _is_step(line))
        return b"".join(line if is_known else _CONTROL.sub(b"?", line) for line, is_known in kept)
    for ending, pattern in _BY_PATTERN:
        if folded(path).endswith(ending):
            is_words = len(after) <= _MOST_WORDS and pattern.fullmatch(after.decode("utf-8", "replace"))
            return after if after == before or is_words else None
    is_known = _has_known_options if folded(path).endswith(_OPTIONS) else _has_known_strategy
    return after if after == before or is_known(path, after) else None


def _stays_in_store(journal: str) -> bool:
    """Return whether a journal, lines of `path NUL length`, truncates files of the store only."""
    return all(_IN_STORE.fullmatch(line.partition("\0")[0]) for line in journal.split("\n"))


def _backs_up_own_files(listed: str) -> bool:
    """Return whether the lines `location NUL path NUL backup NUL is_cache` after the version are all of Mercurial's own
    data."""
    for line in listed.split("\n")[1:]:
        location, *paths = line.split("\0")[:3]
        allowed = _IN_DATA if location == "plain" else _IN_STORE
        if location not in ("", "store", "plain") or not all(map(allowed.fullmatch, paths)):
            return False
    return True


def _is_step(line: bytes) -> bool:
    found = _FIRST_WORD.match(line.rstrip(b"\n"))
    word = found[1] if found else b""
    if word in (b"update-ref", b"u"):
        return bool(_UPDATED.fullmatch(line))
    return not word or word.startswith(b"#") or word in _STEPS


_OPTIONS = ("/strategy_opts", "/apply-opt", "/gpg_sign_opt")


def _has_known_options(_path: str, content: bytes) -> bool:
    try:
        return all(_OPTION.fullmatch(one) for one in shlex.split(content.decode()))
    except ValueError:
        return False


def _has_known_strategy(path: str, content: bytes) -> bool:
    if folded(path).endswith("opts"):
        named = [
            (one.section, one.value) for one in parse(content) if one.section != "options" or one.name == "strategy"
        ]
        options = [one.value or "" for one in parse(content) if one.name == "strategy-option"]
        is_known = all(section == "options" and value in _STRATEGIES for section, value in named)
        return is_known and all(map(_OPTION.fullmatch, options))
    return content.decode("utf-8", "replace").strip() in _STRATEGIES
