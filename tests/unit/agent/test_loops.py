"""The corpus of runs in loops/: those that go round in circles are told in time, honest work never is.

A case is data (loops/README.md); whoever meets a loop that was missed, or a false alarm, adds one.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import pytest

from localllm.agent.loop_detection import LoopDetector, Pattern, Step
from localllm.base.error_texts import ERRORS
from tests.support.each import each

FOLDER = Path(__file__).parent / "loops"


StepPattern = Literal["same_step", "same_error", "cycle", "failed_edit", "bad_call"]


class CaseStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tool: str
    args: dict[str, Any] | str = msgspec.field(default_factory=dict[str, Any])
    result: str = ""
    error: str = ""
    changed: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    repeat: int = 1

    def step(self) -> Step:
        arguments = self.args if isinstance(self.args, str) else msgspec.json.encode(self.args).decode()
        is_running = self.tool == "command_output" and not any(
            word in self.result for word in ("exit", "stopped", "killed", "終了", "停止")
        )
        return Step(
            tool=self.tool,
            arguments=arguments,
            result=self.result,
            error=self.error,
            changed=self.changed,
            waits=is_running,
        )


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    steps: tuple[CaseStep, ...]
    loop: StepPattern | tuple[StepPattern, ...] = ()
    steps_until: tuple[int, int] | None = None
    why: str = ""

    @property
    def patterns(self) -> tuple[str, ...]:
        return (self.loop,) if isinstance(self.loop, str) else self.loop

    def told_at(self, threshold: int = 3) -> list[tuple[int, Pattern]]:
        """The steps, from 1, at which a loop is told, and which."""
        detector = LoopDetector(threshold)
        told: list[tuple[int, Pattern]] = []
        for number, step in enumerate([entry.step() for entry in self.steps for _ in range(entry.repeat)], 1):
            detector.record(step)
            if loop := detector.look():
                told.append((number, loop.pattern))
        return told


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    case: tuple[Case, ...]


CASES = [
    (f"{file.stem}: {case.name}", case)
    for file in sorted(FOLDER.glob("*.toml"))
    for case in msgspec.toml.decode(file.read_bytes(), type=_File).case
]
OF_OURS = [(name, case) for name, case in CASES if "outside" not in name]


def each_of(cases: list[tuple[str, Case]]) -> Callable[[Callable[[Case], None]], Any]:
    return each("case", [case for _, case in cases], ids=[name for name, _ in cases])


@each_of(CASES)
def test_loops_are_told_in_time_and_honest_work_never(case: Case) -> None:
    told = case.told_at()
    if not case.patterns:
        assert told == []
        return
    assert case.steps_until is not None
    earliest, latest = case.steps_until
    assert told, "never told"
    assert earliest <= told[0][0] <= latest, told


@each_of(OF_OURS)
def test_the_pattern_is_named(case: Case) -> None:
    assert not case.patterns or case.told_at()[0][1] in case.patterns


@each_of(CASES)
def test_an_error_is_one_there_is(case: Case) -> None:
    """A case with a key nobody uses would test nothing."""
    keys = {step.error for step in case.steps} - {""}
    assert keys <= set(ERRORS)


def test_there_are_enough_of_each() -> None:
    assert len({name for name, _ in CASES}) == len(CASES) >= 70
    patterns = [name for _, case in CASES for name in case.patterns or ("",)]
    assert all(patterns.count(name) >= 5 for name in get_args(StepPattern))
    assert patterns.count("") >= 30


def test_what_goes_on_is_told_every_second_time_and_a_cycle_every_time() -> None:
    a, b, c, d, e = (CaseStep(tool="read_file", args={"file_path": name}, result=name) for name in "abcde")
    goes_on = Case("a step that comes again between others", (a, a, a, b, c, a, d, e, a))
    assert goes_on.told_at() == [(3, "same_step"), (9, "same_step")]
    cycle = Case("two steps in turn", (a, b) * 5)
    assert cycle.told_at() == [(5, "cycle"), (7, "cycle"), (9, "cycle")]


@pytest.mark.parametrize("threshold", [3, 5])
@pytest.mark.parametrize("length", [2, 3, 4, 5])
def test_a_cycle_is_told_each_time_until_the_ladder_ends(length: int, threshold: int) -> None:
    steps = tuple(CaseStep(tool="read_file", args={"file_path": name}, result=name) for name in "abcde"[:length])
    told = Case("the same steps were repeated", steps * (threshold + 5)).told_at(threshold)
    first = (threshold - 1) * length + 1
    assert [number for number, _ in told[:5]] == [first + length * times for times in range(5)]


@each_of(OF_OURS)
def test_a_higher_threshold_is_never_earlier(case: Case) -> None:
    first = [told[0][0] if (told := case.told_at(threshold)) else 10**6 for threshold in (2, 3, 5)]
    assert first == sorted(first)
