"""Translate calls of other assistants' tools to our tools."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import msgspec

from localllm.base import foreign_tools as foreign
from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json, ToolCall
from localllm.base.foreign_tools import FINISH, KINDS, NOTE, PATCH, PYTHON, argument_meant, folded, own_name, tool_meant
from localllm.base.i18n import Phrase
from localllm.base.jsontext import decode_json, encode_json
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import AssistantMessage
from localllm.safety.call_arguments import joined
from localllm.safety.tool_definition import Risk, ToolOutput
from localllm.tools.context import ToolContext
from localllm.tools.foreign_files import TextOf, insertion, lines_replaced, of_file_tool, value_of, with_lines
from localllm.tools.patch import Call, calls_of, edit, parse_patch, patch_in_command, replacements_in
from localllm.tools.registry import tool

_ANSWERS = ("result", "answer", "final_answer", "summary", "message", "question", "text", "content", "output")
_CODE = ("code", "source", "script", "input", "program")
_STATES = {"pending": "", "in_progress": "start", "doing": "start", "completed": "finish", "done": "finish"}
_CHECKLIST = late_pattern(r"^[ \t]*+(?:(?:[-*]|\d++[.)])[ \t]*+)?\[([ xX~-])\](.+)$", re.MULTILINE)
_SEARCH_OPTIONS = frozenset({"type", "filetype", "casesensitive", "fixedstrings", "multiline"})
_FILE_TYPES = {
    "python": "py",
    "javascript": "{js,jsx,mjs,cjs}",
    "js": "{js,jsx,mjs,cjs}",
    "typescript": "{ts,tsx}",
    "ts": "{ts,tsx}",
    "rust": "rs",
    "markdown": "{md,markdown}",
    "md": "{md,markdown}",
    "ruby": "rb",
    "cpp": "{cpp,cc,cxx,hpp,hh,h}",
    "c": "{c,h}",
    "yaml": "{yaml,yml}",
    "kotlin": "{kt,kts}",
    "csharp": "cs",
    "html": "{html,htm}",
}
"""File endings of ripgrep's types that are not called like their ending."""

_COMMON_WORDS = {"", "file", "files"}
_MARKS = {" ": "", "x": "finish", "X": "finish", "-": "start", "~": "start"}


@tool(risk=Risk.SAFE)
async def noted(context: ToolContext, text: str = "") -> ToolOutput:
    """Note a thought; nothing is done."""
    del context
    return ToolOutput(payload={"text": text}, for_model="[Noted; go on.]", summary="")


