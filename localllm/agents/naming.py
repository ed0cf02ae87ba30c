"""Calls in a few words."""

import msgspec

from localllm.base.events import Json

_LONGEST = 80
_LONGEST_VALUE = 24
_TELLING = ("file_path", "path", "command", "pattern", "query", "url")
_TEXTS = ("content", "old_string", "new_string")


def named(tool: str, arguments: str) -> str:
    """A call in a few words: the tool and the argument that tells most, else the first; then the small ones by name,
    without which calls that differ would look alike."""
    try:
        given = msgspec.json.decode(arguments or "{}", type=dict[str, Json])
    except msgspec.DecodeError:
        return tool
    main = next((name for name in _TELLING if name in given), next(iter(given), ""))
    small = [
        f"{name}={value}"
        for name, value in given.items()
        if name != main and name not in _TEXTS and isinstance(value, str | int | float) and _is_small(str(value))
    ]
    telling = " ".join([str(given.get(main, "")), *small])
    return f"{tool} {' '.join(telling.split())}"[:_LONGEST].strip()


def _is_small(value: str) -> bool:
    return 0 < len(value) <= _LONGEST_VALUE and "\n" not in value
