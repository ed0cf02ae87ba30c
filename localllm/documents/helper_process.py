"""Read a document with a package in a helper process, which can be killed and has limits."""

import asyncio
import importlib.util
import math
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import TypeVar

import msgspec

from localllm.base.helper_program import command_line
from localllm.base.jsontext import decode_json

MEMORY = 1_500_000_000
"""Bytes of address space."""

_GRACE = 5
"""Seconds after its time limit until it ends by itself, even if its parent is gone."""

Answer = TypeVar("Answer")


class SlowError(Exception):
    """The helper took too long."""


class DiedError(Exception):
    """The helper ended without an answer: out of memory, or by a fault of the package."""


def package_place(module: str) -> str | None:
    """Return the folder from which `module` would be imported; None if it is not installed."""
    found = None
    with suppress(ModuleNotFoundError):  # also a package that is developed in the project
        found = importlib.util.find_spec(module)
    return None if found is None or found.origin is None else str(Path(found.origin).parent.parent)


async def ask(
    serve: FunctionType, place: str, data: bytes, wanted: type[Answer], *options: int, seconds: float
) -> Answer:
    """Run `serve` in the helper and decode its JSON output: its standard input is `data`, sys.argv[2] the
    folder to import from, followed by the memory limit and the options. Raises SlowError, DiedError."""
    limit = math.ceil(seconds) + _GRACE
    command = command_line(serve, place, str(MEMORY), *map(str, options), seconds=limit)
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, cwd="/", env={})
    try:
        async with asyncio.timeout(seconds):
            output, _ = await process.communicate(data)
    except TimeoutError as error:
        raise SlowError from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        return decode_json(output, wanted)
    except msgspec.DecodeError as error:
        raise DiedError from error
