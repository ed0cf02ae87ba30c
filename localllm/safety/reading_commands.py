"""Recognize commands that only read the project, from a closed list of programs and options.

Other commands may be as harmless; the user is asked about them.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from localllm.base.errors import SafetyViolationError
from localllm.base.lazy_patterns import late_pattern
from localllm.base.regular_files import READ, opened
from localllm.safety.plain_commands import PlainCommand, PlainWord, plain_commands
from localllm.safety.rules import is_within
from localllm.sandbox.git_config import Setting
from localllm.sandbox.git_programs import names_program
from localllm.sandbox.protect.repositories.repository import find_place, settings_of


class Reads(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments a program accepts. `flags`: letters without a value; `valued`: those with one; `long`: the
    long options, with `=` if a value must follow and `[=]` if one may. `number`: `-5` is an option.

    `operands`: what the non-options are: paths, texts, or a pattern and paths (with one of `given`, only paths);
    or, as there are no options, words. `most`: their maximal number. `globs`: a glob may expand to several; false if
    one of them might be written.
    """

    flags: str = ""
    valued: str = ""
    long: str = ""
    number: bool = False
    operands: str = "paths"
    given: tuple[str, ...] = ()
    most: int = 1_000
    globs: bool = True


_GREP = Reads(
    flags="EFGPivwxcLlqsonHhbUzZrTay",
    valued="emABC",
    number=True,
    operands="pattern",
    given=("-e", "--regexp"),
    long="--include= --exclude= --exclude-dir= --color[=] --colour[=] --count --ignore-case --line-number --recursive "
    "--files-with-matches --files-without-match --word-regexp --line-regexp --extended-regexp --fixed-strings "
    "--perl-regexp --basic-regexp --invert-match --only-matching --max-count= --context= --after-context= "
    "--before-context= --no-messages --no-filename --with-filename --null --text --regexp= --quiet --silent",
)

COMMANDS: dict[str, Reads] = {
    "pwd": Reads(flags="LP", most=0),
    "echo": Reads(operands="words"),
    "true": Reads(most=0),
    "ls": Reads(
        flags="1aAcCdfFghiklmnopqQrRsStuUvxX",
        long="--all --almost-all --human-readable --recursive --reverse --size --inode --directory --full-time "
        "--classify --group-directories-first --sort= --time= --color[=] --time-style= --ignore= --format=",
    ),
    "cat": Reads(flags="AbeEnstTuv", long="--number --number-nonblank --show-all --show-ends --show-tabs"),
    "head": Reads(flags="qv", valued="nc", number=True, long="--lines= --bytes= --quiet --silent --verbose"),
    "tail": Reads(flags="qv", valued="nc", number=True, long="--lines= --bytes= --quiet --silent --verbose"),
    "wc": Reads(flags="clmwL", long="--bytes --chars --lines --words --max-line-length"),
    "nl": Reads(valued="bnwsv"),
    "cut": Reads(flags="sn", valued="dfbc", long="--delimiter= --fields= --only-delimited --complement"),
    "tr": Reads(flags="cCdst", operands="texts", long="--delete --squeeze-repeats --complement"),
    "uniq": Reads(flags="cdiuD", valued="fsw", long="--count --repeated --unique --ignore-case", most=1, globs=False),
    "sort": Reads(
        flags="bdfghiMnrRVcCmsuz",
        valued="kt",
        long="--numeric-sort --reverse --unique --ignore-case --human-numeric-sort --version-sort --key= "
        "--field-separator= --stable",
    ),
    "du": Reads(flags="abchkmsx", valued="d", long="--max-depth= --human-readable --summarize --all --total --bytes"),
    "stat": Reads(flags="t", valued="c", long="--format= --printf="),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": Reads(
        flags="nNiSswvclFoHhxUauq.",
        valued="egtTmABCrM",
        operands="pattern",
        given=("-e", "--regexp", "--files", "--type-list"),
        long="--files --type-list --hidden --no-ignore --glob= --iglob= --type= --type-not= --ignore-case --smart-case "
        "--case-sensitive --line-number --no-line-number --no-heading --heading --files-with-matches "
        "--files-without-match --count --count-matches --word-regexp --fixed-strings --multiline --max-count= "
        "--context= --after-context= --before-context= --color= --sort= --max-depth= --only-matching --invert-match "
        "--json --stats --no-filename --with-filename --vimgrep --column --trim --regexp= --no-config",
    ),
}
"""By program. No option here writes, runs another program, follows links or reads names from a file."""

_FILTERS = frozenset({"cat", "cut", "egrep", "fgrep", "grep", "head", "nl", "sort", "tail", "tr", "uniq", "wc"})
"""Of these, those that read only their input if they are given no path, except for a recursive `grep`."""
_WALKING = late_pattern(r"-[a-zA-Z]*[rR]|--recursive")

