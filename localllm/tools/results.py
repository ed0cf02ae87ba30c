"""Results of calls: for the model (long output truncated), the screen and the journal."""

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from localllm.base.errors import LocalLLMError, SafetyViolationError
from localllm.base.events import Emit, Json, Notice, ToolCall, ToolFinished
from localllm.base.i18n import N_, Phrase, _, plural
from localllm.base.kept_outputs import keep_output
from localllm.llm.messages import Image
from localllm.safety.journal import JournalEntry, digest
from localllm.safety.path_names import shown, some_of
from localllm.safety.rules import COMMAND_TOOL
from localllm.safety.tool_definition import Preview, ToolOutput
from localllm.snapshots.change_log import Change
from localllm.snapshots.file_state import ABSENT, is_repository, is_unkept
from localllm.text.error_lines import has_telling_lines, telling_lines, without_shadow_bytes
from localllm.tools.context import ToolContext

_MOST_CHANGED = 6  # changed files named to the model after a command
_MOST_SHRUNK = 3  # files whose loss is named to the user after a command
_SHRUNK = "[If more went than was asked for, put it back, or say so: the user's /undo brings it back.]"
_MOST_NAMED = 20  # of the instruction files

_HEAD = 0.2
"""Share of the limit for the head. Errors and results are at the end, so the tail gets the rest."""

_TELLING = 0.35
"""Maximum share of the limit for error lines between head and tail."""


def cap(
    text: str, context: ToolContext, name: str, *, whole: bool = True, head: float = _HEAD, faults: bool = False
) -> str:
    """Truncate `text` to `context.output_limit` characters plus a note.

    A longer one is stored in `context.overflow_folder`, in a file named after `name` (a tool's, plain letters); the
    note between head and tail says where, and how to read on. `whole`: nothing was dropped from `text` before. `head`:
    the share of the limit for the head. `faults`: also show error lines from between.
    """
    if len(text) <= context.output_limit:
        return text
    short, useful = text, list[int]()
    if faults and "Shadow bytes" in text:
        lines = text.split("\n")
        useful = without_shadow_bytes(lines)
        short = "\n".join(lines[number] for number in useful)
    if len(short) <= context.output_limit:
        kept = _keep(text, context, name, whole=whole)
        return f"{short}\n[… {len(text) - len(short):,} characters of shadow bytes left out. {kept}]"
    first, telling, last = _parts(short, context.output_limit, head, _TELLING if faults else 0)
    left_out = len(text) - len(first) - len(last)
    line = short.count("\n", 0, len(short) - len(last))
    line = (useful[line] if useful else line) + 1
    kept = _keep(text, context, name, whole=whole)
    note = (
        (
            f"[… {left_out:,} {plural(left_out, 'character', 'characters')} left out; what follows "
            f"is from line {line:,} on. {kept}]"
        )
        if whole
        else f"[… the output was too long to keep all of it; here are its beginning and its end. {kept}]"
    )
    between = (
        f"{'[… left out here; the lines in it that tell of faults, and some around them:]'}\n{telling}\n"
        if telling
        else ""
    )
    return f"{first.rstrip()}\n{between}{note}\n{last}"


def _parts(text: str, limit: int, head: float, share: float) -> tuple[str, str, str]:
    """Return the head, the error lines between it and the tail, and a correspondingly shorter tail.
    The error lines take at most `share` of the limit."""
    first, last = _ends(text, limit, head)
    most = int(limit * share)
    if not most or not has_telling_lines(text[len(first) : len(text) - len(last)]):
        return first, "", last
    wider = telling_lines(text[len(first) : len(text) - len(last) + most], most)
    first, last = _ends(text, limit - len(wider), head)
    between = text[len(first) : len(text) - len(last)]
    telling = telling_lines(between, most)
    if len(telling) > len(wider):
        telling = telling_lines(between, len(wider))  # which leaves out a line more than it has to
    return first, telling, last


def _ends(text: str, limit: int, share: float) -> tuple[str, str]:
    """Return head and tail, cut at line ends if that costs less than half of them."""
    head = text[: int(limit * share)]
    tail = text[len(text) - (limit - len(head)) :]
    if (line_end := head.rfind("\n") + 1) > len(head) // 2:
        head = head[:line_end]
    if 0 < (line_start := tail.find("\n") + 1) < len(tail) // 2:
        tail = tail[line_start:]
    return head, tail


