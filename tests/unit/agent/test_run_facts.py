"""What a run notes of its calls, for its end and for whoever asks what was missing."""

import json

from localllm.agent.run_facts import RunFacts
from localllm.agent.run_stats import Tally
from localllm.base.errors import LocalLLMError, SafetyViolationError, ToolExecutionError
from localllm.base.events import ToolCall
from localllm.tools.results import ToolResult, failed


def result(name: str, error: LocalLLMError | None = None, **arguments: str) -> ToolResult:
    call = ToolCall("c", name, json.dumps(arguments))
    if error:
        return failed(call, error)
    return ToolResult(call=call, success=True, payload={}, for_model="Done.", summary="done", acted=True)


def denied(name: str) -> SafetyViolationError:
    return SafetyViolationError("denied_unattended", name=name)


def test_an_edit_that_was_refused_is_none_that_failed() -> None:
    facts = RunFacts()
    facts.note([result("edit_file", denied("edit_file"), file_path="a.py")])
    assert (facts.failed_edit, facts.was_refused) == ("", True)
    facts.note([result("edit_file", ToolExecutionError("edit_empty", path="a.py"), file_path="a.py")])
    assert facts.failed_edit == "a.py"


def test_what_was_refused_is_missing_until_another_of_its_kind_has_done_something() -> None:
    tally = Tally()
    for name, arguments in (("run_command", {"command": "make"}), ("write_file", {"file_path": "a.py"})):
        tally.note(result(name, denied(name), **arguments))
    both = tally.missing
    assert len(both) == 2
    tally.note(result("run_command", command="ls"))
    assert tally.missing == both[1:]
    tally.note(result("write_file", file_path="b.py"))
    assert tally.missing == []
    assert tally.refused == both
