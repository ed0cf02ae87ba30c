"""Search questions for the configuration's patterns within a time limit.

A regular expression may take exponential time on a crafted text, and Python cannot interrupt it. Patterns at risk are
run in a helper process, which is killed after a timeout.
"""

import asyncio
import marshal
import re
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from typing import Any, cast

from localllm.base.helper_program import command_line
from localllm.base.lazy_patterns import late_pattern

SECONDS = 1.0
"""Seconds for all patterns of one question, including the start of the helper process."""

_REPEATS = late_pattern(r"[*+{]|\\[1-9]|\(\?P=")
_BRANCHES = late_pattern(r"(?<!(?<!\\)\()\?|\|")  # `?`, except one that opens a group
_MOST_BRANCHES = 6
_MOST_STEPS = 5_000_000  # characters of the pattern times those of the text


class PatternSearch:
    """Match patterns against texts. The helper process starts with the first pattern that needs it."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._helper: Process | None = None
        self._turn = asyncio.Lock()

    async def found(self, patterns: Sequence[str], text: str) -> list[bool] | None:
        """Return whether each pattern is found in `text`; None after a timeout."""
        slow = [pattern for pattern in patterns if not _is_fast(pattern, len(text))]
        answers: dict[str, bool] = {}
        if slow:
            try:
                async with asyncio.timeout(self._seconds):
                    async with self._turn:
                        answers = dict(zip(slow, await self._asked(slow, text), strict=True))
            except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
                return None
        return [
            answers[pattern] if pattern in answers else re.search(pattern, text) is not None for pattern in patterns
        ]

    async def aclose(self) -> None:
        """End the helper process."""
        helper, self._helper = self._helper, None
        if helper is not None and helper.returncode is None:
            helper.kill()
            await helper.communicate()

    async def _asked(self, patterns: Sequence[str], text: str) -> list[bool]:
        is_done = False
        try:
            helper = self._helper = self._helper or await asyncio.create_subprocess_exec(
                *command_line(serve), stdin=PIPE, stdout=PIPE, stderr=DEVNULL, cwd="/", env={}
            )
            message = marshal.dumps((list(patterns), text))
            writer, reader = cast("asyncio.StreamWriter", helper.stdin), cast("asyncio.StreamReader", helper.stdout)
            writer.write(len(message).to_bytes(8, "big") + message)
            await writer.drain()
            answer = await reader.readexactly(len(patterns))
            is_done = True
        finally:
            if not is_done:
                await asyncio.shield(self.aclose())
        return [byte == 1 for byte in answer]


def _is_fast(pattern: str, size: int) -> bool:
    """Whether a pattern is fast on any text of that size: it repeats nothing and has few ways to match at a position.
    Consecutive alternatives multiply the ways."""
    is_short = len(pattern) * size <= _MOST_STEPS
    return is_short and not _REPEATS.search(pattern) and len(_BRANCHES.findall(pattern)) <= _MOST_BRANCHES


def serve() -> None:
    """Serve requests until the input ends. Only the source of this function is sent to the helper process.

    A request is its length (8 bytes, big-endian) and a marshalled pair: patterns and a text. The response has one byte
    per pattern, 1 if it is found.
    """
    import marshal
    import re
    import signal
    import sys

    alarm = getattr(signal, "alarm", int)  # not on Windows
    longest = 10  # seconds per message, in case the parent is gone

    def receive() -> "Any":  # quoted: the name is not available there
        size = int.from_bytes(sys.stdin.buffer.read(8), "big")
        return marshal.loads(sys.stdin.buffer.read(size)) if size else None  # noqa: S302 - from our own parent

    while message := receive():
        alarm(longest)
        patterns, text = message
        sys.stdout.buffer.write(bytes(re.search(pattern, text) is not None for pattern in patterns))
        sys.stdout.buffer.flush()
        alarm(0)
