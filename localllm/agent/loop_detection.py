"""Detect that the model repeats itself: the same step, the same failure, no progress."""

import posixpath
import re
import sys
from collections.abc import Callable, Iterator
from itertools import takewhile
from math import ceil
from typing import Literal, get_args

import msgspec

from localllm.llm.messages import arguments_in, canonical, in_few_words

Pattern = Literal["same_step", "same_error", "cycle", "failed_edit", "bad_call", "monologue", "chanting", "thrash"]
"""What a run repeats: a call with the same result; a call with the same error; two to five steps in turn; edits of
one file that do not fit; calls of one tool that are not valid; announcements without a call; a passage inside one
answer; summing up the conversation. The last three are told to the ladder by others: they are no steps."""

PATTERNS: tuple[str, ...] = get_args(Pattern)

_LONGEST_CYCLE = 5
_POLLS = 5
"""Waiting for something may give the same answer so many times; then it is told as seldom."""

_BETWEEN_ALARMS = 2
"""Steps, at least, where it does not do the very same: the model must have had the chance to do something else."""

_OTHER_OUTPUTS = 8
"""Outputs of one command that count as headway; one that never says the same again proves nothing by it,
unless it is being waited for."""

# Patterns are compiled at their first use, by re itself: the program starts at once.
# Those for outputs begin with a digit or a letter, so that re skips quickly what they cannot match.
_DIFFERING = (
    r"\d{1,9}(?:-\d\d-\d\d[T _]\d\d[:_-]\d\d(?:[:_-]\d\d(?:[.,_]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|:\d\d:\d\d(?:[.,]\d{1,9})?|[xX][0-9a-fA-F]{1,32}\b"
    r"|(?:h ?\d{1,9})?(?:m(?:in)? ?\d{1,9})?(?:\.\d{1,9})? ?"
    r"(?:(?:[mµun]?s|[sS]ec(?:ond)?s?|m(?:inute|in)?s?)\b|ミリ秒|秒|分))"
)
_NAMED_DURATION = (
    r"(?:[Dd]uration|[Ee]lapsed|[Tt]ime)(?:_\w{1,24})?[ \t]{0,8}[:=]?[ \t]{0,8}\d{1,9}(?:[.:]\d{1,9}){0,3}"
)
"""What differs between two runs of one thing although nothing has changed: durations, times of day, addresses."""

_LOOKING_ON = (
    r"(?i)(?:^|[;&(]\s*|\b(?:do|then|while|until)\s+)(?:sleep|start-sleep|wait|watch|ps|pgrep|pidof|jobs|top|pg_isready|ping)\b"
    r"|(?:^|[;&(]\s*)tail\b[^|;&]{0,300}(?:\s-[fF]\b|\.(?:log|out)\b)"
    r"|\b(?:docker|podman)(?:[ -]compose)? (?:ps|logs|wait|stats)\b|\bkubectl (?:get|logs|rollout status|wait)\b"
    r"|\bsystemctl (?:status|is-active)\b|\bgh (?:run|pr checks)\b|\bwait-for\b|--wait\b"
    r"|\b(?:curl|wget|nc|http)\b[^|;&]{0,300}\b(?:localhost|127\.0\.0\.1)\b"
)
"""Commands that ask how something goes on which needs its time; those of `_BEGINNING` begin it themselves."""

_BEGINNING = r"(?<![&>|])&(?![&>\d])"

_BY_PRODUCT = (
    r"(?:^|/)(?:\.(?!env\b|github/|gitlab|gitignore$)[^/]*|__pycache__|node_modules|htmlcov)(?:/|$)"
    r"|\.(?:pyc|pyo|log|pid|tmp|sqlite-wal|db-journal|lock)$"
)
"""Files commands leave behind whatever they did: caches, logs, measurements."""

