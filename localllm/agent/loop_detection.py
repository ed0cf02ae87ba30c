"""Detect loops of the model: the same step, the same failure, no progress."""

import posixpath
import re
import sys
from collections.abc import Callable, Iterator
from itertools import takewhile
from math import ceil
from typing import Literal, get_args

import msgspec

from localllm.llm.messages import PATH_ARGUMENTS, arguments_in, canonical, in_few_words

Pattern = Literal["same_step", "same_error", "cycle", "failed_edit", "bad_call", "monologue", "chanting", "thrash"]
"""Kinds of loops: a call with the same result; a call with the same error; a cycle of two to five steps; failing edits
of one file; invalid calls of one tool; announcements without a call; a repeated passage within an answer; repeated
compaction. The last three are reported to the ladder by others, as they are no steps."""

PATTERNS: tuple[str, ...] = get_args(Pattern)

_LONGEST_CYCLE = 5
_POLLS = 5
"""Repetitions tolerated while waiting for something; further alarms are equally rare."""

_BETWEEN_ALARMS = 2
"""Minimum steps between alarms unless the same step is repeated: the model needs a chance to change course."""

_OTHER_OUTPUTS = 8
"""Distinct outputs of one command that count as progress.
Beyond that, new output proves nothing unless it is polled."""

# Patterns are compiled on first use, by re itself, to keep the start fast.
# Those for outputs begin with a digit or a letter, which lets re skip quickly.
_DIFFERING = (
    r"\d{1,9}(?:-\d\d-\d\d[T _]\d\d[:_-]\d\d(?:[:_-]\d\d(?:[.,_]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|:\d\d:\d\d(?:[.,]\d{1,9})?|[xX][0-9a-fA-F]{1,32}\b"
    r"|(?:h ?\d{1,9})?(?:m(?:in)? ?\d{1,9})?(?:\.\d{1,9})? ?"
    r"(?:(?:[mµun]?s|[sS]ec(?:ond)?s?|m(?:inute|in)?s?)\b|ミリ秒|秒|分))"
)
_NAMED_DURATION = (
    r"(?:[Dd]uration|[Ee]lapsed|[Tt]ime)(?:_\w{1,24})?[ \t]{0,8}[:=]?[ \t]{0,8}\d{1,9}(?:[.:]\d{1,9}){0,3}"
)
"""Matches what differs between runs although nothing has changed: durations, times of day, addresses."""

_LOOKING_ON = (
    r"(?i)(?:^|[;&(]\s*|\b(?:do|then|while|until)\s+)(?:sleep|start-sleep|wait|watch|ps|pgrep|pidof|jobs|top|pg_isready|ping)\b"
    r"|(?:^|[;&(]\s*)tail\b[^|;&]{0,300}(?:\s-[fF]\b|\.(?:log|out)\b)"
    r"|\b(?:docker|podman)(?:[ -]compose)? (?:ps|logs|wait|stats)\b|\bkubectl (?:get|logs|rollout status|wait)\b"
    r"|\bsystemctl (?:status|is-active)\b|\bgh (?:run|pr checks)\b|\bwait-for\b|--wait\b"
    r"|\b(?:curl|wget|nc|http)\b[^|;&]{0,300}\b(?:localhost|127\.0\.0\.1)\b"
)
"""Matches commands that poll something slow; those of `_BEGINNING` start it themselves."""

_BEGINNING = r"(?<![&>|])&(?![&>\d])"

_BY_PRODUCT = (
    r"(?:^|/)(?:\.(?!env\b|github/|gitlab|gitignore$)[^/]*|__pycache__|node_modules|htmlcov)(?:/|$)"
    r"|\.(?:pyc|pyo|log|pid|tmp|sqlite-wal|db-journal|lock)$"
)
"""Matches by-products of commands: caches, logs, measurements."""

