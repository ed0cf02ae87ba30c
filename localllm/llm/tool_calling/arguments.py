"""Names and arguments of tool calls as models write them, converted to the tool's form."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec

from localllm.base.events import Json
from localllm.base.foreign_tools import KINDS, argument_meant, names_of, tool_meant
from localllm.base.jsontext import encode_json
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import ToolSpec
from localllm.llm.tool_calling.json_repair import doubled_backslashes, repair_json

_NOT_IN_A_NAME = late_pattern(r"[\s_.\-]+")
_AROUND = late_pattern(
    r"^(?:(?:functions?|tools?|default_api|call|multi_tool_use|assistant)[.:/])+|(?::\d+|\(\)|\.call)$", re.IGNORECASE
)


class Names:
    """The names of the tools a request offers."""

    def __init__(self, offered: Iterable[str]) -> None:
        self._exact = {name: name for name in offered}
        self._loose: dict[str, str | None] = {}
        for name in self._exact:
            key = _loosened(name)
            self._loose[key] = None if key in self._loose else name
        self._foreign = names_of(tuple(self._exact)) if self._exact else ()

    def __bool__(self) -> bool:
        return bool(self._exact)

    def __iter__(self) -> Iterator[str]:
        return iter(self._exact)

    def resolve(self, written: str) -> str | None:
        """Return the offered name that `written` means, ignoring case, underscores, and prefixes like `functions.`.
        None if there is none, or more than one."""
        if written in self._exact:
            return written
        bare = tidied(written)
        return self._exact.get(bare) or self._loose.get(_loosened(bare))

    def understand(self, written: str) -> str | None:
        """Like `resolve`, but also return the name of another assistant's tool that the tools can translate."""
        if name := self.resolve(written):
            return name
        bare = tidied(written)
        meant = tool_meant(bare)
        return bare if meant and (meant in self._exact or (self._exact and meant in KINDS)) else None

    @property
    def telling(self) -> tuple[str, ...]:
        """The offered names, and those of other assistants' tools that are no ordinary word."""
        return (*self._exact, *(name for name in self._foreign if "_" in name))


def tidied(written: str) -> str:
    """Strip quotes, `functions.`, the number Kimi appends, and `.call` from a name."""
    name = written.strip().strip("\"'`“”<>").strip()
    return _AROUND.sub("", _AROUND.sub("", name)) or name


def _loosened(name: str) -> str:
    return _NOT_IN_A_NAME.sub("", name).casefold()


WRAPPERS = ("arguments", "parameters", "args", "params", "input", "kwargs", "properties", "action_input", "tool_input")
"""Keys in which models wrap the arguments of a call."""

_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NOTHING = ("", "null", "none")

_COMMAND = "command"
"""The argument whose values are known as such without its name."""

_FENCE = late_pattern(r"```\w*[^\S\n]*\n((?:(?!```).)+)```", re.DOTALL)
_NAMED = late_pattern(r"""["'`]?(\w+)["'`]?\s*[:=：]\s*(\S[^\n]*)""")
_NEXT_KEY = late_pattern(r"""[,，]\s*["'`]?\w+["'`]?\s*[:：]""")
_OF_MARKUP = "{[(<\"'`"
_NO_COMMAND = late_pattern(r"^[A-Z][a-z]+ |^\w+[:：]\s|\w[.!?:]$")
"""Prose, or the beginning of another argument."""

_OBJECT_IN_COMMAND = late_pattern(r"^\s*[^\s{'][^{]*'\{")
"""An object that a command is given in quotes, as in curl -d '{…}'."""

Arguments = dict[str, Json]


def settle(text: str, tool: ToolSpec | None, *, closes: bool = True) -> str:
    """Return the JSON of a call's arguments, repaired and coerced; `text` if it is correct or irreparable.

    `tool` is None if unknown. `closes`: see repair_json.
    """
    fixed = repair_json(text, closes=closes)
    fixed = fixed and doubled_backslashes(fixed)
    given = _decoded(fixed)
    if isinstance(given, str) and _may_hold_object(given):
        given = _decoded(repair_json(given, closes=closes))
    if isinstance(given, list) and len(cast("list[Json]", given)) == 1:
        given = cast("list[Json]", given)[0]
    if not isinstance(given, dict) or (_only_text_argument(tool) == _COMMAND and _OBJECT_IN_COMMAND.search(text)):
        return "{}" if fixed is not None and fixed.strip() == "null" else _as_only_argument(text, tool, closes=closes)
    arguments = cast("Arguments", given)
    coerced = coerce(arguments, tool.parameters) if tool else arguments
    if fixed == text and coerced == _decoded(text):
        return text
    return encode_json(coerced).decode()


