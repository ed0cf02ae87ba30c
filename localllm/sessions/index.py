"""Index the sessions: what a list shows of each, without reading its log again."""

import errno
import os
import re
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from localllm.base.events import ConfirmationAnswered, Consulted, RunFinished, RunStarted, Steered
from localllm.base.files import write_own
from localllm.base.i18n import _, ngettext
from localllm.base.jsontext import decode_msgpack
from localllm.base.regular_files import clock_time, read_regular
from localllm.sessions.entries import Adopted, Began, Ended, OneShot, Resumed, Tainted, Titled, decode, starts
from localllm.sessions.log import INDEX, SUFFIX, lines_of, open_log

_FORMAT = 4
_LARGEST = 100_000_000  # bytes of an index
_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")  # other files are ignored: their names may contain anything
_FIRST = 200  # characters of the first request
_SAID = 2_000  # characters of the user's words that are shown in search results
_WORDS = 40_000  # characters of all further words, each once
_WORDS_AT_ONCE = 10_000  # of these from one request, so that a long paste leaves room for later ones
_ANSWER = 4_000  # searchable characters of an answer
_ANSWERS = 16_000  # of all answers; the oldest are dropped first
_QUESTION = 100  # of the request that was answered
_LOOKS_UP = "embedded"  # the provider whose answers quote the project, which is searched itself
_LONGEST_WORD = 200  # characters without a space; longer ones are data, unless Japanese
_OVERLAP = 64  # characters before the rest, for a word cut at the end of the beginning: the longest search term


