"""The launcher's code as data, so that what runs is what was there when the program started.

The package may be inside the project (an environment in `.venv`), where a command could rewrite it.
"""

import marshal
import os
from functools import cached_property
from types import CodeType

from localllm.base.environment import base_interpreter
from localllm.base.own_modules import source_of
from localllm.sandbox.launcher.spec import LaunchSpec

_BASES = ("spec", "removal", "syscalls")
_MODULES = (
    *_BASES,
    "landlock",
    "mounts",
    "mount_table",
    "covers",
    "limits",
    "bwrap_program",
    "namespaces",
    "bubblewrap",
    "listener",
    "main",
)
"""In order of creation: each imports only those before it."""

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
    """The launcher's source, read once on creation."""

    def __init__(self) -> None:
        self._sources = {name: source_of(f"localllm.sandbox.launcher.{name}") for name in (*_MODULES, _SERVER)}

    @cached_property
    def _modules(self) -> list[tuple[str, CodeType]]:
        return [(name, compile(text, f"<{name}>", "exec", dont_inherit=True)) for name, text in self._sources.items()]

    def open(self, spec: LaunchSpec) -> int:
        """Write the launcher and its order to an anonymous file. Returns the descriptor; the caller closes it."""
        return _in_memory((self._launcher, vars(spec)))

    @cached_property
    def code(self) -> bytes:
        """Return the launcher without an order, for one that restarts itself."""
        return marshal.dumps(self._launcher)

    @property
    def _launcher(self) -> list[tuple[str, CodeType]]:
        return [module for module in self._modules if module[0] != _SERVER]

    def open_server(self) -> int:
        """Write launcher and fork server, which gets its orders later, to an anonymous file; see `open`."""
        return _in_memory((self._modules, None))


def open_order(spec: LaunchSpec) -> int:
    """Write an order for the fork server to an anonymous file. Returns its descriptor, to be closed."""
    return _in_memory(vars(spec))


def _in_memory(value: object) -> int:
    fd = os.memfd_create("launcher")
    with open(fd, "wb", closefd=False) as file:
        file.write(marshal.dumps(value))  # pyright: ignore[reportArgumentType] - what marshal can write has no type
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def launcher_arguments(*fds: int) -> list[str]:
    """Return the command line of an interpreter that runs the file of `Bundle.open`; or `open_server`, with a socket.

    It is the base interpreter of the environment, which ignores variables, site folders and the
    working folder.
    """
    return [base_interpreter(), "-I", "-S", "-E", "-c", _BOOT, *map(str, fds)]
