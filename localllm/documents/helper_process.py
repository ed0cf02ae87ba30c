"""A helper process that reads a document with a package: it can be killed, and is held to limits of time and memory."""

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
"""Seconds after its time until it ends even where nobody is left to end it."""

Answer = TypeVar("Answer")


class SlowError(Exception):
    """It took too long."""


class DiedError(Exception):
    """It ended without an answer: out of memory, or by a fault of the package."""


def package_place(module: str) -> str | None:
    """The folder `module` would be imported from; None where it is not installed."""
    found = None
    with suppress(ModuleNotFoundError):  # also one that is worked on in the project
        found = importlib.util.find_spec(module)
    return None if found is None or found.origin is None else str(Path(found.origin).parent.parent)


async def ask(
    serve: FunctionType, place: str, data: bytes, wanted: type[Answer], *options: int, seconds: float
) -> Answer:
    """What `serve` writes as JSON, run in the helper: its standard input is `data`, sys.argv[2] the folder to import
    from, and behind that come the limit of memory and the options. Raises SlowError, DiedError."""
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
