"""The tools todo and recall: the model's plan, and the project's memory."""

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json
from localllm.base.i18n import N_, Phrase, _, ngettext, plural
from localllm.base.lazy_patterns import late_pattern
from localllm.memory.todo_actions import STATES, by_word, state_told, todo_text
from localllm.safety.tool_definition import Preview, Risk, ToolOutput
from localllm.text.sanitising import clean, shorten
from localllm.tools.context import ToolContext
from localllm.tools.registry import tool

if TYPE_CHECKING:
    from localllm.memory.external_memory import ExternalMemorySystem
    from localllm.memory.todos import Todo

_PREVIEWS = {
    "start": N_("Start the TODO {id}: {text}"),
    "finish": N_("Mark the TODO {id} as done: {text}"),
    "drop": N_("Drop the TODO {id}: {text}"),
}
_DIGEST = {
    "high": "high",
    "low": "low",
}

Action = Literal["add", "start", "finish", "drop", "list"]

_ACTIONS: dict[Action, str] = {
    "add": "add|create|new|write",
    "start": "start|begin|doing|in_progress|claim",
    "finish": "finish|done|complete|completed|close|check",
    "drop": "drop|remove|delete|cancel|cancelled|削除",
    "list": "list|show|read|get|",
}
"""Models' words for each action; the Japanese ones are those of the chat's command."""
_ACTION_OF = cast("dict[str, Action]", by_word(cast("dict[str, str]", _ACTIONS)))

_JAPANESE_END = late_pattern(r"(?:に|を)?(?:する|した|して)$")

_MOST_LISTED = 40
_MOST_FOUND = 8
_LONGEST_TEXT = 200  # cells of a task
_MOST_DETAILS, _WORTH_CUTTING = 300, 100  # characters nested under a task
_LONGEST_FOUND = 400  # characters of a found entry


def todo_action(word: str) -> Action | None:
    """Return the action a word means; “完了にする” equals “完了”."""
    plain = unicodedata.normalize("NFKC", word).strip().lower()
    return _ACTION_OF.get(plain) or _ACTION_OF.get(_JAPANESE_END.sub("", plain))


def _action(word: str) -> Action:
    if action := todo_action(word):
        return action
    raise ToolExecutionError("memory_bad_kind", value=clean(word, keep_newlines=False), choices=", ".join(_ACTIONS))


def _touches(context: ToolContext, arguments: dict[str, Any]) -> tuple[str, ...]:
    """Return the project's memory file, if the call is about a TODO in it; empty for the session's plan."""
    if todo_action(str(arguments.get("action", ""))) not in STATES or not context.project_memory.is_there:
        return ()
    return () if _is_planned(context, str(arguments.get("text", ""))) else (context.project_memory.name,)


def _is_planned(context: ToolContext, text: str) -> bool:
    """Return whether items of the plan match."""
    plan = context.session_plan
    try:
        return bool(plan.text) and bool(plan.system.find_todo(text))
    except ToolExecutionError as error:
        return error.key != "memory_unknown"


def _list_with(context: ToolContext, text: str) -> "ExternalMemorySystem":
    """Return the list that contains the TODO: the plan, or the project's."""
    is_of_project = context.project_memory.is_there and not _is_planned(context, text)
    return context.project_memory.system if is_of_project else context.session_plan.system


def _open_todos(context: ToolContext) -> "list[Todo]":
    """Return the open TODOs of the plan, then the project's others."""
    planned, memory = context.session_plan.open_todos(), context.project_memory
    ids = {one.id for one in planned}
    others = memory.system.open_todos() if memory.is_there else []
    return [*planned, *(one for one in others if one.id not in ids)]


def _preview(context: ToolContext, action: str, text: str = "", priority: str = "") -> Preview:
    """Preview the action. Raises ToolExecutionError before any confirmation if it is impossible."""
    meant = _action(action)
    if meant == "add":
        if not text.strip():
            raise ToolExecutionError("memory_text_empty")
        plan = context.session_plan.system
        plan.refuse_priority(priority)
        parts = plan.parts_of(text)
        if len(parts) == 1:
            what, more = _("Add to the plan: {text}", text=_short(text)), text.strip().partition("\n")[2]
        else:
            what, more = (
                ngettext("Add {count} TODO to the plan", "Add {count} TODOs to the plan", len(parts)),
                "\n".join(f"- {part}" for part in parts),
            )
        return Preview(what, clean(more))
    if meant == "list":
        return Preview(_("List the TODOs"), "")
    todo = _list_with(context, text).find_todo(text)
    return Preview(_(_PREVIEWS[meant], text=_short(todo.text), id=todo.id), "")


