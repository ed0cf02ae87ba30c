"""Check an answer against edits that failed, or were refused because their file is outside of the project."""

import re
from collections.abc import Iterator

import msgspec

from localllm.agent.checks.findings import Finding
from localllm.agent.checks.run_facts import RunFacts
from localllm.agent.middleware import RunState
from localllm.agent.phrases import answer_phrases as phrases
from localllm.agent.phrases import request_phrases
from localllm.base.i18n import Phrase
from localllm.base.jsontext import decode_json
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import AssistantMessage
from localllm.safety.path_names import shown

_SAID = late_pattern(
    r"\boutside\b|\b(?:did|do|was|were|is|are|has|have)(?: not|n't) (?:been )?"
    r"(?:writ|creat|chang|sav|mak|made|edit|touch|done|do\b)|の外(?:側|に|部|な|で)|プロジェクト外",
    re.IGNORECASE,
)
"""Matches that nothing was written, or why."""


def findings(state: RunState, answer: str, facts: RunFacts, *, is_told: bool) -> Iterator[Finding]:
    """Yield the file of the last edit, if that failed. `is_told`: the model was told so before."""
    if path := facts.failed_edit:
        is_moot = phrases.needs_nothing(answer) and (is_told or _may_be_moot(state, path))
        is_denied = not is_moot and not phrases.admits_failure(answer)
        reason = Phrase("the last edit to {path} was not applied", path=path)
        yield Finding("edit_failed" if is_denied else None, reason, is_denied, {"path": path})
    elif facts.outside_edit:
        yield from _of_outside(state.goal, answer, facts)


def _may_be_moot(state: RunState, path: str) -> bool:
    """Return whether the model has read the file since the edit failed, or the edit was to take away what is not
    there: then it can know that nothing is needed."""
    said = [one for one in state.history.messages if isinstance(one, AssistantMessage)]
    for call in (call for one in reversed(said) for call in reversed(one.tool_calls)):
        try:
            given = decode_json(call.arguments or "{}", dict[str, object])
        except msgspec.DecodeError:
            continue
        if str(given.get("file_path")) != path:
            continue
        if "new_string" in given:
            return not str(given["new_string"]).strip()
        return call.name == "read_file"
    return False


def _of_outside(request: str, answer: str, facts: RunFacts) -> Iterator[Finding]:
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
