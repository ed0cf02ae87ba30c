"""Logs of versions that kept the events of a session, but not its messages: these are made of the events."""

from collections.abc import Sequence

from localllm.base.events import MessageCompleted, RunFinished, RunStarted, ToolCall, ToolFinished
from localllm.base.i18n import tr
from localllm.base.jsontext import encode_json
from localllm.llm.messages import AssistantMessage, ToolMessage, UserMessage
from localllm.memory.sessions.entries import Entry, Kept


def with_messages(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The entries, with the messages they tell of before the first that was kept. A log that begins with one is left
    as it is."""
    first = next((number for number, entry in enumerate(entries) if isinstance(entry, Kept)), len(entries))
    old = entries[:first]
    if not any(isinstance(entry, RunStarted) for entry in old):
        return entries
    return [*_rebuilt(old), *entries[first:]]


def _rebuilt(entries: Sequence[Entry]) -> list[Entry]:
    made: list[Entry] = []
    open_calls: list[ToolCall] = []
    awaits = False
    for entry in entries:
        if isinstance(entry, RunStarted | RunFinished):
            made += _closed(open_calls, awaits=awaits)
            open_calls, awaits = [], False
        made.append(entry)
        match entry:
            case RunStarted(query=query):
                made.append(Kept(message=UserMessage(query), words=query))
                awaits = True
            case MessageCompleted(text=text, tool_calls=calls, thinking=thinking) if awaits and not open_calls:
                made.append(Kept(message=AssistantMessage(text, calls, thinking)))
                open_calls, awaits = list(calls), bool(calls)
            case ToolFinished(call_id=call_id, name=name) if call := _find(open_calls, call_id):
                open_calls.remove(call)
                made.append(Kept(message=ToolMessage(call_id, name, encode_json(entry.payload).decode())))
            case _:
                pass
    return made


def _closed(open_calls: Sequence[ToolCall], *, awaits: bool) -> list[Entry]:
    """What ends a turn that was left as it was: results, and a last word of the model."""
    note = tr("agent.interrupted")
    results: list[Entry] = [Kept(message=ToolMessage(call.id, call.name, note)) for call in open_calls]
    return [*results, Kept(message=AssistantMessage(note))] if awaits else results


def _find(calls: Sequence[ToolCall], call_id: str) -> ToolCall | None:
    return next((call for call in calls if call.id == call_id), None)
