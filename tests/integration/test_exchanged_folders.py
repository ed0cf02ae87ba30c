"""A program that exchanges folders for links all the time lets nothing out."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from localllm.base.errors import LocalLLMError
from localllm.safety.paths import ProjectRoot
from tests.support.tools import put


@pytest.fixture
def root(tmp_path: Path) -> ProjectRoot:
    (tmp_path / "project").mkdir()
    put(tmp_path / "outside" / "f.txt", "outside")
    return ProjectRoot(tmp_path / "project")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


FLIPPER = """
import ctypes, os, sys
exchange = ctypes.CDLL(None).renameat2
one, other = map(os.fsencode, sys.argv[1:])
print("ready", flush=True)
while exchange(-100, one, -100, other, 2) == 0:
    pass
"""


@contextmanager
def flipping(one: Path, other: Path) -> Iterator[None]:
    """Another process exchanges the two names, atomically and as fast as it can, until the block ends."""
    command = [sys.executable, "-c", FLIPPER, str(one), str(other)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as flipper:
        assert flipper.stdout
        flipper.stdout.readline()
        try:
            yield
            assert flipper.poll() is None
        finally:
            flipper.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="renameat2")
def test_a_folder_exchanged_for_a_link_lets_nothing_out(root: ProjectRoot, tmp_path: Path) -> None:
    put(root.path / "d" / "f.txt", "inside")
    (root.path / "link").symlink_to(tmp_path / "outside")
    with flipping(root.path / "d", root.path / "link"):
        for _ in range(1000):
            with suppress(LocalLLMError):
                assert root.read_bytes("d/f.txt", 100) == b"inside"
            with suppress(LocalLLMError):
                root.write_bytes("d/f.txt", b"inside")
            with suppress(LocalLLMError):
                root.write_bytes("d/new", b"x", create_only=True)
            with suppress(LocalLLMError):
                root.delete("d/new")
    assert names(tmp_path / "outside") == ["f.txt"]
    assert (tmp_path / "outside" / "f.txt").read_text() == "outside"


@pytest.mark.skipif(sys.platform != "linux", reason="renameat2")
def test_a_folder_exchanged_for_a_link_to_a_protected_one_is_no_way_in(root: ProjectRoot) -> None:
    (root.path / ".git" / "hooks").mkdir(parents=True)
    (root.path / "d").mkdir()
    (root.path / "link").symlink_to(".git/hooks")
    with flipping(root.path / "d", root.path / "link"):
        for _ in range(1000):
            with suppress(LocalLLMError):
                root.write_bytes("d/pre-commit", b"x")
    assert names(root.path / ".git" / "hooks") == []
