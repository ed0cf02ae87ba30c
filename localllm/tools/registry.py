"""Make a tool of a typed async function, and the arguments of a call of its types.

    @tool(risk=Risk.HIGH, writes=("file_path",))
    async def write_file(context: ToolContext, file_path: str, content: str) -> ToolOutput:
        '''Write a whole file.

        file_path: path in the project
        content: the new text
        '''

The first paragraph of the docstring is the description; lines `name: text` after it describe the arguments.
"""

import inspect
import re
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json
from localllm.base.jsontext import decode_json
from localllm.llm.messages import ToolSpec
from localllm.safety.call_arguments import ArgumentsError, Fitted
from localllm.safety.path_names import shown
from localllm.safety.paths import ProjectRoot
from localllm.safety.tool_definition import Passages, PreviewFunction, Redirect, Risk, Tool, ToolFunction, Touches


def tool(
    *,
    risk: Risk,
    writes: tuple[str, ...] = (),
    paths: tuple[str, ...] | None = None,
    sends: tuple[str, ...] = (),
    fetches: tuple[str, ...] = (),
    preview: PreviewFunction | None = None,
    touches: Touches | None = None,
    runs_programs: bool = False,
    redirect: Redirect | None = None,
    passages: Passages | None = None,
    required: tuple[str, ...] | None = None,
    unlisted: tuple[str, ...] = (),
    rare: tuple[str, ...] = (),
    brief: str = "",
) -> Callable[[ToolFunction], Tool]:
    """Make a Tool of an async function whose first parameter is the ToolContext.

    `writes` names the arguments that are paths the tool changes: they are backed up first.
    `paths` names those compared with the rules of the settings, each a path or a list of paths: by default `file_path`.
    `sends` names those sent off this machine, such as a query; `fetches` those that are addresses to read.
    `preview` is called like the function, and describes the change without making it.
    `touches` returns the changed files that no argument names; a call that touches none changes nothing.
    `runs_programs`: the call may run programs of the project, which may change any file.
    `redirect` returns the tool and arguments of an equivalent call of another tool, which is then judged. `passages`
    returns what a call replaces.
    `required` names the arguments declared as required, if not simply those without a default.
    `unlisted` names accepted arguments that are not declared: declaring what only some models use would cost every
    request of every model.
    `rare` names those not declared to small models either, which get `brief` as description.
    """

    def make(function: ToolFunction) -> Tool:
        name: str = getattr(function, "__name__")  # noqa: B009 - Callable has no __name__ for the type checker
        description, notes = _read_docstring(inspect.getdoc(function) or "")
        parameters = list(inspect.signature(function).parameters.values())[1:]
        hints = get_type_hints(function)

        def spec(what: str, left_out: tuple[str, ...]) -> ToolSpec:
            listed = [parameter for parameter in parameters if parameter.name not in left_out]
            return ToolSpec(name, what, _schema(listed, hints, notes, required))

        return Tool(
            name=name,
            risk=risk,
            spec=spec(description, unlisted),
            brief=spec(brief or description, (*unlisted, *rare)),
            arguments=_struct(name, parameters, hints),
            function=function,
            writes=writes,
            paths=paths if paths is not None else tuple({"file_path"} & hints.keys()),
            sends=sends,
            fetches=fetches,
            preview=preview,
            touches=touches,
            runs_programs=runs_programs,
            redirect=redirect,
            passages=passages,
        )

    return make


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Split a docstring into the description (first paragraph, joined) and the notes on the arguments."""
    head, _, rest = text.partition("\n\n")
    notes: dict[str, str] = {}
    for line in rest.splitlines():
        name, colon, note = line.partition(": ")
        if colon and name.isidentifier():
            notes[name] = note.strip()
    return " ".join(head.split()), notes


def _schema(
    parameters: list[inspect.Parameter], hints: dict[str, Any], notes: dict[str, str], needed: tuple[str, ...] | None
) -> dict[str, Json]:
    """Return a flat JSON schema (type, items, description, required) that small servers' grammars support."""
    properties: dict[str, Json] = {}
    for parameter in parameters:
        entry = _type_schema(hints[parameter.name])
        if note := notes.get(parameter.name):
            entry["description"] = note
        properties[parameter.name] = entry
    required = list(needed or (p.name for p in parameters if p.default is inspect.Parameter.empty))
    return {"type": "object", "properties": properties, "required": required}


