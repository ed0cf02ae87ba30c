"""Build the readable transcript and the summary of a session."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from localllm.base.events import (
    ENDS,
    ConfirmationAnswered,
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
from localllm.base.i18n import N_
from localllm.llm.messages import ToolMessage, UserMessage
from localllm.memory.document import Document
from localllm.memory.document_texts import Language, in_language
from localllm.memory.session_records import SessionRecord
from localllm.sessions.entries import (
    Began,
    Changed,
    Entry,
    Forked,
    Kept,
    Noted,
    Pointed,
    Resumed,
    Rewritten,
    Tainted,
    Titled,
)
from localllm.text.secret_masking import masked


class Said(msgspec.Struct, frozen=True, tag="person", tag_field="kind"):
    """A message of the user; `time` as seconds since the epoch, 0.0 if unknown."""

    text: str
    time: float = 0.0
    pictures: int = 0


class Answered(msgspec.Struct, frozen=True, tag="assistant", tag_field="kind"):
    """A message of the model."""

    text: str
    thinking: str = ""
    model: str = ""


class Called(msgspec.Struct, frozen=True, tag="tool", tag_field="kind"):
    """A tool call and its result: `summary` for the user, `result` as the model read it, `diff` the change."""

    name: str
    arguments: dict[str, Json]
    success: bool = False
    summary: str = ""
    result: str = ""
    diff: str = ""


class Remarked(msgspec.Struct, frozen=True, tag="remark", tag_field="kind"):
    """Another event. The text is translated when shown, if it is in the catalogue."""

    text: str
    level: str = "info"


Part = Said | Answered | Called | Remarked


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """A whole session. Times are seconds since the epoch, 0.0 if unknown."""

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
        """Number of requests."""
        return sum(isinstance(part, Said) for part in self.parts)


def transcript_of(session_id: str, project: str, entries: Sequence[Entry], torn_lines: int = 0) -> Transcript:
    """Build the transcript from the entries of a log."""
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
    """Return the start time encoded in a session's name; 0.0 if there is none."""
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
        case RunFinished(status="limit" | "stuck" | "incomplete" | "refused" | "interrupted" as status):
            yield Remarked(ENDS[status], "warning")
        case Rewound(taken_back=taken_back):
            yield Remarked(
                N_("The rewind was undone.") if taken_back else N_("The conversation was rewound to before this.")
            )
        case Rewritten():
            yield Remarked(N_("The conversation was summarised here to make room."))
        case Resumed():
            yield Remarked(N_("Resumed"))
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
    """Return a result's text whose message is not in the log, as the program was killed before."""
    texts = (payload.get(name) for name in ("content", "stdout", "output", "error"))
    return next((text for text in texts if isinstance(text, str) and text), "")


def _results(entries: Sequence[Entry]) -> dict[int, str]:
    """Return the model's view of each ToolFinished, by index: the next message kept for its call id."""
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
    """Return the number of images in the request just begun."""
    for entry in entries:
        match entry:
            case Kept(message=UserMessage(images=images)):
                return len(images)
            case RunStarted() | MessageCompleted():
                return 0
            case _:
                pass
    return 0


_FILES = 5  # named in a record
_TESTS = 2
_LOOKS_UP = "embedded"  # the provider that answers without a model

_TEST = re.compile(
    r"\b(pytest|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest)\b"
    r"|\b(npm|pnpm|yarn|bun|deno|cargo|go|make|mvn|gradlew?|dotnet|mix|swift|zig build|bazel|rake)\b[^|;&]*\btest\b"
)
_SENTENCE = re.compile(r"(?<=[。！？])|(?<=[.!?])(?=\s)|\n")
_MARKUP = re.compile(r"^[#>*\s-]+|\*\*|__")


class Gist(msgspec.Struct, frozen=True):
    """The essentials of a session. `files`: those that differ from before; `tests`: commands and whether they
    last succeeded; `answer`: first sentence of the last one; `broken_off`: the last request, if interrupted;
    `requests`: how many were sent to a model; `taken_back`: files that went back to an earlier state after the
    last answer, as with /undo."""

    goal: str
    files: tuple[str, ...] = ()
    tests: tuple[tuple[str, bool], ...] = ()
    decisions: tuple[str, ...] = ()
    answer: str = ""
    broken_off: str = ""
    requests: int = 1
    taken_back: tuple[str, ...] = ()

    @property
    def is_worth_keeping(self) -> bool:
        """Whether it was work: it changed files, took decisions, or had several requests to a model.
        A single answered question, or a mere look-up, is not kept."""
        return bool(self.files or self.decisions or self.requests > 1)


