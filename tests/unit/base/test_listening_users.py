"""Whose program listens on a port."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from localllm.base import listening_users
from localllm.base.listening_users import is_of_another_person

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells")
LISTEN = """
import os, socket, sys
if int(sys.argv[2]):
    os.setuid(int(sys.argv[2]))
server = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
if server.family == socket.AF_INET6:
    server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, "." not in sys.argv[1])
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind((sys.argv[1], int(sys.argv[3])))
server.listen()
print(server.getsockname()[1], flush=True)
sys.stdin.read()
"""


@contextmanager
def listening(address: str, user: int, port: int = 0) -> Generator[int]:
    command = [sys.executable, "-c", LISTEN, address, str(user), str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdin
        yield int(process.stdout.readline())
        process.stdin.close()


@pytest.mark.parametrize(
    ("address", "user"),
    [
        ("127.0.0.1", 0),
        pytest.param("127.0.0.1", 120, marks=pytest.mark.root),
        pytest.param("0.0.0.0", 61_500, marks=pytest.mark.root),
    ],
)
def test_one_s_own_and_the_system_s_are_no_other_person_s(address: str, user: int) -> None:
    with listening(address, user) as port:
        assert not is_of_another_person("127.0.0.1", port)


@pytest.mark.root
@pytest.mark.parametrize(
    ("address", "user", "host"),
    [
        ("127.0.0.1", 1_234, "127.0.0.1"),
        ("0.0.0.0", 1_234, "127.0.0.1"),
        ("::ffff:127.0.0.1", 1_234, "127.0.0.1"),
        ("::", 100_001, "127.0.0.1"),
        ("::", 100_001, "::1"),
        ("::1", 100_001, "::1"),
        ("127.0.0.7", 1_234, "127.0.0.7"),
    ],
)
def test_another_user_s_is(address: str, user: int, host: str) -> None:
    with listening(address, user) as port:
        assert is_of_another_person(host, port)


@pytest.mark.root
def test_the_one_that_is_reached_counts() -> None:
    with listening("::", 1_234) as port:
        with listening("127.0.0.1", 0, port):
            assert not is_of_another_person("127.0.0.1", port)
            assert is_of_another_person("::1", port)
        assert is_of_another_person("127.0.0.1", port)


@pytest.mark.root
def test_one_s_own_at_the_other_address_does_not_speak_for_it() -> None:
    with listening("127.0.0.1", 1_234) as port, listening("::1", 0, port):
        assert is_of_another_person("127.0.0.1", port)
        assert not is_of_another_person("::1", port)


def test_where_nothing_can_be_read_it_is_nobody_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening_users, "_TABLES", ("/no/such/table",) * 2)
    assert not is_of_another_person("127.0.0.1", 80)
