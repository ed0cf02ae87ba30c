"""Points a session can go back to: files and conversation together."""

import time
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager

import msgspec

from localllm.agent.history import Forgotten, History, Mark
from localllm.base.errors import ToolExecutionError
from localllm.base.events import Rewound
from localllm.base.i18n import N_, Phrase, _
from localllm.sessions.entries import Keep, Pointed
from localllm.tools.tool_system import ToolSystem


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A point, numbered from 1. `name` is what the person called it, or the request that came after it (`by_hand`
    tells which). `time` is seconds since the epoch; `plan`: see SessionPlan; `changed` are
    the files that would change back. `files_only`: what was said until then is gone, for the conversation went back
    behind it."""

    number: int
    name: str
    by_hand: bool
    time: float
    mark: Mark
    position: int
    plan: str = ""
    changed: tuple[str, ...] = ()
    files_only: bool = False


class _Rewind(msgspec.Struct, frozen=True):
    """A rewind that may be undone: where the files are after it, what the conversation kept and forgot, the plan before
    it, and the numbers of the points it went back behind."""

    position: int
    kept: Mark
    forgotten: Forgotten
    plan: str
    made_changes: bool
    lost: frozenset[int]


class Checkpoints:
    """The points of one session, after those it has from before. `log` is given each, and what becomes of the
    conversation. The model's plan goes where the conversation goes."""

    def __init__(self, tools: ToolSystem, history: History, log: Keep, points: Sequence[Point] = ()) -> None:
        self._tools = tools
        self._plan = tools.plan
        self._history = history
        self._log = log
        self._points = list(points)
        self._rewinds: list[_Rewind] = []

    def add(self, name: str, *, by_hand: bool = True) -> Point:
        """Remember this point."""
        point = Point(
            number=len(self._points) + 1,
            name=" ".join(name.split()),
            by_hand=by_hand,
            time=time.time(),
            mark=self._history.mark(),
            position=self._tools.changes.position,
            plan=self._plan.text,
        )
        self._points.append(point)
        self._log(
            Pointed(
                number=point.number,
                name=point.name,
                by_hand=by_hand,
                time=point.time,
                messages=point.mark.messages,
                generation=point.mark.generation,
                position=point.position,
                plan=point.plan,
            )
        )
        return point

    @contextmanager
    def before(self, name: str) -> Generator[None]:
        """Remember this point, if what is done in this context does something to the conversation."""
        point = self.add(name, by_hand=False)
        try:
            yield
        finally:
            if self._points[-1] is point and point.mark == self._history.mark():
                self._points.pop()

    def points(self) -> Sequence[Point]:
        """All points, the oldest first, with what has changed since each."""
        return [
            msgspec.structs.replace(point, changed=tuple(self._tools.changes.changed_since(point.position)))
            for point in self._points
        ]

    def rewind(self, which: str) -> list[str]:
        """Bring files and conversation to a point; a line for each file and one for the conversation.

        Files that somebody else changed since stay as they are, and are named. Points after this one stay as well:
        going to one of them brings back its files, but not what was said. Raises ToolExecutionError rewind_unknown.
        """
        point = self._find(which)
        before = self._tools.changes.position
        lines = self._tools.changes.rewind(point.position)
        forgotten = self._history.rewind(self._history.mark() if point.files_only else point.mark)
        kept, position = self._history.mark(), self._tools.changes.position
        lost = lose(self._points, kept)
        self._rewinds.append(_Rewind(position, kept, forgotten, self._plan.text, position != before, lost))
        if not point.files_only:
            self._plan.text = point.plan
        changed = kept != _mark_of(forgotten)
        if changed:
            self._log(Rewound(messages=kept.messages, checkpoint=point.name, generation=kept.generation))
        match changed, kept.generation == forgotten.generation:
            case True, True:
                said = N_(
                    "The conversation is at point {number} again ({count} message is forgotten).",
                    "The conversation is at point {number} again ({count} messages are forgotten).",
                )
            case True, False:
                said = N_(
                    (
                        "The conversation is at point {number} again, whole, as it was before it was summed "
                        "up ({count} of your requests is forgotten)."
                    ),
                    (
                        "The conversation is at point {number} again, whole, as it was before it was summed "
                        "up ({count} of your requests are forgotten)."
                    ),
                )
            case _:
                said = (
                    N_(
                        "The conversation stays as it is: what was said until point {number} is gone, for "
                        "you went back behind it."
                    )
                    if point.files_only
                    else N_("The conversation stays as it is: nothing was said since point {number}.")
                )
        return [*lines, _(said, number=point.number, count=forgotten.count)]

    def undo(self, *, turn: bool) -> list[str]:
        """Take back the last change, or all of the last turn; a rewind, if that was the last thing done."""
        if (last := self._last_rewind()) is None:
            return self._tools.changes.undo(turn=turn)
        self._rewinds.pop()
        lines = self._tools.changes.undo(with_words=True) if last.made_changes else []
        self._tools.changes.forget_undone()  # /rewind goes there again, with the conversation
        if last.kept != (before := _mark_of(last.forgotten)):
            self._history.restore(last.forgotten)
            self._plan.text = last.plan
            regain(self._points, last.lost)
            self._log(Rewound(messages=before.messages, generation=before.generation, taken_back=True))
            same = last.kept.generation == before.generation
            lines.append(
                _(
                    N_(
                        "The conversation goes on where it was ({count} message is back).",
                        "The conversation goes on where it was ({count} messages are back).",
                    )
                    if same
                    else N_(
                        "The conversation goes on where it was, summed up ({count} of your requests is back).",
                        ("The conversation goes on where it was, summed up ({count} of your requests are back)."),
                    ),
                    count=last.forgotten.count,
                )
            )
        return lines or self._tools.changes.undo(turn=turn)

    def earlier_changes(self, *, turn: bool) -> list[str]:
        """What `undo` would take back of an earlier session or another one, a line each; nothing where it is this
        session's."""
        last = self._last_rewind()
        if last and (last.made_changes or last.kept != _mark_of(last.forgotten)):
            return []
        return self._tools.changes.earlier_changes(turn=turn)

    def _last_rewind(self) -> _Rewind | None:
        """The newest rewind, where nothing was done since."""
        last = self._rewinds[-1] if self._rewinds else None
        is_last = last and last.position == self._tools.changes.position and last.kept == self._history.mark()
        return last if is_last else None

    def _find(self, which: str) -> Point:
        """The point of this number, else the newest of this name."""
        wanted = which.strip()
        for point in reversed(self._points):
            if wanted == str(point.number) or (point.by_hand and wanted.casefold() == point.name.casefold()):
                return point
        key = (
            N_("/rewind lists the {count} point there is.", "/rewind lists the {count} points there are.")
            if self._points
            else N_("There is none yet. Each request makes one, and so does /checkpoint.")
        )
        raise ToolExecutionError("rewind_unknown", name=wanted, points=Phrase(key, count=len(self._points)))


def lose(points: list[Point], kept: Mark) -> frozenset[int]:
    """Note which points the conversation, which is at `kept` again, went back behind; the numbers of those that have
    become `files_only` by that."""
    lost = frozenset(one.number for one in points if not one.files_only and _is_behind(one.mark, kept))
    _set(points, lost, files_only=True)
    return lost


def regain(points: list[Point], lost: Collection[int]) -> None:
    """Note that the conversation is where it was before these points were lost."""
    _set(points, lost, files_only=False)


def _is_behind(mark: Mark, kept: Mark) -> bool:
    same = mark.generation == kept.generation
    return mark.messages > kept.messages if same else mark.generation > kept.generation


def _set(points: list[Point], numbers: Collection[int], *, files_only: bool) -> None:
    points[:] = [
        msgspec.structs.replace(one, files_only=files_only) if one.number in numbers else one for one in points
    ]


def _mark_of(forgotten: Forgotten) -> Mark:
    """Where the conversation was before."""
    return Mark(len(forgotten.conversation.messages), forgotten.generation)