def coerce(arguments: Arguments, parameters: dict[str, Json]) -> Arguments:
    """Return `arguments` coerced where the tools' own conversion does not do it.

    Handled: one wrapper too many; JSON in a string where a list or an object is expected; a single value for a list;
    yes and no; a number or boolean for text; null for an optional argument.
    """
    properties: dict[str, dict[str, Json]] = parameters.get("properties", {})
    required: list[str] = parameters.get("required", [])
    arguments = _unwrapped(arguments, properties)
    return {
        name: _coerced(value, properties.get(name, {}))
        for name, value in arguments.items()
        if name in required or name not in properties or not _says_nothing(value, properties[name])
    }


def _unwrapped(arguments: Arguments, properties: dict[str, Any]) -> Arguments:
    """Remove one wrapper too many, as in {"arguments": {…}}, even with the tool's name beside it."""
    others = {key for key in arguments if key not in ("name", "tool", "function", "type", "id")}
    if len(others) != 1 or any(key in properties for key in arguments):
        return arguments
    (wrapper,) = others
    inner = arguments[wrapper]
    if isinstance(inner, str):
        inner = _decoded(repair_json(inner))
    if wrapper not in WRAPPERS or not isinstance(inner, dict):
        return arguments
    return _unwrapped(cast("Arguments", inner), properties)


def _says_nothing(value: Json, schema: dict[str, Json]) -> bool:
    if isinstance(value, str) and schema.get("type") != "string":
        return value.strip().lower() in _NOTHING
    return value is None


def _coerced(value: Json, schema: dict[str, Json]) -> Json:
    match schema.get("type"), value:
        case "string", bool() | int():
            return msgspec.json.encode(value).decode()
        case "boolean", str():
            return _TRUTH.get(value.strip().lower(), value.strip())
        case "integer" | "number", str():
            return value.strip()
        case "object", str():
            inner = _decoded(repair_json(value))
            return cast("Json", inner) if isinstance(inner, dict) else value
        case "array", _:
            return _as_list(value, schema.get("items", {}))
        case _:
            return value


def _as_list(value: Json, items: dict[str, Json]) -> Json:
    kind = items.get("type")
    if isinstance(value, str):
        inner = _decoded(repair_json(value)) if value.lstrip().startswith("[") else None
        if isinstance(inner, list):
            return cast("Json", inner)
        return [value] if kind == "string" and value.strip() else value
    return [value] if kind == "object" and isinstance(value, dict) else value


def _as_only_argument(text: str, tool: ToolSpec | None, *, closes: bool) -> str:
    """Return a text that is no object as the tool's only required argument, where it can mean nothing else."""
    name = _only_text_argument(tool)
    if tool is None or not name:
        return text
    value, given = None, _decoded(text)
    if isinstance(given, str):
        value = None if "{" in given else given
    elif given is None and closes and text.strip():
        value = _plain_value(text.strip(), name, tool)
    return text if value is None else encode_json({name: value}).decode()


def _only_text_argument(tool: ToolSpec | None) -> str:
    """Return the tool's only required argument if it is a text; else ""."""
    required: list[str] = tool.parameters.get("required", []) if tool else []
    is_text = tool and len(required) == 1 and tool.parameters["properties"][required[0]].get("type") == "string"
    return required[0] if is_text else ""


def _plain_value(text: str, name: str, tool: ToolSpec) -> str | None:
    """Return the value of the argument `name` in `path: a.py` or, of a command, alone or in braces; each also in a code
    fence. None if it is prose, or may be anything else."""
    is_command = name == _COMMAND
    if fenced := _FENCE.fullmatch(text):
        text = fenced[1].strip()
        if is_command and "\n" in text:
            return text if text[0] not in _OF_MARKUP and not _NO_COMMAND.search(text) else None
    in_braces = is_command and text[:1] == "{" and text[-1:] == "}"
    named = _NAMED.fullmatch(text[1:-1].strip() if in_braces else text)
    if named and argument_meant(named[1], tool.name, tool.parameters["properties"]) == name:
        return None if in_braces and _NEXT_KEY.search(named[2]) else _unquoted(named[2])
    text = text.removeprefix("$ ")
    is_plain = is_command and text.lower() not in _NOTHING and "\n" not in text and text[0].isascii()
    return text if is_plain and text[0] not in _OF_MARKUP and not _NO_COMMAND.search(text) else None


def _unquoted(value: str) -> str | None:
    """Return the value without quotes around the whole of it; None if only its beginning is quoted."""
    quote = value[0]
    if quote not in "\"'`":
        return value
    if quote == '"':
        inner = _decoded(value)
        return inner if isinstance(inner, str) else None
    return value[1:-1] if value.count(quote) == 2 and value.endswith(quote) else None


def _may_hold_object(text: str) -> bool:
    """Return whether an object in `text` is its content, not a part of, say, a command."""
    before = text.partition("{")[0].rstrip()
    return not before or before[-1] in "`:：=" or before.endswith("json")


def _decoded(text: str | None) -> object:
    if text is None:
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
