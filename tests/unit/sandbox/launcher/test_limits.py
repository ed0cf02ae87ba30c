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


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
@pytest.mark.parametrize(("before", "now", "is_gone"), [(0.9, 0.01, True), (0.9, 0.2, False), (0.1, 0.01, False)])
def test_memory_that_is_no_processs_counts_where_the_machine_has_none_left(
    monkeypatch: pytest.MonkeyPatch, before: float, now: float, is_gone: bool
) -> None:
    import os

    from localllm.sandbox.launcher import limits

    def nobody(at_most: int) -> list[int]:
        return []

    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    left = [int(machine * now), int(machine * before)]
    assert 0 < limits.available_memory() <= machine
    monkeypatch.setattr(limits, "available_memory", left.pop)
    monkeypatch.setattr(limits, "descendants", nobody)
    spec: Any = SimpleNamespace(writable=[], processes=9, threads=9, memory=0, files=9, disk=9, level="landlock")
    excess = limits.Supervisor(spec, is_enclosed=False)._excess()  # pyright: ignore[reportPrivateUsage]
    assert (excess == "memory") is is_gone
