"""Find the files of a project that git settings name, and so git runs or believes: hooks, helpers, filters, included
settings, keys and authorities."""

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path

from localllm.base.paths import find_program, search_path
from localllm.base.shims import is_shim
from localllm.sandbox.git_config import Setting, expanded

_FOLDERS = frozenset({"core.hookspath", "init.templatedir"})
_PATHS = frozenset({"mergetool.path", "difftool.path", "browser.path", "man.path", "lfs.path"})
_ARGUMENTS = "lfs.args"
"""The arguments of a program that another setting names."""

_SETTINGS = frozenset({"include.path", "includeif.path"})
_BELIEVED = frozenset(
    """gpg.allowedsignersfile gpg.revocationfile http.sslcainfo http.sslcapath http.proxysslcainfo http.cookiefile
    sendemail.aliasesfile sendemail.smtpsslcertpath""".split()
)
"""Files and folders that say whose signature is good, which servers are genuine, and who gets mails."""

_OF_ALL_REPOSITORIES = frozenset({"core.attributesfile", "core.excludesfile"})
"""Which filters run and what `git add` leaves out, in all repositories of the user if the path is not relative. A
relative one is the project's own, like `.gitattributes`."""

_PROGRAMS = (
    "alternaterefscommand askpass cccmd clean cmd command defaultkeycommand difffilter driver editor external "
    "fsmonitor gitproxy headercmd helper pager packobjectshook process program proxycommand receivepack "
    "recentobjectshook smtpserver smudge sshcommand textconv tocmd tunnel update uploadpack vcs"
)
"""Names of settings, in any section, whose value is a command line; `pager.…` and `alias.…` are, too."""
_PROGRAM_NAMES = frozenset(_PROGRAMS.split())
_PROGRAM_ENDINGS = ("command", "cmd", "program", "prog", "hook")
"""Those of git-annex, git-svn and others: `annex.freezecontent-command`, `svn.authorsProg`."""

_Word = tuple[str, str, Callable[[str], bool]]
"""The folder that a name is relative to, the name, and whether their path may be meant."""

_WORD = re.compile(r"[^\s'\"`;|&()<>$={}!]+")
_GLUED = re.compile(r"-\w(.+)")  # a value attached to its option, `-fscript`
_CHANGED_TO = re.compile(r"\bcd\s+([^\s'\"`;|&()<>$]+)|\b[A-Z_]+=([^\s'\"`;|&()<>$]+)")
"""A folder that a command line changes to, or names in a variable such as PYTHONPATH."""

_WITH_ENDING = re.compile(r"[^-].*\.[A-Za-z]\w{0,4}")
_RUNS = re.compile(
    r"(?:^|\s)(?:-x|-c|-O|--exec|--extcmd|--open-files-in-pager|--upload-pack|--receive-pack|run|foreach|filter-branch)\b"
)
"""In an alias of a git command: what makes git run something."""

_MOST = 200  # files; each is read before and after a command
_MOST_WORDS = 5_000  # words that may be files


def names_program(name: str) -> bool:
    """Return whether the value of a setting of this name, in any section, is a command line."""
    return name in _PROGRAM_NAMES or name.endswith(_PROGRAM_ENDINGS)


def named_files(settings: Iterable[Setting], folders: Iterable[str], home: str, beside: str) -> tuple[list[str], bool]:
    """Return absolute paths that the settings may mean, and whether these are all.

    `folders`: those that names may be relative to; `beside`: the folder of the config file, which includes are relative
    to. The paths need not exist, and some may not be meant at all.
    """
    bases = list(folders)
    by_weight = sorted(settings, key=lambda one: f"{one.section}.{one.name}" not in _FOLDERS | _SETTINGS)
    words = (found for setting in by_weight for found in _words(setting, bases, beside))
    found = dict.fromkeys(
        os.path.normpath(path)
        for base, word, may_be in islice(words, _MOST_WORDS)
        if may_be(path := os.path.join(base, expanded(word, home)))  # noqa: PTH118 - strings
    )
    return list(found)[:_MOST], len(found) <= _MOST and next(words, None) is None


def _words(setting: Setting, folders: list[str], beside: str) -> Iterator[_Word]:
    section, _, name, value = setting
    full = f"{section}.{name}"
    if full in _SETTINGS:
        yield beside, value, bool
    elif full in _FOLDERS | _BELIEVED or (full in _OF_ALL_REPOSITORIES and value.startswith(("/", "~"))):
        yield from ((folder, value, bool) for folder in folders)
    elif section == "alias":
        yield from _of_command(value, folders) if value.startswith("!") or _RUNS.search(value) else ()
    elif full == _ARGUMENTS:
        yield from _of_command(f"program {value}", folders)
    elif section == "pager" or names_program(name) or full in _PATHS:
        yield from _of_command(value, folders)


