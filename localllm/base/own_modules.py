"""Keep the program's own code in memory, so that commands cannot replace it.

Modules are imported when first needed, possibly after a command has run. So if the program itself lies in the project
(it is developed with itself), its source is read into memory before the first tool changes anything.
(`base.environment` removes the project's folders from the module search path.)
"""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from localllm.base.environment import environment_in

_PACKAGE = __name__.partition(".")[0]
_FOLDER = Path(os.path.realpath(__file__)).parents[1]


class _HeldSource:
    """A finder and loader of the package's modules from their source at construction time.
    (Not derived from importlib.abc's classes, which nothing else imports at the start.)"""

    def __init__(self) -> None:
        self._files: dict[str, Path] = {}
        self._sources: dict[str, bytes] = {}
        for file in sorted(_FOLDER.rglob("*.py")):
            *parts, last = file.relative_to(_FOLDER).with_suffix("").parts
            name = ".".join([_PACKAGE, *parts, *([] if last == "__init__" else [last])])
            self._files[name] = file
            self._sources[name] = file.read_bytes()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        file = self._files.get(fullname)
        if file is None:
            return None
        loader: Any = self
        spec = ModuleSpec(fullname, loader, origin=str(file), is_package=file.name == "__init__.py")
        spec.has_location = True
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(str(file.parent))
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Use Python's default module."""

    def get_source(self, fullname: str) -> str:
        """Return the source, for tracebacks."""
        return self._sources[fullname].decode("utf-8")

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        exec(compile(self._sources[name], str(self._files[name]), "exec", dont_inherit=True), module.__dict__)  # noqa: S102

    def source(self, name: str) -> bytes:
        return self._sources[name]


def hold_source(project: Path) -> None:
    """Read the program's source once, if it lies in the project outside a protected environment."""
    kept = environment_in(str(project))
    is_held = any(isinstance(finder, _HeldSource) for finder in sys.meta_path)
    if is_held or not _FOLDER.is_relative_to(project) or any(map(_FOLDER.is_relative_to, kept)):
        return
    sys.meta_path.insert(0, _HeldSource())


def source_of(name: str) -> bytes:
    """Return the source of a module of the package, as held if it was, else the current one."""
    held = next((finder for finder in sys.meta_path if isinstance(finder, _HeldSource)), None)
    if held:
        return held.source(name)
    return _FOLDER.joinpath(*name.split(".")[1:]).with_suffix(".py").read_bytes()
