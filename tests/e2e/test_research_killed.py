"""`localllm research` killed by kill -9 at each stage: it goes on, asks nothing twice and writes the same report."""

from pathlib import Path

from localllm.research.records import STAGES
from tests.support.research_killed import EachStage, run_to_the_end


def test_killed_at_every_stage_it_writes_the_same_report(tmp_path: Path) -> None:
    whole = run_to_the_end(tmp_path / "whole", "rice", "--preset", "fast")
    killing = EachStage()
    killed = run_to_the_end(tmp_path / "killed", "rice", "--preset", "fast", kill=killing)
    assert {stage for stage, _ in killing.seen} == {*STAGES}
    assert killed.kills >= len(STAGES) - 1, "the last stage can be over before the kill comes"
    assert killed.report == whole.report
    assert killed.metadata == whole.metadata