_MISSED = frozenset({"would_destroy", "loss_refused", "file_changed_since"})
_INVALID = frozenset(
    {"tool_bad_arguments", "tool_malformed_json", "tool_cut_arguments", "tool_unknown", "tool_nameless"}
)
_COMMAND = "run_command"
_COMMANDS = frozenset({_COMMAND, "command_output"})


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A call and its outcome.

    `error` is the error's key, empty if it succeeded; `place` the file it works on, if its arguments do not name it;
    `changed` its effect on files (path → state). `waits`: it polls something slow.
    """

    tool: str
    arguments: str
    result: str
    error: str = ""
    place: str = ""
    changed: dict[str, str] = {}
    waits: bool = False


class Loop(msgspec.Struct, frozen=True):
    """`pattern` has occurred `count` times. `what` describes the step or cycle briefly; `key` identifies it."""

    pattern: Pattern
    count: int
    what: str = ""
    key: str = ""


class LoopDetector:
    """Examines the steps since the user spoke, or since the last progress: a file got a state it has not had before, or
    a repeated command gave new output.

    `threshold` occurrences are a loop; after an alarm further occurrences raise one every second time, cycles and
    immediate repetitions every time.
    """

    def __init__(self, threshold: int = 3) -> None:
        self.threshold = threshold
        self.reset()

    def reset(self) -> None:
        """Reset the state, as the user spoke."""
        self._states: set[tuple[str, str]] = set()
        self._outputs: dict[str, set[int]] = {}
        self._forget()
        self.has_changed_files = False
        """Whether the latest step has given a file a new state."""

    def record(self, step: Step) -> None:
        """Record an answered call."""
        seen = _Seen.of(step)
        self.has_changed_files = self._notes_states(step)
        if self._notes_output(step, seen) or self.has_changed_files:
            self._forget()
        self._steps = [*self._steps, seen][-self._span * 2 :]
        self._since_alarm += 1

    def look(self) -> Loop | None:
        """Return the loop the latest step belongs to, if an alarm is due."""
        if not self._steps or self._since_alarm < (1 if self._is_repeated else _BETWEEN_ALARMS):
            return None
        loops = list(self._loops())
        told = next((loop for loop in loops if self._is_news(loop)), None)
        if told:
            self._since_alarm = 0
            self._told |= {(loop.pattern, loop.key): loop.count for loop in loops}
        return told

    def _is_news(self, loop: Loop) -> bool:
        """Return whether an alarm, or a further one, is due."""
        before = self._told.get((loop.pattern, loop.key), 0)
        again = 1 if loop.pattern == "cycle" or self._is_repeated else 2
        return loop.count >= max(self.threshold, before + again if before >= self.threshold else 0)

    @property
    def _is_repeated(self) -> bool:
        """Whether the latest step equals the one directly before it."""
        return len(self._steps) > 1 and self._steps[-1].same == self._steps[-2].same

    def detected(self) -> bool:
        """Return whether the run is in a loop at its end."""
        return bool(self._steps) and any(loop.count >= self.threshold for loop in self._loops())

    def note_compaction(self) -> None:
        """Forget successful steps: after a compaction the model may look at their results again."""
        self._steps = [step for step in self._steps if step.error]

    @property
    def _span(self) -> int:
        """Number of steps examined: the longest cycle, and two more than a loop of it."""
        return _LONGEST_CYCLE * (self.threshold + 2)

    def _forget(self) -> None:
        self._steps: list[_Seen] = []
        self._told: dict[tuple[Pattern, str], int] = {}
        self._since_alarm = _BETWEEN_ALARMS

    def _notes_states(self, step: Step) -> bool:
        """Return whether a file has a new state. By-products of commands do not count."""
        states = {
            (path, state)
            for path, state in step.changed.items()
            if step.tool != _COMMAND or not re.search(_BY_PRODUCT, path)
        }
        are_new = not states <= self._states
        self._states |= states
        return are_new

    def _notes_output(self, step: Step, seen: "_Seen") -> bool:
        """Return whether a command, run or polled again, gives new output."""
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
        """Count the step's occurrences. If it polls, or polling steps precede its repetitions, more are tolerated: the
        count is reduced accordingly."""
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
        """Count the failing edits of the file since one succeeded, regardless of reads between them."""
        return self._since(
            lambda step: step.kind == "edit" and step.place == last.place and (step.place or step.tool == last.tool),
            lambda step: last.place in step.changed,
        )

    def _invalid(self, last: "_Seen") -> int:
        """Count the invalid calls of the tool since a valid one."""
        return self._since(
            lambda step: step.kind == "invalid" and step.tool == last.tool,
            lambda step: step.kind != "invalid" and step.tool == last.tool,
        )

    def _since(self, counts: Callable[["_Seen"], object], ends: Callable[["_Seen"], bool]) -> int:
        """Count the latest steps that match `counts`, back to one that matches `ends`."""
        count = 0
        for step in reversed(self._steps):
            if counts(step):
                count += 1
            elif ends(step):
                break
        return count

    def _round(self, last: "_Seen") -> int:
        """Return the length of the cycle that ends with this step, else 0.
        A cycle is seen when its first step occurs a third time."""
        keys = [step.same for step in self._steps]
        before = [index for index, key in enumerate(keys[:-1]) if key == last.same][-2:]
        if len(before) < 2:
            return 0
        first, second = before
        length = second - first
        is_round = 1 < length <= _LONGEST_CYCLE and keys[first:second] == keys[second:-1]
        return length if is_round and not any(step.waits for step in self._steps[first:]) else 0

    def _rounds(self, length: int) -> int:
        """Count the occurrences of its latest step in consecutive equal cycles."""
        keys = [step.same for step in self._steps]
        pairs = zip(reversed(keys), reversed(keys[:-length]), strict=False)
        return 1 + ceil(sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)) / length)

    def _cycle(self, length: int, count: int) -> Loop:
        steps = self._steps[-length:]
        key = "\n".join(sorted(step.key for step in steps))
        return Loop("cycle", count, " → ".join(step.name for step in steps), key)


class _Seen(msgspec.Struct, frozen=True):
    """A step in a form that compares equal for equal ones. `kind` classifies its failure."""

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
        place = step.place or next((str(given[name]) for name in PATH_ARGUMENTS if name in given), "")
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
    """Remove from the result what differs each time."""
    return re.sub(_NAMED_DURATION, "…", re.sub(_DIFFERING, "…", step.result))
