"""The limits that the kernel keeps for each process of a command."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")


def test_a_crash_starts_no_handler_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    from localllm.sandbox.launcher import limits

    lowered: dict[int, tuple[int, int]] = {}
    unlimited = resource.RLIM_INFINITY, resource.RLIM_INFINITY

    def get(kind: int) -> tuple[int, int]:
        return unlimited

    monkeypatch.setattr(resource, "getrlimit", get)
    monkeypatch.setattr(resource, "setrlimit", lowered.__setitem__)
    spec: Any = SimpleNamespace(open_files=10, disk=10, threads=10)
    limits.set_limits(spec)
    assert lowered[resource.RLIMIT_CORE] == (1, 1)  # core(5): the one size with which none is started
