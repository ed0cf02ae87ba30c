"""Whatever happens at whatever moment, the conversation stays valid, is sent as it is, and loses no word."""

from pathlib import Path

import pytest

from tests.support.interleavings import Interleaving

pytestmark = pytest.mark.anyio

SEEDS = 60
"""So many take about two seconds; tests/long plays thousands."""


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_any_interleaving_leaves_a_valid_conversation(tmp_path: Path, seed: int) -> None:
    await Interleaving(seed, tmp_path).play()
