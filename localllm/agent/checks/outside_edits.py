"""Check an answer against an edit that was refused because its file is outside of the project."""

import re
from collections.abc import Iterator

from localllm.agent.checks.findings import Finding
from localllm.agent.checks.run_facts import RunFacts
from localllm.agent.phrases import answer_phrases as phrases
from localllm.agent.phrases import request_phrases
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.safety.path_names import shown

_SAID = late_pattern(
    r"\boutside\b|\b(?:did|do|was|were|is|are|has|have)(?: not|n't) (?:been )?"
    r"(?:writ|creat|chang|sav|mak|made|edit|touch|done|do\b)|の外(?:側|に|部|な|で)|プロジェクト外",
    re.IGNORECASE,
)
"""Matches that nothing was written, or why."""


def findings(request: str, answer: str, facts: RunFacts) -> Iterator[Finding]:
    """Yield the file of the last edit, if nothing was changed, or the request names it. What else a model writes
    outside of the project is its own: a script for a check."""
    path, changed = facts.outside_edit, facts.changed
    name = path.rpartition("/")[2]
    if any(one.rpartition("/")[2] == name for one in changed) or (changed and name not in request):
        return
    if not (request_phrases.asks_for_change(request) or phrases.says_changed(answer)):
        return
    is_said = phrases.admits_failure(answer) or phrases.admits_refusal(answer) or phrases.needs_nothing(answer)
    if not (is_said or _SAID.search(answer)):
        reason = Phrase("the last edit to {path} was not applied", path=shown(path))
        yield Finding("edit_failed", reason, contradicts=True, params={"path": shown(path)})
