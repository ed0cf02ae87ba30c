"""Map the arguments of a call, under whatever names and in whatever units, to those of its tool."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast, get_args, get_origin

import msgspec

from localllm.base.events import Json
from localllm.base.foreign_tools import argument_meant, is_harmless
from localllm.base.i18n import Phrase, Phrases
from localllm.llm.tool_calling.json_repair import repair_json

_IN_PLACE_OF = {
    "end_line": "max_lines",
    "view_range": "start_line",
    "timeout_ms": "timeout",
    "case_sensitive": "ignore_case",
    "expected_replacements": "replace_all",
}
"""Arguments of no tool that mean the same as a tool's: accepted if the tool has that one."""

_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
_MOST_SECONDS = 1_000
"""A longer timeout is taken as milliseconds."""

_UNITS = {"ms": 0.001, "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600}
_DURATION = r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*"
_NUMBERS = r"(?<!\d)-?\d+"
_GLOB = "*?"


class ArgumentsError(ValueError):
    """All faults in the arguments of a call, in one line; `reason` also has it in the user's language."""

    def __init__(self, faults: Sequence[str | Phrase]) -> None:
        self.reason = Phrases(faults, "; ")
        super().__init__(self.reason.english)


class Fitted(msgspec.Struct, frozen=True):
    """The values by the tool's own names, with defaults, and the harmless arguments that were left out."""

    values: dict[str, Any]
    left_out: tuple[str, ...] = ()


def fit(tool: str, struct: type[msgspec.Struct], given: Mapping[str, Json]) -> Fitted:
    """Return the arguments of `struct` in `given`. Raises ArgumentsError, which names every fault at once."""
    fields = {field.name: field for field in msgspec.structs.fields(struct)}
    known = [*fields, *(name for name, real in _IN_PLACE_OF.items() if real in fields and name not in fields)]
    values: dict[str, Any] = {}
    left_out: list[str] = []
    unknown: list[str] = []
    for key in sorted(given, key=lambda key: key not in known):  # the tool's own names first
        if given[key] is None:
            continue
        meant = argument_meant(key, tool, known)
        if meant and (meant not in values or values[meant] == given[key]):
            values[meant] = given[key]
        elif meant or not is_harmless(key):
            unknown.append(key)
        else:
            left_out.append(key)
    faults: list[str] = []
    _convert(values, fields.keys(), faults)
    for name, field in fields.items():
        if values.get(name) is None and not field.required:
            values[name] = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        elif name in values:
            values[name] = _typed(tool, name, values[name], field.type, faults)
    missing = [name for name in fields if name not in values]
    told: list[Phrase] = []
    if missing:
        told.append(Phrase("missing: {names}", names=", ".join(missing)))
    if unknown:
        told.append(Phrase("unknown: {names}", names=" ".join(", ".join(unknown).split())))
    if told or faults:
        raise ArgumentsError([*told, *faults])
    return Fitted({name: values[name] for name in fields}, tuple(left_out))


def _typed(tool: str, name: str, value: Any, kind: Any, faults: list[str]) -> Any:
    if kind is str and isinstance(value, bool | int | float):
        value = msgspec.json.encode(value).decode()
    inner = next((one for one in get_args(kind) if get_args(one)), kind)
    entry = next(iter(get_args(inner)), None)
    if get_origin(inner) is list and isinstance(value, str):
        value = _list_in(value)
    if isinstance(value, list) and isinstance(entry, type) and issubclass(entry, msgspec.Struct):
        value = [_renamed(tool, one, entry.__struct_fields__) for one in cast("list[Json]", value)]
    try:
        return cast("Any", msgspec.convert(value, kind, strict=False))
    except msgspec.ValidationError as error:
        faults.append(f"{name}: {str(error).splitlines()[0].rstrip('. ')}")
        return cast("Any", value)


def _list_in(text: str) -> Json:
    """Return the list that a text holds as JSON, also one object as a list of it; else the text."""
    if not text.lstrip().startswith(("[", "{")):
        return text
    try:
        value: Any = msgspec.json.decode(repair_json(text, closes=False) or text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text
    return [cast("Json", value)] if isinstance(value, dict) else value


def _renamed(tool: str, entry: Json, fields: Iterable[str]) -> Json:
    """Rename the keys of an object in a list to the fields they stand for."""
    if not isinstance(entry, dict):
        return entry
    names = tuple(fields)
    told = cast("dict[str, Json]", entry)
    return {argument_meant(key, tool, names) or key: value for key, value in told.items()}


def _convert(values: dict[str, Any], fields: Iterable[str], faults: list[str]) -> None:
    """Convert values in another unit or form to the tool's own."""
    names = set(fields)
    if isinstance(values.get("command"), list):
        values["command"] = joined(values["command"])
    if "timeout" in names:
        _convert_timeout(values, faults)
    if "start_line" in names:
        _convert_lines(values, names, faults)
    if "path" in values and isinstance(values["path"], str) and set(values["path"]) & set(_GLOB):
        _convert_glob(values, "include" if "include" in names else "pattern")
    if (sensitive := values.pop("case_sensitive", None)) is not None:
        values.setdefault("ignore_case", sensitive in (False, "false", "False", 0))
    if (expected := values.pop("expected_replacements", None)) is not None:
        values.setdefault("replace_all", str(expected) not in ("0", "1"))
    if isinstance(values.get("content"), dict | list) and str(values.get("file_path", "")).endswith(".json"):
        text = msgspec.json.format(msgspec.json.encode(values["content"]), indent=2)
        values["content"] = f"{text.decode()}\n"


def joined(words: list[Any]) -> str:
    """Return the command line for a list of words; for ["bash", "-lc", line], the line."""
    texts = [str(word) for word in words]
    match texts:
        case [shell, flag, line] if shell.rpartition("/")[2] in _SHELLS and re.fullmatch("-[a-z]*c", flag):
            return line
        case [line]:
            return line
        case _:
            return shlex.join(texts)


def _convert_timeout(values: dict[str, Any], faults: list[str]) -> None:
    milliseconds = values.pop("timeout_ms", None)
    if milliseconds is not None and "timeout" not in values:
        values["timeout"] = milliseconds
    timeout = values.get("timeout")
    unit = 0.001 if milliseconds is not None else 0
    if isinstance(timeout, str) and (found := re.fullmatch(_DURATION, timeout.lower())):
        timeout, unit = found[1], _UNITS.get(found[2]) or _UNITS.get(found[2].removesuffix("s"), 0)
        if not unit:
            faults.append(f"timeout: the unit {found[2]} is not known")
    try:
        seconds = float(timeout) if timeout is not None else 0
    except (TypeError, ValueError):
        return  # conversion reports its type
    if timeout is not None and (unit or seconds > _MOST_SECONDS):
        values["timeout"] = seconds * (unit or 0.001)


def _convert_lines(values: dict[str, Any], fields: set[str], faults: list[str]) -> None:
    """Convert a view_range, or the lines up to an end_line, to a start and a number of lines."""
    if "view_range" in values:
        numbers = [int(number) for number in re.findall(_NUMBERS, str(values.pop("view_range")))]
        if len(numbers) > 2 or not numbers:
            faults.append("view_range: expected [first line, last line]")
        for name, number in zip(("start_line", "end_line"), numbers, strict=False):
            if number != -1:
                values.setdefault(name, number)
    if str(values.get("start_line")) == "0":
        values["start_line"] = 1
    if "end_line" in fields or "max_lines" not in fields or values.get("end_line") is None:
        return
    try:
        first, last = int(str(values.get("start_line") or 1)), int(str(values.pop("end_line")))
    except ValueError:
        faults.append("end_line: Expected `int`")
        return
    if last == -1:
        return
    if last < first:
        faults.append("end_line is before start_line")
    values.setdefault("max_lines", last - first + 1)


def _convert_glob(values: dict[str, Any], wanted: str) -> None:
    """Split a glob given as the path into the folder before it and a glob for the files in that."""
    parts = values["path"].split("/")
    first = next(number for number, part in enumerate(parts) if set(part) & set(_GLOB))
    if not values.get(wanted):
        values["path"], values[wanted] = "/".join(parts[:first]) or ("/" if first else "."), "/".join(parts[first:])