def gist_of(entries: Sequence[Entry], memory: str = "") -> Gist:
    """Extract the essentials from the entries; of a forked session only its own.
    Changes of `memory`, the project's notes, are omitted; and the model's words, answers and commands, of a session
    with untrusted text, which may have dictated them: later sessions would take them for the project's own.
    Tests before changes were taken back are omitted, too, and the answer if it came before: they describe what is not
    there any more."""
    own = after(entries, Forked)
    started = [entry for entry in own if isinstance(entry, RunStarted)]
    answers = [entry.answer for entry in own if isinstance(entry, RunFinished) and entry.answer]
    last = next((entry for entry in reversed(own) if isinstance(entry, RunStarted | RunFinished)), None)
    taken_back = tuple(path for path in _taken_back(own) if path != memory)
    undone_at = [
        at for at, one in enumerate(own, 1) if isinstance(one, Changed) and one.taken_back and one.path != memory
    ]
    is_void = bool(taken_back) or any(isinstance(entry, Tainted) for entry in entries)
    return Gist(
        goal=_typed(started[0].query, own) if started else "",
        files=tuple(path for path in _files(own) if path != memory),
        tests=() if is_void else tuple(_tests(own[max(undone_at, default=0) :]).items())[-_TESTS:],
        decisions=tuple(_decisions(own)),
        answer=_first_sentence(answers[-1]) if answers and not is_void else "",
        broken_off=_typed(last.query, own) if isinstance(last, RunStarted) else "",
        requests=sum(entry.provider != _LOOKS_UP for entry in started),
        taken_back=taken_back,
    )


def record_of(session_id: str, gist: Gist, when: datetime, document: Document) -> SessionRecord:
    """Build the record of a session in the document's language, with secrets masked: the document may be shared."""
    language = document.language
    broken_off = in_language("session.last_request", language) if gist.broken_off == gist.goal else gist.broken_off
    return SessionRecord(
        session_id,
        when,
        masked(gist.goal),
        decisions=tuple(map(masked, gist.decisions)),
        changed=_names(gist.files),
        taken_back=_names(gist.taken_back),
        failed=tuple(f"`{masked(command)}`" for command, went_well in gist.tests if not went_well),
        broken_off=masked(broken_off) if gist.broken_off else "",
        results=tuple(map(masked, _tool_results(gist, language))),
    )


def _names(files: Sequence[str]) -> str:
    more = f" (+{len(files) - _FILES})" if len(files) > _FILES else ""
    return masked(", ".join(files[:_FILES]) + more)


def _tool_results(gist: Gist, language: Language) -> Iterable[str]:
    for command, went_well in gist.tests:
        if went_well:
            yield in_language("session.tests_passed", language, command=command)
    if gist.answer and not gist.broken_off:
        yield gist.answer


def after(entries: Sequence[Entry], kind: type[Entry]) -> Sequence[Entry]:
    """Return the entries after the last of this kind."""
    last = max((number for number, entry in enumerate(entries) if isinstance(entry, kind)), default=-1)
    return entries[last + 1 :]


def _files(entries: Iterable[Entry]) -> tuple[str, ...]:
    states: dict[str, tuple[str, str]] = {}
    for entry in entries:
        if isinstance(entry, Changed):
            states[entry.path] = states.get(entry.path, (entry.before, ""))[0], entry.after
    return tuple(path for path, (before, after) in states.items() if before != after)


def _taken_back(entries: Sequence[Entry]) -> list[str]:
    """Return the files that have, since the last answer, gone back to a state from before it."""
    states: dict[str, list[str]] = {}
    answered: dict[str, int] = {}
    for entry in entries:
        match entry:
            case Changed(path=path, before=before, after=after):
                states.setdefault(path, [before]).append(after)
            case RunFinished(answer=answer) if answer:
                answered = {path: len(known) for path, known in states.items()}
            case _:
                pass
    return [
        path
        for path, count in answered.items()
        if states[path][-1] != states[path][count - 1] and states[path][-1] in states[path][:count]
    ]


def _tests(entries: Iterable[Entry]) -> dict[str, bool]:
    """Return the commands that ran tests, in the order of their last runs, and whether they succeeded."""
    started: dict[str, str] = {}
    ended: dict[str, bool] = {}
    for entry in entries:
        match entry:
            case ToolStarted(call_id=call_id, arguments={"command": str(command)}) if _TEST.search(command):
                started[call_id] = " ".join(command.split())
            case ToolFinished(call_id=call_id, success=success) if call_id in started:
                ended.pop(command := started.pop(call_id), None)
                ended[command] = success
            case _:
                pass
    return ended


def _typed(words: str, entries: Iterable[Entry]) -> str:
    """Return what the user has typed of a request, or that the rest is left out: later sessions would take pasted text
    for the user's wishes."""
    for entry in entries:
        if isinstance(entry, Kept | Noted) and entry.words == words and entry.typed is not None:
            return f"{entry.typed.strip()} […]".strip()
    return words


def _decisions(entries: Iterable[Entry]) -> Iterable[str]:
    """Yield the user's comments on rejected calls."""
    for entry in entries:
        match entry:
            case ConfirmationAnswered(approved=False, by="user", feedback=feedback) if feedback.strip():
                yield feedback
            case _:
                pass


def _first_sentence(text: str) -> str:
    lines = (line for part in _SENTENCE.split(text) if (line := _MARKUP.sub("", part).strip()))
    return next((line for line in lines if any(character.isalnum() for character in line)), "")
