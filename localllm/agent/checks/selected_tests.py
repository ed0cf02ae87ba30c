"""Find which tests have failed, which a request names, and where they are."""

import re
from collections.abc import Collection

from localllm.base.directory_walk import ProjectListing
from localllm.base.lazy_patterns import late_pattern
from localllm.base.regular_files import read_beginning

_FAILED_TESTS = late_pattern(
    r"^FAILED [^\s:]{1,300}::(?:\w{1,100}::){0,3}(\w{1,100})|^(?:FAIL|ERROR): (test\w{0,100})\b"
    r"|^_{3,60} (?:\w{1,100}\.){0,3}(test\w{0,100})(?:\[[^\n]{0,200}\])? _{3,60}$"
    r"|^test (\w[\w:]{0,200}) \.\.\. FAILED$|^ {0,12}--- FAIL: ((?:Test|Fuzz|Example)\w{0,100}(?:/[^\s()]{1,200})?) \("
    r"|^ {1,4}● (?!Console$|Test suite failed|Cannot log|process\.exit)([^\n]{1,200}[^\n:])$"
    r"|^not ok \d{1,5} - (?!.{1,200} # (?:SKIP|TODO)\b)([^\n]{1,200})$"
    r"|^ {0,12}✖ (?!failing tests:$)([^\n]{1,200}) \([\d.]{1,20}ms\)$"
    r"|^ ?FAIL +(?:\|[^|\n]{1,40}\| )?[^\s>]{1,200} > ([^\n]{1,200})$",
    re.MULTILINE,
)
"""Matches what pytest, unittest, cargo, go, TAP, node, jest and vitest say of a test that has failed."""
_NAMED_TESTS = late_pattern(r"(?<![\w/.])(?:\w{1,100}(?:::|\.)){0,3}(test_\w{1,100})\b(?!\.\w|/)", re.ASCII)
_TEST_FILE = late_pattern(r"test_[\w-]{1,200}\.py|[\w-]{1,200}_test\.py")
_TEST_PATH = late_pattern(
    r"(?:^|/)(?:tests?|__tests__|specs?)/|(?:^|/)tests?[_.-][^/]{1,200}$|[_.-](?:tests?|spec)\.\w{1,5}$|Tests?\.(?:java|kt|cs)$"
)
_CODE = (".py", ".go", ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts")
_MOST_READ, _LARGEST = 500, 200_000
"""Files that are searched for a test, and bytes of each."""
_LOOKED_AT = 8_000
"""Characters of an output that are looked at."""
_MOST = 20


def failed_tests(output: str) -> tuple[str, ...]:
    """Return the names of the tests that an output says have failed, the titles of jest and vitest with ` > `."""
    found = [match[match.lastindex or 0].strip() for match in _FAILED_TESTS.finditer(output[-_LOOKED_AT:])]
    found = [name.replace(" › ", " > ") for name in found]
    return tuple(dict.fromkeys(found))[:_MOST]


def named_tests(request: str) -> tuple[str, ...]:
    """Return the names of tests in a request."""
    return tuple(dict.fromkeys(_NAMED_TESTS.findall(request)))[:_MOST]


def is_test(path: str) -> bool:
    """Return whether a file holds tests, by its path."""
    return bool(_TEST_PATH.search(path))


def files_with_tests(listing: ProjectListing) -> list[str]:
    """Return the names of a project's Python files with tests, without the ending; of a very large one not all."""
    try:
        names = [entry.path.rpartition("/")[2] for entry in listing.entries]
    except OSError:
        return []
    return list({name.removesuffix(".py") for name in names if _TEST_FILE.fullmatch(name)})


def places_of(listing: ProjectListing, tests: Collection[str]) -> dict[str, str]:
    """Return the file that holds each of these tests, "" if several do; of a very large project not all. One that no
    file holds may have been removed or renamed, or be no test."""
    wanted = {test: _definition(test) for test in tests}
    places: dict[str, set[str]] = {test: set() for test in tests}
    try:
        paths = [entry.path for entry in listing.entries if not entry.is_link and _may_hold(entry.path)]
    except OSError:
        return {}
    for path in paths[:_MOST_READ]:
        try:
            text = read_beginning(listing.root / path, _LARGEST).decode("utf-8", "replace")
        except OSError:  # deleted since, or closed to the user: the test may be there
            return {}
        for test, forms in wanted.items():
            if any(form in text for form in forms):
                places[test].add(path)
    return {test: min(found) if len(found) == 1 else "" for test, found in places.items() if found}


def _may_hold(path: str) -> bool:
    return path.endswith(".rs") or (is_test(path) and path.endswith(_CODE))


def _definition(test: str) -> list[str]:
    """Return how files may define a test."""
    title, name = test.rpartition(" > ")[2], test.rpartition("::")[2].partition("/")[0]
    return [f"def {name}(", f"fn {name}(", f"func {name}(", *(f"{mark}{title}{mark}" for mark in "'\"`")]
