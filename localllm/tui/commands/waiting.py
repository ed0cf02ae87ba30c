"""A command that takes a while says so, and for how long."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from localllm.text.sanitising import shorten
from localllm.tui.render.activity import duration
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Line

_REPAINT_SECONDS = 0.1


@asynccontextmanager
async def saying(screen: Screen, what: str) -> AsyncGenerator[None]:
    """While this is open, `what` is going on, and how it is stopped stands on the screen; below it what the person
    writes meanwhile."""
    painter = asyncio.create_task(_keep_painting(screen, what))
    try:
        yield
    finally:
        painter.cancel()
        screen.erase()


async def _keep_painting(screen: Screen, what: str) -> None:
    if screen.plain:
        screen.print(("dim", f"  {what}"))
        return
    began = time.monotonic()
    while True:
        text = f"  {what} · {duration(time.monotonic() - began)} · Ctrl+C"
        lines: list[Line] = [(("dim", shorten(text, screen.width)),), *screen.below(screen.width)]
        screen.draw([screen.format(line) for line in lines])
        await asyncio.sleep(_REPAINT_SECONDS)