_JSON_TYPES: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object"}


def _type_schema(hint: Any) -> dict[str, Json]:
    if get_origin(hint) in (Union, UnionType):
        hint = next(part for part in get_args(hint) if part is not NoneType)
    if get_origin(hint) is list:
        return {"type": "array", "items": _type_schema(get_args(hint)[0])}
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        fields = {field.name: _type_schema(field.type) for field in msgspec.structs.fields(hint)}
        return {"type": "object", "properties": fields, "required": list(fields)}
    return {"type": _JSON_TYPES[hint]}


def _struct(name: str, parameters: list[inspect.Parameter], hints: dict[str, Any]) -> type[msgspec.Struct]:
    fields: list[Any] = [
        (p.name, hints[p.name]) if p.default is inspect.Parameter.empty else (p.name, hints[p.name], p.default)
        for p in parameters
    ]
    return msgspec.defstruct(f"{name}_arguments", fields, kw_only=True)


def parse_arguments(tool: Tool, text: str, *, was_cut: bool, spec: ToolSpec | None = None) -> Fitted:
    """Parse the arguments of a call, coerced to their types.
    Raises ToolExecutionError with an example call according to `spec`."""
    if was_cut and not text.strip():
        raise ToolExecutionError("tool_cut_arguments", name=tool.name)
    try:
        return tool.fit(decode_json(text.strip() or "{}", dict[str, Json]))
    except (ArgumentsError, msgspec.ValidationError) as error:
        key, reason = "tool_bad_arguments", error.reason if isinstance(error, ArgumentsError) else first_line(error)
        fault = error
    except msgspec.DecodeError as error:
        if was_cut:
            raise ToolExecutionError("tool_cut_arguments", name=tool.name) from error
        key, reason, fault = "tool_malformed_json", first_line(error), error
    form = example(spec or tool.brief)
    raise ToolExecutionError(key, name=tool.name, reason=reason, example=form) from fault


def located(
    tool: Tool, arguments: dict[str, Any], root: ProjectRoot, text_of: Callable[[str], str | None]
) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments with clearly mistaken paths corrected, and a remark on each: a\\b.py, @a.py, and the bare
    name of a unique file, for reading, or if the passages to be replaced stand in its text (`text_of`, None if the
    model may not read it)."""
    remarks: list[str] = []
    for name in {*tool.paths, *tool.writes}:
        path = arguments[name]
        if not isinstance(path, str):
            continue
        meant = root.meant(path, by_name=tool.risk is Risk.SAFE)
        if not meant and tool.passages and (named := root.meant(path, by_name=True)):
            text = (text_of(named) or "").replace("\r\n", "\n")
            passages = [one.replace("\r\n", "\n") for one in tool.passages(arguments)]
            meant = named if all(one.strip() and one in text for one in passages) else ""
        if meant:
            arguments = arguments | {name: meant}
            remarks.append(f"[{shown(path)} is {shown(meant)} here.]")
    return arguments, remarks


_PLACEHOLDERS = {"integer": "1", "number": "1", "boolean": "true", "array": "[…]", "object": "{…}"}


def example(spec: ToolSpec) -> str:
    """Return an example call with the required arguments, or with all declared ones if none is required."""
    properties: dict[str, dict[str, Json]] = spec.parameters["properties"]
    names: list[str] = spec.parameters["required"] or list(properties)
    arguments = ", ".join(f'"{name}": {_placeholder(properties[name])}' for name in names)
    optional = [name for name in properties if name not in names]
    return f"{spec.name} {{{arguments}}}" + (f" (optional: {', '.join(optional)})" if optional else "")


_TEXT = '"…"'
_CHOICES = r"\w+(?:, \w+)+"


def _placeholder(told: dict[str, Json]) -> str:
    """Return what stands for a value: its choices, where the description only lists these."""
    description = str(told.get("description", ""))
    if re.fullmatch(_CHOICES, description):
        return f'"{description.replace(", ", "|")}"'
    return _PLACEHOLDERS.get(str(told["type"]), _TEXT)


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, without the full stop."""
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(". ")
