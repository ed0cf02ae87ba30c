"""Every attack of cases/*.toml at every level the machine offers, judged by the outside world (README.md).

Without a sandbox ("off") each must succeed, else it shows nothing (but those few that say why they cannot be shown
here); at a level none may.
"""

import pytest

from tests.attacks.running import LEVELS, Case, load_cases, missing, offered, run_case

PARAMETERS = [
    pytest.param(
        case,
        level,
        id=f"{level}-{case.family}-{case.name}",
        marks=[
            *([] if case.quick and level == "namespaces" else [pytest.mark.long]),
            *([pytest.mark.root] if "root" in case.needs else []),
        ],
    )
    for level in LEVELS
    for case in load_cases()
    if not (level == "off" and case.off)
]


_CHANCES = 3
"""More runs for an attack that has to win a race to succeed without a sandbox."""


@pytest.mark.parametrize(("case", "level"), PARAMETERS)
def test_attack(case: Case, level: str) -> None:
    if why := missing(case.needs) or offered(level):
        pytest.skip(why)
    verdict = run_case(case, level)
    if level == "off":
        for _ in range(_CHANCES):
            verdict = verdict if verdict.own else run_case(case, level)
        assert verdict.own, f"shows nothing: it does not succeed even without a sandbox; {verdict.answer}"
        return
    assert verdict.answer.get("level") == level, verdict.answer
    if verdict.through and level in case.limits:
        pytest.xfail(f"stated limit: {case.limits[level]}")
    assert not verdict.through, f"{case.promise}: {case.command!r} got through: {verdict.through}"


def test_enough_cases() -> None:
    assert len(load_cases()) >= 130
    assert len({case.family for case in load_cases()}) >= 12
