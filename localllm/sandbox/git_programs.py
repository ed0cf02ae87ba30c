"""Which files of a project git's settings name: hooks, helpers, filters, included settings. Git runs them, too."""

import os
import re
from collections.abc import Iterable, Iterator

from localllm.sandbox.git_config import Setting

_FOLDERS = frozenset({"core.hookspath", "init.templatedir"})
_PATHS = frozenset({"mergetool.path", "difftool.path", "browser.path", "man.path", "lfs.path"})
_SETTINGS = frozenset({"include.path", "includeif.path"})
_PROGRAMS = (
    "alternaterefscommand askpass cccmd clean cmd command defaultkeycommand difffilter driver editor external "
    "fsmonitor gitproxy headercmd helper pager packobjectshook process program proxycommand receivepack smtpserver "
    "smudge sshcommand textconv tocmd tunnel update uploadpack vcs"
)
"""Names of settings, in whatever section, whose value is a command line. `pager.…` and `alias.…` besides."""

_WORD = re.compile(r"[^\s'\"`;|&()<>$={}!]+")
_MOST = 200  # files; each is looked at before and after a command


def named_files(settings: Iterable[Setting], folders: Iterable[str], home: str, beside: str) -> list[str]:
    """Absolute paths that the settings may mean. `folders`: those relative names begin in, `beside` that of the
    settings file, which included files are relative to. They need not exist; others than really meant may be among
    them."""
    found = dict.fromkeys(
        os.path.normpath(path)
        for setting in settings
        for base, word in _words(setting, list(folders), beside)
        if (path := f"{home}/{word[2:]}" if word.startswith("~/") else os.path.join(base, word))  # noqa: PTH118 - strings
    )
    return list(found)[:_MOST]


def _words(setting: Setting, folders: list[str], beside: str) -> Iterator[tuple[str, str]]:
    section, _, name, value = setting
    full = f"{section}.{name}"
    if full in _SETTINGS:
        yield beside, value
    elif full in _FOLDERS:
        yield from ((folder, value) for folder in folders)
    elif section == "alias":
        yield from _of_command(value, folders) if value.startswith("!") else ()
    elif section == "pager" or name in _PROGRAMS.split() or full in _PATHS:
        yield from _of_command(value, folders)


def _of_command(line: str, folders: list[str]) -> Iterator[tuple[str, str]]:
    """What in a command line may be a file: a word with a slash, wherever it leads; another, if there is such a file.

    The first word without a slash is looked for in PATH.
    """
    for folder in folders:
        if "/" in line:
            yield folder, line.strip()  # a name may have spaces
        for at, word in enumerate(_WORD.findall(line)):
            if "/" in word:
                names = (word, word.lstrip("/"))  # the other after `$(git rev-parse --show-toplevel)`
                yield from ((folder, name) for name in names if not os.path.isdir(os.path.join(folder, name)))  # noqa: PTH112, PTH118
            elif at and os.path.isfile(os.path.join(folder, word)):  # noqa: PTH113, PTH118 - strings
                yield folder, word
