"""What matters of a session, made from its log alone, and the record of it for LOCALLLM.md."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from localllm.base.events import ConfirmationAnswered, RunFinished, RunStarted, ToolFinished, ToolStarted
from localllm.memory.document import Document
from localllm.memory.document_texts import Language, in_language
from localllm.memory.session_records import SessionRecord
from localllm.sessions.entries import Changed, Entry, Forked
from localllm.text.secret_masking import masked

_FILES = 5  # a record names
_TESTS = 2
_LOOKS_UP = "embedded"  # the provider that answers without a model

_TEST = re.compile(
    r"\b(pytest|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest)\b"
    r"|\b(npm|pnpm|yarn|bun|deno|cargo|go|make|mvn|gradlew?|dotnet|mix|swift|zig build|bazel|rake)\b[^|;&]*\btest\b"
)
_SENTENCE = re.compile(r"(?<=[。！？])|(?<=[.!?])(?=\s)|\n")
_MARKUP = re.compile(r"^[#>*\s-]+|\*\*|__")


class Gist(msgspec.Struct, frozen=True):
    """What matters of a session. `files`: those that are not as they were; `tests`: commands and whether they went
    well, the last time; `answer`: the first sentence of the last one; `broken_off`: the last request, if it was;
    `requests`: how many a model was asked."""

    goal: str
    files: tuple[str, ...] = ()
    tests: tuple[tuple[str, bool], ...] = ()
    decisions: tuple[str, ...] = ()
    answer: str = ""
    broken_off: str = ""
    requests: int = 1

    @property
    def is_worth_keeping(self) -> bool:
        """Whether it was work: it left something behind, or was talked over with a model. A single question that was
        answered does not matter any more tomorrow, and neither does what was only looked up."""
        return bool(self.files or self.decisions or self.requests > 1)


def gist_of(entries: Sequence[Entry], memory: str = "") -> Gist:
    """What matters of the entries; of a forked session only what is its own. What was written into `memory`, the
    project's notes, stands there already."""
    own = after(entries, Forked)
    started = [entry for entry in own if isinstance(entry, RunStarted)]
    answers = [entry.answer for entry in own if isinstance(entry, RunFinished) and entry.answer]
    last = next((entry for entry in reversed(own) if isinstance(entry, RunStarted | RunFinished)), None)
    return Gist(
        goal=started[0].query if started else "",
        files=tuple(path for path in _files(own) if path != memory),
        tests=tuple(_tests(own).items())[-_TESTS:],
        decisions=tuple(_decisions(own)),
        answer=_first_sentence(answers[-1]) if answers else "",
        broken_off=last.query if isinstance(last, RunStarted) else "",
        requests=sum(entry.provider != _LOOKS_UP for entry in started),
    )


def record_of(session_id: str, gist: Gist, when: datetime, document: Document) -> SessionRecord:
    """The record of a session, in the document's language. What looks like a secret is masked: the document may be for
    everybody."""
    language = document.language
    broken_off = in_language("session.last_request", language) if gist.broken_off == gist.goal else gist.broken_off
    return SessionRecord(
        session_id,
        when,
        masked(gist.goal),
        decisions=tuple(map(masked, gist.decisions)),
        changed=_names(gist.files),
        failed=tuple(f"`{masked(command)}`" for command, went_well in gist.tests if not went_well),
        broken_off=masked(broken_off) if gist.broken_off else "",
        results=tuple(map(masked, _results(gist, language))),
    )


def _names(files: Sequence[str]) -> str:
    more = f" (+{len(files) - _FILES})" if len(files) > _FILES else ""
    return masked(", ".join(files[:_FILES]) + more)


def _results(gist: Gist, language: Language) -> Iterable[str]:
    for command, went_well in gist.tests:
        if went_well:
            yield in_language("session.tests_passed", language, command=command)
    if gist.answer and not gist.broken_off:
        yield gist.answer


def after(entries: Sequence[Entry], kind: type[Entry]) -> Sequence[Entry]:
    """The entries after the last of this kind."""
    last = max((number for number, entry in enumerate(entries) if isinstance(entry, kind)), default=-1)
    return entries[last + 1 :]


def _files(entries: Iterable[Entry]) -> tuple[str, ...]:
    states: dict[str, tuple[str, str]] = {}
    for entry in entries:
        if isinstance(entry, Changed):
            states[entry.path] = states.get(entry.path, (entry.before, ""))[0], entry.after
    return tuple(path for path, (before, after) in states.items() if before != after)


def _tests(entries: Iterable[Entry]) -> dict[str, bool]:
    """The commands that ran tests, in the order they were last run in, and how that ended."""
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


def _decisions(entries: Iterable[Entry]) -> Iterable[str]:
    """What the person has said to a call he refused."""
    for entry in entries:
        match entry:
            case ConfirmationAnswered(approved=False, by="user", feedback=feedback) if feedback.strip():
                yield feedback
            case _:
                pass


def _first_sentence(text: str) -> str:
    lines = (line for part in _SENTENCE.split(text) if (line := _MARKUP.sub("", part).strip()))
    return next((line for line in lines if any(character.isalnum() for character in line)), "")
