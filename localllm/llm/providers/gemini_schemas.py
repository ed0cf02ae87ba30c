"""JSON schemas in the words Gemini has for them: fewer for the arguments of a function, more for an answer."""

from collections.abc import Callable
from typing import Any, cast

from localllm.base.events import Json

_KEPT = frozenset({"type", "description", "nullable", "enum", "required", "items", "properties", "anyOf"})
"""Of a JSON schema, what Gemini's Schema has and tools use: another word makes it refuse the request."""

_KEPT_OF_ANSWERS = _KEPT - {"nullable"} | {
    *("$id", "$defs", "$ref", "$anchor", "format", "title", "prefixItems", "minItems", "maxItems"),
    *("minimum", "maximum", "oneOf", "additionalProperties"),
}
"""What the reference says of responseJsonSchema that it takes; other words it does not hold an answer to."""


def schema(node: Json) -> dict[str, Json]:
    """A JSON schema in the words Gemini has for it; an empty one where anything goes."""
    if not isinstance(node, dict):
        return {}
    told = _renamed(cast("dict[str, Json]", node))
    return {word: _within(word, value, schema) for word, value in told.items()}


def _renamed(node: dict[str, Json]) -> dict[str, Json]:
    """What Gemini has words for, in these: nullable for a type of null, anyOf for oneOf, enumerations of strings."""
    told = {"anyOf" if word == "oneOf" else word: value for word, value in node.items()}
    if isinstance(const := told.get("const"), str):
        told["enum"] = [const]
    if not all(isinstance(choice, str) for choice in told.get("enum") or ()):
        del told["enum"]
    match told.get("type"):
        case [*types]:
            real = [one for one in types if one != "null"]
            told |= {"type": real[0] if real else "string"} | ({"nullable": True} if real != types else {})
        case _:
            pass
    return {word: value for word, value in told.items() if word in _KEPT}


def answer_schema(node: Json) -> Json:
    """A JSON schema an answer is held to: the words Gemini keeps to, in the order they have, for it writes the
    properties of an object in theirs."""
    if not isinstance(node, dict):
        return node
    told = dict(cast("dict[str, Json]", node))
    if "const" in told:
        told["enum"] = [told["const"]]
    if not all(type(choice) in (str, int, float) for choice in _choices(told)):
        del told["enum"]
    return {word: _within(word, value, answer_schema) for word, value in told.items() if word in _KEPT_OF_ANSWERS}


def _choices(node: dict[str, Any]) -> list[Any]:
    return node.get("enum") or []


def _within(word: str, value: Json, of_schema: Callable[[Json], Json]) -> Json:
    """The value of `word` with `of_schema` of the schemas it consists of."""
    match word, value:
        case "properties" | "$defs", dict():
            return {name: of_schema(one) for name, one in cast("dict[str, Json]", value).items()}
        case "items" | "additionalProperties", _:
            return of_schema(value)
        case "anyOf" | "oneOf" | "prefixItems", list():
            return [of_schema(one) for one in cast("list[Json]", value)]
        case _:
            return value