def _keep(text: str, context: ToolContext, name: str, *, whole: bool) -> str:
    """Store the text where the model can read it; return the note about it."""
    try:
        path = keep_same(text, context, name)
    except OSError as error:
        return f"The rest could not be kept ({error.strerror}): ask for less at a time."
    return (
        f"The whole is in {path}: search it with search_files, or read on with read_file and start_line."
        if whole
        else (
            f"As much as was kept is in {path}: read it with read_file and start_line, or make the command print less."
        )
    )


def keep_same(text: str, context: ToolContext, name: str) -> str:
    """Store the text, unless it already is, in a file whose name begins with `name`.
    Return its path for tools. Raises OSError."""
    return context.root.name_of(keep_output(context.overflow_folder, name, text))


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a call: `for_model` goes into the history, the rest into the event and the log. `arguments`: as
    the tool got them, whatever the model calls them; empty if the call was not understood. `changes`: the resulting
    states of changed files. `acted`: it ran, and could have changed something."""

    call: ToolCall
    success: bool
    payload: dict[str, Json]
    for_model: str
    summary: str | Phrase
    error: LocalLLMError | None = None
    images: tuple[Image, ...] = ()
    arguments: dict[str, Any] = {}
    changes: dict[str, str] = {}
    acted: bool = False

    @property
    def refused(self) -> bool:
        """Whether it did not run because safety or the user refused it."""
        return isinstance(self.error, SafetyViolationError)

    def event(self) -> ToolFinished:
        """Return the result as an event."""
        return ToolFinished(
            call_id=self.call.id,
            name=self.call.name,
            success=self.success,
            summary=str(self.summary),
            payload=self.payload,
            error_code=self.error.code if self.error else "",
        )


def succeeded(call: ToolCall, output: ToolOutput, preview: Preview | None) -> ToolResult:
    """Create the result of a call that ran, with the diff of its preview, if any."""
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
    """Create the result of a call that was refused or failed."""
    return ToolResult(
        call=call,
        success=False,
        payload={"error": error.english, "code": error.code},
        for_model=error.english,
        summary=error.what_phrase,
        error=error,
    )


def interrupted(call: ToolCall, error: LocalLLMError, interrupt: asyncio.CancelledError) -> ToolResult:
    """Create the result of an interrupted call: `error`, or that of a command that was killed, whose output so far
    `interrupt` carries."""
    printed = interrupt.args[0] if interrupt.args else None
    if not isinstance(printed, ToolOutput):
        return failed(call, error)
    result = failed(call, SafetyViolationError("interrupted_command"))
    told = f"{result.for_model} It had printed:\n{printed.for_model}" if printed.for_model else result.for_model
    return msgspec.structs.replace(result, payload=result.payload | printed.payload, for_model=told)


class Record:
    """Collects a call's journal entry while it passes through the pipeline."""

    def __init__(self, call: ToolCall) -> None:
        self._call = call
        self.arguments: dict[str, Any] = {}
        self.approval = ""
        self.changes: Sequence[Change] = ()
        self.has_begun = False
        """Whether the tool itself had started."""
        self.is_permitted = False
        """Whether the user has allowed it to change files that were to be left as they are."""

    def entry(self, result: ToolResult) -> JournalEntry:
        """Return the finished entry."""
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
    """Create the journal entry of a change by the user, made with a chat command."""
    return JournalEntry(
        tool=command,
        target=path,
        arguments="",
        outcome="ok",
        approval="user",
        paths={change.path: (change.before, change.after) for change in changes},
    )


