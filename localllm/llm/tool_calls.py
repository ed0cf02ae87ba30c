"""What a call of a tool says: its arguments, the file it is about, and the call itself in a line."""

import msgspec

from localllm.base.events import Json, ToolCall

_PATHS = ("file_path", "path", "file", "filename")
_TELLING = ("file_path", "path", "command", "pattern", "query", "url")
_TEXTS = ("content", "old_string", "new_string")

_LONGEST_BRIEF = 80
_LONGEST_SMALL = 24
_LONGEST_STATED = 160
_LONGEST_ARGUMENT = 80
"""Characters: of a call in a few words, of an argument small enough for it, of all arguments in a line, and of each."""


def arguments_in(written: str) -> dict[str, Json]:
    """The arguments by name, from the text of a call; none where that is no JSON object."""
    try:
        return msgspec.json.decode(written or "{}", type=dict[str, Json])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return {}


def canonical(written: str) -> str:
    """The text of arguments with sorted keys, the same for equal ones; what is no JSON as it is."""
    try:
        return msgspec.json.encode(msgspec.json.decode(written or "{}", type=Json), order="sorted").decode()
    except (msgspec.DecodeError, UnicodeEncodeError):
        return written


def path_of(call: ToolCall) -> str:
    """The file or folder a call is about, as it was named; "" where it is about none, or the whole project."""
    arguments = arguments_in(call.arguments)
    found = (arguments.get(name) for name in _PATHS)
    return next((path for path in found if isinstance(path, str) and path not in ("", ".")), "")


def in_few_words(tool: str, written: str) -> str:
    """A call for whoever only has to know which one it was: the tool and the argument that tells most, else the first;
    then the small ones by name, without which calls that differ would look alike. `run_command make`."""
    given = arguments_in(written)
    main = next((name for name in _TELLING if name in given), next(iter(given), ""))
    small = [
        f"{name}={value}"
        for name, value in given.items()
        if name != main and name not in _TEXTS and isinstance(value, str | int | float) and _is_small(str(value))
    ]
    telling = " ".join([str(given.get(main, "")), *small])
    return f"{tool} {' '.join(telling.split())}"[:_LONGEST_BRIEF].strip()


def with_arguments(call: ToolCall) -> str:
    """A call for whoever has to know what was asked for: the tool and every argument, as far as they are short.
    `edit_file(file_path=a.py, old_string=x = 1, new_string=x = 2)`."""
    given = arguments_in(call.arguments).items()
    stated = ", ".join(f"{name}={_shortened(str(value), _LONGEST_ARGUMENT)}" for name, value in given)
    return f"{call.name}({_shortened(stated, _LONGEST_STATED)})"


def _is_small(value: str) -> bool:
    return 0 < len(value) <= _LONGEST_SMALL and "\n" not in value


def _shortened(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
