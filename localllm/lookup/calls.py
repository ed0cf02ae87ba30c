"""The calls the engine makes, and what a plan is: a generator that yields calls, is sent their results, and returns
the answer."""

from collections.abc import Generator, Sequence
from typing import Literal, NamedTuple

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

Files = Literal["", "source", "settings"]
"""Which files are searched: all, those of source code, or those and settings."""

_LEAST = 2

NOT_OFFERED = "not_offered"

MANY = 300
"""Lines asked of a search when they are to be ranked: about as many as go into the longest result."""


def call(name: str, **arguments: Json) -> Call:
    """A call; what is None is left to the tool's default."""
    given = {key: value for key, value in arguments.items() if value is not None}
    return Call(name, msgspec.json.encode(given, order="sorted").decode())


def search(
    pattern: str,
    *,
    path: str = "",
    include: str = "",
    files: Files = "",
    defines: Literal["", "like", "exactly"] = "",
    words: bool = False,
    ignore_case: bool = False,
    most: int = MANY,
) -> Call:
    """Lines in which `pattern` occurs, or that may define what it names: a thing called like it, or exactly so. With
    `words` it is no regular expression, but words as `spoken` has them."""
    code: dict[str, Json] = {"files": files, "defines": defines, "words": words}
    return _search(pattern, path, include, code, most, ignore_case=ignore_case)


def search_together(
    firm: Sequence[str],
    loose: Sequence[str] = (),
    *,
    path: str = "",
    include: str = "",
    files: Files = "",
    least: int = _LEAST,
    most: int = MANY,
) -> Call:
    """Lines in which `least` of these words (as `spoken` has them) stand, one of `firm` among them."""
    code: dict[str, Json] = {
        "files": files,
        "words": True,
        "beside": list(firm[1:]),
        "loose": list(loose),
        "least": least if least != _LEAST else 0,
    }
    return _search(firm[0], path, include, code, most)


def _search(
    pattern: str, path: str, include: str, code: dict[str, Json], most: int, *, ignore_case: bool = False
) -> Call:
    """`code` is what the tool itself makes a pattern of: that would be long, and told to whoever goes on."""
    return call(
        "search_files",
        pattern=pattern,
        path=path or None,
        include=include or None,
        ignore_case=ignore_case or None,
        max_results=most,
        code={name: value for name, value in code.items() if value} or None,
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


def recall(query: str) -> Call:
    """What is remembered that fits."""
    return call("recall", query=query)


def outline(path: str) -> Call:
    """The definitions of a file."""
    return call("analyze_code", file_path=path)
