"""`localllm research` killed by kill -9 at every stage of every round, and at random moments."""

import random
from functools import cache
from pathlib import Path

import pytest

from tests.research_web.whole_run import ResearchProgram
from tests.support.research_killed import MOST_PAGES_AT_ONCE, EachStage, Outcome, run_to_the_end

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

REQUESTS = 45
PAGES = 20
KILLS = 4


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory):
    """The outcome of a topic's run that nobody kills."""

    @cache
    def outcome(topic: str) -> Outcome:
        return run_to_the_end(tmp_path_factory.mktemp(topic), topic)

    return outcome


@pytest.mark.parametrize("topic", ["battery", "kyushoku"])
def test_killed_at_every_stage_of_every_round(tmp_path: Path, topic: str, undisturbed) -> None:
    killing = EachStage()
    killed = run_to_the_end(tmp_path, topic, kill=killing)
    assert max(number for _, number in killing.seen) >= 1
    assert killed.kills >= len(killing.seen) - 1
    assert (killed.report, killed.metadata) == (undisturbed(topic).report, undisturbed(topic).metadata)


@pytest.mark.parametrize("seed", range(12))
def test_killed_at_random(tmp_path: Path, seed: int, undisturbed) -> None:
    dice = random.Random(seed)
    left = KILLS
    pages = 0

    def set_next_kill(program: ResearchProgram) -> None:
        nonlocal left, pages
        if left:
            left -= 1
            if dice.random() < 0.3:
                pages += 1
                program.kill_at_page = program.pages.total() + dice.randint(1, PAGES // 2)
            else:
                program.kill_at_request = program.asked.total() + dice.randint(1, REQUESTS // 2)

    killed = run_to_the_end(tmp_path, "battery", prepare=set_next_kill)
    assert killed.kills >= 1
    assert killed.pages_again <= pages * MOST_PAGES_AT_ONCE
    assert (killed.report, killed.metadata) == (undisturbed("battery").report, undisturbed("battery").metadata)