_TESTS = frozenset(
    {"-print", "-print0", "-prune", "-not", "-a", "-o", "-and", "-or", "!", "(", ")", ",", "-ls", "-quit", "-empty"}
    | {"-readable", "-executable", "-writable", "-true", "-false", "-xdev", "-mount", "-daystart", "-noleaf", "-depth"}
)
_VALUED_TESTS = frozenset(
    {"-name", "-iname", "-path", "-ipath", "-wholename", "-type", "-maxdepth", "-mindepth", "-size", "-mtime", "-mmin"}
    | {"-ctime", "-cmin", "-perm", "-regex", "-iregex", "-regextype", "-printf", "-links", "-user", "-group"}
)
"""Permitted tests of `find`: none runs, deletes, writes a file, follows links or reads names from one."""

_DIFFERENCES = (
    "--stat[=] --shortstat --numstat --name-only --name-status --summary --patch --no-patch --unified= --diff-filter= "
    "--word-diff[=] --ignore-all-space --ignore-space-change --ignore-blank-lines --no-color --color[=] --raw "
    "--no-ext-diff --no-textconv --no-renames --abbrev[=] --dirstat[=] --cached --staged --exit-code --quiet --check"
)
_COMMITS = (
    "--oneline --max-count= --skip= --all --graph --decorate[=] --no-decorate --author= --committer= --since= --until= "
    "--after= --before= --grep= --follow --first-parent --merges --no-merges --reverse --format= --pretty[=] "
    "--abbrev-commit --date= --branches --tags --remotes --topo-order --date-order --left-right --cherry-pick"
)

GIT: dict[str, Reads] = {
    "status": Reads(
        flags="sbz", long="--short --branch --long --porcelain[=] --untracked-files[=] --ignored[=] --show-stash"
    ),
    "log": Reads(flags="piwbMzu", valued="nUSG", number=True, long=f"{_DIFFERENCES} {_COMMITS}"),
    "show": Reads(flags="pwbMzsu", valued="nUSG", number=True, long=f"{_DIFFERENCES} {_COMMITS}"),
    "diff": Reads(flags="pwbMzRsu", valued="USG", long=_DIFFERENCES),
}
"""By git command. None writes a file of its own, or runs anything that a setting does not name."""

_NUMBER = late_pattern(r"-\d+")
_CERTAIN_OPTION = late_pattern(r"--[a-z-]+=")
_AFTER_PATTERN = late_pattern(r"[^*?\]]*\Z")
_ENTRIES = 2_000  # of a folder in which a glob is expanded
_CHECKS_SIGNATURES = late_pattern(r"%[-+ ]?G")
"""Has git run gpg; the sign before it controls line ends. See "Placeholders" in git-log(1)."""

_EXPRESSIONS = frozenset({"(", ")", "!", ","})  # non-options that `find` does not take for a path
_LINK_TO_REPOSITORY = b"\x00\x00\xe0\x00"  # mode 160000; see gitformat-index(5)
_FETCHING = frozenset({"promisor", "partialclone", "partialclonefilter"})
"""Settings that make git fetch missing objects from a server."""

_LARGEST_INDEX = 20_000_000  # bytes


class Place(msgspec.Struct, frozen=True):
    """Where a line runs. `canonical`: see `Policy.judge`; `closed`: the paths that may not be read freely, as
    `canonical` returns them; `search`: the folders of PATH; `git_settings`: the user's that git has there."""

    root: Path
    folder: str
    canonical: Callable[[str], str]
    closed: Sequence[str] = ()
    search: str = ""
    git_settings: Callable[[], Sequence[Setting]] = tuple


def only_reads(line: str, place: Place) -> bool:
    """Return whether the line only reads what `read_file` may read."""
    commands = plain_commands(line)
    return bool(commands) and all(_only_reads(command, place) for command in commands)


def without_filters(line: str, place: Place) -> str:
    """Return a plain line without its last `2>&1` and the commands behind pipes at its end that only filter what is
    printed, such as `| tail -5`."""
    commands = plain_commands(line)
    while len(commands) > 1 and commands[-1].after == "|" and _only_filters(commands[-1], place):
        commands.pop()
    return line.strip()[: commands[-1].end] if commands else line.strip()


def without_move(line: str, place: Place) -> str:
    """Return a plain line without `cd FOLDER &&` at its beginning, if the folder is one of the project that may be
    read: whoever allows a command allows it in any of these."""
    line = line.strip()
    commands = plain_commands(line)
    while len(commands) > 1 and commands[1].after == "&&" and (folder := _entered(commands[0], place)):
        place = msgspec.structs.replace(place, folder=folder)
        line = line[commands[0].end :].partition("&&")[2].strip()
        commands = plain_commands(line)
    return line


