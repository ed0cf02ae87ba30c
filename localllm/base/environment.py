"""The Python this program runs on, as it was found at the start, and where it looks for modules: not in the project.

It may lie in the project, or be reached by links there. Loaded before anything else: imports nothing but what Python
has loaded anyway.
"""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# pathlib's functions are not loaded yet: hence os.path.
_PARTS = ("Scripts", "Lib", "Include") if sys.platform == "win32" else ("bin", "lib", "lib64", "include")
_SETTINGS = "pyvenv.cfg"  # beside the interpreter or one folder above: says where the modules are
_MOST_LINKS = 40
_MARKS = (".git", "localllm.toml")
_PACKAGE = __name__.partition(".")[0]
_known: dict[str, str] = {}
_taken: dict[str, str] = {}
_SEARCHED = (
    "LD_LIBRARY_PATH LD_PRELOAD LD_AUDIT GCONV_PATH LOCPATH NLSPATH DYLD_LIBRARY_PATH DYLD_FALLBACK_LIBRARY_PATH "
    "DYLD_FRAMEWORK_PATH DYLD_FALLBACK_FRAMEWORK_PATH DYLD_INSERT_LIBRARIES PYTHONPATH PYTHONHOME PYTHONUSERBASE "
    "PYTHONSTARTUP PYTHONPYCACHEPREFIX PERL5LIB PERLLIB RUBYLIB NODE_PATH GIT_EXEC_PATH GIT_TEMPLATE_DIR BASH_ENV ENV "
    "OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES GIO_MODULE_DIR GIO_EXTRA_MODULES GTK_PATH LIBGL_DRIVERS_PATH "
    "LIBVA_DRIVERS_PATH VK_DRIVER_FILES VK_ICD_FILENAMES VK_LAYER_PATH"
)
"""Variables that say where programs look for code: paths, with colons between them. An empty one is the folder that
the program is started in, and so is a relative one."""

_LIBRARIES = frozenset({"LD_PRELOAD", "LD_AUDIT"})  # a name without a slash is looked for in the system's folders
_LOADING = ("PERL5OPT", "RUBYOPT", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS")
"""Options by which programs load code; in ours they are not wanted."""


def first_real(path: str) -> str:
    """Where the path led when this was first asked."""
    if path not in _known:
        _known[path] = os.path.realpath(path)
    return _known[path]


def base_interpreter() -> str:
    """The real path of the Python that any virtual environment in use was made from."""
    return first_real(getattr(sys, "_base_executable", "") or sys.executable)


def environment_in(project: str) -> list[str]:
    """The real paths of what lies in the project of the environment, and of the Python it was made from. Where it is
    the project itself: of what makes an environment."""
    found: list[str] = []
    for place in dict.fromkeys(map(first_real, (sys.prefix, sys.base_prefix))):
        if place == project:
            found += [f"{place}/{name}" for name in (*_PARTS, _SETTINGS)]
        elif is_within(place, project):
            found.append(place)
    return found


def believed_in(project: str) -> list[str]:
    """What of the project this program runs, now or when it is started the next time: the environment, other folders
    it looks for modules in, the links by which all that is reached, and what would stand for another environment."""
    folder = os.path.dirname(sys.executable)  # noqa: PTH120
    settings = [f"{first_real(place)}/{_SETTINGS}" for place in (folder, os.path.dirname(folder))]  # noqa: PTH120
    found = [*environment_in(project), *settings, *map(first_real, sys.path), *_LINKS]
    return [path for path in dict.fromkeys(found) if is_within(path, project) and path != project]


def is_within(path: str, folder: str) -> bool:
    """Whether a path is the folder's, or beneath; both are real ones."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def links_to(path: str) -> list[str]:
    """Every link on the way, by the real path of the folder it lies in and its name."""
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
    """The environment as the user has set it, for what he runs himself."""
    return {**os.environ, **_taken}


def _take_out(is_safe: "Callable[[str], bool]") -> None:
    """Let the programs that this one starts look for no code in the project."""
    for name in _SEARCHED.split():
        value = os.environ.get(name, "")
        is_library = name in _LIBRARIES
        entries = (value.replace(" ", ":") if is_library else value).split(os.pathsep)
        kept = [entry for entry in entries if is_safe(entry) or (is_library and entry and "/" not in entry)]
        if value and kept != entries:
            _taken[name] = value
            os.environ[name] = os.pathsep.join(kept)
    _taken.update((name, os.environ[name]) for name in _LOADING if name in os.environ)
    for name in _taken:
        if name in _LOADING or not os.environ[name]:
            del os.environ[name]


def search_no_project() -> None:
    """Take out of `sys.path` what is relative, or lies in the project one stands in but in no environment of Python's;
    and refuse what is found there all the same: by other finders, or by links. Load no bytecode from there, either.

    `python -m` puts the working folder there, and so may PYTHONPATH; PYTHONPYCACHEPREFIX names a folder of bytecode.
    The variables by which other programs would look for code there are cleaned as well.
    """
    try:
        here = os.path.realpath(os.getcwd())  # noqa: PTH109
    except OSError:  # the folder is gone: the program will say so
        return
    root = _project(here)
    guard = _Guard(root, environment_in(root))

    def is_safe(entry: str) -> bool:
        return os.path.isabs(entry) and first_real(entry) != here and guard.is_outside(first_real(entry))  # noqa: PTH117

    sys.path[:] = [first_real(entry) for entry in sys.path if is_safe(entry)]  # links in the project may be changed
    bytecode = sys.pycache_prefix
    if bytecode:
        is_apart = is_safe(bytecode) and not is_within(root, first_real(bytecode))
        sys.pycache_prefix = first_real(bytecode) if is_apart else None
    _take_out(is_safe)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == _PACKAGE and hasattr(module, "__path__"):
            module.__path__ = [os.path.realpath(folder) for folder in module.__path__]
    sys.meta_path.insert(0, guard)


class _Guard:
    """A finder that asks those behind it, and passes over what really lies in the project: a package that is worked on
    there is not run here. The program's own modules are (see `base.own_modules`)."""

    def __init__(self, root: str, kept: list[str]) -> None:
        self._root = root
        self._kept = kept
        self._safe: set[str] = set()  # folders outside, reached through no link

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
        """Whether a real path lies outside the project, or in an environment there."""
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
    """The nearest folder upwards that is marked as a project; a home, and what is above it, is none."""
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111
    folder = here
    while not is_within(home, folder):
        if any(os.path.lexists(f"{folder}/{mark}") for mark in _MARKS):
            return folder
        folder = os.path.dirname(folder)  # noqa: PTH120
    return here if not is_within(home, here) else f"{here}/{_MARKS[0]}"


_LINKS = [link for path in (sys.prefix, sys.executable, sys.argv[0]) for link in links_to(path)]
base_interpreter()  # noted now, and so is where the environment lies
environment_in("")
