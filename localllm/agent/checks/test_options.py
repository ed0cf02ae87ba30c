"""Find the tests that a command leaves out, by the options of its test runner: pytest and unittest, cargo, go, jest and
vitest. What is not clear is not called left out."""

import posixpath
import re
import shlex
from collections.abc import Callable, Collection, Sequence
from fnmatch import fnmatch
from itertools import pairwise

import msgspec

from localllm.agent.checks.command_kinds import command_kind
from localllm.base.lazy_patterns import late_pattern

_WORD = late_pattern(r"\w+(?:\[[^\]]*\])?|\S")
_OPERATORS = ";|&\n"
_TRICKY = late_pattern(r"[()\[\]{}\\]|[*+?][*+?]|(?:[*+?][^*+?]*){4}")
"""Matches patterns that are not read here: their dialects differ, or they take long."""
_LONGEST = 300
"""Characters of a pattern and of what it is compared with."""
_PYTHON_NAME = late_pattern(r"test\w*", re.ASCII)
_GO_NAME = late_pattern(r"(?:Test|Fuzz|Example|Benchmark)(?![a-z])\w*(?:/.*)?", re.ASCII)
_RUST_NAME = late_pattern(r"\w+(?:::\w+)*", re.ASCII)
_NUMBER = late_pattern(r"\d+")


class Wanted(msgspec.Struct, frozen=True):
    """A test that is to run. `name` is as an output has it: `test_add`, `tests::adds`, `TestAdd/zero`, `math > adds`;
    `place` is the file that holds it, "" if unknown; `files` are the names of Python files with tests, at which
    pytest's -k looks as well."""

    name: str
    place: str = ""
    files: Collection[str] = ()


Check = Callable[[list[str], Wanted], bool]


def leaves_out(command: str, test: str, files: Collection[str] = (), place: str = "") -> bool:
    """Return whether a command that runs tests clearly leaves out this one: see `Wanted`."""
    parts = _parts(command)
    is_elsewhere = any(words[0] in ("cd", "pushd") for words in parts)
    wanted = Wanted(test, "" if is_elsewhere else place, files)
    checks = [(_check_of(words), words) for words in parts]
    verdicts = [check[0](check[1], wanted) for check, _words in checks if check]
    is_whole = any(not check and command_kind(shlex.join(words)) == "test" for check, words in checks)
    return bool(verdicts) and all(verdicts) and not is_whole


