"""Ending the process where it does not end by itself: nobody can stop a thread that hangs, and the interpreter would
wait for it."""

import faulthandler
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

SECONDS = 3.0
"""From the moment the user insists. What was said is in the session's log by then; the next start closes that."""

_LAST_WORDS = 1.0  # seconds for what is done before: a pipe nobody reads would take them all
_SPARE = 1.0  # seconds more, before the process ends without the interpreter


class ForcedEnd:
    """A process that ends in some seconds, unless it has ended by itself, or this was called off."""

    def __init__(self, before: Callable[[], object] = lambda: None) -> None:
        """`before`: done first, such as giving back the terminal."""
        self._before = before
        self._timer: threading.Timer | None = None
        self._nowhere: TextIO | None = None

    def begin(self, code: int, seconds: float = SECONDS) -> None:
        """End the process with this exit code in so many seconds, or when it was already to end. A second later it ends
        with 1: by then a search for a pattern, say, holds the interpreter, in which nothing else can run."""
        if self._timer is None:
            self._timer = threading.Timer(seconds, self._end, [code])
            self._timer.daemon = True
            self._timer.start()
            self.arm(seconds)

    def arm(self, seconds: float = SECONDS) -> None:
        """End the process in somewhat more than so many seconds, even if the interpreter runs nothing else until
        then."""
        if self._nowhere is None:
            self._nowhere = open(os.devnull, "w")  # noqa: PTH123, SIM115 - closed when it is called off
            # It waits in a thread of the system's that needs no interpreter.
            faulthandler.dump_traceback_later(seconds + _LAST_WORDS + _SPARE, exit=True, file=self._nowhere)

    def call_off(self) -> None:
        """Let the process go on."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._nowhere is not None:
            faulthandler.cancel_dump_traceback_later()
            self._nowhere.close()
            self._nowhere = None

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
