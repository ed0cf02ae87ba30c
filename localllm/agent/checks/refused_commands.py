"""Find that the only command of a run was refused, and that the answer tells of it as done."""

from collections.abc import Iterator

from localllm.agent.checks.findings import Finding, short_command
from localllm.agent.checks.run_facts import RunFacts
from localllm.agent.middleware import RunState
from localllm.agent.phrases import answer_phrases as phrases
from localllm.agent.phrases.admitted_failures import speaks_of_failure
from localllm.agent.phrases.phrase_search import sentences_in
from localllm.agent.phrases.request_phrases import asks_for_words
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import AssistantMessage, UserMessage, arguments_in

_DONE = late_pattern(
    r"(?i)^(?:(?:done|all|now|ok|okay)\b[.,:!]? ?)?(?:\w{2,20}ed|done|undone)\b"
    r"|\b(?:i|we)(?:'ve| have)? (?:\w{2,20}ly |now )?"
    r"(?:\w{2,20}ed|did|undid|reset|set|put|ran|made|built|sent|cut|took|wrote)\b"
    r"|\b(?:is|are|was|were|has been|have been) (?:now |\w{2,20}ly )?"
    r"(?:\w{2,20}ed|done|undone|gone|reset|set|put|run|made|built|sent|taken|written)\b"
    r"|(?:[しりきいえみけせてれべ]|っ)ました|済みです|完了"
)
_OPEN = late_pattern(
    r"(?i)\b(?:can|could|would|should|may|might|will|if|when|please|first|need\w*)\b|\?$|か[。？?]?$|れば|たら"
)


def findings(state: RunState, text: str, facts: RunFacts) -> Iterator[Finding]:
    """Yield the command that the answer tells of as run, where none was, nor a file changed."""
    if not facts.was_refused or facts.has_begun or facts.has_changed or asks_for_words(state.query):
        return
    if phrases.admits_refusal(text) or speaks_of_failure(text, ""):
        return
    if not any(_DONE.search(one) and not _OPEN.search(one) for one in sentences_in(text)):
        return
    if command := _last_command(state):
        shown = short_command(command)
        reason = Phrase("the answer claims what was refused ({command})", command=shown)
        yield Finding("command_refused", reason, contradicts=True, params={"command": shown})


def _last_command(state: RunState) -> str:
    """Return the newest command of the model since the user spoke."""
    for one in reversed(state.history.messages):
        if isinstance(one, UserMessage) and state.query in one.text:
            break
        if isinstance(one, AssistantMessage):
            for call in reversed(one.tool_calls):
                if call.name == "run_command":
                    return str(arguments_in(call.arguments).get("command") or "")
    return ""