def _parts(command: str) -> list[list[str]]:
    """Return the words of each command in a line; empty if its quotes are not closed."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    parts: list[list[str]] = [[]]
    try:
        for word in lexer:
            if set(word) <= set(_OPERATORS):
                parts.append([])
            else:
                parts[-1].append(word)
    except ValueError:
        return []
    return [words for words in parts if words]


def _check_of(words: list[str]) -> tuple[Check, list[str]] | None:
    """Return the check of the test runner that is started, with its arguments; None for another command."""
    names = [word.rpartition("/")[2] for word in words]
    for number, name in enumerate(names):
        rest = words[number + 1 :]
        after = [word for word in rest if not word.startswith("+")][:2]
        match name, after:
            case ("pytest" | "py.test" | "unittest", _):
                return _pytest, words[number:]
            case ("jest" | "vitest", _):
                return _jest, rest[1:] if rest[:1] in (["run"], ["watch"]) else rest
            case ("cargo", ["test" | "t", *_]):
                return _cargo, rest[rest.index(after[0]) + 1 :]
            case ("cargo", ["nextest", "run"]):
                return _cargo, rest[rest.index("run") + 1 :]
            case ("go", ["test", *_]):
                return _go, rest[1:]
            case ("npm", ["test" | "t" | "run", *_]):
                return (_jest, rest[rest.index("--") + 1 :]) if "--" in rest else None
            case ("yarn" | "pnpm" | "bun", ["test", *_]):
                return _jest, [word for word in rest[1:] if word != "--"]
            case _:
                pass
    return None


def _values(words: Sequence[str], *options: str) -> list[str]:
    """Return the values of an option, written apart or behind `=`."""
    apart = [after for word, after in pairwise(words) if word in options]
    return apart + [word.partition("=")[2] for word in words if word.partition("=")[0] in options and "=" in word]


def _positional(words: Sequence[str], flags: Collection[str] = (), valued: Collection[str] | None = None) -> list[str]:
    """Return the words that belong to no option: with `valued`, only these options take the next word as their value,
    else all but the `flags`."""
    found: list[str] = []
    for before, word in pairwise(("", *words)):
        takes = before.startswith("-") and "=" not in before
        is_value = takes and (before in valued if valued is not None else before not in flags)
        if word[:1] != "-" and not is_value:
            found.append(word)
    return found


def _searches(pattern: str, text: str, *, ignore_case: bool = False) -> bool | None:
    """Return whether a regular expression is found in a text; None if that is not clear."""
    if len(pattern) > _LONGEST or _TRICKY.search(pattern):
        return None
    try:
        return bool(re.search(pattern, text[:_LONGEST], re.IGNORECASE if ignore_case else 0))
    except re.error:
        return None


# --- pytest and unittest


def _pytest(words: list[str], wanted: Wanted) -> bool:
    test, dropped = wanted.name, _values(words, "--deselect")
    if not _PYTHON_NAME.fullmatch(test):
        return False
    selected = _values(words, "-k")
    if selected and not _selects(selected[-1], test, wanted.files):
        return True
    if any(_last(one) == test for one in dropped):
        return True
    ignored = [posixpath.normpath(path) for path in _values(words, "--ignore")]
    if wanted.place and any(wanted.place == path or wanted.place.startswith(f"{path}/") for path in ignored):
        return True
    named = [word for word in words[1:] if word[0] != "-" and word not in (*dropped, *_values(words, "--ignore"))]
    places = [word for word in named if "::" in word]
    others = [posixpath.normpath(word) for word in named if word.endswith((".py", "/"))]
    if others and not places:
        is_plain = wanted.place and all(word.endswith(".py") for word in named)
        return bool(is_plain) and wanted.place not in others
    names = [_last(place) for place in places]
    return bool(names) and not others and all(name.startswith("test") and name != test for name in names)


def _last(place: str) -> str:
    return place.rpartition("::")[2].partition("[")[0]


def _selects(expression: str, test: str, files: Collection[str]) -> bool:
    """Return whether -k may select a test: one of its words is in the test's name, or in that of any of the `files`,
    and none behind `not` is."""
    words = [word.lower() for word in _WORD.findall(expression)]
    negated = [after for word, after in pairwise(words) if word == "not"]
    positive = [word for word in words if word not in ("and", "or", "not", "(", ")", *negated)]
    if any(word in test.lower() for word in negated):
        return False
    return not positive or any(word in name.lower() for word in positive for name in (test, *files))


# --- cargo: cargo test [OPTIONS] [NAME] [-- [NAMES] [--skip NAME] [--exact]]

_CARGO_VALUES = frozenset(
    "-p --package --exclude --bin --example --test --bench -F --features -j --jobs --profile --target --target-dir"
    " --manifest-path --message-format --color --config -Z --lockfile-path -E --filterset --filter-expr -P --partition"
    " --retries --test-threads".split()
)
_LIBTEST_VALUES = frozenset("--skip --test-threads --logfile --color --format --shuffle-seed -Z".split())
_ALL_TARGETS = ("--lib", "--bins", "--tests", "--examples", "--benches", "--doc")


def _cargo(words: list[str], wanted: Wanted) -> bool:
    if not _RUST_NAME.fullmatch(wanted.name) or _values(words, "-E", "--filterset", "--filter-expr"):
        return False
    at = words.index("--") if "--" in words else len(words)
    before, after = words[:at], words[at + 1 :]
    is_exact = "--exact" in after
    if any(_has_name(skipped, wanted.name, is_exact) for skipped in _values(after, "--skip")):
        return True
    named = [*_positional(before, valued=_CARGO_VALUES), *_positional(after, valued=_LIBTEST_VALUES)]
    if named and not any(_has_name(one, wanted.name, is_exact) or _may_be_module(one, wanted) for one in named):
        return True
    return _is_other_target(before, wanted)


def _has_name(part: str, name: str, is_exact: bool) -> bool:
    """Return whether a filter of cargo selects the test `name`, of which the modules may be missing."""
    last = part.rpartition("::")[2]
    if is_exact:
        return name in (part, last) if "::" not in name else name == part
    return part in name or ("::" not in name and last != "" and last in name)


def _may_be_module(part: str, wanted: Wanted) -> bool:
    """Return whether a filter may name a module in which the test is, as its own modules are not known."""
    if "::" in wanted.name or part.startswith("test_"):
        return False
    return not wanted.place or part.rstrip(":") in ("test", "tests", *re.split(r"[/.]", wanted.place))


def _is_other_target(words: list[str], wanted: Wanted) -> bool:
    """Return whether options choose targets of the package of which none holds the test."""
    chosen = [word for word in words if word in _ALL_TARGETS]
    binaries, tests = _values(words, "--bin"), _values(words, "--test")
    others = [*_values(words, "--example"), *_values(words, "--bench")]
    if "--all-targets" in words or not (chosen or binaries or tests or others):
        return False
    if chosen == ["--doc"] and not (binaries or tests or others):
        return True
    folders = wanted.place.split("/")
    if "src" in folders:
        return not (binaries or {"--lib", "--bins", "--tests"} & {*chosen})
    if "tests" not in folders[:-1]:
        return False
    target = folders[folders.index("tests") + 1].removesuffix(".rs")
    return "--tests" not in chosen and not any(fnmatch(target, test) for test in tests)


# --- go: go test [flags] [packages] [-run REGEXP] [-skip REGEXP]

_GO_FLAGS = frozenset(
    "-v -race -cover -short -failfast -json -a -n -x -c -i -msan -asan -work -trimpath -fullpath -benchmem -linkshared"
    " -modcacherw -buildvcs".split()
)


def _go(words: list[str], wanted: Wanted) -> bool:
    if not _GO_NAME.fullmatch(wanted.name):
        return False
    words = [re.sub(r"^--?(?:test\.)?(?=\w)", "-", word) for word in words]
    levels = wanted.name.split("/")
    run, skip = _values(words, "-run"), _values(words, "-skip")
    if run and all(_matches_levels(one, levels) is False for one in run[-1].split("|")):
        return True
    if skip and any(_matches_levels(one, levels, whole=True) for one in skip[-1].split("|")):
        return True
    if not wanted.place or _values(words, "-C"):
        return False
    packages = _positional(words, _GO_FLAGS) or ["."]
    return not any(_holds_package(package, posixpath.dirname(wanted.place) or ".") for package in packages)


def _matches_levels(pattern: str, levels: Sequence[str], *, whole: bool = False) -> bool | None:
    """Return whether go's pattern, with a part for each level of subtests, matches a test: with `whole`, not if the
    pattern is about subtests of it. None if that is not clear."""
    parts = pattern.split("/")
    if whole and len(parts) > len(levels):
        return False
    found = [_searches(part, level) for part, level in zip(parts, levels, strict=False)]
    return False if False in found else None if None in found else True


def _holds_package(package: str, folder: str) -> bool:
    """Return whether a package of go's command line may be that in `folder`."""
    if not package.startswith(".") or package.endswith(".go"):
        return True
    base, dots, _rest = package.partition("...")
    base = posixpath.normpath(base)
    return folder == base or (bool(dots) and (base == "." or folder.startswith(f"{base}/")))


