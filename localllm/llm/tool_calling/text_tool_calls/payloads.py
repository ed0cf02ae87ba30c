"""From the JSON of a call, in any of the shapes models give it, to the calls."""

import re
from collections.abc import Iterable, Sequence
from typing import cast

import msgspec

from localllm.base.events import Json
from localllm.base.foreign_tools import UNNAMED, folded, keys_of, tool_meant
from localllm.base.jsontext import encode_json
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import ToolSpec
from localllm.llm.tool_calling.arguments import Names, tidied
from localllm.llm.tool_calling.json_repair import repair_json

NAME_KEYS = ("name", "tool_name", "tool", "function", "function_name", "action", "recipient_name")
ARGUMENT_KEYS = tuple(
    """
    arguments parameters args params input action_input tool_input tool_args tool_arguments tool_parameters
    function_arguments kwargs
    """.split()
)
LIST_KEYS = ("tool_calls", "function_calls", "calls", "actions", "tools", "tool_uses", "toolcalls")
CALL_KEYS = ("function", "tool_call", "function_call", "tool_use", "call", "tool", "action")
OTHER_KEYS = tuple(
    """
    type id call_id tool_call_id index thought thoughts thinking reasoning reason
    """.split()
)
_DEEPEST = 8
"""How deep in lists and wrappers a call is looked for."""

_NAME = late_pattern(rf"""(?<!\w)["'“]?(?:{"|".join(NAME_KEYS)})["'”]?\s*[:：]\s*["'“]([\w .:/-]+)["'”]""")
_PLACEHOLDER = late_pattern(r'"<(?:your[^<>"]*|[a-z]+(?:[ _/-][a-z]+)+)>"', re.IGNORECASE)
"""<your command>: who writes so explains what a call looks like."""

_ARGUMENTS = late_pattern(rf"""(?<!\w)["'“]?(?:{"|".join(ARGUMENT_KEYS)})["'”]?\s*[:：]\s*""")


class Found(msgspec.Struct, frozen=True):
    """A call found in a text. `arguments` is JSON, or, where that cannot be read, what the model wrote. `closed`:
    its end was seen, so that nothing of it is missing. `tagged`: what the model wrote, where that is no JSON but text
    between tags."""

    name: str
    arguments: str
    closed: bool = True
    tagged: str = ""


