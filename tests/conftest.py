"""Fixtures shared by all tests, and what all of them need."""

import signal

import pytest

# A shell makes what it puts into the background deaf to Ctrl+C; what the tests start must hear it.
for name in ("SIGINT", "SIGQUIT"):
    if (number := getattr(signal, name, None)) and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
