"""Small models with their usual faults are carried to a finished job (evals/harness)."""

import importlib.util
import sys
from pathlib import Path

import pytest

HARNESS = Path(__file__).parents[2] / "evals/harness"
TASKS = sorted(path.parent.name for path in HARNESS.glob("*/task.toml"))

spec = importlib.util.spec_from_file_location("play", HARNESS / "play.py")
assert spec is not None
assert spec.loader is not None
play = sys.modules["play"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(play)


@pytest.mark.parametrize("task", TASKS)
def test_faults_are_survived(task: str) -> None:
    outcome = play.play(HARNESS / task, faults=True)
    assert outcome.solved, "\n".join([*outcome.player.log, outcome.output])
    assert (outcome.exit_code, outcome.player.waste(), outcome.player.asked_on) == (0, [], 0)


@pytest.mark.parametrize("task", TASKS)
def test_no_request_is_made_in_vain(task: str) -> None:
    outcome = play.play(HARNESS / task, faults=False)
    player = outcome.player
    assert outcome.solved, "\n".join([*player.log, outcome.output])
    assert (outcome.exit_code, player.requests) == (0, len(player.steps))