# --- jest and vitest: [FILES] [-t REGEXP] [--testPathIgnorePatterns REGEXP …] [--exclude GLOB]

_JEST_FLAGS = frozenset(
    "--ci --coverage --verbose --runInBand -i --silent --no-cache --bail -b --run --passWithNoTests --no-coverage -u"
    " --updateSnapshot --expand -e --forceExit --detectOpenHandles --colors --no-color --no-watch --json".split()
)


def _jest(words: list[str], wanted: Wanted) -> bool:
    if (_PYTHON_NAME.fullmatch(wanted.name) and "_" in wanted.name) or "::" in wanted.name:
        return False
    patterns = _values(words, "-t", "--testNamePattern", "--test-name-pattern")
    full_name = wanted.name.replace(" > ", " ")
    is_pattern = patterns and not _NUMBER.fullmatch(patterns[-1])  # mocha's -t are milliseconds
    if is_pattern and _searches(patterns[-1], full_name, ignore_case=True) is False:
        return True
    if not wanted.place:
        return False
    path = f"/{wanted.place}"
    ignored = [*_several(words, "--testPathIgnorePatterns"), *_values(words, "--testPathIgnorePatterns")]
    if any(_searches(one.removeprefix("<rootDir>"), path) for one in ignored):
        return True
    if any(fnmatch(path, one) or fnmatch(wanted.place, one) for one in _values(words, "--exclude")):
        return True
    files = [*_positional(words, _JEST_FLAGS), *_values(words, "--testPathPattern", "--testPathPatterns")]
    files = [one for one in files if one not in ignored]
    named = [_searches(one.removeprefix("."), path, ignore_case=True) for one in files]
    return bool(named) and all(found is False for found in named)


def _several(words: Sequence[str], option: str) -> list[str]:
    """Return the words behind an option that takes several, up to the next option."""
    if option not in words:
        return []
    values: list[str] = []
    for word in words[words.index(option) + 1 :]:
        if word.startswith("-"):
            break
        values.append(word)
    return values
