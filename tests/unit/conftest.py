"""What makes thousands of unit tests fast: files in memory, and one sandbox for all of them."""

import itertools
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from localllm.base import regular_files
from localllm.sandbox.launcher.removal import delete_tree
from tests.support.one_sandbox import one_sandbox_for_all

_MEMORY = Path("/dev/shm")
_LEAST = 1 << 28  # bytes; a run holds a tenth of it
_number = itertools.count()


@pytest.fixture(scope="session")
def memory_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path | None]:
    """A folder in memory; None where there is none, or none that is large enough and lets programs be started."""
    tmp_path_factory.getbasetemp()  # of tests marked on_disk: pytest makes it at first use, by the TMPDIR of then
    if not _is_usable():
        yield None
        return
    folder = tempfile.mkdtemp(prefix="localllm-tests-", dir=_MEMORY)
    temporary = Path(folder, "tmp")
    temporary.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        patch.setattr(tempfile, "tempdir", None)
        patch.setattr(regular_files, "IN_MEMORY", ())  # as on a disk, which nearly all projects lie on
        yield Path(folder)
    delete_tree(folder)


def _is_usable() -> bool:
    if not os.access(_MEMORY, os.W_OK):
        return False
    about = os.statvfs(_MEMORY)
    return not about.f_flag & os.ST_NOEXEC and about.f_bavail * about.f_frsize >= _LEAST


@pytest.fixture
def tmp_path(
    request: pytest.FixtureRequest, memory_folder: Path | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """An empty folder. That of a test that fails is kept, among those pytest keeps.

    Tests of commands that write beside their project are marked on_disk: every command has a /dev/shm of its own.
    """
    if memory_folder is None or request.node.get_closest_marker("on_disk"):
        yield request.getfixturevalue("tmp_path")
        return
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = memory_folder / f"{name}{next(_number)}"
    folder.mkdir(mode=0o700)
    failed = request.session.testsfailed
    yield folder
    if request.session.testsfailed > failed:
        with suppress(OSError):  # what cannot be copied, as sockets, is left out
            shutil.copytree(folder, tmp_path_factory.mktemp(name), symlinks=True, dirs_exist_ok=True)
    delete_tree(str(folder))


@pytest.fixture(scope="session", autouse=True)
def one_sandbox(memory_folder: Path | None) -> Iterator[None]:
    """One sandbox for all runners."""
    with one_sandbox_for_all():
        yield
