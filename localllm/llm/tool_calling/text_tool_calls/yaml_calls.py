"""Parse calls in a subset of YAML: mappings, lists of strings, and block strings."""

import re
from typing import cast

import msgspec

from localllm.base.events import Json
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.tool_calling.json_repair import repair_json
from localllm.llm.tool_calling.text_tool_calls.payloads import (
    ARGUMENT_KEYS,
    NAME_KEYS,
    OTHER_KEYS,
    Found,
    Offer,
    calls_in,
)

_KEY = late_pattern(r"( *)(- +)?([\w.\-]+):(?: (.*))?")
_ITEM = late_pattern(r" *- (.*)")
_BLOCK = late_pattern(r"([|>])[+-]?")


_MOST_LINES = 5_000
_DEEPEST = 20  # maximum nesting of mappings, beyond any tool's arguments


def names_call(line: str, offer: Offer) -> bool:
    """Return whether the first line of a YAML text names a tool, so that the rest is worth buffering."""
    key = _KEY.fullmatch(line.rstrip())
    return bool(key and key[3] in NAME_KEYS and key[4] and offer.names.understand(key[4]))


class _NotYamlError(Exception):
    """The text is not of this YAML subset."""


def yaml_calls(text: str, offer: Offer, *, strict: bool) -> list[Found] | None:
    """Return the calls in a YAML text, or None for anything else. `strict`: see read_calls."""
    lines = text.replace("\t", "    ").rstrip().split("\n")
    if len(lines) > _MOST_LINES:
        return None
    try:
        value, rest = _mapping([line for line in lines if not re.match(r"\s*(?:#|---\s*$)", line)], 0)
    except _NotYamlError:
        return None
    keys = {*NAME_KEYS, *ARGUMENT_KEYS, *OTHER_KEYS}
    if rest or not value.keys() & set(NAME_KEYS) or not value.keys() & set(ARGUMENT_KEYS) or value.keys() - keys:
        return None
    return calls_in(cast("Json", value), offer, strict=strict)


def _mapping(lines: list[str], indent: int, depth: int = 0) -> tuple[dict[str, Json], list[str]]:
    """Parse the mapping indented by `indent`, or in a list's first entry. Return it and the remaining lines."""
    if depth > _DEEPEST:
        raise _NotYamlError
    found: dict[str, Json] = {}
    while lines:
        if not lines[0].strip():
            lines = lines[1:]
            continue
        key = _KEY.fullmatch(lines[0])
        if key is None:
            raise _NotYamlError
        at = len(key[1]) + len(key[2] or "")
        if at < indent:
            break
        if found and (at != indent or key[2]):
            raise _NotYamlError
        indent = at
        found[key[3]], lines = _value((key[4] or "").strip(), lines[1:], indent, depth)
    return found, lines


def _value(written: str, lines: list[str], indent: int, depth: int) -> tuple[Json, list[str]]:
    """Parse the value of a key, on its line or in the more indented lines below."""
    if written and not _BLOCK.fullmatch(written):
        return _scalar(written), lines
    end = next((n for n, line in enumerate(lines) if line.strip() and _indent(line) <= indent), len(lines))
    below, rest = lines[:end], lines[end:]
    if written:
        margin = min((_indent(line) for line in below if line.strip()), default=0)
        text = "\n".join(line[margin:] for line in below).rstrip("\n")
        return text + ("" if written.endswith("-") else "\n"), rest
    items = [_ITEM.fullmatch(line) for line in below if line.strip()]
    if items and all(items):
        return [_scalar(item[1].strip()) for item in items if item], rest
    if not below:
        return "", rest
    value, more = _mapping(below, indent + 1, depth + 1)
    if more:
        raise _NotYamlError
    return cast("Json", value), rest


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _scalar(written: str) -> Json:
    """Parse a value on one line: a quoted string, JSON, or plain text."""
    if not written:
        return ""
    if written[0] == "'" == written[-1] and len(written) > 1:
        return written[1:-1].replace("''", "'")
    if written[0] in '"{[':
        fixed = repair_json(written)
        if fixed is None:
            raise _NotYamlError
        return msgspec.json.decode(fixed)
    return re.sub(r" +#.*", "", written)