class Translator:
    """Translates calls to those of `tools`. It remembers the model's plan, which is sent as a whole each time."""

    def __init__(self, tools: Collection[str], text_of: TextOf) -> None:
        self._tools = tools
        self._text_of = text_of
        self._plan: dict[str, str] = {}

    def understood(self, message: AssistantMessage) -> AssistantMessage:
        """Return an answer with its calls translated. If all only end the work, their text becomes the answer."""
        if message.tool_calls and all(is_finishing(call.name, self._tools) for call in message.tool_calls):
            texts = [text for call in message.tool_calls if (text := answer_in(call)) and text not in message.text]
            if texts or message.text.strip():
                text = "\n\n".join(filter(None, [message.text, *texts]))
                return msgspec.structs.replace(message, text=text, tool_calls=())
        calls = tuple(each for call in message.tool_calls for each in self._translated(call))
        return msgspec.structs.replace(message, tool_calls=calls)

    def _translated(self, call: ToolCall) -> list[ToolCall]:
        try:
            return self.translate(call)
        except ToolExecutionError:  # reported when the call is run
            return [call]

    def translate(self, call: ToolCall) -> list[ToolCall]:
        """Return the calls equivalent to `call`; itself if no translation is needed or known.
        Raises ToolExecutionError for an unreadable patch."""
        own = own_name(call.name, self._tools)
        meant = own or tool_meant(call.name)
        given = _decoded(call.arguments)
        is_plain = own and meant in KINDS  # an existing tool takes precedence
        if given is None and meant == PYTHON:  # trained on the code alone
            given = {"code": call.arguments}
        calls = [(meant, given)] if given is None or is_plain else [*self._expanded(meant, given)]
        if not calls or any(name not in (*self._tools, NOTE) for name, _ in calls):
            return [call]
        written = "" if own else call.name
        if meant == "run_command" != calls[0][0] and given is not None:
            written = PATCH
        return [
            ToolCall(
                f"{call.id}_{number}" if number else call.id,
                name,
                call.arguments if arguments is given else encode_json(arguments).decode(),
                "" if number else written,
            )
            for number, (name, arguments) in enumerate(calls)
        ]

    def _expanded(self, meant: str, given: dict[str, Json]) -> list[Call]:
        match meant:
            case "run_command":
                return _of_command(given)
            case "read_file":
                return [(name, with_lines(one, self._text_of)) for name, one in _of_reading(given)]
            case "search_files":
                return [("search_files", _of_search(given))]
            case "edit_file":
                return _of_edit(given) or lines_replaced(given, self._text_of) or [("edit_file", given)]
            case foreign.PYTHON:
                return _of_python(given)
            case foreign.PATCH:
                return calls_of(parse_patch(_text_in(given)))
            case foreign.EDITOR:
                return self._of_editor(given)
            case foreign.PLAN:
                return self._of_plan(given)
            case "todo":
                return self._of_todo(given)
            case foreign.NOTE | foreign.FINISH:
                return [(NOTE, {"text": _text_in(given)})]
            case _:
                return of_file_tool(meant, given, self._text_of)

    def _of_editor(self, given: dict[str, Json]) -> list[Call]:
        """Translate the editor's commands: view, create, str_replace, insert."""
        command, rest = given.get("command"), {key: value for key, value in given.items() if key != "command"}
        match command:
            case "view":
                return [("read_file", rest)]
            case "create":
                return [("write_file", rest)]
            case "str_replace":
                return [("edit_file", rest)]
            case "insert":
                return [insertion(rest, self._text_of)]
            case _:
                return []

    def _of_plan(self, given: dict[str, Json]) -> list[Call]:
        """Translate changes of the plan to calls of the TODO list, if available."""
        steps = _steps(given)
        new = [text for text, state in steps.items() if text not in self._plan and state != "finish"]
        changed = [(text, state) for text, state in steps.items() if state and state != self._plan.get(text)]
        changed = [(text, state) for text, state in changed if text in self._plan or state == "start"]
        self._plan |= steps
        if "todo" not in self._tools or not (new or changed):
            return [(NOTE, {})]
        added = new[0] if len(new) == 1 else "\n".join(f"- {text}" for text in new)
        calls: list[Call] = [("todo", {"action": "add", "text": added})] if new else []
        return calls + [("todo", {"action": state, "text": text}) for text, state in changed]

    def _of_todo(self, given: dict[str, Json]) -> list[Call]:
        """Translate a call with a list of items: added as a plan, or each in a call of its own."""
        items = next((cast("list[Json]", value) for value in given.values() if isinstance(value, list)), None)
        if not items:
            return [("todo", given)]
        from localllm.tools.memory import todo_action  # rarely needed

        action = todo_action(str(given.get("action", "add")))
        if action == "add":
            return self._of_plan({"items": items})
        return [("todo", {"action": action, "text": text}) for text in _steps({"items": items})] if action else []


def alike(name: str, tools: Sequence[str]) -> list[str]:
    """Return up to two of `tools` whose names share the most words with an unknown one."""
    words = _words(name)
    shared = {own: len(words & _words(own)) for own in tools}
    most = max(shared.values(), default=0)
    return [own for own in tools if most and shared[own] == most][:2]


def hint_for(name: str, tools: Sequence[str]) -> Phrase | str:
    """Return what to do instead of calling an unknown tool; empty if nothing is known."""
    if {tool_meant(name), folded(name)} & {"web_search", "websearch", "fetch_page", "fetchpage"}:
        return Phrase("The web is off; do without it, or say so.")
    near = " or ".join(alike(name, tools))
    return Phrase("Did you mean {names}?", names=near) if near else ""


def _words(name: str) -> set[str]:
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).casefold()
    return set(re.split(r"[\W_]+", apart)) - _COMMON_WORDS


def is_finishing(name: str, tools: Collection[str]) -> bool:
    """Return whether an unknown tool of that name would end the work."""
    return not own_name(name, tools) and tool_meant(name) == FINISH


def answer_in(call: ToolCall) -> str:
    """Return the text of a call that ends the work."""
    return _text_in(_decoded(call.arguments) or {})