def _entered(command: PlainCommand, place: Place) -> str:
    """Return the folder of the project that a `cd` changes to; "" for anything else."""
    if len(command.words) != 2 or command.words[0].text != "cd":
        return ""
    word = command.words[1]
    if word.glob >= 0 or word.text[:1] in ("", "-", "~"):
        return ""
    with suppress(SafetyViolationError):
        folder = place.canonical(os.path.join(place.folder, word.text))  # noqa: PTH118 - strings
        is_closed = any(is_within(folder, one) for one in place.closed)
        return folder if not is_closed and (place.root / folder).is_dir() else ""
    return ""


def _only_filters(command: PlainCommand, place: Place) -> bool:
    first, *words = command.words
    if first.glob >= 0 or first.text not in _FILTERS or _is_of_project(first.text, place):
        return False
    walks = first.text.endswith("grep") and any(_WALKING.match(word.text) for word in words)
    return not walks and _operands(words, COMMANDS[first.text]) == []


def _only_reads(command: PlainCommand, place: Place) -> bool:
    first, *words = command.words
    if first.glob >= 0 or _is_of_project(first.text, place):
        return False
    if first.text == "find":
        paths = _searched(words, place)
    elif first.text == "git":
        paths = _of_git(words, place)
    else:
        known = COMMANDS.get(first.text)
        paths = known and _operands(words, known)
        if paths == [] and known and known.operands in ("paths", "pattern") and known.most:
            paths = [PlainWord(".")]
    return paths is not None and all(_is_inside(path, place) for path in paths)


def _operands(words: Sequence[PlainWord], known: Reads) -> list[PlainWord] | None:
    """Return the paths among the words; None if a word is not known only to read."""
    if known.operands == "words":
        return None if any(word.glob >= 0 for word in words) else []
    operands: list[PlainWord] = []
    options: set[str] = set()
    rest = iter(words)
    for word in rest:
        if word.text == "--":
            operands += rest
        elif word.text[:1] != "-" or word.text == "-":
            operands.append(word)
        elif (option := _option(word, rest, known)) is None:
            return None
        else:
            options.add(option)
    is_plain = known.operands == "texts" or not known.globs
    if len(operands) > known.most or any(is_plain and word.glob >= 0 for word in operands):
        return None
    if known.operands == "texts":
        return []
    if known.operands == "pattern" and not options & {*known.given}:
        if operands and operands[0].glob >= 0:
            return None
        operands = operands[1:]
    return [word for word in operands if word.text != "-"]


def _option(word: PlainWord, rest: "Iterator[PlainWord]", known: Reads) -> str | None:
    """Return the option's name and consume its value from the rest; None for an unknown option."""
    name, given, _ = word.text.partition("=")
    certain = _CERTAIN_OPTION.match(word.text)
    if word.glob >= 0 and (certain is None or certain.end() > word.glob):  # it may expand to several or other words
        return None
    if known.number and _NUMBER.fullmatch(word.text):
        return "-n"
    if word.text.startswith("--"):
        long = known.long.split()
        if f"{name}=" in long:
            return name if given or _take(rest) else None
        return name if f"{name}[=]" in long or (not given and name in long) else None
    for at, letter in enumerate(word.text[1:], start=1):
        if letter in known.valued:
            return f"-{letter}" if word.text[at + 1 :] or _take(rest) else None
        if letter not in known.flags:
            return None
    return word.text


def _take(rest: "Iterator[PlainWord]") -> bool:
    word = next(rest, None)
    return word is not None and word.glob < 0


def _searched(words: Sequence[PlainWord], place: Place) -> list[PlainWord] | None:
    """Return the start paths of `find`; None if it may do more than print what it finds."""
    if any(word.glob >= 0 and "/" not in word.text[: word.glob] for word in words) and _has_expressions(place):
        return None
    count = next((at for at, word in enumerate(words) if word.text[:1] in ("-", "(", "!")), len(words))
    rest = iter(words[count:])
    for word in rest:
        if word.glob >= 0 or (word.text in _VALUED_TESTS and next(rest, None) is None):
            return None
        if word.text not in _TESTS | _VALUED_TESTS:
            return None
    return list(words[:count]) or [PlainWord(".")]


def _has_expressions(place: Place) -> bool:
    """Return whether a glob in the folder may expand to a name that `find` does not take for a path."""
    names = _names_in(place.root / place.folder)
    return names is None or any(name.startswith("-") or name in _EXPRESSIONS for name in names)


