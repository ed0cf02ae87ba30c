"""Points to which a session can rewind its files and conversation together."""

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
    """A checkpoint, numbered from 1. `name` is the user's name for it (`by_hand`), or the request that followed it.
    `time` is seconds since the epoch; `plan`: see SessionPlan; `changed` are the files that a rewind would revert.
    `files_only`: its conversation is lost, as that was rewound to before it."""

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
    """A rewind that can be undone: the position of the files after it, the kept and removed conversation, the plan
    before it, and the numbers of the points it invalidated."""

    position: int
    kept: Mark
    forgotten: Forgotten
    plan: str
    made_changes: bool
    lost: frozenset[int]


class Checkpoints:
    """The checkpoints of a session, including earlier ones.
    `log` receives each, and the changes of the conversation. The model's plan is rewound with the conversation."""

    def __init__(self, tools: ToolSystem, history: History, log: Keep, points: Sequence[Point] = ()) -> None:
        self._tools = tools
        self._plan = tools.plan
        self._history = history
        self._log = log
        self._points = list(points)
        self._rewinds: list[_Rewind] = []

    def add(self, name: str, *, by_hand: bool = True) -> Point:
        """Add a checkpoint."""
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
        """Add a checkpoint, if the conversation changes within this context."""
        point = self.add(name, by_hand=False)
        try:
            yield
        finally:
            if self._points[-1] is point and point.mark == self._history.mark():
                self._points.pop()

    def points(self) -> Sequence[Point]:
        """Return all checkpoints, oldest first, with the files changed since each."""
        return [
            msgspec.structs.replace(point, changed=tuple(self._tools.changes.changed_since(point.position)))
            for point in self._points
        ]

    def rewind(self, which: str) -> list[str]:
        """Rewind files and conversation to a checkpoint. Return a line for each file and one for the conversation.

        Files changed from outside since are kept and named. Later checkpoints are kept as well: a rewind to one
        restores its files, but not its conversation. Raises ToolExecutionError rewind_unknown.
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
                    "The conversation is back at checkpoint {number} ({count} message dropped).",
                    "The conversation is back at checkpoint {number} ({count} messages dropped).",
                )
            case True, False:
                said = N_(
                    (
                        "The conversation is back at checkpoint {number}, as it was before it was "
                        "summarised ({count} of your requests dropped)."
                    ),
                    (
                        "The conversation is back at checkpoint {number}, as it was before it was "
                        "summarised ({count} of your requests dropped)."
                    ),
                )
            case _:
                said = (
                    N_(
                        "The conversation is unchanged: its part up to checkpoint {number} is gone, "
                        "because you went back past it."
                    )
                    if point.files_only
                    else N_("The conversation is unchanged: nothing was said since checkpoint {number}.")
                )
        return [*lines, _(said, number=point.number, count=forgotten.count)]

    def undo(self, *, turn: bool) -> list[str]:
        """Undo the last change, or all of the last turn; a rewind, if that was the last action."""
        if (last := self._last_rewind()) is None:
            return self._tools.changes.undo(turn=turn)
        self._rewinds.pop()
        lines = self._tools.changes.undo(with_words=True) if last.made_changes else []
        self._tools.changes.forget_undone()  # /rewind can go there again, with the conversation
        if last.kept != (before := _mark_of(last.forgotten)):
            self._history.restore(last.forgotten)
            self._plan.text = last.plan
            regain(self._points, last.lost)
            self._log(Rewound(messages=before.messages, generation=before.generation, taken_back=True))
            same = last.kept.generation == before.generation
            lines.append(
                _(
                    N_(
                        "The conversation continues where it was ({count} message restored).",
                        "The conversation continues where it was ({count} messages restored).",
                    )
                    if same
                    else N_(
                        "The conversation continues where it was, summarised ({count} of your requests restored).",
                        "The conversation continues where it was, summarised ({count} of your requests restored).",
                    ),
                    count=last.forgotten.count,
                )
            )
        return lines or self._tools.changes.undo(turn=turn)

    def earlier_changes(self, *, turn: bool) -> list[str]:
        """Return what `undo` would revert of another session, a line each. Empty if the changes are this session's."""
        return [] if self.is_rewound else self._tools.changes.earlier_changes(turn=turn)

    @property
    def is_rewound(self) -> bool:
        """Whether `undo` would undo a rewind: nothing was done since, and it changed anything."""
        last = self._last_rewind()
        return last is not None and (last.made_changes or last.kept != _mark_of(last.forgotten))

    def _last_rewind(self) -> _Rewind | None:
        """Return the newest rewind, if nothing was done since."""
        last = self._rewinds[-1] if self._rewinds else None
        is_last = last and last.position == self._tools.changes.position and last.kept == self._history.mark()
        return last if is_last else None

    def _find(self, which: str) -> Point:
        """Return the checkpoint of this number, else the newest of this name."""
        wanted = which.strip()
        for point in reversed(self._points):
            if wanted == str(point.number) or (point.by_hand and wanted.casefold() == point.name.casefold()):
                return point
        key = (
            N_("/rewind lists the {count} checkpoint.", "/rewind lists all {count} checkpoints.")
            if self._points
            else N_("There are none yet. Every request makes one, and so does /checkpoint.")
        )
        raise ToolExecutionError("rewind_unknown", name=wanted, points=Phrase(key, count=len(self._points)))


def lose(points: list[Point], kept: Mark) -> frozenset[int]:
    """Mark the checkpoints after `kept`, to which the conversation was rewound.
    Return the numbers of those that have become `files_only`."""
    lost = frozenset(one.number for one in points if not one.files_only and _is_behind(one.mark, kept))
    _set(points, lost, files_only=True)
    return lost


def regain(points: list[Point], lost: Collection[int]) -> None:
    """Restore these checkpoints, as the rewind was undone."""
    _set(points, lost, files_only=False)


def _is_behind(mark: Mark, kept: Mark) -> bool:
    same = mark.generation == kept.generation
    return mark.messages > kept.messages if same else mark.generation > kept.generation


def _set(points: list[Point], numbers: Collection[int], *, files_only: bool) -> None:
    points[:] = [
        msgspec.structs.replace(one, files_only=files_only) if one.number in numbers else one for one in points
    ]


def _mark_of(forgotten: Forgotten) -> Mark:
    """Return the mark of the conversation before the rewind."""
    return Mark(len(forgotten.conversation.messages), forgotten.generation)
