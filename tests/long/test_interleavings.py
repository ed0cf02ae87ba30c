"""Thousands of sessions in which anything happens at any moment. `LOCALLLM_SEEDS=from-to` plays others."""

import os
from pathlib import Path

import pytest

from tests.support.interleavings import Interleaving

pytestmark = [pytest.mark.anyio, pytest.mark.long, pytest.mark.timeout(600)]

PART = 250
FIRST, LAST = map(int, os.environ.get("LOCALLLM_SEEDS", "1000-4000").split("-"))


@pytest.mark.parametrize("first", range(FIRST, LAST, PART))
async def test_any_interleaving_leaves_a_valid_conversation(tmp_path: Path, first: int) -> None:
    for seed in range(first, min(first + PART, LAST)):
        await Interleaving(seed, tmp_path / str(seed)).play()
