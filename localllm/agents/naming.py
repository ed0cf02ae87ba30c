"""Calls in a few words."""

import msgspec

from localllm.base.events import Json

_LONGEST = 80
_TELLING = ("file_path", "path", "command", "pattern", "query", "url")


def named(tool: str, arguments: str) -> str:
    """A call in a few words: the tool and the argument that tells most, else the first."""
    try:
        given = msgspec.json.decode(arguments or "{}", type=dict[str, Json])
    except msgspec.DecodeError:
        return tool
    telling = next((given[name] for name in _TELLING if name in given), next(iter(given.values()), ""))
    return f"{tool} {' '.join(str(telling).split())}"[:_LONGEST].strip()
