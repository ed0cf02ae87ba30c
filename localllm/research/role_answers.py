"""The JSON a role answers: its schema, and the object read out of what a model wrote, or what is wrong with it."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from localllm.base.events import Json
from localllm.llm.tool_calling.json_repair import repair_json

Schema = dict[str, Json]

TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
YES_OR_NO: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "integer"}

_YES = {"true": True, "yes": True, "false": False, "no": False}


def choice(*words: str) -> Schema:
    """One of these words."""
    return {"type": "string", "enum": list(words)}


def several(**properties: Schema) -> Schema:
    """A list of objects with these properties."""
    return {"type": "array", "items": answer_schema(**properties)}


def answer_schema(**properties: Schema) -> Schema:
    """An object with these properties, all of which it has to have."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


class UnreadableError(ValueError):
    """The answer cannot be used; the message says why, for the model."""


def read_answer(text: str, schema: Schema, *, was_cut: bool = False) -> dict[str, Json]:
    """The object in `text`, also in a fence or between words, with the properties of `schema` and no others.

    Raises UnreadableError: nothing is guessed where a text is cut off, a property is missing or has another type.
    """
    found = _object_in(text, was_cut=was_cut)
    if found is None:
        raise UnreadableError("the answer was cut off" if was_cut else "it is not one JSON object")
    return cast("dict[str, Json]", _fitted(found, schema, "the answer"))


def _object_in(text: str, *, was_cut: bool) -> dict[str, Json] | None:
    start, end = text.find("{"), text.rfind("}")
    if start < 0:
        return None
    for candidate in (text.strip(), text[start : end + 1], text[start:]):
        fixed = repair_json(candidate, closes=not was_cut) if candidate else None
        if fixed is None:
            continue
        try:
            value: Json = msgspec.json.decode(fixed)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            continue
        if isinstance(value, list) and len(cast("list[Any]", value)) == 1:
            value = cast("list[Any]", value)[0]
        if isinstance(value, dict):
            return cast("dict[str, Json]", value)
    return None


def _fitted(value: Json, schema: Schema, where: str) -> Json:
    """The value as the schema has it. What differs only in form (a number as text, one text for a list of one) is put
    right."""
    match schema["type"], value:
        case "object", dict():
            return _fitted_object(cast("dict[str, Json]", value), schema, where)
        case "array", list():
            items = enumerate(cast("list[Json]", value), 1)
            return [_fitted(one, schema["items"], f"{where}, number {number}") for number, one in items]
        case "array", str() if schema["items"]["type"] == "string":
            return [value] if value.strip() else []
        case "array", None:
            return []
        case "boolean", bool():
            return value
        case "boolean", str() if value.strip().lower() in _YES:
            return _YES[value.strip().lower()]
        case "integer", int() if not isinstance(value, bool):
            return value
        case "integer", str() if value.strip().isdecimal():
            return int(value)
        case "string", str() | int() | float() if not isinstance(value, bool):
            return _fitted_text(str(value).strip(), schema, where)
        case _:
            raise UnreadableError(f"{where} must be {_called(schema)}")


def _fitted_object(value: Mapping[str, Json], schema: Schema, where: str) -> dict[str, Json]:
    named = {str(key).strip().lower().replace(" ", "_"): one for key, one in value.items()}
    properties: dict[str, Schema] = schema["properties"]
    fitted: dict[str, Json] = {}
    for name, of in properties.items():
        if name in named:
            fitted[name] = _fitted(named[name], of, f'"{name}"')
        elif name in schema["required"]:
            raise UnreadableError(f'"{name}" is missing in {where}')
    return fitted


def _fitted_text(text: str, schema: Schema, where: str) -> str:
    words: list[str] = schema.get("enum", [])
    if not words:
        return text
    plain = text.lower().replace(" ", "_").replace("-", "_").strip("\"'.。")
    if plain not in words:
        raise UnreadableError(f"{where} must be {_called(schema)}")
    return plain


def _called(schema: Schema) -> str:
    if words := schema.get("enum"):
        return "one of " + ", ".join(words)
    names = {"array": "a list", "object": "an object", "boolean": "true or false", "integer": "a number"}
    return names.get(schema["type"], "a text")
