"""Which files of a project git's settings name: hooks, helpers, filters, included settings. Git runs them, too."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from localllm.sandbox.git_config import Setting

_FOLDERS = frozenset({"core.hookspath", "init.templatedir"})
_PATHS = frozenset({"mergetool.path", "difftool.path", "browser.path", "man.path", "lfs.path"})
_SETTINGS = frozenset({"include.path", "includeif.path"})
_PROGRAMS = (
    "alternaterefscommand askpass cccmd clean cmd command defaultkeycommand difffilter driver editor external "
    "fsmonitor gitproxy headercmd helper pager packobjectshook process program proxycommand receivepack "
    "recentobjectshook smtpserver smudge sshcommand textconv tocmd tunnel update uploadpack vcs"
)
"""Names of settings, in whatever section, whose value is a command line. `pager.…` and `alias.…` besides."""
PROGRAM_NAMES = frozenset(_PROGRAMS.split())

_Word = tuple[str, str, Callable[[str], bool]]
"""The folder that a name begins in, the name, and whether the path of the two may be meant."""

_WORD = re.compile(r"[^\s'\"`;|&()<>$={}!]+")
_MOST = 200  # files; each is looked at before and after a command
_MOST_WORDS = 5_000  # that may be files, or not


def named_files(settings: Iterable[Setting], folders: Iterable[str], home: str, beside: str) -> tuple[list[str], bool]:
    """Absolute paths that the settings may mean, and whether these are all.

    `folders`: those relative names begin in, `beside` that of the settings file, which included files are relative to.
    The paths need not exist; others than really meant may be among them.
    """
    bases = list(folders)
    by_weight = sorted(settings, key=lambda one: f"{one.section}.{one.name}" not in _FOLDERS | _SETTINGS)
    words = (found for setting in by_weight for found in _words(setting, bases, beside))
    found = dict.fromkeys(
        os.path.normpath(path)
        for base, word, may_be in islice(words, _MOST_WORDS)
        if (path := f"{home}/{word[2:]}" if word.startswith("~/") else os.path.join(base, word))  # noqa: PTH118 - strings
        and may_be(path)
    )
    return list(found)[:_MOST], len(found) <= _MOST and next(words, None) is None


def _words(setting: Setting, folders: list[str], beside: str) -> Iterator[_Word]:
    section, _, name, value = setting
    full = f"{section}.{name}"
    if full in _SETTINGS:
        yield beside, value, bool
    elif full in _FOLDERS:
        yield from ((folder, value, bool) for folder in folders)
    elif section == "alias":
        yield from _of_command(value, folders) if value.startswith("!") else ()
    elif section == "pager" or name in PROGRAM_NAMES or full in _PATHS:
        yield from _of_command(value, folders)


def _of_command(line: str, folders: list[str]) -> Iterator[_Word]:
    """What in a command line may be a file: a word with a slash, wherever it leads; another, if there is such a file.

    The first word without a slash is looked for in PATH.
    """
    for folder in folders:
        if "/" in line:
            yield folder, line.strip(), bool  # a name may have spaces
        for at, found in enumerate(_WORD.finditer(line)):
            word = found[0]
            if "/" in word:
                names = (word, word.lstrip("/"))  # the other after `$(git rev-parse --show-toplevel)`
                yield from ((folder, name, _is_no_folder) for name in names)
            elif at:
                yield folder, word, os.path.isfile


def _is_no_folder(path: str) -> bool:
    return not os.path.isdir(path)  # noqa: PTH112 - a string
