"""Whole research runs on all topics of the tests' web: 144 planted facts, and a lie of each kind in each topic."""

from pathlib import Path

import pytest

from tests.integration.test_research_proof import DATA, MODELS, check_lying_runs, check_open_points

pytestmark = [pytest.mark.long, pytest.mark.anyio, pytest.mark.timeout(600)]

TOPICS = tuple(DATA.questions)


@pytest.mark.parametrize("model", MODELS)
async def test_facts_stand_and_lies_do_not(tmp_path: Path, model: str) -> None:
    await check_lying_runs(model, TOPICS, tmp_path)


async def test_gaps_and_contradictions_are_searched_for_again(tmp_path: Path) -> None:
    await check_open_points(TOPICS, tmp_path)
