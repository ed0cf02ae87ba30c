"""A session as a person reads it again: what was said, done and answered, in order. Exports are made of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from localllm.base.events import (
    Json,
    MessageCompleted,
    Notice,
    Rewound,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolStarted,
    Usage,
)
from localllm.llm.messages import ToolMessage, UserMessage
from localllm.sessions.entries import Began, Entry, Kept, Pointed, Resumed, Rewritten, Titled


class Said(msgspec.Struct, frozen=True, tag="person", tag_field="kind"):
    """What the person said; `time` as seconds since the epoch, 0.0 where unknown."""

    text: str
    time: float = 0.0
    pictures: int = 0


class Answered(msgspec.Struct, frozen=True, tag="assistant", tag_field="kind"):
    """What the model said."""

    text: str
    thinking: str = ""
    model: str = ""


class Called(msgspec.Struct, frozen=True, tag="tool", tag_field="kind"):
    """A call and what came of it: `summary` for a person, `result` as the model read it, `diff` what it changed."""

    name: str
    arguments: dict[str, Json]
    success: bool = False
    summary: str = ""
    result: str = ""
    diff: str = ""


class Remarked(msgspec.Struct, frozen=True, tag="remark", tag_field="kind"):
    """Something else that happened: a notice, or the key of a message of the catalogue."""

    text: str
    level: str = "info"


Part = Said | Answered | Called | Remarked


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """A whole session. Times are seconds since the epoch, 0.0 where unknown."""

    session_id: str
    project: str
    title: str = ""
    began: float = 0.0
    models: tuple[str, ...] = ()
    usage: Usage = Usage()
    parts: tuple[Part, ...] = ()
    torn_lines: int = 0

    @property
    def turns(self) -> int:
        """How many requests there were."""
        return sum(isinstance(part, Said) for part in self.parts)


def transcript_of(session_id: str, project: str, entries: Sequence[Entry], torn_lines: int = 0) -> Transcript:
    """What the entries of a log tell a person."""
    completed = [entry for entry in entries if isinstance(entry, MessageCompleted)]
    titles = [entry.title for entry in entries if isinstance(entry, Titled)]
    began = next((entry.time for entry in entries if isinstance(entry, Began)), 0.0)
    return Transcript(
        session_id=session_id,
        project=project,
        title=titles[-1] if titles else "",
        began=began or begun_at(session_id),
        models=tuple(dict.fromkeys(entry.model for entry in completed if entry.model)),
        usage=sum((entry.usage for entry in completed), Usage()),
        parts=tuple(_parts(entries)),
        torn_lines=torn_lines,
    )


def begun_at(session_id: str) -> float:
    """When a session of this name was begun; 0.0 where the name does not tell."""
    try:
        return datetime.strptime(f"{session_id[:15]}+0000", "%Y%m%d-%H%M%S%z").timestamp()
    except ValueError:
        return 0.0


def _parts(entries: Sequence[Entry]) -> Iterator[Part]:
    results = _results(entries)
    started: dict[str, ToolStarted] = {}
    time = 0.0
    pictures = 0
    for number, entry in enumerate(entries):
        match entry:
            case Pointed(time=time, by_hand=False):
                pass
            case RunStarted(query=query):
                pictures = _pictures_of(entries[number + 1 :])
                yield Said(query, time, pictures)
            case MessageCompleted(text=text, thinking=thinking, model=model) if text.strip() or thinking.strip():
                yield Answered(text, thinking, model)
            case ToolStarted(call_id=call_id):
                started[call_id] = entry
            case ToolFinished(call_id=call_id):
                yield _call(entry, started.pop(call_id, None), results.get(number, ""))
            case _:
                yield from _remarks(entry)
    yield from (Called(call.name, call.arguments) for call in started.values())


def _remarks(entry: Entry) -> Iterator[Part]:
    match entry:
        case Notice(text=text, level=level):
            yield Remarked(text, level)
        case RunFinished(status="error", error=error):
            yield Remarked(" ".join(error.split()), "error")
        case RunFinished(status="limit" | "stuck" | "refused" | "interrupted" as status):
            yield Remarked(f"ui.ended.{status}", "warning")
        case Rewound(taken_back=taken_back):
            yield Remarked("export.restored" if taken_back else "export.rewound")
        case Rewritten():
            yield Remarked("export.compacted")
        case Resumed():
            yield Remarked("export.resumed")
        case _:
            pass


def _call(finished: ToolFinished, started: ToolStarted | None, result: str) -> Called:
    diff = finished.payload.get("diff")
    return Called(
        finished.name,
        started.arguments if started else {},
        finished.success,
        finished.summary,
        result or _told(finished.payload),
        diff if isinstance(diff, str) else "",
    )


def _told(payload: Mapping[str, Json]) -> str:
    """The text of a result whose message is not in the log: the program was killed before it was kept."""
    texts = (payload.get(name) for name in ("content", "stdout", "output", "error"))
    return next((text for text in texts if isinstance(text, str) and text), "")


def _results(entries: Sequence[Entry]) -> dict[int, str]:
    """What the model read of each ToolFinished, by that one's place: the next message kept for the call of its name."""
    waiting: dict[str, int] = {}
    found: dict[int, str] = {}
    for number, entry in enumerate(entries):
        match entry:
            case ToolFinished(call_id=call_id):
                waiting[call_id] = number
            case Kept(message=ToolMessage(call_id=call_id, text=text)) if call_id in waiting:
                found[waiting.pop(call_id)] = text
            case _:
                pass
    return found


def _pictures_of(entries: Iterable[Entry]) -> int:
    """How many pictures the request had that was just begun."""
    for entry in entries:
        match entry:
            case Kept(message=UserMessage(images=images)):
                return len(images)
            case RunStarted() | MessageCompleted():
                return 0
            case _:
                pass
    return 0
