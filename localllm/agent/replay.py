"""Resume a session from its log by replaying every change of its conversation, in order.

Entries that do not fit, in a damaged or edited log, are skipped: the result is always valid.
"""

from typing import NamedTuple

import msgspec

from localllm.agent.checkpoints import Point, lose, regain
from localllm.agent.history import Forgotten, History, Mark
from localllm.agent.system_prompt import system_prompt
from localllm.base.events import (
    Compacted,
    Consulted,
    Delegated,
    MessageCompleted,
    Rewound,
    RunFinished,
    RunStarted,
    ToolStarted,
    Usage,
)
from localllm.base.i18n import _, ngettext
from localllm.context.conversation import Conversation, Spoken
from localllm.llm.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from localllm.sessions.entries import (
    Adopted,
    Changed,
    Chosen,
    Entry,
    Kept,
    Noted,
    Planned,
    Pointed,
    Profiled,
    Rewritten,
    Tainted,
    Titled,
    Withdrawn,
)
from localllm.sessions.index import Session
from localllm.sessions.log import SessionLog, SessionRead, SessionStream
from localllm.sessions.store import Sessions
from localllm.text.sanitising import clean, shorten

_REQUEST = 60  # cells of a request in a sentence
_CALL = 100


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """The state a session resumes with. `profile` is a name, "" if not logged; `model`: see Chosen; `context_used`
    tokens; `lost` has sentences for the user. `plan`: see Planned. `typed`: see Kept; by the words they are part of.
    `untold_since`: the number of `changes` before those that the user took back and the model was not told of; None if
    there are none."""

    history: History
    points: tuple[Point, ...] = ()
    changes: tuple[Changed, ...] = ()
    untold_since: int | None = None
    tainted: bool = False
    has_downloaded: bool = False
    profile: str = ""
    model: str = ""
    title: str = ""
    plan: str = ""
    usage: Usage = Usage()
    context_used: int = 0
    turns: int = 0
    lost: tuple[str, ...] = ()
    typed: dict[str, str] = {}


def replay(read: SessionRead | SessionStream, *, system: str, is_ours: bool = True) -> Replayed:
    """Replay a log, whose entries are taken once. A turn that was interrupted is still open in the result.

    `system` is used if the log has no system message. From a log that is not `is_ours` only the messages are used, as
    untrusted text: no system message, and nothing that would change files.
    """
    player = _Player(system, keeps_system=is_ours)
    found = _Findings()
    for entry in read.entries:
        player.play(entry)
        found.add(entry)
    return Replayed(
        history=player.history,
        points=tuple(player.points) if is_ours else (),
        changes=tuple(found.changes) if is_ours else (),
        untold_since=found.untold_since if is_ours else None,
        tainted=not is_ours or found.is_tainted,
        has_downloaded=found.has_downloaded,
        profile=found.profile,
        model=found.model if is_ours else "",
        title=found.title,
        plan=found.plan if is_ours else "",
        usage=found.usage,
        context_used=found.context_used,
        turns=found.turns,
        lost=tuple(_lost(read, found.last_run, player)),
        typed=found.typed,
    )