class Offer:
    """The tools an answer may call. Where a call can be mistaken for something else, only their names count."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.names = Names(tool.name for tool in tools)
        self._tools = {tool.name: tool for tool in tools}

    def tool(self, name: str) -> ToolSpec | None:
        """The tool meant by `name`, which may be that of another assistant."""
        return self._tools.get(self.names.resolve(name) or tool_meant(tidied(name)))

    def is_foreign(self, name: str) -> bool:
        """Whether no tool on offer is called so."""
        return self.names.resolve(name) is None

    def keys(self, name: str) -> dict[str, dict[str, Json]]:
        """Every spelling of its arguments that is understood, with the schema; those of other assistants as well."""
        known = self.parameters(name)
        return {key: known.get(field, {}) for key, field in self._spelled(name).items()}

    def _spelled(self, name: str) -> dict[str, str]:
        """Every spelling of its arguments, with the argument it is."""
        tool = self.tool(name)
        return keys_of(tool.name if tool else tool_meant(tidied(name)), self.parameters(name))

    def fits(self, name: str, keys: Iterable[str], *, bare: bool = False) -> bool:
        """Whether `keys`, however they are spelled, can be the arguments of a call of the tool: all it must have, and
        none that would change what it does. `bare`: they stand where other things may, so that all must be its own."""
        spelled = {folded(key): meant for key, meant in self._spelled(name).items()}
        given = {spelled.get(folded(key)) for key in keys}
        if bare:
            return not given & {None, ""}
        own = set(filter(None, given))
        is_call = bool(own) or not given or self.tool(name) is None
        return is_call and None not in given and own >= set(self.required(name))

    def parameters(self, name: str) -> dict[str, dict[str, Json]]:
        """The schemas of its parameters by name; empty where nobody knows the tool."""
        tool = self.tool(name)
        return tool.parameters.get("properties", {}) if tool else {}

    def required(self, name: str) -> list[str]:
        """The parameters it must have."""
        tool = self.tool(name)
        return tool.parameters.get("required", []) if tool else []


def read_calls(raw: str, offer: Offer, *, strict: bool, closed: bool, closes: bool) -> list[Found] | None:
    """The calls in the JSON text `raw`, None where it is something else.

    `strict`: only what can be nothing but a call of an offered tool is one. `closed`: the text has its end.
    `closes`: see repair_json.
    """
    fixed = repair_json(raw, closes=closes)
    if fixed is None:
        return _broken(raw, offer, strict=strict, closed=closed)
    found = calls_in(msgspec.json.decode(fixed), offer, strict=strict)
    if strict and found and _PLACEHOLDER.search(fixed):
        return None
    if found is None and not strict and _ARGUMENTS.search(fixed) and not _NAME.search(fixed):
        return [Found(UNNAMED, fixed)]
    return found


def calls_in(value: Json, offer: Offer, *, strict: bool, level: int = 0) -> list[Found] | None:
    """The calls `value` stands for, None where one of it is none. `level` is how deep in other values it is."""
    if level > _DEEPEST:
        return None
    if isinstance(value, list):
        each = [calls_in(item, offer, strict=strict, level=level + 1) for item in cast("list[Json]", value)]
        calls = [call for found in each if found for call in found]
        return calls if calls and all(each) else None
    if not isinstance(value, dict):
        return None
    entries = cast("dict[str, Json]", value)
    for key in LIST_KEYS:
        if isinstance(entries.get(key), list):
            return calls_in(entries[key], offer, strict=strict, level=level + 1)
    for key in CALL_KEYS:
        if isinstance(entries.get(key), dict):
            return calls_in(entries[key], offer, strict=strict, level=level + 1) or _named_by_key(entries, offer)
    call = _one_call(entries, offer, strict=strict) or _named_by_key(entries, offer)
    return [call] if isinstance(call, Found) else call


def _one_call(entries: dict[str, Json], offer: Offer, *, strict: bool) -> Found | None:
    """{"name": …, "arguments": …} under whatever keys, the arguments also beside the name."""
    name_key = next((key for key in NAME_KEYS if isinstance(entries.get(key), str)), None)
    if name_key is None:
        return None
    name: str = entries[name_key]
    if not name.strip() or (strict and offer.names.understand(name) is None):
        return None
    argument_key = next((key for key in ARGUMENT_KEYS if key in entries), None)
    given = entries[argument_key] if argument_key else None
    if strict and offer.is_foreign(name) and (name_key == "action" or not _fits(name, given, offer)):
        return None  # {"action": "create", "path": …} may be any program's
    beside = {k: v for k, v in entries.items() if k not in (name_key, argument_key, *OTHER_KEYS)}
    if argument_key is not None:
        return None if _is_other(beside, strict=strict) else Found(name, _as_text(given))
    if beside:
        return Found(name, _as_text(beside)) if offer.fits(name, beside, bare=True) else None
    return None if strict and offer.required(name) else Found(name, "{}")


def _fits(name: str, given: Json, offer: Offer) -> bool:
    return isinstance(given, dict) and offer.fits(name, cast("dict[str, Json]", given))


def _is_other(beside: dict[str, Json], *, strict: bool) -> bool:
    """Whether the other members tell that this is no call but, say, the description of a tool."""
    return bool(beside) and (strict or "description" in beside)


def _named_by_key(entries: dict[str, Json], offer: Offer) -> list[Found] | None:
    """{"read_file": {"file_path": …}}"""
    calls = [
        Found(name, _as_text(arguments))
        for name, arguments in entries.items()
        if name in offer.names
        and isinstance(arguments, dict)
        and offer.fits(name, cast("dict[str, Json]", arguments), bare=True)
    ]
    return calls if calls and len(calls) == len(entries) else None


def _as_text(arguments: Json) -> str:
    """The JSON text of arguments; a string that is the JSON text of an object is that text."""
    if isinstance(arguments, str) and arguments.lstrip()[:1] in ("{", "["):
        return arguments
    return encode_json(arguments).decode()


def _broken(raw: str, offer: Offer, *, strict: bool, closed: bool) -> list[Found] | None:
    """The call in JSON that cannot be read: its name, if that is there, and its arguments as they are."""
    arguments = _ARGUMENTS.search(raw)
    name = _NAME.search(raw, 0, arguments.start() if arguments else len(raw))
    if name is None and arguments is not None:
        # The name may stand behind the arguments, if they are whole.
        names = list(_NAME.finditer(raw, arguments.end()))
        name = names[-1] if names and offer.names.resolve(names[-1].group(1)) else None
    if strict and (name is None or offer.names.understand(name.group(1)) is None):
        return None
    written = raw[arguments.end() :].rstrip() if arguments else ""
    return [Found(tidied(name.group(1)) if name else UNNAMED, written or raw.rstrip(), closed)]
