"""Carrying out an explicit instruction: nothing is guessed, and what was done is told."""

import re
from collections.abc import Generator
from typing import NamedTuple

from localllm.code.definition_patterns import escape
from localllm.lookup.answers import shorten
from localllm.lookup.calls import NOT_OFFERED, Call, Plan, Result, call, names, read, search
from localllm.lookup.conversation import Talk
from localllm.lookup.orders import Order
from localllm.lookup.places import is_secret
from localllm.lookup.results import message_fields, read_changes, read_hits, read_listing
from localllm.lookup.wording import say

_LAST_LINES = 25
_LONGEST_OUTPUT = 4_000
_LONGEST_SHOWN = 80


class Text(NamedTuple):
    """The whole text of a file, and the path it really has; `told`: why there is none."""

    path: str = ""
    text: str = ""
    told: str = ""


Loading = Generator[tuple[Call, ...], list[Result], Text]


def carry_out(talk: Talk, order: Order) -> Plan:
    """Do what the order says, or say what is missing."""
    match order.kind:
        case "run":
            return _run(talk, order)
        case "create":
            return _create(talk, order)
        case "commit":
            return _commit(talk, order)
        case "replace" | "rename":
            return _replace(talk, order)
        case "append" | "insert":
            return _add(talk, order)
        case "delete":
            return _delete(talk, order)
        case _:
            return _refuse(talk, "one_at_a_time")


def run_command(talk: Talk, command: str) -> Plan:
    """Run a command and tell how it ended and what it printed last."""
    asked = call("run_command", command=command)
    (result,) = yield (asked,)
    if told := refused(talk, asked, result):
        return told
    return told_of_command(talk, command, result.text)


def told_of_command(talk: Talk, command: str, output: str) -> str:
    """How a command ended, and the last lines it printed."""
    first, _, rest = output.partition("\n")
    failed = message_fields("command.exit", first)
    killed = message_fields("command.timed_out", first)
    code = failed["code"] if failed else "0"
    heading = say(
        talk.japanese, "ran_timeout" if killed else "ran", command=shorten(command, _LONGEST_SHOWN), code=code
    )
    printed = rest if failed else output
    if message_fields("command.silent", printed.strip()) is not None or not printed.strip():
        return f"{heading} {say(talk.japanese, 'silent')}"
    lines = printed.rstrip("\n").split("\n")
    shown = "\n".join(lines[-_LAST_LINES:])[-_LONGEST_OUTPUT:]
    label = [say(talk.japanese, "last_lines")] if len(lines) > _LAST_LINES else []
    return "\n".join([heading, *label, "", "```", shown, "```"])


def refused(talk: Talk, asked: Call, result: Result) -> str:
    """What to say where a call was not carried out, "" where it was."""
    if result.error == NOT_OFFERED:
        return say(talk.japanese, "no_tool", tool=asked.name)
    if result.error.startswith(("denied", "interrupted")):
        return say(talk.japanese, "denied", tool=asked.name) + f" ({result.text})"
    return say(talk.japanese, "failed", reason=result.text) if result.error else ""


def _refuse(talk: Talk, key: str, **params: object) -> Plan:
    yield from ()
    return say(talk.japanese, key, **params)


def _run(talk: Talk, order: Order) -> Plan:
    if not order.text:
        return (yield from _refuse(talk, "ask_command"))
    return (yield from run_command(talk, order.text))


def _create(talk: Talk, order: Order) -> Plan:
    if not order.path:
        return (yield from _refuse(talk, "ask_path", example='create notes.txt with the content "…"'))
    if order.text is None:
        return (yield from _refuse(talk, "ask_content", path=order.path))
    asked = call("create_file", file_path=order.path, content=order.text)
    (result,) = yield (asked,)
    if result.error == "file_exists":
        return say(talk.japanese, "exists", path=order.path)
    if told := refused(talk, asked, result):
        return told
    lines = len(order.text.split("\n")) - order.text.endswith("\n") if order.text else 0
    return say(talk.japanese, "done_created", path=order.path, lines=lines)