def with_changes_named(
    result: ToolResult, changes: Sequence[Change], content: Callable[[str], bytes], emit: Emit
) -> ToolResult:
    """Return a command's result that names the files it changed, to the model and to the user, how far the
    texts among them shrank, and what settings of docker compose and aider it put into a `.env`. `content`: see
    `taken_settings`."""
    files = list(dict.fromkeys(change.path for change in changes if not is_repository(change.before)))
    if result.call.name != COMMAND_TOOL or not files:
        return result
    from localllm.tools import shrunk_files as losses  # many commands change nothing

    command = result.arguments.get("command") or ""
    shrunk, deleted = losses.shrunk_files(changes, content, command), losses.deleted_files(changes)
    became = {change.path: " (deleted)" for change in changes if change.after == ABSENT}
    became |= {one.path: f" ({one.remark})" for one in shrunk}
    files = list(dict.fromkeys((*(one.path for one in shrunk), *files)))
    named = [f"{shown(path)}{became.get(path, '')}" for path in files[:_MOST_CHANGED]]
    more = ", …" if len(files) > _MOST_CHANGED else ""
    remark = f"[changed: {len(files)} {plural(len(files), 'file', 'files')}: {', '.join(named)}{more}]"
    remark += f"\n{_SHRUNK}" if shrunk or losses.removes_unnamed(deleted, command) else ""
    text = (
        N_("{summary}; {count} file deleted: {files}", "{summary}; {count} files deleted: {files}")
        if set(files) == {*deleted}
        else N_("{summary}; {count} file changed: {files}", "{summary}; {count} files changed: {files}")
    )
    some = some_of(files)
    told = losses.told_of(Phrase(text, summary=result.summary, count=len(files), files=some), shrunk[:_MOST_SHRUNK])
    if any(path.rpartition("/")[2].startswith(".env") for path in files):
        remark += _named_settings(changes, content, emit)
    return msgspec.structs.replace(result, for_model=f"{result.for_model}\n{remark}", summary=told)


def _named_settings(changes: Sequence[Change], content: Callable[[str], bytes], emit: Emit) -> str:
    from localllm.tools.taken_settings import taken_settings  # few commands change a .env

    found = [f"{name} ({shown(path)})" for path, name in taken_settings(changes, content)]
    if not found:
        return ""
    named = ", ".join(found[:_MOST_NAMED]) + (" …" if len(found) > _MOST_NAMED else "")
    text = _("The command set what docker compose or aider runs when you start it here: {names}", names=named)
    emit(Notice(text=text, level="warning"))
    return f"\n[It set what docker compose or aider runs: {named}. Say so to the user.]"


def name_losses(changes: Sequence[Change], emit: Emit) -> None:
    """Warn of files a command has changed or removed without a stored earlier version."""
    lost = [shown(path) for path in dict.fromkeys(change.path for change in changes if is_unkept(change.before))]
    if lost:
        paths = ", ".join(lost[:_MOST_NAMED]) + (" …" if len(lost) > _MOST_NAMED else "")
        emit(Notice(text=_("/undo cannot restore, as it was not kept: {paths}", paths=paths), level="warning"))


def with_lost_edits_named(result: ToolResult, lost: Sequence[str], emit: Emit) -> ToolResult:
    """Return a command's result with a remark on the files in which it took away the user's own lines."""
    if not lost:
        return result
    paths = ", ".join(map(shown, lost[:_MOST_NAMED])) + (" …" if len(lost) > _MOST_NAMED else "")
    emit(
        Notice(
            text=_(
                "git took away lines in {paths} that were there before this session and not committed; /undo brings "
                "them back.",
                paths=paths,
            ),
            level="warning",
        )
    )
    remark = f"[This took away lines in {paths} that are not yours, but the user's. Say so; /undo brings them back.]"
    return msgspec.structs.replace(result, for_model=f"{result.for_model}\n{remark}")


def with_instructions_named(result: ToolResult, emit: Emit, memory: str, linked: Sequence[str] = ()) -> ToolResult:
    """Return a command's result with a remark on changed instruction files, of which the project's `memory` is one.
    `linked`: instruction files that are links, or the targets of such."""
    if result.call.name != COMMAND_TOOL or not (result.changes or linked):
        return result
    from localllm.base.instruction_files import is_instruction  # the table is loaded with the first change

    memory = os.path.normpath(memory)
    named = (path for path in result.changes if path == memory or is_instruction(path))
    changed = [shown(path) for path in dict.fromkeys((*named, *linked))]
    if not changed:
        return result
    paths = ", ".join(changed[:_MOST_NAMED]) + (" …" if len(changed) > _MOST_NAMED else "")
    emit(Notice(text=_("The command changed instructions for assistants: {paths}", paths=paths), level="warning"))
    remark = f"[It changed what assistants are told to do: {paths}. Say so to the user.]"
    return msgspec.structs.replace(result, for_model=f"{result.for_model}\n{remark}")