class Answer(msgspec.Struct, frozen=True):
    """A model's answer to `question`, the beginning of a request on one line. `text` is empty until it is complete."""

    question: str
    text: str = ""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A session in a list. `began` and `changed` are seconds since the epoch; `seen` is the latest earlier `changed`
    that was not ahead of the clock, as a command can set the time of a log. `first` is the first request on one line;
    `said` the beginning of all the user's words, `words` the further ones, each once; `answers` the newest.
    `is_tainted`: untrusted text was added. `is_one_shot`: a single request with -p, never resumed. `ended`: closed
    normally. `read`: bytes of the log that were read for this."""

    id: str
    began: float = 0.0
    changed: float = 0.0
    seen: float = 0.0
    turns: int = 0
    title: str = ""
    first: str = ""
    said: str = ""
    words: str = ""
    answers: tuple[Answer, ...] = ()
    is_tainted: bool = False
    is_one_shot: bool = False
    ended: bool = False
    seal: str = ""
    forked_from: str = ""
    read: int = 0

    @property
    def is_silent(self) -> bool:
        """Whether the user said nothing in it."""
        return not (self.turns or self.first)

    def last_used(self, now: float) -> float:
        """Return when it was last used, even if a command has set that back. `seen` after `now` is of a wrong clock."""
        return max(self.changed, self.seen if self.seen <= now else 0.0)


class _Kept(msgspec.Struct, frozen=True):
    format: int
    sessions: dict[str, Session]


class Index:
    """The sessions of a folder, by their logs. Cheap if little has changed since the last read.

    `is_kept`: store the index for the next process in a file beside the logs.
    """

    def __init__(self, folder: Path, *, is_kept: bool = True) -> None:
        self._folder = folder
        self._is_kept = is_kept
        self._known: dict[str, Session] | None = None

    def read(self) -> list[Session]:
        """Return all sessions, unordered. Unreadable logs are skipped."""
        known = self._load() if self._known is None else self._known
        found = dict(self._look(known))
        if found != known:
            self._save(found)
        self._known = found
        return [*found.values()]

    def _look(self, known: dict[str, Session]) -> Iterable[tuple[str, Session]]:
        if self._folder.is_symlink():  # a malicious project could redirect the reads
            return
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self._folder) as there:
            for entry in there:
                session_id = entry.name.removesuffix(SUFFIX)
                if session_id == entry.name or not _NAME.fullmatch(session_id):
                    continue
                with suppress(OSError, msgspec.DecodeError):
                    yield session_id, _followed(known.get(session_id) or Session(id=session_id), entry)

    def _load(self) -> dict[str, Session]:
        if not self._is_kept:
            return {}
        with suppress(OSError, msgspec.DecodeError):
            kept = decode_msgpack(read_regular(self._folder / INDEX, _LARGEST), _Kept)
            return kept.sessions if kept.format == _FORMAT else {}
        return {}

    def _save(self, sessions: dict[str, Session]) -> None:
        with suppress(OSError):
            if self._is_kept:
                write_own(self._folder / INDEX, msgspec.msgpack.encode(_Kept(_FORMAT, sessions)))


def _followed(session: Session, entry: "os.DirEntry[str]") -> Session:
    """Return the session, updated from its log. Raises OSError."""
    facts = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(facts.st_mode):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    if facts.st_size == session.read and facts.st_mtime == session.changed:
        return session
    seen = max(session.seen, session.changed if session.changed <= time.time() else 0.0)
    session = msgspec.structs.replace(session if facts.st_size >= session.read else Session(id=session.id), seen=seen)
    return _Reader(session).read(Path(entry.path), facts.st_mtime)


_ENDED = starts(Ended)
_TELLING = tuple(
    map(
        starts,
        (
            *(RunStarted, RunFinished, Steered, Consulted, ConfirmationAnswered),
            *(Began, Titled, Tainted, Adopted, OneShot, Resumed),
        ),
    )
)


class _Reader:
    """Continues reading a log at the last position."""

    def __init__(self, session: Session) -> None:
        self._before = session
        self._turns = session.turns
        self._said = session.said
        self._words = session.words.split()
        self._length = len(session.words)
        self._known = {*session.said.split(), *self._words}
        self._first = session.first
        self._answers = session.answers
        self._is_tainted = session.is_tainted
        self._is_one_shot = session.is_one_shot
        self._title = session.title
        self._ended = session.ended
        self._began: Began | None = None

    def read(self, file: Path, changed: float) -> Session:
        """Return the updated session. An incomplete last line is left for the next read."""
        at = self._before.read
        with open_log(file) as stream:
            stream.seek(at)
            for line in lines_of(stream):
                if not line.endswith(b"\n"):
                    break
                at += len(line)
                self._take(line)
        began = self._began
        return msgspec.structs.replace(
            self._before,
            began=began.time if began else self._before.began,
            seal=began.seal if began else self._before.seal,
            forked_from=began.forked_from if began else self._before.forked_from,
            changed=changed,
            turns=self._turns,
            title=self._title,
            first=self._first,
            said=self._said,
            words=" ".join(self._words),
            answers=self._answers,
            is_tainted=self._is_tainted,
            is_one_shot=self._is_one_shot,
            ended=self._ended,
            read=at,
        )

    def _take(self, line: bytes) -> None:
        """Process a line; most are skipped by their beginning."""
        self._ended = line.startswith(_ENDED)
        if line.startswith(_TELLING):
            with suppress(msgspec.DecodeError):
                self._note(line)

    def _note(self, line: bytes) -> None:
        match decode(line):
            case RunStarted(query=query, provider=provider):
                self._turns += 1
                self._say(query)
                self._ask("" if provider == _LOOKS_UP else " ".join(query.split())[:_QUESTION])
            case RunFinished(answer=answer):
                self._answer(answer)
            case Steered(text=text) | Consulted(question=text, by_hand=True) | ConfirmationAnswered(feedback=text):
                self._say(text)
            case Began() as began:
                self._began = self._began or began
            case Titled(title=title):
                self._title = title
            case Tainted() | Adopted():
                self._is_tainted = True
            case OneShot():
                self._is_one_shot = True
            case Resumed():
                self._is_one_shot = False
            case _:
                pass

    def _say(self, text: str) -> None:
        """Add the user's words: the beginning verbatim, of the rest only new words."""
        if not text.strip():
            return
        self._first = self._first or " ".join(text.split())[:_FIRST]
        shown = text[: max(0, _SAID - len(self._said))]
        self._said += f"\n{shown}" if self._said and shown else shown
        self._known.update(shown.split())
        if len(shown) < len(text):
            self._take_words(text[max(0, len(shown) - _OVERLAP) :])

    def _ask(self, question: str) -> None:
        """Begin a request: an interrupted one no longer expects an answer."""
        answered = tuple(answer for answer in self._answers if answer.text)
        self._answers = (*answered, Answer(question)) if question else answered

    def _answer(self, text: str) -> None:
        """Add the answer to the current request, dropping the oldest if needed."""
        if not self._answers or self._answers[-1].text:
            return
        *answered, asked = self._answers
        answered += [Answer(asked.question, text.strip()[:_ANSWER])] if text.strip() else []
        room = _ANSWERS
        kept = [answer for answer in reversed(answered) if (room := room - len(answer.text)) >= 0]
        self._answers = tuple(reversed(kept))

    def _take_words(self, text: str) -> None:
        room = min(_WORDS_AT_ONCE, _WORDS - self._length)
        for word in text.split():
            if word in self._known or (word.isascii() and len(word) > _LONGEST_WORD):
                continue
            if len(word) >= room:
                break
            self._known.add(word)
            self._words.append(word)
            self._length += len(word) + 1
            room -= len(word) + 1


def requests(count: int) -> str:
    """Return the number of requests as text."""
    return ngettext("{count} request", "{count} requests", count)


def when(session: Session) -> str:
    """Return the time of the last change as text."""
    return f"{clock_time(session.changed):%Y-%m-%d %H:%M}"


def about(session: Session) -> str:
    """Return title and first request, which may contain anything."""
    return f"{session.title}: {session.first}" if session.title else session.first


def state(session: Session, *, current: str = "") -> str:
    """Return the number of requests and whether it is the current session."""
    parts = [requests(session.turns)]
    if session.id == current:
        parts.append(_("this one"))
    return " · ".join(parts)