def _commit(talk: Talk, order: Order) -> Plan:
    if not order.text:
        return (yield from _refuse(talk, "ask_message"))
    files: list[str] | None = [order.path] if order.path else None
    if order.every:
        (state,) = yield (call("git_status"),)
        paths = [path.rsplit(" -> ", 1)[-1] for _, path in read_changes(state.text)]
        files = [path for path in dict.fromkeys(paths) if not is_secret(path)] or None
    asked = call("git_commit", message=order.text, files=list(files) if files else None)
    (result,) = yield (asked,)
    return refused(talk, asked, result) or result.text


def _replace(talk: Talk, order: Order) -> Plan:
    """Replace a text in one file, every time it stands there; a renamed identifier only where it is a whole word."""
    if not order.old or order.text is None:
        return (yield from _refuse(talk, "ask_texts"))
    if order.old == order.text:
        return (yield from _refuse(talk, "same"))
    file = yield from _load(talk, order.path, order.old)
    if file.told:
        return file.told
    whole = order.kind == "rename"
    pattern = re.compile(rf"(?<![\w$]){re.escape(order.old)}(?![\w$])" if whole else re.escape(order.old))
    places = [match.start() for match in pattern.finditer(file.text)]
    if not places:
        return say(talk.japanese, "text_missing", path=file.path, text=order.old)
    if len(places) == file.text.count(order.old):
        asked = call(
            "edit_file",
            file_path=file.path,
            old_string=order.old,
            new_string=order.text,
            replace_all=len(places) > 1 or None,
        )
    else:
        new = order.text
        asked = call("write_file", file_path=file.path, content=pattern.sub(lambda _: new, file.text))
    lines = ", ".join(str(file.text.count("\n", 0, at) + 1) for at in places[:10])
    what = say(
        talk.japanese,
        "replaced",
        count=len(places),
        old=shorten(order.old, _LONGEST_SHOWN),
        new=shorten(order.text, _LONGEST_SHOWN),
        lines=lines,
    )
    return (yield from _edit(talk, asked, file.path, what))


def _add(talk: Talk, order: Order) -> Plan:
    """Add lines at the end, at a line, or beside a line that is quoted."""
    if order.text is None or (order.kind == "insert" and not order.line and not order.old):
        return (yield from _refuse(talk, "ask_line" if order.text else "ask_content", path=order.path or "…"))
    file = yield from _load(talk, order.path, "")
    if file.told:
        return file.told
    lines = file.text.split("\n")
    last = len(lines) - (lines[-1] == "")
    at = last + 1 if order.kind == "append" else order.line if order.line else 0
    if order.line and not order.before:
        at += 1
    if order.old:
        found = [number for number, line in enumerate(lines, 1) if order.old.strip() in line]
        if len(found) != 1:
            return _unclear(talk, file, order.old, found)
        at = found[0] if order.before else found[0] + 1
    if not 1 <= at <= last + 1:
        return say(talk.japanese, "ask_line")
    key = "appended" if at == last + 1 else "inserted"
    what = say(talk.japanese, key, text=f"“{shorten(order.text, _LONGEST_SHOWN)}”", line=at)
    added = order.text.removesuffix("\n")
    return (yield from _edit(talk, _insertion(file, lines, at, last, added), file.path, what))


def _delete(talk: Talk, order: Order) -> Plan:
    """Remove one line, by its number or its text."""
    if not order.line and not order.old:
        return (yield from _refuse(talk, "ask_line"))
    file = yield from _load(talk, order.path, order.old)
    if file.told:
        return file.told
    lines = file.text.split("\n")
    found = [order.line] if order.line else [n for n, line in enumerate(lines, 1) if line.strip() == order.old.strip()]
    found = found or [number for number, line in enumerate(lines, 1) if order.old.strip() in line]
    if len(found) != 1 or not 1 <= found[0] <= len(lines) - (lines[-1] == ""):
        return _unclear(talk, file, order.old, found) if order.old else say(talk.japanese, "ask_line")
    at = found[0]
    what = say(talk.japanese, "deleted", line=at, text=f"“{shorten(lines[at - 1], _LONGEST_SHOWN)}”")
    rest = [*lines[: at - 1], *lines[at:]]
    return (yield from _edit(talk, _change(file, lines, rest, at), file.path, what))


