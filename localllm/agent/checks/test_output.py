"""Read from the output of test runners whether any test was run."""

import re

from localllm.base.lazy_patterns import late_pattern

LOOKED_AT = 8_000
"""Characters examined at the end of an output, where test runners report the result."""

_NO_TESTS = (
    r"\bRan 0 tests|\bno tests ran|\bcollected 0 items(?! / \d+ error)|^[#ℹ] tests 0$|\bNo tests? (?:files )?found"
    r"|\[no test files\]|^=* ?\d+ deselected in |^ *0 passing\b|\bExecuted 0 tests\b|\bNo tests (?:were found|executed)"
    r"|\bNo test is available in|\b0 examples, 0 failures$|\bNo test matches the given testcase filter"
    r"|\bZero tests ran\b|^\[INFO\] No tests to run\.$"
)
"""Matches what runners say that found no test; not that they could not read one."""
_NOTHING_TO_TEST = late_pattern(
    rf"{_NO_TESTS}"
    r"|^ERROR: file or directory not found: |\bMissing script: \"?test|No rule to make target [^\n,]{1,200}\. +Stop\.",
    re.MULTILINE | re.IGNORECASE,
)
_RAN = late_pattern(
    r"\b[1-9]\d* (?:passed|failed|passing|failing)\b|^(?:not )?ok \d|^ok[ \t]+\S+[ \t]+[\d(]|^--- FAIL|^FAIL\t"
    r"|\btest result: |\bRan [1-9]\d* tests?\b|\b[1-9]\d* examples?, \d|^FAILURES!|\b(?:Tests|Failed): +\d"
    r"|\bTests run: [1-9]|\d% tests passed|\bBUILD (?:SUCCESSFUL|FAILED)\b|\b\d+ tests? completed"
    r"|:\d+:\d+: (?:fatal )?error: ",
    re.MULTILINE,
)
"""Matches the result of tests or compilers that were run, in whose output anything may stand."""

_RESULTS = late_pattern(  # what could not be compiled is a result as well
    r"^test result: [^\n]{1,200}|^(?:ok|FAIL)[ \t]+\S[^\n]{0,300}|^--- FAIL|^[ \t]*Tests:? {2,}\d[^\n]{0,200}"
    r"|\b[1-9]\d* (?:passed|failed|passing|failing)\b"
    r"|^=* ?[1-9]\d* skipped(?:,| in \d)[^\n]{0,200}|^Ran [1-9]\d* tests? in [^\n]{1,50}\n+OK[^\n]{0,100}"
    r"|^[1-9]\d* examples?, [^\n]{1,100}|^Tests: [1-9]\d*, [^\n]{1,200}|^(?:Passed|Failed|Skipped)! +- [^\n]{1,200}"
    r"|^(?:\[\w{1,20}\] )?Tests run: [1-9]\d*, [^\n]{1,200}|^> Task :(?:\S{0,200}:)?\w{0,60}[tT]est(?: NO-SOURCE)?$"
    r"|^> No tests found for given includes|^[#ℹ] pass \d+\n[#ℹ] fail \d+"
    r"|^[ \t]*Executed [1-9]\d* tests?, with [^\n]{1,100}|^error(?:\[E\d+\])?: |^\[ERROR\] ",
    re.MULTILINE,
)
_EMPTY_RESULT = late_pattern(
    r"test result: ok\. 0 passed; 0 failed;|ok[ \t].*\[no tests to run\]"
    r"|[ \t]*Tests:? {2,}\d(?![^\n]*(?:passed|failed))"
    r"|=* ?\d+ skipped(?:, \d+ (?:deselected|warnings?))* in \d|Ran (\d+) .*\n+OK \(skipped=\1\)"
    r"|(\d+) examples?, 0 failures, \2 pending$|Tests: (\d+), .*\b(?:Skipped|Incomplete): \3\.|Skipped!"
    r"|(?:\[\w+\] )?Tests run: (\d+), Failures: 0, Errors: 0, Skipped: \4\b|> Task .* NO-SOURCE|> No tests"
    r"|ok \d+ .*# SKIP\b|[#ℹ] pass 0\n[#ℹ] fail 0|ok \| 0 passed\b.* 0 failed\b"
    r"|[ \t]*Executed (\d+) tests?, with \5 tests? skipped and 0 failures"
)
"""Matches the results of cargo, go, jest, vitest, pytest, unittest, rspec, phpunit, dotnet, Maven, Gradle, node, deno
and XCTest where each test was skipped or left out by options, or there is none."""
_GO_RAN, _GO_SKIPPED = late_pattern(r"^ *--- (?:PASS|FAIL): |^FAIL\b", re.MULTILINE), "--- SKIP: "


def has_result(end: str) -> bool:
    """Return whether the end of an output has the result of tests or compilers that were run."""
    return _RAN.search(end) is not None


def has_nothing_to_test(end: str) -> bool:
    """Return whether it says that there is no test, or nothing that would run them, and has no result."""
    return _NOTHING_TO_TEST.search(end) is not None and not has_result(end)


def found_no_tests(output: str) -> bool:
    """Return whether a test runner says that it found no test, and none was run."""
    end = output[-LOOKED_AT:]
    is_said = bool(re.search(_NO_TESTS, end, re.MULTILINE | re.IGNORECASE)) and not has_result(end)
    return is_said or ran_none(end)


def ran_none(end: str) -> bool:
    """Return whether there are results of tests, and each says that none was run."""
    if _GO_SKIPPED in end and not _GO_RAN.search(end):
        return True
    results = _RESULTS.findall(end)
    return bool(results) and all(map(_EMPTY_RESULT.match, results))