class _Player:
    """Replays the changes. `misfits`: number of entries that did not fit."""

    def __init__(self, system: str, *, keeps_system: bool) -> None:
        self.history = History(system)
        self.points: list[Point] = []
        self.misfits = 0
        self._system = SystemMessage(system)
        self._keeps_system = keeps_system
        self._rewinds: list[tuple[Forgotten, frozenset[int]]] = []

    def play(self, entry: Entry) -> None:
        try:
            self._play(entry)
        except (ValueError, IndexError):
            self.misfits += 1

    def _play(self, entry: Entry) -> None:
        history = self.history
        match entry:
            case Kept():
                self._keep(entry)
            case Noted(text=text, images=images, words=words):
                history.append_note(text, images, words=words)
            case Rewritten(messages=messages, words=worded):
                head = messages[:1] if self._keeps_system else (self._system,)
                spoken = tuple(Spoken(words.text, words.message) for words in worded)
                history.rewrite(Conversation((*head, *messages[1:]), spoken))
            case Withdrawn():
                history.withdraw()
            case Rewound(taken_back=True):
                forgotten, lost = self._rewinds.pop()
                history.restore(forgotten)
                regain(self.points, lost)
            case Rewound(messages=count, generation=generation):
                forgotten = history.rewind(Mark(count, generation))
                self._rewinds.append((forgotten, lose(self.points, history.mark())))
            case Pointed():
                self.points.append(_point(entry))
                history.mark()
            case _:
                pass

    def _keep(self, kept: Kept) -> None:
        match kept.message:
            case SystemMessage(text):
                if self._keeps_system:
                    self.history.begin_with(text)
            case UserMessage(text, images):
                self.history.add_user(text, images, words=kept.words)
            case AssistantMessage() as message:
                self.history.add_assistant(message)
            case ToolMessage(call_id, _, text, images):
                self.history.add_result(call_id, text, images)


def _point(entry: Pointed) -> Point:
    return Point(
        number=entry.number,
        name=entry.name,
        by_hand=entry.by_hand,
        time=entry.time,
        mark=Mark(entry.messages, entry.generation),
        position=entry.position,
        plan=entry.plan,
    )


class _Run:
    """A run that has not ended: its request, its calls without a result by id, and whether the model was asked."""

    def __init__(self, query: str) -> None:
        self.query = query
        self.begun: dict[str, ToolStarted] = {}
        self.was_asked = False

    def add(self, entry: Entry) -> None:
        """Take note of an entry within it."""
        self.was_asked |= isinstance(entry, Kept | MessageCompleted)
        match entry:
            case ToolStarted(call_id=call_id):
                self.begun[call_id] = entry
            case Kept(message=ToolMessage(call_id=call_id)):
                self.begun.pop(call_id, None)
            case _:
                pass


class _Findings:
    """What a log contains beside the conversation, of the entries so far. `last_run`: None if it has ended."""

    def __init__(self) -> None:
        self.changes: list[Changed] = []
        self.untold_since: int | None = None
        self._told_since: int | None = None
        self.is_tainted = self.has_downloaded = False
        self.profile = self.model = self.title = self.plan = ""
        self.usage = Usage()
        self.context_used = 0
        self._used_before_rewinds: list[int] = []
        self.turns = 0
        self.typed: dict[str, str] = {}
        self.last_run: _Run | None = None

    def add(self, entry: Entry) -> None:
        """Take note of the next entry."""
        self._add_usage(entry)
        self._add_untold(entry)
        if self.last_run:
            self.last_run.add(entry)
        match entry:
            case RunStarted(query=query):
                self.turns += 1
                self.last_run = _Run(query)
            case RunFinished():
                self.last_run = None
            case Changed():
                self.changes.append(entry)
            case Tainted(by_command=by_command):
                self.has_downloaded |= by_command
                self.is_tainted |= not by_command
            case Profiled(name=name):
                self.profile = name
            case Chosen(model=model):
                self.model = model
            case Titled(title=title):
                self.title = title
            case Planned(text=text):
                self.plan = text
            case Kept(words=words, typed=str(typed)) | Noted(words=words, typed=str(typed)):
                self.typed[words] = typed
            case _:
                pass

    def _add_untold(self, entry: Entry) -> None:
        """Follow which changes the model is to be told of: a request tells of all, unless it is withdrawn."""
        match entry:
            case Changed(taken_back=True) if self.untold_since is None:
                self.untold_since = len(self.changes)
            case Kept(message=UserMessage()):
                self._told_since, self.untold_since = self.untold_since, None
            case Withdrawn():
                self.untold_since = self._told_since
            case Rewound():
                self.untold_since = None
            case _:
                pass

    def _add_usage(self, entry: Entry) -> None:
        match entry:
            case (
                MessageCompleted(usage=usage)
                | Consulted(usage=usage)
                | Compacted(usage=usage)
                | Delegated(event=MessageCompleted(usage=usage) | Compacted(usage=usage))
            ):
                self.usage += usage
            case _:
                pass
        match entry:
            case MessageCompleted(usage=usage) if used := usage.prompt_tokens + usage.completion_tokens:
                self.context_used = used
            case Compacted(after=after):
                self.context_used = after
            case Rewound(taken_back=True):
                self.context_used = self._used_before_rewinds.pop() if self._used_before_rewinds else 0
            case Rewound():
                self._used_before_rewinds.append(self.context_used)
                self.context_used = 0
            case _:
                pass