def _of_command(line: str, folders: list[str]) -> Iterator[_Word]:
    """Yield the words of a command line that may be files: those with a slash or an extension, and others if such a
    file exists.

    The first word is looked up in PATH if it has no slash. After `-m` comes a module or package.
    """
    words = words_of(line)
    named = [word for option, word in pairwise(words) if option == "-m"]
    named += [word[2:] for word in words if word.startswith("-m")]
    modules = [word.partition(".")[0] for word in named if word]
    for folder in _with_those_changed_to(line, folders):
        if "/" in line:
            yield folder, line.strip(), bool  # a name may have spaces
            yield from ((folder, word, _is_no_folder) for word in words if "/" in word and " " in word)
        yield from ((folder, name, bool) for module in modules for name in (f"{module}.py", module))
        for at, found in enumerate(_WORD.finditer(line)):
            glued = _GLUED.fullmatch(found[0])
            for word in (found[0], glued[1]) if glued else (found[0],):
                yield from _of_word(word, folder, is_first=not at)


def _of_word(word: str, folder: str, *, is_first: bool) -> Iterator[_Word]:
    if "/" in word:
        names = (word, word.lstrip("/"))  # the second for `$(git rev-parse --show-toplevel)/…`
        yield from ((folder, name, _is_no_folder) for name in names)
    elif not is_first:
        yield folder, word, bool if _WITH_ENDING.fullmatch(word) else os.path.isfile


def _with_those_changed_to(line: str, folders: list[str]) -> list[str]:
    named = [name for match in _CHANGED_TO.finditer(line) for name in (match[1] or match[2]).split(":")]
    return [*folders, *(os.path.join(folder, name) for folder in folders for name in named)]  # noqa: PTH118 - strings


def words_of(line: str) -> list[str]:
    """Return the words of a command line without their quotes; none if a quote is missing."""
    try:
        return shlex.split(line)
    except ValueError:
        return []


_INTERPRETER = re.compile(r"(?:python|pypy|ruby|node|perl|php|lua|(?:ba|da|z|k)?sh)[\d.]*")
_PLAIN = (
    "git-lfs git-crypt git-annex cat tr head tail cut rev sort uniq expand unexpand iconv recode dos2unix unix2dos "
    "gzip gunzip zcat bzip2 xz zstd base64 gpg openssl sed awk gawk mawk jq grep nbstripout black ruff isort "
    "clang-format rustfmt gofmt shfmt"
)
_HARMLESS = frozenset(_PLAIN.split())
"""Programs that run nothing from the folder they are in, unless a file there is named."""


def is_chosen_there(program: str, folder: str) -> bool:
    """Return whether it depends on the folder what is run: the program is a shim, or leads there. Also if git would not
    find it, with the PATH that is left to it, and so commit files unfiltered."""
    if "/" in program:
        return is_shim(os.path.expanduser(program))  # noqa: PTH111 - a string
    safe = find_program(program, Path(folder))
    import shutil  # takes long to import

    found = shutil.which(program, path=os.pathsep.join(search_path(Path(folder))))
    return found != safe or (found is None and shutil.which(program) is not None)


def runs_from_folder(
    line: str, folders: Iterable[str], is_chosen: Callable[[str, str], bool] = is_chosen_there
) -> bool:
    """Return whether a command line, run in one of the folders, may run something from them: a file that it names, or
    whatever its program finds there, such as a module (`python -m json.tool`), a Makefile, or the version that a shim
    runs. `is_chosen`: `is_chosen_there`, or what remembers its answers."""
    words = words_of(line)
    if not words or re.search(r"[`$|;&<>\n]", line):
        return True
    program = words[0].rpartition("/")[2]
    started = [words[0]]
    if program == "git" and len(words) > 1:
        program = f"git-{words[1]}"
        started.append(program)
    is_script_elsewhere = _INTERPRETER.fullmatch(program) and len(words) > 1 and words[1].startswith("/")
    if program not in _HARMLESS and not is_script_elsewhere:
        return True
    if any(is_chosen(name, folder) for folder in folders for name in started):
        return True
    glued = [match[1] for word in words if (match := _GLUED.fullmatch(word))]
    values = [word.partition("=")[2] for word in words if "=" in word]
    named = [*words[1:], *glued, *values]
    if program.endswith("awk"):
        named += [f"{word}.awk" for word in named]  # what it looks for beside the name itself
    return any(_is_in(folder, word) for folder in folders for word in named) or (
        "/" in words[0] and any(_is_in(folder, words[0]) for folder in folders)
    )


def _is_in(folder: str, word: str) -> bool:
    """Return whether this is a file of the folder, or leads to one."""
    path = os.path.join(folder, word)  # noqa: PTH118 - strings
    return os.path.lexists(path) and f"{os.path.realpath(path)}/".startswith(f"{os.path.realpath(folder)}/")


def _is_no_folder(path: str) -> bool:
    return not os.path.isdir(path)  # noqa: PTH112 - a string
