"""Read by the interpreter of the program under attack before anything else: has commands held at one level.

No setting and no variable of the program chooses a level, so the sandbox's runner is given it here, when it is loaded.
"""

import importlib.util
import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

RUNNER = "localllm.sandbox.runner"


class _LevelFinder(MetaPathFinder, Loader):
    """Loads the runner as it is, then sets what levels it tries."""

    def __init__(self, levels: tuple[str, ...]) -> None:
        self._levels = levels

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname != RUNNER:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        self._loader: Any = spec.loader
        spec.loader = self
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        defaults = module.SandboxRunner.__init__.__kwdefaults__
        assert "levels" in defaults, "the runner takes its levels in another way now"
        defaults["levels"] = self._levels


if level := os.environ.pop("LL_ATTACK_LEVEL", ""):
    sys.meta_path.insert(0, _LevelFinder(() if level == "none" else (level,)))
