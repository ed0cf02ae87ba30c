"""The JSON answer of a role: build its schema, and parse and validate what a model wrote."""

from collections.abc import Mapping
from typing import cast

from localllm.base.events import Json
from localllm.llm.tool_calling.json_repair import object_in

Schema = dict[str, Json]

TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
YES_OR_NO: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "integer"}

_YES = {"true": True, "yes": True, "false": False, "no": False}


def choice(*words: str) -> Schema:
    """The schema of one of these words."""
    return {"type": "string", "enum": list(words)}


def several(**properties: Schema) -> Schema:
    """The schema of a list of objects with these properties."""
    return {"type": "array", "items": answer_schema(**properties)}


def answer_schema(**properties: Schema) -> Schema:
    """The schema of an object with these required properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


class AnswerUnusable(Exception):  # noqa: N818 - the name by which the roles are spoken of
    """The model gave no answer in the requested form, even after a retry. `text` is the last one."""

    def __init__(self, message: str, text: str = "") -> None:
        super().__init__(message)
        self.text = text


class UnreadableError(ValueError):
    """The answer is unusable; the message explains it to the model."""


def read_answer(text: str, schema: Schema, *, was_cut: bool = False) -> dict[str, Json]:
    """Parse the object in `text`, also in a fence or within prose, with exactly the properties of `schema`.

    Raises UnreadableError for a truncated text, a missing property or a wrong type: nothing is guessed.
    """
    start, end = text.find("{"), text.rfind("}")
    candidates = (text.strip(), text[start : end + 1], text[start:]) if start >= 0 else ()
    found = object_in(candidates, closes=not was_cut)
    if found is None:
        raise UnreadableError("the answer was cut off" if was_cut else "it is not one JSON object")
    return cast("dict[str, Json]", _fitted(found, schema, "the answer"))


def texts_of(answer: dict[str, Json] | str, name: str) -> list[str]:
    """Return the stripped texts of a list in an answer; empty if there is no such list."""
    given = answer.get(name) if isinstance(answer, dict) else None
    items = cast("list[Json]", given) if isinstance(given, list) else []
    return [" ".join(item.split()) for item in items if isinstance(item, str) and item.strip()]


def _fitted(value: Json, schema: Schema, where: str) -> Json:
    """Convert the value to the schema. Formal deviations are corrected (a number as text, a single text for a list)."""
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
        case "integer", str() if value.strip().isdecimal() and len(value) < 19:
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
