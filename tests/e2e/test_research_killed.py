"""`localllm research` killed by kill -9: it goes on, asks for nothing twice and writes the same report."""

from pathlib import Path

import pytest

from localllm.research.records import STAGES
from tests.research_web.whole_run import ResearchProgram
from tests.support.research_killed import EachStage, Outcome, run_to_the_end

FAST = ("rice", "--preset", "fast")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return run_to_the_end(tmp_path_factory.mktemp("whole"), *FAST)


def test_killed_at_every_stage_it_writes_the_same_report(tmp_path: Path, whole: Outcome) -> None:
    killing = EachStage()
    killed = run_to_the_end(tmp_path, *FAST, kill=killing)
    assert {stage for stage, _ in killing.seen} == {*STAGES}
    assert killed.kills >= len(STAGES) - 1, "the last stage can be over before the kill comes"
    assert (killed.report, killed.metadata) == (whole.report, whole.metadata)


def test_killed_while_the_model_answers_only_that_is_asked_again(tmp_path: Path, whole: Outcome) -> None:
    waits = [6, 8, 9]  # while notes are taken, while the draft is written, while claims are checked

    def kill_soon(program: ResearchProgram) -> None:
        if waits:
            program.kill_at_request = program.asked.total() + waits.pop(0)

    killed = run_to_the_end(tmp_path, *FAST, prepare=kill_soon)
    assert (killed.kills, killed.requests_again, killed.pages_again) == (3, 3, 0)
    assert (killed.report, killed.metadata) == (whole.report, whole.metadata)
