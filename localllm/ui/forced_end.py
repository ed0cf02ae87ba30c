"""Ending the process where it does not end by itself: nobody can stop a thread that hangs, and the interpreter would
wait for it."""

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

SECONDS = 3.0
"""From the moment the user insists. What was said is in the session's log by then; the next start closes that."""

_LAST_WORDS = 1.0  # seconds for what is done before: a pipe nobody reads would take them all


class ForcedEnd:
    """A process that ends in some seconds, unless it has ended by itself, or this was called off."""

    def __init__(self, before: Callable[[], object] = lambda: None) -> None:
        """`before`: done first, such as giving back the terminal."""
        self._before = before
        self._timer: threading.Timer | None = None

    def begin(self, code: int, seconds: float = SECONDS) -> None:
        """End the process with this exit code in so many seconds, or when it was already to end."""
        if self._timer is None:
            self._timer = threading.Timer(seconds, self._end, [code])
            self._timer.daemon = True
            self._timer.start()

    def call_off(self) -> None:
        """Let the process go on."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self, code: int) -> None:
        last_words = threading.Thread(target=self._say, daemon=True)
        last_words.start()
        last_words.join(_LAST_WORDS)
        os._exit(code)

    def _say(self) -> None:
        with suppress(Exception):  # whatever it is, the process ends
            self._before()
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
