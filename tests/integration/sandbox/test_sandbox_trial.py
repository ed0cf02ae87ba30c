"""`localllm sandbox --probe` tells the truth about each level."""

import pytest

from localllm.sandbox.backend import Level
from localllm.sandbox.self_test import attempts
from tests.support.sandbox_world import World

pytestmark = pytest.mark.anyio

KNOWN_LIMITS = {
    "namespaces": set[str](),
    "bubblewrap": set[str](),
    "landlock": {"attributes", "command_lines", "servers"},
}


async def test_what_holds(world: World, level: Level) -> None:
    tried = await attempts(world.levels)
    assert {attempt.name for attempt in tried if not attempt.ok} == KNOWN_LIMITS[level]
    assert len(tried) == 13
