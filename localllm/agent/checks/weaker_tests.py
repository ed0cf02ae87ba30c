"""Find out whether tests check less than before a run that was to fix something."""

import re
from collections.abc import Iterator, Sequence

from localllm.agent.checks.findings import Finding
from localllm.agent.checks.selected_tests import is_test
from localllm.agent.phrases import answer_phrases as phrases
from localllm.agent.phrases import requested_checks
from localllm.agent.phrases.phrase_search import has_any
from localllm.base.i18n import N_, Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.safety.path_names import shown
from localllm.tools.change_history import FileDiff

_CHECK_GONE = late_pattern(
    r"^-(?!--)[^\n]{0,300}(?:assert|expect|should|raises|\bdef test|\b(?:it|test)\()"
    r"|^\+(?!\+\+)[^\n]{0,300}(?:\bskip|xfail|@unittest\.expectedFailure|\bxit\(|@Ignore|@Disabled)",
    re.MULTILINE | re.IGNORECASE,
)
_CHECK = late_pattern(
    r"^([-+])(?!--|\+\+)[^\n]{0,300}(?:assert|\bexpect|should|raises|\bt\.(?:Error|Fatal))",
    re.MULTILINE | re.IGNORECASE,
)
_SKIPS = late_pattern(
    r"^\+(?!\+\+)[^\n]{0,300}(?:\bskip|xfail|expectedFailure|\bxit\(|@Ignore|@Disabled)", re.MULTILINE | re.IGNORECASE
)
_TESTS_ALONE, _CHECKS_GONE = N_("only tests were changed: {paths}"), N_("{paths} checks less than before")
_MOST_SHOWN = 3


def findings(
    changed: Sequence[str], diffs: Sequence[FileDiff], request: str, answer: str, *, has_failed: bool
) -> Iterator[Finding]:
    """Yield the files of tests that check something else than before, where no other code of those `changed` differs,
    or less; not if tests were to be changed, or the answer says so. `has_failed`: whether a test has failed."""
    tests = [*filter(is_test, changed)]
    is_alone = len(tests) == len(changed)
    is_fix = requested_checks.asks_for_passing(request) or has_failed or (not is_alone and orders_fix(request))
    if not is_fix or requested_checks.asks_for_tests(request):
        return
    if phrases.says_test_was_changed(answer, [path.rpartition("/")[2] for path in tests]):
        return
    is_weaker = weakens if is_alone else takes_checks
    if weaker := [one.path for one in diffs if one.path in tests and is_weaker(one.diff)]:
        paths = ", ".join(map(shown, weaker[:_MOST_SHOWN]))
        name, reason = ("tests_alone", _TESTS_ALONE) if is_alone else ("checks_gone", _CHECKS_GONE)
        yield Finding(name, Phrase(reason, paths=paths), contradicts=False, params={"paths": paths})


def weakens(diff: str) -> bool:
    """Return whether a diff of tests takes away or alters what they check, or skips them."""
    return bool(_CHECK_GONE.search(diff))


def takes_checks(diff: str) -> bool:
    """Return whether a diff of tests has fewer checks than before, or skips some."""
    lost = sum(-1 if sign == "+" else 1 for sign in _CHECK.findall(diff))
    return lost > 0 or bool(_SKIPS.search(diff))


def orders_fix(request: str) -> bool:
    """Return whether something is to be repaired, and nothing to be removed."""
    is_fix = has_any(request, ("fix", "repair", "crash", "fail", "bug", "直し", "修正", "失敗", "バグ"))
    return is_fix and not has_any(request, ("remov", "delet", "drop", "削除", "廃止", "消し"))
