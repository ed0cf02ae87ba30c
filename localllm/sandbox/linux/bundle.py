"""The launcher's code as data, so that what is run is what was there when the program started.

The package may lie inside the project (an environment in `.venv`), where a command could rewrite it.
"""

import marshal
import os
from functools import cached_property
from types import CodeType

from localllm.base.environment import base_interpreter
from localllm.base.own_modules import source_of
from localllm.sandbox.launcher.spec import LaunchSpec

_BASES = ("spec", "removal", "syscalls")
_MODULES = (*_BASES, "landlock", "mounts", "covers", "limits", "namespaces", "bubblewrap", "listener", "main")
"""In the order they are made: each imports only those before it."""

_SERVER = "fork_server"

_BOOT = """
import marshal, sys
with open(int(sys.argv[1]), "rb") as file:
    modules, values = marshal.load(file)
for name, code in modules:
    module = sys.modules["localllm.sandbox.launcher." + name] = type(sys)(name)
    setattr(sys.modules.setdefault("localllm.sandbox.launcher", type(sys)("launcher")), name, module)
    exec(code, module.__dict__)
if values is None:
    sys.modules["localllm.sandbox.launcher.fork_server"].serve(int(sys.argv[2]))
else:
    sys.modules["localllm.sandbox.launcher.main"].main(sys.modules["localllm.sandbox.launcher.spec"].LaunchSpec(**values))
"""


class Bundle:
    """The launcher's source, read when this is made and never again."""

    def __init__(self) -> None:
        self._sources = {name: source_of(f"localllm.sandbox.launcher.{name}") for name in (*_MODULES, _SERVER)}

    @cached_property
    def _modules(self) -> list[tuple[str, CodeType]]:
        return [(name, compile(text, f"<{name}>", "exec", dont_inherit=True)) for name, text in self._sources.items()]

    def open(self, spec: LaunchSpec) -> int:
        """The launcher and its order in a file without a name. Returns the descriptor; the caller closes it."""
        return _in_memory((self._launcher, vars(spec)))

    @cached_property
    def code(self) -> bytes:
        """The launcher without an order, for one that starts itself again."""
        return marshal.dumps(self._launcher)

    @property
    def _launcher(self) -> list[tuple[str, CodeType]]:
        return [module for module in self._modules if module[0] != _SERVER]

    def open_server(self) -> int:
        """The same with the fork server, which gets its orders later."""
        return _in_memory((self._modules, None))


def open_order(spec: LaunchSpec) -> int:
    """An order for the fork server, as a file without a name. Returns the descriptor; the caller closes it."""
    return _in_memory(vars(spec))


def _in_memory(value: object) -> int:
    fd = os.memfd_create("launcher")
    with open(fd, "wb", closefd=False) as file:
        file.write(marshal.dumps(value))  # pyright: ignore[reportArgumentType] - what marshal can write has no type
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def launcher_arguments(*fds: int) -> list[str]:
    """The command line of an interpreter that runs what `Bundle.open` gave; or `open_server`, with its socket.

    It is the interpreter the environment was made from, told to look at no variable, no site folder and not at the
    working folder.
    """
    return [base_interpreter(), "-I", "-S", "-E", "-c", _BOOT, *map(str, fds)]
