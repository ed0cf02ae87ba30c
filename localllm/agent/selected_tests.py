"""Find the tests that a command leaves out, by its words."""

import re
import shlex
from collections.abc import Collection
from itertools import islice, pairwise
from pathlib import Path

from localllm.base.directory_walk import walk
from localllm.base.lazy_patterns import late_pattern

_FAILED_TESTS = late_pattern(
    r"^FAILED [^\s:]{1,300}::(?:\w{1,100}::){0,3}(\w{1,100})|^(?:FAIL|ERROR): (test\w{0,100})\b"
    r"|^_{3,60} (?:\w{1,100}\.){0,3}(test\w{0,100})(?:\[[^\n]{0,200}\])? _{3,60}$",
    re.MULTILINE,
)
_NAMED_TESTS = late_pattern(r"(?<![\w/.])(?:\w{1,100}(?:::|\.)){0,3}(test_\w{1,100})\b(?!\.\w|/)", re.ASCII)
_WORD = late_pattern(r"\w+(?:\[[^\]]*\])?|\S")
_PARTS = late_pattern(r"&&|\|\||[;|\n]")
_TEST_FILE = late_pattern(r"test_[\w-]{1,200}\.py|[\w-]{1,200}_test\.py")
_TEST_PATH = late_pattern(
    r"(?:^|/)(?:tests?|__tests__|specs?)/|(?:^|/)tests?[_.-][^/]{1,200}$|[_.-](?:tests?|spec)\.\w{1,5}$|Tests?\.(?:java|kt|cs)$"
)
_CHECK_GONE = late_pattern(
    r"^-(?!--)[^\n]{0,300}(?:assert|expect|should|raises|\bdef test|\b(?:it|test)\()"
    r"|^\+(?!\+\+)[^\n]{0,300}(?:\bskip|xfail|@unittest\.expectedFailure|\bxit\(|@Ignore|@Disabled)",
    re.MULTILINE | re.IGNORECASE,
)
_MOST_SEARCHED = 5_000
_LOOKED_AT = 8_000
"""Characters of an output that are looked at."""
_MOST = 20


def failed_tests(output: str) -> tuple[str, ...]:
    """Return the names of the tests that an output of pytest or unittest says have failed."""
    found = [match[match.lastindex or 0] for match in _FAILED_TESTS.finditer(output[-_LOOKED_AT:])]
    return tuple(dict.fromkeys(found))[:_MOST]


def named_tests(request: str) -> tuple[str, ...]:
    """Return the names of tests in a request."""
    return tuple(dict.fromkeys(_NAMED_TESTS.findall(request)))[:_MOST]


def is_test(path: str) -> bool:
    """Return whether a file holds tests, by its path."""
    return bool(_TEST_PATH.search(path))


def weakens(diff: str) -> bool:
    """Return whether a diff of tests takes away or alters what they check, or skips them."""
    return bool(_CHECK_GONE.search(diff))


def leaves_out(command: str, test: str, files: Collection[str] = ()) -> bool:
    """Return whether a command that runs tests clearly leaves out the one of this name: by -k, --deselect, or as it
    names others of a file. `files`: the names of those with tests, which -k looks at as well."""
    runs = [words for part in _PARTS.split(command) if (words := _words(part)) and _runs_tests(words)]
    return bool(runs) and all(_is_left_out(words, test, files) for words in runs)


def files_with_tests(root: Path) -> list[str]:
    """Return the names of a project's Python files with tests, without the ending; of a very large one not all."""
    try:
        names = [entry.path.rpartition("/")[2] for entry in islice(walk(root, exclude=()), _MOST_SEARCHED)]
    except OSError:
        return []
    return list({name.removesuffix(".py") for name in names if _TEST_FILE.fullmatch(name)})


def _words(part: str) -> list[str]:
    try:
        return shlex.split(part)
    except ValueError:
        return []


def _runs_tests(words: list[str]) -> bool:
    return any(word.rpartition("/")[2] in ("pytest", "py.test", "unittest") for word in words)


def _is_left_out(words: list[str], test: str, files: Collection[str]) -> bool:
    selected = _values(words, "-k")
    if selected and not _selects(selected[-1], test, files):
        return True
    if any(_last(one) == test for one in _values(words, "--deselect")):
        return True
    places = [word for word in words if "::" in word and word[0] != "-" and word not in _values(words, "--deselect")]
    names = [_last(place) for place in places]
    is_whole = any(word.endswith((".py", "/")) for word in words[1:])
    return bool(names) and not is_whole and all(name.startswith("test") and name != test for name in names)


def _values(words: list[str], option: str) -> list[str]:
    """Return the values of an option, written apart or behind `=`."""
    apart = [after for word, after in pairwise(words) if word == option]
    return apart + [word.partition("=")[2] for word in words if word.startswith(f"{option}=")]


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
