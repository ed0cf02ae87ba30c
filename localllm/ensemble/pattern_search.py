"""Look for the configuration's patterns in questions, in bounded time.

A regular expression may take exponential time on a text made for that, and Python cannot stop one. Patterns that could
are tried in a helper process, which is killed when it takes too long.
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
"""For all patterns of one question, waiting for the helper process included."""

_REPEATS = late_pattern(r"[*+{]|\\[1-9]|\(\?P=")
_BRANCHES = late_pattern(r"(?<!(?<!\\)\()\?|\|")  # no `?` that opens a group
_MOST_BRANCHES = 6
_MOST_STEPS = 5_000_000  # characters of the pattern times those of the text


class PatternSearch:
    """Answers which patterns are found in a text. Its helper process starts with the first pattern that needs one."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._helper: Process | None = None
        self._turn = asyncio.Lock()

    async def found(self, patterns: Sequence[str], text: str) -> list[bool] | None:
        """Whether each pattern is found in `text`, None where that took too long."""
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
    """Whether a pattern takes little time on any text of that size: one that repeats nothing, and has few ways to fit
    at a place. Alternatives one behind the other have as many ways as their numbers multiplied."""
    is_short = len(pattern) * size <= _MOST_STEPS
    return is_short and not _REPEATS.search(pattern) and len(_BRANCHES.findall(pattern)) <= _MOST_BRANCHES


def serve() -> None:
    """Answer until the input ends; only this function's code travels to the helper process.

    A message is its length (8 bytes, big-endian) and a marshalled pair: patterns and a text. The answer is a byte for
    each pattern, 1 where it is found.
    """
    import marshal
    import re
    import signal
    import sys

    alarm = getattr(signal, "alarm", int)  # Windows has none
    longest = 10  # seconds for a message, where nobody is left to end it before

    def receive() -> "Any":  # quoted: the name does not travel
        size = int.from_bytes(sys.stdin.buffer.read(8), "big")
        return marshal.loads(sys.stdin.buffer.read(size)) if size else None  # noqa: S302 - from our own parent

    while message := receive():
        alarm(longest)
        patterns, text = message
        sys.stdout.buffer.write(bytes(re.search(pattern, text) is not None for pattern in patterns))
        sys.stdout.buffer.flush()
        alarm(0)
