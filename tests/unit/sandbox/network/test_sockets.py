"""The sockets of the machine, by the files they are bound to."""

import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from localllm.sandbox.network.machine_sockets import MachineSockets

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")


@pytest.fixture(autouse=True)
def time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine has more processes, and looks into them more slowly, than the limit allows for."""
    monkeypatch.setattr("localllm.sandbox.network.machine_sockets._TIME_FOR_VARIABLES", 60.0)


SERVER = """
import os, socket, sys
os.chdir(sys.argv[4])
made = socket.socket(socket.AF_UNIX, getattr(socket, sys.argv[2]))
made.bind(sys.argv[1])
if sys.argv[2] != "SOCK_DGRAM":
    made.listen()
os.chdir(sys.argv[3])
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def server(
    folder: Path, name: str, kind: str = "SOCK_STREAM", then_in: str = ".", first_in: str = "."
) -> Generator[None]:
    """A program that is started in `folder`, goes to `first_in`, binds the relative `name`, and goes to `then_in`."""
    folder.mkdir(exist_ok=True)
    command = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', str(folder), sys.executable, "-c", SERVER, name, kind, then_in]
    command.append(first_in)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        yield
        process.stdin.close()


def test_those_bound_by_a_whole_path_are_known_by_their_real_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "link" / "a b"))
        assert str(tmp_path / "real" / "a b") in MachineSockets().paths()


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM", "SOCK_SEQPACKET"])
@pytest.mark.parametrize("then_in", [".", "/"])
def test_those_bound_by_a_relative_name_are_found(tmp_path: Path, kind: str, then_in: str) -> None:
    sockets = MachineSockets()
    assert str(tmp_path / "service" / "s.sock") not in sockets.paths()
    with server(tmp_path / "service", "./s.sock", kind, then_in):
        for _ in range(3):
            assert str(tmp_path / "service" / "s.sock") in [str(Path(path)) for path in sockets.paths()]
    (tmp_path / "service" / "s.sock").unlink()
    assert str(tmp_path / "service" / "s.sock") not in sockets.paths()


def test_one_in_a_usual_place_is_found_whoever_bound_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "srv" / "service").mkdir(parents=True)
    with server(tmp_path / "elsewhere", "s.sock", then_in="/", first_in=str(tmp_path / "srv" / "service")):
        assert str(tmp_path / "srv" / "service" / "s.sock") not in MachineSockets().paths()
        monkeypatch.setattr("localllm.sandbox.network.machine_sockets._USUAL_PLACES", f"/missing {tmp_path / 'srv'}")
        assert str(tmp_path / "srv" / "service" / "s.sock") in MachineSockets().paths()


def test_the_same_name_in_two_folders_is_two_sockets(tmp_path: Path) -> None:
    sockets = MachineSockets()
    with server(tmp_path / "one", "s.sock"):
        assert str(tmp_path / "one" / "s.sock") in sockets.paths()
        with server(tmp_path / "two", "s.sock", then_in="/"):
            assert {str(tmp_path / "one" / "s.sock"), str(tmp_path / "two" / "s.sock")} <= set(sockets.paths())


def test_what_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "s.sock").write_text("a file")
    with server(tmp_path / "service", "s.sock"):
        sleeper = subprocess.Popen(["sleep", "20"], cwd=tmp_path / "here")
        try:
            assert str(tmp_path / "here" / "s.sock") not in MachineSockets().paths()
        finally:
            sleeper.kill()
            sleeper.wait()


@pytest.mark.parametrize("how", ["rename", "link", "replace", "descriptor"])
def test_one_that_was_renamed_or_linked_is_found(tmp_path: Path, how: str) -> None:
    bound, wanted = tmp_path / "s.new", tmp_path / "s"
    folder = os.open(tmp_path, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as other:
        listener.bind(f"/proc/self/fd/{folder}/s.new" if how == "descriptor" else str(bound))
        listener.listen()
        if how == "link":
            wanted.hardlink_to(bound)
        elif how == "descriptor":
            wanted = bound
        else:
            bound.rename(wanted)
            if how == "replace":
                other.bind(str(bound))
        found = MachineSockets().paths()
    os.close(folder)
    assert str(wanted) in found
