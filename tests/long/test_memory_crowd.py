"""Many programs at one LOCALLLM.md, killed again and again, and a person with an editor: nothing is lost or doubled."""

from pathlib import Path

import pytest

from tests.support import memory_crowd

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("editor", [0, 40])
def test_many_at_once(tmp_path: Path, seed: int, editor: int) -> None:
    root = tmp_path / "project"
    root.mkdir()
    said = memory_crowd.run(root, workers=4, count=60, kills=15, seed=seed, editor=editor)
    memory_crowd.check(root, said)
