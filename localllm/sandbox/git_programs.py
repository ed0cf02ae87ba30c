"""Which files of a project git's settings name: hooks, helpers, filters, included settings. Git runs them, too."""

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise

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

    The first word without a slash is looked for in PATH. After `-m` a module is named, or a package.
    """
    words = words_of(line)
    modules = [word.partition(".")[0] for option, word in pairwise(words) if option == "-m"]
    for folder in folders:
        if "/" in line:
            yield folder, line.strip(), bool  # a name may have spaces
            yield from ((folder, word, _is_no_folder) for word in words if "/" in word and " " in word)
        yield from ((folder, name, bool) for module in modules for name in (f"{module}.py", module))
        for at, found in enumerate(_WORD.finditer(line)):
            word = found[0]
            if "/" in word:
                names = (word, word.lstrip("/"))  # the other after `$(git rev-parse --show-toplevel)`
                yield from ((folder, name, _is_no_folder) for name in names)
            elif at:
                yield folder, word, os.path.isfile


def words_of(line: str) -> list[str]:
    """The words of a command line, without their quotation marks; none where one of these is missing."""
    try:
        return shlex.split(line)
    except ValueError:
        return []


_INTERPRETER = re.compile(
    r"(?:python|pypy|ruby|node|nodejs|perl|php|lua|Rscript|tclsh|deno|bun|npx|uv|uvx|env|xargs|(?:ba|da|z|k)?sh|fish|pwsh)"
    r"[\d.]*(?:\.exe)?"
)


def runs_from_folder(line: str, folders: Iterable[str]) -> bool:
    """Whether a command line that is run in one of the folders may run something of these: a file that it names, or
    whatever else an interpreter finds there, such as a module (`python -m json.tool`)."""
    words = words_of(line)
    if not words or re.search(r"[`$|;&<>\n]", line):
        return True
    script = words[1] if len(words) > 1 else ""
    if _INTERPRETER.fullmatch(words[0].rpartition("/")[2]) and not script.startswith("/"):
        return True
    return any(_is_in(folder, word) for folder in folders for word in words if "/" in word)


def _is_in(folder: str, word: str) -> bool:
    """Whether it is a file of the folder, or leads to one."""
    path = os.path.join(folder, word)  # noqa: PTH118 - strings
    return os.path.lexists(path) and f"{os.path.realpath(path)}/".startswith(f"{os.path.realpath(folder)}/")


def _is_no_folder(path: str) -> bool:
    return not os.path.isdir(path)  # noqa: PTH112 - a string
