"""Whose program listens on a port."""

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from localllm.base import listening_users
from localllm.base.listening_users import is_of_another_person

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells")
LISTEN = """
import os, socket, sys
if int(sys.argv[2]):
    os.setuid(int(sys.argv[2]))
server = socket.create_server((sys.argv[1], 0), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
print(server.getsockname()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def listen(request: pytest.FixtureRequest) -> Iterator[int]:
    address, user = request.param
    command = [sys.executable, "-c", LISTEN, address, str(user)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdin
        yield int(process.stdout.readline())
        process.stdin.close()


@pytest.mark.parametrize(
    "listen",
    [
        ("127.0.0.1", 0),
        pytest.param(("127.0.0.1", 120), marks=pytest.mark.root),
        pytest.param(("0.0.0.0", 61_500), marks=pytest.mark.root),
    ],
    indirect=True,
)
def test_one_s_own_and_the_system_s_are_no_other_person_s(listen: int) -> None:
    assert not is_of_another_person(listen)


@pytest.mark.root
@pytest.mark.parametrize("listen", [("127.0.0.1", 1_234), ("0.0.0.0", 1_234), ("::", 100_001)], indirect=True)
def test_another_user_s_is(listen: int) -> None:
    assert is_of_another_person(listen)


@pytest.mark.root
@pytest.mark.parametrize("listen", [("::", 1_234)], indirect=True)
def test_the_one_that_is_reached_counts(listen: int) -> None:
    with socket.create_server(("127.0.0.1", listen)):
        assert not is_of_another_person(listen)
    assert is_of_another_person(listen)


def test_where_nothing_can_be_read_it_is_nobody_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening_users, "_TABLES", ("/no/such/table",))
    assert not is_of_another_person(80)
