"""Extract calls from JSON in the various shapes models write."""

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
"""Maximum nesting in lists and wrappers at which a call is found."""

_NAME = late_pattern(rf"""(?<!\w)["'“]?(?:{"|".join(NAME_KEYS)})["'”]?\s*[:：]\s*["'“]([\w .:/-]+)["'”]""")
_PLACEHOLDER = late_pattern(r'"<(?:your[^<>"]*|[a-z]+(?:[ _/-][a-z]+)+)>"', re.IGNORECASE)
"""Matches placeholders such as <your command>, as in an explanation of a call."""

_ARGUMENTS = late_pattern(rf"""(?<!\w)["'“]?(?:{"|".join(ARGUMENT_KEYS)})["'”]?\s*[:：]\s*""")


class Found(msgspec.Struct, frozen=True):
    """A call found in a text. `arguments` is JSON, or, if unreadable, what the model wrote. `closed`: its end was seen,
    so that nothing is missing. `tagged`: what the model wrote, if that is text between tags."""

    name: str
    arguments: str
    closed: bool = True
    tagged: str = ""


class Offer:
    """The tools an answer may call. Where a call could be anything else, only their names count."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.names = Names(tool.name for tool in tools)
        self._tools = {tool.name: tool for tool in tools}

    def tool(self, name: str) -> ToolSpec | None:
        """Return the tool `name` means, which may be that of another assistant."""
        return self._tools.get(self.names.resolve(name) or tool_meant(tidied(name)))

    def is_foreign(self, name: str) -> bool:
        """Return whether no offered tool has this name."""
        return self.names.resolve(name) is None

    def keys(self, name: str) -> dict[str, dict[str, Json]]:
        """Return all accepted spellings of the tool's arguments, also other assistants', with their schemas."""
        known = self.parameters(name)
        return {key: known.get(field, {}) for key, field in self._spelled(name).items()}

    def _spelled(self, name: str) -> dict[str, str]:
        """Return all accepted spellings of the tool's arguments, with the actual argument."""
        tool = self.tool(name)
        return keys_of(tool.name if tool else tool_meant(tidied(name)), self.parameters(name))

    def fits(self, name: str, keys: Iterable[str], *, bare: bool = False) -> bool:
        """Return whether `keys`, in any spelling, can be the arguments of a call: all required ones, and none that
        would change its effect. `bare`: other objects may occur there too, so that all must be the tool's own."""
        spelled = {folded(key): meant for key, meant in self._spelled(name).items()}
        given = {spelled.get(folded(key)) for key in keys}
        if bare:
            return not given & {None, ""}
        own = set(filter(None, given))
        is_call = bool(own) or not given or self.tool(name) is None
        return is_call and None not in given and own >= set(self.required(name))

    def parameters(self, name: str) -> dict[str, dict[str, Json]]:
        """Return the schemas of the tool's parameters by name; empty if the tool is unknown."""
        tool = self.tool(name)
        return tool.parameters.get("properties", {}) if tool else {}

    def required(self, name: str) -> list[str]:
        """Return the tool's required parameters."""
        tool = self.tool(name)
        return tool.parameters.get("required", []) if tool else []


def read_calls(raw: str, offer: Offer, *, strict: bool, closed: bool, closes: bool) -> list[Found] | None:
    """Return the calls in the JSON text `raw`, or None for anything else.

    `strict`: accept only what can be nothing but a call of an offered tool. `closed`: the text is complete. `closes`:
    see repair_json.
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
    """Return the calls `value` represents, or None if one of its parts is none. `level` is its nesting depth."""
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
    """Read {"name": …, "arguments": …} under any accepted keys, or with the arguments beside the name."""
    name_key = next((key for key in NAME_KEYS if isinstance(entries.get(key), str)), None)
    if name_key is None:
        return None
    name: str = entries[name_key]
    if not name.strip() or (strict and offer.names.understand(name) is None):
        return None
    argument_key = next((key for key in ARGUMENT_KEYS if key in entries), None)
    given = entries[argument_key] if argument_key else None
    if strict and offer.is_foreign(name) and (name_key == "action" or not _fits(name, given, offer)):
        return None  # {"action": "create", "path": …} may be anything
    beside = {k: v for k, v in entries.items() if k not in (name_key, argument_key, *OTHER_KEYS)}
    if argument_key is not None:
        return None if _is_other(beside, strict=strict) else Found(name, _as_text(given))
    if beside:
        return Found(name, _as_text(beside)) if offer.fits(name, beside, bare=True) else None
    return None if strict and offer.required(name) else Found(name, "{}")


def _fits(name: str, given: Json, offer: Offer) -> bool:
    return isinstance(given, dict) and offer.fits(name, cast("dict[str, Json]", given))


def _is_other(beside: dict[str, Json], *, strict: bool) -> bool:
    """Return whether the other members show that this is no call but, say, a tool's description."""
    return bool(beside) and (strict or "description" in beside)


def _named_by_key(entries: dict[str, Json], offer: Offer) -> list[Found] | None:
    """Read {"read_file": {"file_path": …}}."""
    calls = [
        Found(name, _as_text(arguments))
        for name, arguments in entries.items()
        if name in offer.names
        and isinstance(arguments, dict)
        and offer.fits(name, cast("dict[str, Json]", arguments), bare=True)
    ]
    return calls if calls and len(calls) == len(entries) else None


def _as_text(arguments: Json) -> str:
    """Return the arguments as JSON text; a string that contains JSON is returned unchanged."""
    if isinstance(arguments, str) and arguments.lstrip()[:1] in ("{", "["):
        return arguments
    return encode_json(arguments).decode()


def _broken(raw: str, offer: Offer, *, strict: bool, closed: bool) -> list[Found] | None:
    """Return the call in unreadable JSON: its name, if found, and its arguments unchanged."""
    arguments = _ARGUMENTS.search(raw)
    name = _NAME.search(raw, 0, arguments.start() if arguments else len(raw))
    if name is None and arguments is not None:
        # The name may follow the arguments, if they are complete.
        names = list(_NAME.finditer(raw, arguments.end()))
        name = names[-1] if names and offer.names.resolve(names[-1].group(1)) else None
    if strict and (name is None or offer.names.understand(name.group(1)) is None):
        return None
    written = raw[arguments.end() :].rstrip() if arguments else ""
    return [Found(tidied(name.group(1)) if name else UNNAMED, written or raw.rstrip(), closed)]
