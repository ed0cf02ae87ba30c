"""The attacks round the sandbox, and the honest work beside them, played through the whole program (../README.md)."""

from collections import Counter

import pytest

from tests.attacks.program.case import Case, load_cases
from tests.attacks.program.player import play
from tests.attacks.running import missing, offered

pytestmark = pytest.mark.timeout(180)


def parameters(folder: str) -> list[object]:
    """Every case at every level it is played at; the quick ones at the first are no long tests."""
    return [
        pytest.param(
            case,
            level,
            id=f"{level}-{case.family}-{case.name}",
            marks=[] if case.quick and level == case.played_at[0] else [pytest.mark.long],
        )
        for case in load_cases(folder)
        for level in case.played_at
    ]


def found(case: Case, level: str) -> list[str]:
    if why := missing(case.needs) or ("" if level == "none" else offered(level)):
        pytest.skip(why)
    return play(case, level).found


@pytest.mark.parametrize(("case", "level"), parameters("cases"))
def test_attack(case: Case, level: str) -> None:
    through = found(case, level)
    if through and level in case.limits:
        pytest.xfail(f"stated limit: {case.limits[level]}")
    assert not through, f"{case.name} got through: {through}"


@pytest.mark.parametrize(("case", "level"), parameters("honest"))
def test_honest_work(case: Case, level: str) -> None:
    assert not found(case, level)


def test_enough_cases() -> None:
    """The families that were found to matter keep their share, and every attack but those marked got through once."""
    families = Counter(case.family for case in load_cases("cases"))
    least = {"git": 20, "programs": 8, "settings": 8, "undo": 8, "hanging": 8, "exfiltration": 8}
    assert not {family for family, count in least.items() if families[family] < count}
    assert len(load_cases("honest")) >= 12
