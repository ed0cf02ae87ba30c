"""The Python environment as found at the start, and a module search path without the project.

The environment may lie in the project, or be reached through links there. Loaded before anything else: imports only
what Python has already loaded.
"""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# pathlib is not loaded yet, hence os.path.
_PARTS = ("Scripts", "Lib", "Include") if sys.platform == "win32" else ("bin", "lib", "lib64", "include")
_SETTINGS = "pyvenv.cfg"  # beside the interpreter or one folder above: locates the modules
_MOST_LINKS = 40
_MARKS = (".git", "localllm.toml")
TOOLCHAINS = frozenset({".pyenv", ".rbenv", ".nodenv", ".goenv", ".jenv", ".asdf", ".nvm", ".sdkman"})
HOMEBREW = frozenset({"/opt/homebrew", "/usr/local"})
"""Clones that are no projects: in the home, and on macOS, where a prefix of Homebrew is one. On Linux that is called
`.linuxbrew`."""

_PACKAGE = __name__.partition(".")[0]
_SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
_PACKAGES = ("site-packages", "dist-packages")
_known: dict[str, str] = {}
_taken: dict[str, str] = {}
_SEARCHED = (
    "LD_LIBRARY_PATH LD_PRELOAD LD_AUDIT GCONV_PATH LOCPATH NLSPATH DYLD_LIBRARY_PATH DYLD_FALLBACK_LIBRARY_PATH "
    "DYLD_FRAMEWORK_PATH DYLD_FALLBACK_FRAMEWORK_PATH DYLD_INSERT_LIBRARIES PYTHONPATH PYTHONHOME PYTHONUSERBASE "
    "PYTHONSTARTUP PYTHONPYCACHEPREFIX PERL5LIB PERLLIB RUBYLIB NODE_PATH GIT_EXEC_PATH GIT_TEMPLATE_DIR BASH_ENV ENV "
    "OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES GIO_MODULE_DIR GIO_EXTRA_MODULES GTK_PATH LIBGL_DRIVERS_PATH "
    "LIBVA_DRIVERS_PATH VK_DRIVER_FILES VK_ICD_FILENAMES VK_LAYER_PATH"
)
"""Variables with search paths for code, separated by colons.
An empty or relative entry means the folder a program is started in."""

