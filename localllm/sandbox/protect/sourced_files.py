"""Find the files that direnv, mise or hermit reads into the user's shell, such as an exported `.env`.

None asks for a changed one, direnv only for a changed `.envrc`, and what a variable does nobody can list: so these
files are protected like the settings that name them.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

from localllm.base.lazy_patterns import late_pattern

_MISE = late_pattern(r"\.?(?:mise|rtx)[\w.-]*\.toml|config(?:\.\w+)*\.toml")
_WORD = r""""([^"\n]+)"|'([^'\n]+)'|((?:\$\([^()\n]*\)|[^\s;&|)"'])+)"""
_SOURCED = late_pattern(
    r"(?m)(?:^|[\s;&|({])(?:(dotenv|dotenv_if_exists)[ \t]*(?=$|[\n;&|)#])"
    rf"|(?:dotenv|dotenv_if_exists|source_env|source_env_if_exists|source|\.)[ \t]+(?![;&|#])(?:{_WORD}))"
)
_COMMENT = late_pattern(r"(?m)^[ \t]*#.*$")
_MENTIONED = late_pattern(r"(?<![\w.-])(?:[\w.-]+/)*\.env(?:\.[\w-]+)*(?![\w.-])")
_TOP = late_pattern(r"^(?:\$\{?\w+\}?|\$\([^()]*\)|\{\{[^{}]*\}\})/")
"""What stands for the folder: `$PWD/`, `$(pwd)/`, `{{config_root}}/`."""

_MOST_NAMED = 50


def sourced_by(path: str, content: bytes) -> Iterator[str]:
    """Yield what the file at `path`, if it is of direnv, mise or hermit, has read or run, relative to its folder; as
    far as it names that plainly."""
    name = path.rpartition("/")[2].casefold()
    if name == "activate-hermit":
        yield "hermit"  # beside it, which a hook of the shell activates when the folder is entered
    is_of_direnv = name == ".envrc"
    if not (is_of_direnv or _MISE.fullmatch(name)):
        return
    text = _COMMENT.sub("", content.decode("utf-8", "replace"))
    named = [match[0] for match in islice(_MENTIONED.finditer(text), _MOST_NAMED)]
    named += islice(_of_direnv(text) if is_of_direnv else _of_mise(text), _MOST_NAMED)
    for one in dict.fromkeys(_TOP.sub("", one) for one in named):
        if "/activate" not in one:  # of an environment: written whenever that is made anew
            yield one


def _of_direnv(text: str) -> Iterator[str]:
    for match in _SOURCED.finditer(text):
        bare, *words = match.groups()
        yield ".env" if bare else next(filter(None, words))


def _of_mise(text: str) -> Iterator[str]:
    import tomllib

    try:
        said: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    yield from _strings(said.get("env_file"))
    env = said.get("env")
    for table in cast(list[Any], env if isinstance(env, list) else [env]):
        directives = cast(dict[str, Any], table).get("_") if isinstance(table, dict) else None
        if isinstance(directives, dict):
            yield from _strings([cast(dict[str, Any], directives).get(key) for key in ("file", "source")])


def _strings(value: object) -> Iterator[str]:
    """Yield a path, those of a list, or that of a table (`{ path = … }`)."""
    match value:
        case str():
            yield value
        case list():
            for one in cast(list[object], value):
                yield from _strings(one)
        case dict():
            yield from _strings(cast(dict[str, object], value).get("path"))
        case _:
            return
