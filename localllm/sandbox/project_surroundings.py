"""Find what in a project needs care when a command starts: read-only files, masked sockets, covered folders."""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from localllm.base.environment import believed_in
from localllm.base.errors import SafetyViolationError
from localllm.sandbox.backend import Backend, Surroundings
from localllm.sandbox.network.machine_sockets import MachineSockets, in_use
from localllm.sandbox.protect.own_folder import OwnCopy, OwnFolder
from localllm.sandbox.protect.project_folder import ProjectFolder, identity_at
from localllm.sandbox.protect.revert import ProtectedFiles
from localllm.sandbox.protect.shared_files import Inventory

if TYPE_CHECKING:
    from localllm.sandbox.launcher.mount_table import MountTable

_MOST_PIPES = 1_000  # closed while a command runs
_MOST_SHARED = 1_000  # files that are too large to copy, each a mount


class ProjectSurroundings:
    """What in the project at `root` a command may not change, read or rename, determined anew for each command.

    `quarantine`: where files are kept that a command put at protected names. `hidden`: unreadable for commands.
    `unwritable`: read-only for them, as is the environment this program runs in, if that is in the project. `hides`:
    see OutwardLinks. `is_listed`: see HarmfulChanges.
    """

    def __init__(
        self,
        root: Path,
        quarantine: Path | None,
        *,
        hidden: Sequence[Path],
        unwritable: Sequence[Path],
        hides: Callable[[str], bool] = lambda _path: False,
        is_listed: Callable[[str], bool] = lambda _host: False,
    ) -> None:
        self._root = root
        self._folder = ProjectFolder(root)
        if quarantine:  # a session, which keeps something; it holds the folder, so that no other one has its number
            with suppress(OSError):
                self._folder.identity = identity_at(root)
        self._hidden = hidden
        # Code put into the environment of this program would run here, at once wherever a module is imported late.
        environment = believed_in(str(root))
        self._unwritable = (*map(str, unwritable), *environment)
        self._held = folders_above(root, environment)
        files = [path for path in self._unwritable if Path(path).is_symlink() or not Path(path).is_dir()]
        inside = [path for path in files if Path(path).is_relative_to(root)]
        closed = [str(path) for path in hidden if path.is_relative_to(root)]
        self.protected = ProtectedFiles(
            root, quarantine, also=inside, closed=closed, is_hidden=hides, is_listed=is_listed
        )
        self.inventory = Inventory(root)
        self.own_folder = OwnFolder(root)
        self.sockets = MachineSockets()
        self._first_pipes: frozenset[str] | None = None

    def insist_on_place(self) -> None:
        """Raise SafetyViolationError project_replaced if another folder is at its path than when the session began:
        files are read, compared and undone in that one."""
        if not self._folder.is_in_place:
            raise SafetyViolationError("project_replaced", root=self._root)

    def at_start(self, backend: Backend, shared: Sequence[str], copies: list[OwnCopy]) -> Surroundings:
        """Return the surroundings of a command that starts now.

        `shared`: files below the root that are also files outside, by a hard link. A copy of our own folder, if the
        command is to see one, is added to `copies`, for `take_back`.
        """
        found = self._found(backend, shared)
        copy = self.own_copy(backend)
        if not copy:
            return found
        copies.append(copy)
        own = self.own_folder.path
        return Surroundings(
            pinned=_outside(own, found.pinned),
            held=_outside(own, found.held),
            masked=found.masked,
            copies=((str(own), str(copy.folder)),),
            present=found.present,
            record=found.record,
        )

    def _found(self, backend: Backend, shared: Sequence[str]) -> Surroundings:
        record = self.protected.record
        if not backend.closes_names:
            return Surroundings(record=record)
        pinned, held = self.protected.pins()
        if backend.follows_names and not self._is_alone():
            # It resolves names, and another command might replace one by a symlink at that moment. Changes at these
            # names are undone in any case.
            pinned, held = [], []
        closed = [*(f"{self._root}/{path}" for path in shared[:_MOST_SHARED]), *_with_real(map(Path, self._unwritable))]
        ours = [f"{self._root}/{path}" for path in self.inventory.look().sockets]
        masked = dict.fromkeys([*in_use(ours), *self.pipes(), *self.sockets.paths()])
        masked |= dict.fromkeys(name for path in [*masked] for name in self._mounts.aliases(path, parts=False))
        # What is closed by its name would be open if a folder above it were renamed.
        held += folders_above(self._root, [*closed, *masked, *_with_real(self._hidden)])
        held = list(dict.fromkeys((*held, *self._held)))
        present = tuple(self.protected.gitfiles_outside()) if backend.has_namespaces else ()
        return Surroundings((*pinned, *closed), tuple(held), tuple(masked), present=present, record=record)

    @cached_property
    def _mounts(self) -> "MountTable":
        """The mounts at the first command: a socket or pipe can be reached by each."""
        from localllm.sandbox.launcher.mount_table import mounts_here  # not needed before

        return mounts_here()

    def _is_alone(self) -> bool:
        """Return whether no other command runs in the project, of this program or another one."""
        return self.protected.is_alone and not self.protected.has_others

    def pipes(self) -> list[str]:
        """Return the named pipes to close: the process at the other end cannot be determined. Those that existed before
        any command come first; the others can only be from commands, and the number that can be closed is limited."""
        pipes = self.inventory.look().pipes
        if self._first_pipes is None:
            self._first_pipes = frozenset(pipes)
        first = sorted(pipes, key=lambda path: path not in (self._first_pipes or ()))[:_MOST_PIPES]
        return [f"{self._root}/{path}" for path in first]

    def own_copy(self, backend: Backend) -> OwnCopy | None:
        """Return a copy of our own folder, if one can be put in its place, and no rule closes anything in it."""
        closed = any(Path(path).is_relative_to(self.own_folder.path) for path in (*self._hidden, *self._unwritable))
        is_sure = backend.has_namespaces and (not backend.follows_names or self._is_alone())
        return self.own_folder.take() if is_sure and not closed else None

    def take_back(self, copies: list[OwnCopy]) -> Sequence[str]:
        """Give `copies` back to their folder; return what the command changed in them, which is lost."""
        changed = [path for copy in copies for path in copy.changed()]
        while copies:
            self.own_folder.give_back(copies.pop())
        return changed


def _outside(folder: Path, paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(path for path in paths if not Path(path).is_relative_to(folder))


def _with_real(paths: Iterable[Path]) -> list[str]:
    """Return the paths, and the targets of those that are or go through symlinks."""
    return list(dict.fromkeys(name for path in paths for name in (str(path), os.path.realpath(path))))


def folders_above(root: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """Return the folders between `root` and each of the paths below it."""
    found: dict[str, None] = {}
    for path in paths:
        folder = os.path.dirname(path)  # noqa: PTH120 - of a few hundred paths before each command
        while folder.startswith(f"{root}/") and folder not in found:
            found[folder] = None
            folder = os.path.dirname(folder)  # noqa: PTH120
    return tuple(found)