def _lost(read: SessionRead | SessionStream, last_run: _Run | None, player: _Player) -> list[str]:
    """Describe what the session has lost by a crash, or damage."""
    lost = _broken_off(last_run, player.history) if last_run else []
    if read.is_torn:
        lost.append(_("The log ends in the middle of a line: the entry being written then is lost."))
    elif read.torn_lines:
        lost.append(
            ngettext(
                "{count} line of the log cannot be read and was skipped.",
                "{count} lines of the log cannot be read and were skipped.",
                read.torn_lines,
            )
        )
    if player.misfits:
        lost.append(
            ngettext(
                "{count} entry of the log is out of place and was skipped.",
                "{count} entries of the log are out of place and were skipped.",
                player.misfits,
            )
        )
    return lost


def _broken_off(run: _Run, history: History) -> list[str]:
    """Describe what the last run was doing when it was interrupted; empty if nothing is missing."""
    request, begun = _shown(run.query, _REQUEST), run.begun
    if history.open_calls:
        running = [begun[call.id] for call in history.open_calls if call.id in begun]
        waiting = ", ".join(f"`{call.name}`" for call in history.open_calls if call.id not in begun)
        said = [
            _(
                "The last run (“{request}”) was interrupted while running {call}: it is not known whether "
                "that finished.",
                request=request,
                call=_call(call),
            )
            for call in running[:1]
        ]
        return said or [
            _("The last run (“{request}”) was interrupted before {calls} could run.", request=request, calls=waiting)
        ]
    match history.messages[-1]:
        case UserMessage() | ToolMessage():
            return [
                _(
                    "The last run (“{request}”) was interrupted while the model was answering: what it had "
                    "written is lost.",
                    request=request,
                )
            ]
        case _:
            return (
                []
                if run.was_asked
                else [_("The last run (“{request}”) was interrupted before the model was asked.", request=request)]
            )


def _call(started: ToolStarted) -> str:
    names = ("command", "file_path", "pattern", "query", "url")
    main = next((str(started.arguments[name]) for name in names if started.arguments.get(name)), "")
    if started.name == "run_command":
        return f"`{_shown(main, _CALL)}`"
    return f"`{_shown(f'{started.name} {main}', _CALL)}`"


def _shown(text: str, cells: int) -> str:
    return shorten(clean(" ".join(text.split()), keep_newlines=False), cells)


class Reopened(NamedTuple):
    """A reopened session: its id, its locked log, open for writing, and its replayed state.
    `is_ours`: all of it was written by this user's program."""

    id: str
    log: SessionLog
    replayed: Replayed
    is_ours: bool


def reopen(sessions: Sessions, session: Session) -> Reopened:
    """Open a session. Raises ConfigurationError session_open, session_unknown, session_unreadable."""
    log = sessions.open_log(session.id)
    try:
        is_adopted = sessions.is_adopted(session.id)
        is_ours = sessions.is_ours(session) and not is_adopted
        if not (is_ours or is_adopted):  # for whoever reads the log later
            log.append(Adopted())
        with sessions.stream(session.id) as read:
            return Reopened(session.id, log, replay(read, system=system_prompt(), is_ours=is_ours), is_ours)
    except BaseException:
        log.close()
        raise