@tool(risk=Risk.MEDIUM, touches=_touches, preview=_preview, unlisted=("priority",))
async def todo(context: ToolContext, action: str, text: str = "", priority: str = "") -> ToolOutput:
    """Your plan and project TODOs.

    action: add, start, finish, drop, list
    """
    meant = _action(action)
    was = None
    match meant:
        case "list":
            return _listed(_open_todos(context))
        case "add":
            added, _ = await context.session_plan.system.put_todos(text, priority)
            if len(added) != 1:
                return _several(added, len(_open_todos(context)))
            changed = added[0]
        case verb:
            if _touches(context, {"action": action, "text": text}):
                context.root.refuse_protected(context.project_memory.name)
            its_list = _list_with(context, text)
            was = its_list.find_todo(text)
            changed = await its_list.set_todo_state(text, STATES[verb])
    left = len(_open_todos(context))
    told = state_told(changed, was, _short(todo_text(changed) if meant == "add" else changed.text))
    payload: dict[str, Json] = {"todo": msgspec.to_builtins(changed), "open": left}
    details = f"\n{clean(changed.details).rstrip()}" if meant == "start" and changed.details.strip() else ""
    return ToolOutput(payload=payload, for_model=f"{told.english} {f'({left} open)'}{details}", summary=told)


def _several(added: "Sequence[Todo]", left: int) -> ToolOutput:
    """Report a large task that was added as several TODOs."""
    told = Phrase(N_("{count} TODO:", "{count} TODOs:"), count=len(added))
    lines = [f"- {one.id} {_short(one.text)}" for one in added]
    payload: dict[str, Json] = {"todos": cast("list[Json]", msgspec.to_builtins(list(added))), "open": left}
    left_over = f"({left} open)"
    return ToolOutput(payload=payload, for_model="\n".join((f"{told.english} {left_over}", *lines)), summary=told)


def _listed(open_todos: "Sequence[Todo]") -> ToolOutput:
    lines = [_line(one) for one in open_todos[:_MOST_LISTED]]
    if len(open_todos) > _MOST_LISTED:
        lines.append(f"(and {len(open_todos) - _MOST_LISTED} more)")
    payload: dict[str, Json] = {
        "todos": cast("list[Json]", msgspec.to_builtins(list(open_todos[:_MOST_LISTED]))),
        "open": len(open_todos),
    }
    summary = Phrase(N_("{count} open TODO", "{count} open TODOs"), count=len(open_todos))
    return ToolOutput(payload=payload, for_model="\n".join(lines) or "There are no open TODOs.", summary=summary)


def _line(one: "Todo") -> str:
    facts = ["in progress"] if one.state == "doing" else []
    facts += [_DIGEST[one.priority]] if one.priority != "medium" else []
    more = f" ({', '.join(facts)})" if facts else ""
    return f"- {one.id}{more} {clean(one.text, keep_newlines=False)}{_details(one)}"


def _details(one: "Todo") -> str:
    """Return the details of a task; truncated unless it is in progress."""
    details = clean(one.details).rstrip()
    if one.state != "doing" and len(details) > _MOST_DETAILS + _WORTH_CUTTING:
        cut = details[:_MOST_DETAILS].rstrip()
        left_out = len(details) - len(cut)
        details = cut + "\n" + f"  … {left_out} more {plural(left_out, 'character', 'characters')}: start it"
    return f"\n{details}" if details.strip() else ""


@tool(risk=Risk.SAFE)
async def recall(context: ToolContext, query: str) -> ToolOutput:
    """Search notes and past sessions."""
    found, total = await context.project_memory.system.recall(query, _MOST_FOUND)
    lines = [_found(one) for one in found]
    if total > len(found):
        lines.append(f"(and {total - len(found)} more; narrower words find others)")
    payload: dict[str, Json] = {"results": cast("list[Json]", found), "total": total}
    key = N_("{count} of {total} found for “{query}”") if total > len(found) else N_("{count} found for “{query}”")
    summary = Phrase(key, count=len(found), total=total, query=_short(query))
    return ToolOutput(
        payload=payload,
        for_model="\n".join(lines) or "Nothing is remembered about that.",
        summary=summary,
        untrusted=any(one["untrusted"] for one in found),
    )


def _found(one: dict[str, Json]) -> str:
    """Format an entry: kind, time, heading and text."""
    about = " ".join(str(one[name]) for name in ("kind", "when", "id") if one[name] and _is_worth(one, name))
    text = clean(f"{one['heading']}: {one['text']}" if one["heading"] else str(one["text"])).strip()
    cut = f"{text[:_LONGEST_FOUND].rstrip()}…" if len(text) > _LONGEST_FOUND else text
    return f"[{about}] {cut}"


def _is_worth(one: dict[str, Json], name: str) -> bool:
    """Return whether a field is worth showing: block ids are just line numbers."""
    return name != "id" or not str(one["id"]).isdecimal()


def _short(text: str) -> str:
    return shorten(clean(text.strip().partition("\n")[0], keep_newlines=False), _LONGEST_TEXT)