def _names_in(folder: Path) -> list[str] | None:
    """Return the names in a folder; None if there are too many, or it is unreadable."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry, _ in zip(entries, range(_ENTRIES + 1), strict=False)]
    except OSError:
        return None
    return names if len(names) <= _ENTRIES else None


def _of_git(words: Sequence[PlainWord], place: Place) -> list[PlainWord] | None:
    """Return the paths and possible paths among the words; None if git may do more than read."""
    if place.folder != ".":  # another repository may surround it
        return None
    words = words[1:] if words and words[0].text == "--no-pager" else words
    known = GIT.get(words[0].text) if words else None
    if known is None or any(map(_may_check_signatures, words)) or not _is_harmless(place):
        return None
    operands = _operands(words[1:], known)
    if operands is None or any(word.text[:1] == ":" for word in operands):
        return None
    return [
        PlainWord("."),
        *operands,
        *(PlainWord(word.text.rpartition(":")[2]) for word in operands if ":" in word.text),
    ]


def _may_check_signatures(word: PlainWord) -> bool:
    is_option_of_files = word.glob >= 0 and word.text.startswith("-")  # `--format=*`: a file may have that name
    return is_option_of_files or bool(_CHECKS_SIGNATURES.search(word.text))


def _is_harmless(place: Place) -> bool:
    """Return whether the project is its own repository, and settings make git run nothing: the repository's no
    program at all, the user's none of the project's."""
    root = place.root
    found = find_place(root)
    if found is None or not (root / ".git").is_dir() or (root / ".git/hooks/post-index-change").exists():
        return False
    if any(_names_repository(index) for index in (root / ".git").glob("*index*")):
        return False
    return not any(
        names_program(setting.name)
        or setting.name in _FETCHING
        or setting.section in ("pager", "include", "includeif", "protocol")
        or (setting.section, setting.name) in (("core", "hookspath"), ("core", "worktree"))
        or _runs_gpg(setting)
        or _enters_repositories(setting)
        for setting in settings_of(found)
    ) and not any(
        _runs_gpg(setting) or _enters_repositories(setting) or _filters_by_project(setting, place)
        for setting in place.git_settings()
    )


def _enters_repositories(setting: Setting) -> bool:
    """Return whether git enters repositories in the project that a commit links to, also if the index does
    not, and obeys their settings."""
    shows = (setting.section, setting.name) == ("diff", "submodule") and setting.value != "short"
    return shows or (setting.section, setting.name) == ("status", "submodulesummary")


def _runs_gpg(setting: Setting) -> bool:
    shows = (setting.section, setting.name) == ("log", "showsignature")
    return shows or bool(_CHECKS_SIGNATURES.search(setting.value))


def _filters_by_project(setting: Setting, place: Place) -> bool:
    """Return whether it is a filter whose program may be the project's. Git runs no other programs of the user there
    (see sandbox/dotfiles.py)."""
    program = setting.value.split()[:1]
    is_filter = setting.section == "filter" and names_program(setting.name)
    return is_filter and bool(program) and _is_of_project(program[0], place)


def _names_repository(index: Path) -> bool:
    """Return whether an index may list a repository within the project, whose settings git would obey."""
    try:
        with opened(os.open(index, READ)) as file:
            content = file.read(_LARGEST_INDEX + 1)
    except OSError:
        return index.exists() and not index.is_dir()
    return len(content) > _LARGEST_INDEX or _LINK_TO_REPOSITORY in content


def _is_inside(word: PlainWord, place: Place) -> bool:
    """Return whether the path, or everything to which its glob may expand, may be read."""
    if word.glob < 0 or not _may_be_read(word.text, place):  # a glob without matches is left unchanged
        return word.glob < 0 and _may_be_read(word.text, place)
    folder, _, last = word.text.rpartition("/")
    if last.startswith("."):  # it may match `..`
        return False
    ending = _AFTER_PATTERN.search(last)
    if word.glob < len(word.text) - len(last) or not _may_be_read(folder or ".", place):
        return False
    names = _names_in(place.root / place.folder / folder)
    if names is None or (not folder and any(name.startswith("-") for name in names)):
        return False
    matching = (name for name in names if name.endswith(ending[0] if ending else ""))
    return all(_may_be_read(os.path.join(folder, name), place) for name in matching)  # noqa: PTH118 - strings


def _may_be_read(path: str, place: Place) -> bool:
    if path.startswith("~"):  # the shell does not expand it if quoted, but nobody would mean that
        return False
    with suppress(SafetyViolationError):
        leads = place.canonical(os.path.join(place.folder, path))  # noqa: PTH118 - strings
        return not any(is_within(leads, one) or is_within(one, leads) for one in place.closed)
    return False


def _is_of_project(program: str, place: Place) -> bool:
    """Return whether the program may be a file of the project, which anybody may have put there."""
    if "/" in program:
        return True
    for folder in place.search.split(os.pathsep):
        if not folder.startswith("/"):
            return True
        with suppress(OSError):
            real = os.path.realpath(folder)
            leads = os.path.realpath(f"{real}/{program}")
            if any(f"{path}/".startswith(f"{place.root}/") for path in (real, leads)) and os.path.lexists(
                f"{real}/{program}"
            ):
                return True
    return False