def _of_command(given: dict[str, Json]) -> list[Call]:
    command = value_of(given, "command", "run_command")
    if isinstance(command, list):
        command = joined(cast("list[Json]", command))
    patch, folder = patch_in_command(command) if isinstance(command, str) else ("", "")
    if not patch:
        return [("run_command", given)]
    return calls_of(parse_patch(patch), folder or str(value_of(given, "working_dir", "run_command") or ""))


def _of_python(given: dict[str, Json]) -> list[Call]:
    """Translate to a command that hands the code to Python."""
    code = next((value for key in _CODE if isinstance(value := given.get(key), str)), _text_in(given)).strip("\n")
    mark = "PY"
    while mark in code.split("\n"):
        mark += "_"
    return [("run_command", {"command": f"python3 - <<'{mark}'\n{code}\n{mark}"})] if code.strip() else []


def _of_reading(given: dict[str, Json]) -> list[Call]:
    """Translate to one call per file."""
    key = next((key for key in given if argument_meant(key, "read_file", ("file_path", "paths"))), "")
    value = given.get(key)
    if not isinstance(value, list):
        return [("read_file", given)]
    rest = {name: other for name, other in given.items() if name != key}
    files = [
        value_of(cast("dict[str, Json]", one), "file_path") if isinstance(one, dict) else one
        for one in cast("list[Json]", value)
    ]
    return [("read_file", {"file_path": file, **rest}) for file in files]


def _of_search(given: dict[str, Json]) -> dict[str, Json]:
    """Translate options of other searches: a kind of files, upper case, plain text. A search goes line by line in any
    case."""
    options = {folded(key): key for key in given if folded(key) in _SEARCH_OPTIONS}
    pattern = value_of(given, "pattern", "search_files")
    if not options or not isinstance(pattern, str):
        return given
    told = {key: value for key, value in given.items() if key not in options.values()}
    kind = given.get(options.get("type", options.get("filetype", "")))
    if isinstance(kind, str) and kind and not value_of(given, "include"):
        kind = kind.casefold().lstrip("*.")
        told["include"] = f"*.{_FILE_TYPES.get(kind, kind)}"
    if given.get(options.get("casesensitive", "")) is False:
        told.setdefault("ignore_case", True)
    if given.get(options.get("fixedstrings", "")) is True:
        told = {key: value for key, value in told.items() if value is not pattern} | {"pattern": re.escape(pattern)}
    return told


def _of_edit(given: dict[str, Json]) -> list[Call]:
    """Translate a diff to its replacements; an edit with an old_string stays as it is. Empty for any other."""
    key = next((key for key in given if argument_meant(key, "edit_file", ("diff",))), "")
    replacements = replacements_in(str(given[key])) if key else []
    path = str(value_of(given, "file_path") or "")
    if replacements and path:
        return [("edit_file", edit(path, replacements))]
    return [("edit_file", given)] if value_of(given, "old_string") is not None or value_of(given, "edits") else []


def _steps(given: dict[str, Json]) -> dict[str, str]:
    """Return the steps of a plan, with the action for each one's state."""
    steps: dict[str, str] = {}
    for value in given.values():
        if isinstance(value, str):
            steps |= {text.strip(): _MARKS[mark] for mark, text in _CHECKLIST.findall(value)}
        for entry in cast("list[Json]", value) if isinstance(value, list) else ():
            if isinstance(entry, dict):
                told = cast("dict[str, Json]", entry)
                text = next((told[key] for key in ("content", "step", "text", "title", "task") if key in told), "")
                steps[str(text).strip()] = _STATES.get(str(told.get("status", told.get("state", ""))).lower(), "")
            else:
                steps[str(entry).strip()] = ""
    return {text: state for text, state in steps.items() if text}


def _text_in(given: Mapping[str, Any]) -> str:
    """Return the text of a call that has little else."""
    texts = [given[key] for key in _ANSWERS if isinstance(given.get(key), str)]
    texts += [value for value in given.values() if isinstance(value, str)]
    return next((text for text in texts if text.strip()), "").strip()


def _decoded(arguments: str) -> dict[str, Json] | None:
    try:
        given = decode_json(arguments or "{}", object)
    except msgspec.DecodeError:
        return None
    return cast("dict[str, Json]", given) if isinstance(given, dict) else None