_LIBRARIES = frozenset({"LD_PRELOAD", "LD_AUDIT"})  # a name without a slash is searched in the system's folders
_LOADING = ("PERL5OPT", "RUBYOPT", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS")
"""Options that make programs load code; removed from our environment."""

_STEERING = (
    "GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_NAMESPACE GIT_CONFIG "
    "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_PREFIX GIT_SHALLOW_FILE GIT_GRAFT_FILE GIT_REPLACE_REF_BASE "
    "GIT_IMPLICIT_WORK_TREE GIT_INTERNAL_SUPER_PREFIX GIT_QUARANTINE_PATH"
)
"""What `git rev-parse --local-env-vars` names, and git sets for its hooks: git would use another repository than the
project's, which is the one that was checked, or other settings (`GIT_CONFIG`). Removed as well."""


def first_real(path: str) -> str:
    """Return the real path of `path` as of the first call."""
    if path not in _known:
        _known[path] = os.path.realpath(path)
    return _known[path]


def base_interpreter() -> str:
    """Return the real path of the Python from which the virtual environment, if any, was created."""
    return first_real(getattr(sys, "_base_executable", "") or sys.executable)


def environment_in(project: str) -> list[str]:
    """Return the real paths in the project that belong to the environment or its base Python.
    If the environment is the project itself: the files that make up an environment."""
    found: list[str] = []
    for place in dict.fromkeys(map(first_real, (sys.prefix, sys.base_prefix))):
        if place == project:
            found += [f"{place}/{name}" for name in (*_PARTS, _SETTINGS)]
        elif is_within(place, project):
            found.append(place)
    return found


def believed_in(project: str) -> list[str]:
    """Return what of the project this program runs, now or at its next start: the environment, other folders on its
    module path, the links that lead there, and files that would define another environment."""
    folder = os.path.dirname(sys.executable)  # noqa: PTH120
    settings = [f"{first_real(place)}/{_SETTINGS}" for place in (folder, os.path.dirname(folder))]  # noqa: PTH120
    found = [*environment_in(project), *settings, *map(first_real, sys.path), *_LINKS]
    return [path for path in dict.fromkeys(found) if is_within(path, project) and path != project]


def is_within(path: str, folder: str) -> bool:
    """Return whether a path is the folder or beneath it; both must be real paths."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def links_to(path: str) -> list[str]:
    """Return every link along the path, each as its folder's real path and its name."""
    found: list[str] = []
    rest = [name for name in reversed(os.path.abspath(path).split("/")) if name]  # noqa: PTH100
    here = ""
    while rest and len(found) < _MOST_LINKS:
        name = rest.pop()
        if name == "..":
            here = os.path.dirname(here).rstrip("/")  # noqa: PTH120
        elif name != ".":
            here = f"{here}/{name}"
            if os.path.islink(here):  # noqa: PTH114
                found.append(here)
                target = os.readlink(here)  # noqa: PTH115
                here = "" if target.startswith("/") else here.rpartition("/")[0]
                rest += [part for part in reversed(target.split("/")) if part]
    return found


def own_variables() -> dict[str, str]:
    """Return the environment as set by the user, for commands the user runs."""
    return {**os.environ, **_taken}


def _take_out(is_safe: "Callable[[str], bool]") -> None:
    """Remove unsafe entries from the code search paths of child processes, and what steers git."""
    for name in _SEARCHED.split():
        value = os.environ.get(name, "")
        is_library = name in _LIBRARIES
        entries = (value.replace(" ", ":") if is_library else value).split(os.pathsep)
        kept = [entry for entry in entries if is_safe(entry) or (is_library and entry and "/" not in entry)]
        if value and kept != entries:
            _taken[name] = value
            os.environ[name] = os.pathsep.join(kept)
    removed = (*_LOADING, *_STEERING.split())
    _taken.update((name, os.environ[name]) for name in removed if name in os.environ)
    for name in _taken:
        if name in removed or not os.environ[name]:
            del os.environ[name]


def search_no_project() -> None:
    """Remove from `sys.path` relative entries and those in the project but outside a Python environment.
    Refuse modules found there by other finders or through links, and load no bytecode from there.
    Of PYTHONPATH and the like, also remove entries in other projects of the user: commands may have written there.

    `python -m` adds the working folder, and so may PYTHONPATH; PYTHONPYCACHEPREFIX names a folder of bytecode. The
    search path variables of other programs are cleaned as well.
    """
    try:
        here = os.path.realpath(os.getcwd())  # noqa: PTH109
    except OSError:  # the folder is gone: reported later
        return
    root = _project(here)
    guard = _Guard(root, environment_in(root))

    def is_safe(entry: str) -> bool:
        return os.path.isabs(entry) and first_real(entry) != here and guard.is_outside(first_real(entry))  # noqa: PTH117

    def is_safe_everywhere(entry: str) -> bool:
        return is_safe(entry) and not _is_of_other_project(first_real(entry))

    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    left_out = {first_real(entry) for entry in named if entry and not is_safe_everywhere(entry)}
    safe = (first_real(entry) for entry in sys.path if is_safe(entry))
    sys.path[:] = [entry for entry in safe if entry not in left_out]  # real ones: links in the project may be changed
    bytecode = sys.pycache_prefix
    if bytecode:
        is_apart = is_safe(bytecode) and not is_within(root, first_real(bytecode))
        sys.pycache_prefix = first_real(bytecode) if is_apart else None
    _take_out(is_safe_everywhere)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == _PACKAGE and hasattr(module, "__path__"):
            module.__path__ = [os.path.realpath(folder) for folder in module.__path__]
    sys.meta_path.insert(0, guard)


class _Guard:
    """A finder that delegates to those after it and rejects modules that really lie in the project.
    So a package developed there is not run here. The program's own modules are exempt (see `base.own_modules`)."""

    def __init__(self, root: str, kept: list[str]) -> None:
        self._root = root
        self._kept = kept
        self._safe: set[str] = set()  # folders outside the project, reached through no link

    def find_spec(
        self, fullname: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        is_refused = False
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            spec = finder.find_spec(fullname, path, target)
            if spec is None:
                continue
            if fullname.partition(".")[0] == _PACKAGE or all(map(self._is_safe, _places(spec))):
                return spec
            is_refused = True
        if is_refused:
            raise ModuleNotFoundError(f"{fullname!r} lies in the project and is not loaded from there", name=fullname)
        return None

    def is_outside(self, real: str) -> bool:
        """Return whether a real path lies outside the project, or in an environment there."""
        return not is_within(real, self._root) or any(is_within(real, place) for place in self._kept)

    def _is_safe(self, place: str) -> bool:
        folder = os.path.dirname(place)  # noqa: PTH120
        if folder not in self._safe:
            real = os.path.realpath(folder)
            if not self.is_outside(real):
                return False
            if real == folder:
                self._safe.add(folder)
        return not os.path.islink(place) or self.is_outside(os.path.realpath(place))  # noqa: PTH114


def _places(spec: "ModuleSpec") -> "Iterator[str]":
    if spec.has_location and spec.origin:
        yield spec.origin
    yield from spec.submodule_search_locations or ()


def _project(here: str) -> str:
    """Return the nearest folder upwards marked as a project; the home folder and its parents are none."""
    home = _home()
    return _marked(here, home) or (here if not is_within(home, here) else f"{here}/{_MARKS[0]}")


def _is_of_other_project(real: str) -> bool:
    """Return whether a real path lies in a folder marked as a project that is no part of what this program runs from
    or a toolchain. Folders of installed packages do not count."""
    own = (_SOURCE, *map(first_real, (sys.prefix, sys.base_prefix)))
    if real.endswith(_PACKAGES) or any(is_within(real, place) for place in own):
        return False
    home = _home()
    found = _marked(real, home)
    folder, name = os.path.split(found)
    is_toolchain = (folder == home and name in TOOLCHAINS) or name == ".linuxbrew" or found in HOMEBREW
    return bool(found) and not is_toolchain


def _home() -> str:
    """Return the home; the root for a user who has none: ~ would be a folder in the project."""
    home = os.path.expanduser("~")  # noqa: PTH111
    return os.path.realpath(home if os.path.isabs(home) else os.sep)  # noqa: PTH117


def _marked(folder: str, home: str) -> str:
    """Return the nearest folder upwards that is marked as a project; "" if none is."""
    while not is_within(home, folder):
        if any(os.path.lexists(f"{folder}/{mark}") for mark in _MARKS):
            return folder
        folder = os.path.dirname(folder)  # noqa: PTH120
    return ""


_LINKS = [link for path in (sys.prefix, sys.executable, sys.argv[0]) for link in links_to(path)]
base_interpreter()  # record the paths now
environment_in("")
