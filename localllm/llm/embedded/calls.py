"""The calls the engine makes, and what a plan is: a generator that yields calls, is sent their results, and returns
the answer."""

from collections.abc import Generator
from typing import NamedTuple

import msgspec

from localllm.base.events import Json


class Call(NamedTuple):
    """A tool and its arguments, as JSON with sorted keys, so that equal calls are equal."""

    name: str
    arguments: str


class Result(NamedTuple):
    """What a call gave. `error`: the key of what went wrong; `not_offered` where there is no such tool."""

    text: str
    error: str = ""


Plan = Generator[tuple[Call, ...], list[Result], str]

NOT_OFFERED = "not_offered"

MANY = 300
"""Lines asked of a search when they are to be ranked: about as many as go into the longest result."""


def call(name: str, **arguments: Json) -> Call:
    """A call; what is None is left to the tool's default."""
    given = {key: value for key, value in arguments.items() if value is not None}
    return Call(name, msgspec.json.encode(given, order="sorted").decode())


def canonical(arguments: str) -> str:
    """Arguments as `call` writes them; as they are where they are no JSON."""
    try:
        return msgspec.json.encode(msgspec.json.decode(arguments or "{}"), order="sorted").decode()
    except msgspec.DecodeError:
        return arguments


def search(pattern: str, *, path: str = "", include: str = "", ignore_case: bool = False, most: int = MANY) -> Call:
    """Lines in which `pattern` occurs."""
    return call(
        "search_files",
        pattern=pattern,
        path=path or None,
        include=include or None,
        ignore_case=ignore_case or None,
        max_results=most,
    )


def read(path: str, start: int = 1, count: int = 0) -> Call:
    """`count` lines of a file from `start` on, all for 0."""
    return call("read_file", file_path=path, start_line=start if start > 1 else None, max_lines=count or None)


def names(path: str = "", pattern: str = "") -> Call:
    """The names of files."""
    return call("list_files", path=path or None, pattern=pattern or None)


def open_todos() -> Call:
    """What is to be done in the project."""
    return call("todo", action="list")


def outline(path: str) -> Call:
    """The definitions of a file."""
    return call("analyze_code", file_path=path)