_MISSED = frozenset({"would_destroy", "file_changed_since"})
_INVALID = frozenset(
    {"tool_bad_arguments", "tool_malformed_json", "tool_cut_arguments", "tool_unknown", "tool_nameless"}
)
_COMMAND = "run_command"
_COMMANDS = frozenset({_COMMAND, "command_output"})
_PLACES = ("file_path", "path", "file", "filename")


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A call and what came of it.

    `error` is the error's key, empty where it succeeded; `place` the file it works on, where its arguments do not tell;
    `changed` what it has made of files (path → state). `waits`: it asks how something goes on that needs its time.
    """

    tool: str
    arguments: str
    result: str
    error: str = ""
    place: str = ""
    changed: dict[str, str] = {}
    waits: bool = False


class Loop(msgspec.Struct, frozen=True):
    """`pattern` has come `count` times. `what` names the step, or the steps of a cycle, in a few words; `key` tells
    them from all others."""

    pattern: Pattern
    count: int
    what: str = ""
    key: str = ""


class LoopDetector:
    """Looks at the steps since the user spoke, or since one of them made headway: it left a file in a state that file
    has not had before, or a command that was run before has said what it has not said before.

    `threshold` times are a loop; what goes on after it was told is one again every second time, a cycle and a step that
    is the same as the one before it every time.
    """

    def __init__(self, threshold: int = 3) -> None:
        self.threshold = threshold
        self.reset()

    def reset(self) -> None:
        """The user spoke: begin afresh."""
        self._states: set[tuple[str, str]] = set()
        self._outputs: dict[str, set[int]] = {}
        self._forget()
        self.has_changed_files = False
        """Whether the newest step has left a file in a state that is new."""

    def record(self, step: Step) -> None:
        """A call has been answered."""
        seen = _Seen.of(step)
        self.has_changed_files = self._notes_states(step)
        if self._notes_output(step, seen) or self.has_changed_files:
            self._forget()
        self._steps = [*self._steps, seen][-self._span * 2 :]
        self._since_alarm += 1

    def look(self) -> Loop | None:
        """The loop the newest step belongs to, where it has come often enough to be told (again)."""
        if not self._steps or self._since_alarm < (1 if self._is_repeated else _BETWEEN_ALARMS):
            return None
        loops = list(self._loops())
        told = next((loop for loop in loops if self._is_news(loop)), None)
        if told:
            self._since_alarm = 0
            self._told |= {(loop.pattern, loop.key): loop.count for loop in loops}
        return told

    def _is_news(self, loop: Loop) -> bool:
        """Whether it has come often enough to be told, or to be told again."""
        before = self._told.get((loop.pattern, loop.key), 0)
        again = 1 if loop.pattern == "cycle" or self._is_repeated else 2
        return loop.count >= max(self.threshold, before + again if before >= self.threshold else 0)

    @property
    def _is_repeated(self) -> bool:
        """Whether the newest step is the one before it again, with nothing else tried in between."""
        return len(self._steps) > 1 and self._steps[-1].same == self._steps[-2].same

    def detected(self) -> bool:
        """Whether the run goes round in circles at its end."""
        return bool(self._steps) and any(loop.count >= self.threshold for loop in self._loops())

    def note_compaction(self) -> None:
        """The model has lost sight of what succeeded: to look again is no repetition."""
        self._steps = [step for step in self._steps if step.error]

    @property
    def _span(self) -> int:
        """Steps that are looked at: the longest cycle, and two more of it than are a loop."""
        return _LONGEST_CYCLE * (self.threshold + 2)

    def _forget(self) -> None:
        self._steps: list[_Seen] = []
        self._told: dict[tuple[Pattern, str], int] = {}
        self._since_alarm = _BETWEEN_ALARMS

    def _notes_states(self, step: Step) -> bool:
        """Whether a file is as it has not been before. (What commands leave behind anyway does not count.)"""
        states = {
            (path, state)
            for path, state in step.changed.items()
            if step.tool != _COMMAND or not re.search(_BY_PRODUCT, path)
        }
        are_new = not states <= self._states
        self._states |= states
        return are_new

    def _notes_output(self, step: Step, seen: "_Seen") -> bool:
        """Whether a command says, run or looked at again, what it has not said before."""
        if step.tool not in _COMMANDS:
            return False
        known = self._outputs.setdefault(seen.same[1], set())
        most = sys.maxsize if seen.waits else _OTHER_OUTPUTS
        output = hash(seen.same[2])
        is_other = output not in known and 0 < len(known) < most
        known.add(output)
        return is_other

    def _loops(self) -> Iterator[Loop]:
        last = self._steps[-1]
        if last.kind == "edit":
            what = last.place or last.name
            yield Loop("failed_edit", self._misses(last), what, what)
        elif last.kind == "invalid":
            yield Loop("bad_call", self._invalid(last), last.tool, last.tool)
        if last.error:
            yield Loop("same_error", self._count(last), last.name, last.key)
        elif not (length := self._round(last)):
            yield Loop("same_step", self._count(last), last.name, last.key)
        else:
            yield self._cycle(length, max(self._count(last), self._rounds(length)))

    def _count(self, last: "_Seen") -> int:
        """How often the step has come. Where it waits, or others wait before it comes again, it may come more often:
        then so many times as if it had not waited."""
        steps = self._steps if any(step.waits for step in self._steps) else self._steps[-self._span :]
        firm = polls = 0
        waited = False
        for step in steps:
            waited = waited or step.waits
            if step.same == last.same:
                polls, firm = (polls + 1, firm) if waited else (polls, firm + 1)
                waited = False
        if not polls:
            return firm
        patient = (firm + polls - 1) // _POLLS
        return max(firm, self.threshold + 2 * (patient - 1) if patient else 1)

    def _misses(self, last: "_Seen") -> int:
        """How many edits of the file did not fit since one did. Reading it again between them changes nothing."""
        return self._since(
            lambda step: step.kind == "edit" and step.place == last.place and (step.place or step.tool == last.tool),
            lambda step: last.place in step.changed,
        )

    def _invalid(self, last: "_Seen") -> int:
        """How many calls of the tool were not valid since one was."""
        return self._since(
            lambda step: step.kind == "invalid" and step.tool == last.tool,
            lambda step: step.kind != "invalid" and step.tool == last.tool,
        )

    def _since(self, counts: Callable[["_Seen"], object], ends: Callable[["_Seen"], bool]) -> int:
        """How many of the newest steps count, back to one that ends them."""
        count = 0
        for step in reversed(self._steps):
            if counts(step):
                count += 1
            elif ends(step):
                break
        return count

    def _round(self, last: "_Seen") -> int:
        """How many steps ago it last came, where those since are the same as those since the time before: a cycle, seen
        where its first step comes a third time. Else 0."""
        keys = [step.same for step in self._steps]
        before = [index for index, key in enumerate(keys[:-1]) if key == last.same][-2:]
        if len(before) < 2:
            return 0
        first, second = before
        length = second - first
        is_round = 1 < length <= _LONGEST_CYCLE and keys[first:second] == keys[second:-1]
        return length if is_round and not any(step.waits for step in self._steps[first:]) else 0

    def _rounds(self, length: int) -> int:
        """How often its newest step has come in a row of equal cycles, however long ago they began."""
        keys = [step.same for step in self._steps]
        pairs = zip(reversed(keys), reversed(keys[:-length]), strict=False)
        return 1 + ceil(sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)) / length)

    def _cycle(self, length: int, count: int) -> Loop:
        steps = self._steps[-length:]
        key = "\n".join(sorted(step.key for step in steps))
        return Loop("cycle", count, " → ".join(step.name for step in steps), key)


class _Seen(msgspec.Struct, frozen=True):
    """A step in the form that equal ones share. `kind` is what sort of failure it is."""

    tool: str
    name: str
    key: str
    same: tuple[str, str, str]
    error: str
    kind: Literal["", "edit", "invalid", "other"]
    place: str
    changed: frozenset[str]
    waits: bool

    @classmethod
    def of(cls, step: Step) -> "_Seen":
        arguments = canonical(step.arguments)
        given = arguments_in(arguments)
        command = str(given.get("command") or given.get("cmd") or "") if step.tool == _COMMAND else ""
        place = step.place or next((str(given[name]) for name in _PLACES if name in given), "")
        return cls(
            tool=step.tool,
            name=in_few_words(step.tool, step.arguments),
            key=f"{step.tool} {arguments}",
            same=(step.tool, arguments, f"{step.error}\n{_without_times(step)}"),
            error=step.error,
            kind=_kind(step.error),
            place=posixpath.normpath(place) if place else "",
            changed=frozenset(step.changed),
            waits=step.waits or _waits(command),
        )


def _kind(error: str) -> Literal["", "edit", "invalid", "other"]:
    if not error:
        return ""
    if error in _INVALID:
        return "invalid"
    return "edit" if error.startswith("edit_") or error in _MISSED else "other"


def _waits(command: str) -> bool:
    return re.search(_LOOKING_ON, command) is not None and not re.search(_BEGINNING, command)


def _without_times(step: Step) -> str:
    """The result without what differs each time."""
    return re.sub(_NAMED_DURATION, "…", re.sub(_DIFFERING, "…", step.result))