def _unclear(talk: Talk, file: Text, text: str, found: list[int]) -> str:
    if not found:
        return say(talk.japanese, "text_missing", path=file.path, text=text)
    numbers = ", ".join(map(str, found[:10]))
    return say(talk.japanese, "text_several", path=file.path, text=text, count=len(found), lines=numbers)


def _edit(talk: Talk, asked: Call, path: str, what: str) -> Plan:
    (result,) = yield (asked,)
    return refused(talk, asked, result) or say(talk.japanese, "done_edited", path=path, what=what)


def _insertion(file: Text, lines: list[str], at: int, last: int, added: str) -> Call:
    if not file.text:
        return call("write_file", file_path=file.path, content=added + "\n")
    changed = [*lines[: at - 1], *added.split("\n"), *lines[at - 1 :]]
    return _change(file, lines, changed, min(at, last))


def _change(file: Text, lines: list[str], changed: list[str], near: int) -> Call:
    """The smallest edit that makes `changed` of `lines`: the lines around `near` that stand only once in the file. One
    of them stays, for an edit that leaves none of its lines leaves an empty one."""
    for spread in range(len(lines) + 1):
        first, end = max(0, near - 1 - spread), min(len(lines), near + spread)
        after = len(lines) - end
        left = changed[first : len(changed) - after]
        old, new = "\n".join(lines[first:end]), "\n".join(left)
        if old and (left or not changed) and new != old and _once(file.text, old):
            return call("edit_file", file_path=file.path, old_string=old, new_string=new)
    return call("write_file", file_path=file.path, content="\n".join(changed))


def _once(text: str, passage: str) -> bool:
    at = text.find(passage)
    return at >= 0 and text.find(passage, at + 1) < 0


def _load(talk: Talk, path: str, text: str) -> Loading:
    """The file that is named, or the only one of that name, or (where none is) the only one that holds `text`."""
    if not path and not text:
        return Text(told=say(talk.japanese, "ask_path", example='append "…" to FILE'))
    if not path:
        return (yield from _holding(talk, text))
    (result,) = yield (read(path),)
    if result.error == "file_missing" and "/" not in path:
        (listed,) = yield (names(pattern=path),)
        files = read_listing(listed.text).files
        if len(files) > 1:
            return Text(told=say(talk.japanese, "which_path", path=path, names=", ".join(files[:8])))
        if files:
            path = files[0]
            (result,) = yield (read(path),)
    if result.error == NOT_OFFERED:
        return Text(told=say(talk.japanese, "no_tool", tool="read_file"))
    if result.error:
        return Text(told=say(talk.japanese, "failed", reason=result.text))
    return _whole(talk, path, result.text)


def _whole(talk: Talk, path: str, text: str) -> Text:
    """The text of a file, unless only a part of it was read."""
    first = text.split("\n", 1)[0]
    if message_fields("files.range", first) is not None:
        return Text(told=say(talk.japanese, "too_large", path=path))
    return Text(path, "" if message_fields("files.empty", text) is not None else text)


def _holding(talk: Talk, text: str) -> Loading:
    (result,) = yield (search(escape(text.split("\n", maxsplit=1)[0])),)
    files = list(dict.fromkeys(hit.path for hit in read_hits(result.text).hits))
    if not files:
        return Text(told=say(talk.japanese, "text_nowhere", text=text))
    if len(files) > 1:
        return Text(told=say(talk.japanese, "files_several", text=text, names=", ".join(files[:8])))
    return (yield from _load(talk, files[0], text))
