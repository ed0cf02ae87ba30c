"""Find the files that direnv, mise or hermit reads into the user's shell, such as an exported `.env`.

None asks for a changed one, direnv only for a changed `.envrc`, and what a variable does nobody can list: so these
files are protected like the settings that name them.
"""

from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Any, cast

from localllm.base.folded_names import folded
from localllm.base.lazy_patterns import late_pattern

_MISE = late_pattern(r"\.?(?:mise|rtx)[\w.-]*\.toml|config(?:\.\w+)*\.toml")
_FOLDERS_OF_MISE = frozenset({".config", ".mise", ".rtx", "mise", "rtx", "conf.d"})
"""What its settings name is looked for above these."""

_SOURCING = late_pattern(
    r"(?m)(?:^|[\s;&|({])(dotenv|dotenv_if_exists|source_env|source_env_if_exists|source|\.)"
    r"(?:(?=$|[;&|)])|[ \t]+)(?:--[ \t]+)?"
)
_COMMENT = late_pattern(r"(?m)^[ \t]*#.*$")
_MENTIONED = late_pattern(r"(?<![\w.-])(?:[\w.-]+/)*\.env(?:\.[\w-]+)*(?![\w.-])")
_TOP = late_pattern(r"^(?:\$\{?\w+(?:\[\w*\])?\}?|\$\([^()]*\)|`[^`]*`|~\+?|\{\{[^{}]*\}\})/")
"""What stands for the folder: `$PWD/`, `$(pwd)/`, `{{config_root}}/`."""

_MOST_NAMED = 50
_LONGEST_WORD = 4_096


def sourced_by(path: str, content: bytes) -> Iterator[str]:
    """Yield what the file at `path`, if it is of direnv, mise or hermit, has read or run, relative to its folder; as
    far as it names that plainly."""
    name = folded(path.rpartition("/")[2])
    if name == "activate-hermit":
        yield "hermit"  # beside it, which a hook of the shell activates when the folder is entered
    is_of_direnv = name == ".envrc"
    is_of_mise = _MISE.fullmatch(name) or (name.endswith(".toml") and folded(f"/{path}").count("mise/conf.d/"))
    if not (is_of_direnv or is_of_mise):
        return
    text = _COMMENT.sub("", content.decode("utf-8", "replace"))
    named = [match[0] for match in islice(_MENTIONED.finditer(text), _MOST_NAMED)]
    named += islice(_of_direnv(text) if is_of_direnv else _of_mise(text), _MOST_NAMED)
    above = "" if is_of_direnv else _above(path)
    for one in dict.fromkeys(_TOP.sub("", one) for one in named):
        if "/activate" not in one:  # of an environment: written whenever that is made anew
            yield one
            if above:
                yield above + one


def _above(path: str) -> str:
    """Return the way from the folder of mise's settings to the one that they are for."""
    *folders, _ = folded(path).split("/")
    return "../" * sum(1 for _ in takewhile(_FOLDERS_OF_MISE.__contains__, reversed(folders)))


def _of_direnv(text: str) -> Iterator[str]:
    for match in _SOURCING.finditer(text):
        if word := _first_word(text, match.end()):
            yield word
        elif match[1].startswith("dotenv"):
            yield ".env"


def _first_word(text: str, start: int) -> str:
    """Return the word of a shell that begins there, without its quotes; "" if the command ends there."""
    word: list[str] = []
    quote, depth, is_escaped, in_backquotes = "", 0, False, False
    for letter in text[start : start + _LONGEST_WORD].partition("\n")[0]:
        is_within = bool(quote or depth or in_backquotes)
        if is_escaped or (letter == "\\" and quote != "'"):
            is_escaped = not is_escaped
            if is_escaped:
                continue
        elif letter == quote or (letter in "\"'" and not quote):
            quote = "" if quote else letter
            continue
        elif (letter in " \t;&|)" and not is_within) or (letter == "#" and not word):
            break
        else:
            depth += {"(": 1, ")": -1}.get(letter, 0)
            in_backquotes ^= letter == "`"
        word.append(letter)
    return "".join(word)


def _of_mise(text: str) -> Iterator[str]:
    import tomllib

    try:
        said: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    settings, hooks = said.get("settings"), said.get("hooks")
    yield from _strings([said.get("env_file"), _items(settings).get("env_file")])
    yield from (_first_word(command, 0) for command in _strings(list(_items(hooks).values())))
    env = said.get("env")
    for table in cast(list[object], env if isinstance(env, list) else [env]):
        directives = _items(_items(table).get("_"))
        yield from _strings([directives.get(key) for key in ("file", "source")])


def _items(value: object) -> dict[str, object]:
    return cast(dict[str, object], value) if isinstance(value, dict) else {}


def _strings(value: object) -> Iterator[str]:
    """Yield a path, those of a list, or that of a table (`{ path = … }`), or a hook's script."""
    match value:
        case str():
            yield value
        case list():
            for one in cast(list[object], value):
                yield from _strings(one)
        case dict():
            table = cast(dict[str, object], value)
            yield from _strings([table.get("path"), table.get("script")])
        case _:
            return
