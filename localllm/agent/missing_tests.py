"""Say that a test or build could not be run, and why, or that it found no tests."""

from localllm.agent.run_facts import RunFacts
from localllm.base.i18n import Phrase, _
from localllm.text.sanitising import shorten

_LONGEST_COMMAND, _LONGEST_WHY = 60, 120


def nothing_run(facts: RunFacts, paths: str) -> Phrase:
    """Return for the user that nothing was run after `paths` changed, or could not be."""
    if facts.not_run and not facts.empty_test:
        return _could_not_be_run(facts, facts.not_run, paths)
    return Phrase("nothing was run after {paths} changed", paths=paths)


def no_result(facts: RunFacts, paths: str, *, is_claimed: bool) -> Phrase | None:
    """Return for the user that the newest test found none, or could not be run though the answer claims that it passed;
    None otherwise. `paths` are what was changed before it."""
    if facts.empty_test:
        return Phrase("{command} found no tests", command=_short(facts.empty_test))
    return _could_not_be_run(facts, facts.missing_test, paths) if facts.missing_test and is_claimed else None


def said_of_no_result(facts: RunFacts) -> tuple[str, dict[str, str]] | None:
    """Return the remark for the model on such a test, and its parameters."""
    if facts.empty_test:
        return "no_tests_found", {"command": _short(facts.empty_test)}
    if facts.missing_test:
        why = shorten(facts.why_not_run, _LONGEST_WHY) or "no such program"
        return "cannot_run", {"command": _short(facts.missing_test), "why": why}
    return None


def _could_not_be_run(facts: RunFacts, command: str, paths: str) -> Phrase:
    command, why = _short(command), shorten(facts.why_not_run, _LONGEST_WHY)
    if not paths:
        return Phrase("{command} could not be run: {why}", command=command, why=why or _("no such program"))
    if why:
        return Phrase("{command} could not be run after {paths} changed: {why}", command=command, paths=paths, why=why)
    return Phrase("{command} could not be run after {paths} changed", command=command, paths=paths)


def _short(command: str) -> str:
    return shorten(" ".join(command.split()), _LONGEST_COMMAND)
