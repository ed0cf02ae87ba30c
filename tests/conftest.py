"""Fixtures shared by all tests, and what all of them need."""

import signal

import pytest

# In the background of a shell Ctrl+C is not heard, under nohup no hang-up; what the tests start must hear them.
for name in ("SIGINT", "SIGQUIT", "SIGHUP"):
    if (number := getattr(signal, name, None)) and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
