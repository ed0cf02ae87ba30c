"""What every judge of the suite has in common."""

from pathlib import Path
from typing import Any

from tests.attacks.world import World

Answer = dict[str, Any]


class Oracle:
    """`start` before the command, `sample` a few times a second while it runs, `verdict` after it."""

    def __init__(self, world: World, parameters: Any) -> None:
        self.world = world
        self.parameters = parameters

    def start(self) -> None: ...

    def sample(self, agent: int) -> None: ...

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        raise NotImplementedError

    def stop(self) -> None: ...

    def paths(self) -> list[Path]:
        given: list[str] = [self.parameters] if isinstance(self.parameters, str) else self.parameters
        return [Path(self.world.fill(p)) for p in given]
