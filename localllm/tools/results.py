"""What came of a call: for the model, for whoever watches, and for the journal."""

from collections.abc import Sequence
from typing import Any

import msgspec

from localllm.base.errors import LocalLLMError, SafetyViolationError
from localllm.base.events import Json, ToolCall, ToolFinished
from localllm.llm.messages import Image
from localllm.tools.definition import Preview, ToolOutput
from localllm.tools.guard.change_log import Change
from localllm.tools.guard.journal import JournalEntry, digest


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a call: `for_model` goes into the history, the rest into the event and the log. `changes`: the
    states in which it left the files it has changed."""

    call: ToolCall
    success: bool
    payload: dict[str, Json]
    for_model: str
    summary: str
    error: LocalLLMError | None = None
    images: tuple[Image, ...] = ()
    changes: dict[str, str] = {}

    @property
    def refused(self) -> bool:
        """Whether it did not run because safety, or a person, said no."""
        return isinstance(self.error, SafetyViolationError)

    def event(self) -> ToolFinished:
        """The result as it is told to whoever watches."""
        return ToolFinished(
            call_id=self.call.id,
            name=self.call.name,
            success=self.success,
            summary=self.summary,
            payload=self.payload,
            error_code=self.error.code if self.error else "",
        )


def succeeded(call: ToolCall, output: ToolOutput, preview: Preview | None) -> ToolResult:
    """The result of a call that ran, with the difference that was shown before it, if one was."""
    diff = {"diff": preview.detail} if preview and preview.kind == "diff" else {}
    return ToolResult(
        call=call,
        success=output.success,
        payload=output.payload | diff,
        for_model=output.for_model,
        summary=output.summary,
        images=output.images,
    )


def failed(call: ToolCall, error: LocalLLMError) -> ToolResult:
    """The result of a call that was refused, or could not do what it was to do."""
    return ToolResult(
        call=call,
        success=False,
        payload={"error": str(error), "code": error.code},
        for_model=str(error),
        summary=error.what,
        error=error,
    )


class Record:
    """What the journal will say of a call, gathered while it goes through the pipeline."""

    def __init__(self, call: ToolCall) -> None:
        self._call = call
        self.arguments: dict[str, Any] = {}
        self.approval = ""
        self.changes: Sequence[Change] = ()

    def entry(self, result: ToolResult) -> JournalEntry:
        """The finished entry."""
        metadata = result.payload.get("metadata", {})
        network = metadata.get("network", {})
        return JournalEntry(
            tool=self._call.name,
            target=str(self.arguments.get("command") or self.arguments.get("file_path") or ""),
            arguments=digest(self.arguments),
            outcome=result.error.code if result.error else "ok" if result.success else "failed",
            approval=self.approval,
            sandbox=metadata.get("sandbox", ""),
            reverted=tuple(metadata.get("reverted", ())),
            overlooked=bool(metadata.get("overlooked")),
            hosts={name: (told["sent"], told["received"], told["refused"]) for name, told in network.items()},
            paths={change.path: (change.before, change.after) for change in self.changes},
        )


def own_entry(command: str, path: str, changes: Sequence[Change]) -> JournalEntry:
    """What the journal says of a change of the person's own, made with a command of the chat."""
    return JournalEntry(
        tool=command,
        target=path,
        arguments="",
        outcome="ok",
        approval="user",
        paths={change.path: (change.before, change.after) for change in changes},
    )
