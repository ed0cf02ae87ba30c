"""Fixtures shared by all tests, and what all of them need."""

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile

import pytest
from hypothesis import settings

# Else every process, and every program that is started, would compile anew what has changed, and all tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What tests write where the user's own results are, and name no folder for, is not written there.
_data = tempfile.mkdtemp(prefix="localllm-data-")
os.environ["XDG_DATA_HOME"] = _data
atexit.register(shutil.rmtree, _data, ignore_errors=True)

# In the background of a shell Ctrl+C is not heard, under nohup no hang-up; what the tests start must hear them.
for name in ("SIGINT", "SIGQUIT", "SIGHUP"):
    if (number := getattr(signal, name, None)) and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)

# `--hypothesis-profile=long` tries each property on many more examples: .ci/long does.
settings.register_profile("short", settings(), max_examples=50, deadline=None)
settings.register_profile("long", settings(), max_examples=1_000, deadline=None)
settings.load_profile("short")

# Modules and tests stay until the end: looking through them for cycles while they are loaded is half of the work.
gc.disable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """With `-n auto`: half as many workers again as there are processors, for many tests wait for other processes."""
    named = os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS", "")
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(named) if named.isdigit() else processors + (processors + 1) // 2


def pytest_configure(config: pytest.Config) -> None:
    """Hand tests to workers in small parts: by default the first gets an eighth at once, which are the longest of all,
    and is still at them when all others have nothing left to do."""
    if getattr(config.option, "maxschedchunk", 0) is None:
        config.option.maxschedchunk = 64


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what only root can try, for other users; .ci/run lets no other test be skipped, and counts these."""
    if hasattr(os, "geteuid") and os.geteuid() != 0:
        for item in items:
            if item.get_closest_marker("root"):
                item.add_marker(pytest.mark.skip(reason="needs root"))


def pytest_collection_finish() -> None:
    """Look for cycles again from here on, but not in what was loaded."""
    gc.collect()
    gc.freeze()
    gc.enable()
