"""Execute explicit instructions: run a command or the tests, create a file, replace or append text, commit; and git
queries. Missing details are asked for, never guessed."""

import os
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal, cast

import msgspec

from localllm.base.events import Json
from localllm.base.files import open_folder
from localllm.base.regular_files import read_beneath, read_regular
from localllm.lookup import vocabulary
from localllm.lookup.conversation import Call, Talk
from localllm.lookup.entities import is_path, path_in
from localllm.lookup.file_kinds import is_secret

OrderKind = Literal["tests", "run", "create", "replace", "append", "commit", "several"]


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """An instruction. `text` is the text to write (None: not given), `old` the text it replaces."""

    kind: OrderKind
    path: str = ""
    text: str | None = None
    old: str = ""


_LARGEST = 400_000
_SHOWN = 80
_LAST = 4_000
_QUOTE = re.compile(
    r"""```[\w+-]*\n(?P<fence>.*?)\n?``` | `(?P<tick>[^`\n]+)` | “(?P<curly>[^”]*)” | 「(?P<kagi>[^」]*)」
    | 『(?P<double>[^』]*)』 | "(?P<plain>[^"]*)" | (?<!\w)'(?P<single>[^'\n]*)'(?!\w)""",
    re.DOTALL | re.VERBOSE,
)
_CLOSING = re.compile(r"\s*(?:です|にして(?:ください)?|で(?:お願い(?:します)?)?|としてください)?[。．]?$")
_POLITE = (
    r"^(?:please|pls|now|ok|okay|then|just|could you|can you|would you|will you|i want you to|i'd like you to|let's"
    r"|go ahead and|,|\s)*"
)
_ASKS = r"(?:て|てください|て下さい|てほしい|てね|せよ|しろ|たい|お願い(?:します)?|ろ|う|く|する|、|,|$|。|！|!)"


def order_in(request: str) -> Order | None:
    """Parse the instruction in `request`; None if there is none."""
    text = request.strip()
    masked = _QUOTE.sub(" Q ", text)
    plain = re.sub(r"\s+", " ", masked).strip()
    plain = re.sub(r" Q (?=[ぁ-ん、。])|(?<=[ぁ-んァ-ヶ一-龠、。]) Q ", "Q", plain)
    kind = next((kind for kind, pattern in _patterns() if pattern.search(plain)), None)
    if kind is None or _said("question", plain):
        return None
    if _said("several", plain) and kind != "commit":
        return Order(kind="several")
    quotes = [next(value for value in match.groups() if value is not None) for match in _QUOTE.finditer(text)]
    path, texts = _path_and_texts(masked, quotes)
    match kind:
        case "tests":
            return Order(kind="tests", text=quotes[0] if quotes else None, path=path_in(masked))
        case "run":
            return _run(text, quotes)
        case "commit":
            return Order(kind="commit", text=quotes[-1] if quotes else None, path=path_in(masked))
        case "create":
            return _create(text, masked, path, texts, quotes)
        case "replace" if len(texts) == 2:
            return Order(kind="replace", path=path, old=texts[0], text=texts[1])
        case "append" if len(texts) == 1:
            return Order(kind="append", path=path, text=texts[0])
        case "replace" | "append":
            return Order(kind=kind, path=path) if path or texts else None
        case _:
            return None


def next_call(talk: Talk, root: Path, order: Order, tests: str) -> Call | str:
    """Return the tool call for an order, or a question for what is missing. `tests`: the command that runs the
    tests."""
    text = order.text
    match order.kind:
        case "several":
            return talk.say("one_at_a_time")
        case "tests":
            command = text or tests
            return _offered(talk, "run_command", command=command) if command else talk.say("no_test_command")
        case "run":
            return _offered(talk, "run_command", command=text) if text else talk.say("ask_command")
        case "commit":
            files: Json = [order.path] if order.path else None
            return _offered(talk, "git_commit", message=text, files=files) if text else talk.say("ask_message")
        case "create":
            if not order.path:
                return talk.say("ask_path", example='create notes.txt with the content "…"')
            if text is None:
                return talk.say("ask_content", path=order.path)
            if (root / order.path).exists():
                return talk.say("exists", path=order.path)
            return _offered(talk, "create_file", file_path=order.path, content=text)
        case "replace" | "append":
            return _edit(talk, root, order)


def git_calls(talk: Talk, kind: Literal["commits", "status", "diff"], path: str) -> tuple[Call, ...] | str:
    """Return the tool calls for a question about git."""
    file: Json = path or None
    match kind:
        case "commits":
            calls = [_offered(talk, "git_log", max_count=_how_many(talk.question), file_path=file)]
        case "status":
            calls = [_offered(talk, "git_status")]
        case "diff":
            calls = [_offered(talk, "git_status"), _offered(talk, "git_diff", file_path=file)]
    made = tuple(call for call in calls if isinstance(call, Call))
    return made or str(calls[0])


def report(talk: Talk, root: Path, call: Call) -> str:
    """Report the result of a call from the state of the files; the tool's output is shown, not parsed."""
    result = (call.result or "").rstrip()
    path = str(call.arguments.get("file_path", ""))
    match call.name:
        case "run_command":
            heading = talk.say("ran", command=_short(str(call.arguments["command"])))
            return f"{heading}\n\n```\n{result[-_LAST:]}\n```"
        case "create_file" | "write_file":
            done = _text_of(root, path) == call.arguments["content"]
            return talk.say("created", path=path) if done else talk.say("failed", reason=result)
        case "edit_file":
            old, new = str(call.arguments["old_string"]), str(call.arguments["new_string"])
            text = _text_of(root, path) or ""
            if new not in text or (old in text and old not in new):
                return talk.say("failed", reason=result)
            return talk.say("edited", path=path, line=text[: text.find(new)].count("\n") + 1)
        case "git_diff":
            return "".join(
                part for part in re.split(r"^(?=diff --git )", result, flags=re.MULTILINE) if not _of_secret(part)
            )
        case _:
            return result


def _of_secret(patch: str) -> bool:
    """Whether a part of a diff concerns a file whose content must not be shown."""
    return patch.startswith("diff --git ") and is_secret(patch.partition("\n")[0].rpartition(" b/")[2].strip('"'))


def _how_many(text: str) -> int:
    """Return the requested number of commits."""
    digits = re.search(r"(?<![\w.])(\d{1,2})(?!\d)", text)
    words = re.search(r"\b(two|three|four|five)\b|([二三四五])(?=つ|個|件)", text, re.IGNORECASE)
    if words:
        return 2 + ["two", "three", "four", "five", "二", "三", "四", "五"].index(words[0].lower()) % 4
    return int(digits[1]) or 1 if digits else 1 if re.search(r"\bcommit\b|最後のコミット", text) else 10


def _run(text: str, quotes: Sequence[str]) -> Order | None:
    if quotes:
        return Order(kind="run", text="\n".join(quotes))
    match = re.search(
        r"\b(?:run|execute|exec)\s*+(?::\s*+)?(?:the command\s*+(?::\s*+)?)?(.+)$", text, re.IGNORECASE | re.DOTALL
    )
    command = (match[1] if match else re.split(r"\s*を(?=.{0,12}(?:実行|走らせ))", text)[0]).strip().rstrip(".。!")
    first = next(iter(command.split()), "")
    if first in vocabulary.named("programs") or first.startswith("./"):
        return Order(kind="run", text=command)
    return Order(kind="run") if re.search(r"command|コマンド", text, re.IGNORECASE) or not match else None


def _create(text: str, masked: str, path: str, texts: Sequence[str], quotes: Sequence[str]) -> Order | None:
    if not path and len(quotes) == 1 and is_path(quotes[0]):
        path, texts = quotes[0], ()
    if not path:
        return Order(kind="create") if re.search(r"\bfile\b|ファイル", masked, re.IGNORECASE) else None
    content = texts[-1] if texts else "" if _said("empty", masked) else None
    said = _said("content", text)
    rest = _CLOSING.sub("", text[said.end() :].strip()) if said else ""
    if rest and path not in rest and not _QUOTE.match(rest):
        content = rest  # it may contain quotes
    return Order(kind="create", path=path, text=content)


def _edit(talk: Talk, root: Path, order: Order) -> Call | str:
    """Return an edit of one named file: replace every occurrence, or append a line."""
    if not order.path:
        return talk.say("ask_path", example='replace "old" with "new" in FILE')
    if order.text is None or (order.kind == "replace" and not order.old):
        return talk.say("ask_texts") if order.kind == "replace" else talk.say("ask_content", path=order.path)
    text = _text_of(root, order.path)
    if text is None:
        return talk.say("no_path", path=order.path)
    if order.kind == "replace":
        if order.old == order.text:
            return talk.say("same")
        count = text.count(order.old)
        if not count:
            return talk.say("text_missing", path=order.path, text=order.old)
        every: Json = True if count > 1 else None
        return _offered(
            talk, "edit_file", file_path=order.path, old_string=order.old, new_string=order.text, replace_all=every
        )
    lines = text.rstrip("\n").split("\n")
    for first in range(len(lines) - 1, -1, -1):
        tail = "\n".join(lines[first:])
        if tail.strip() and text.count(tail) == 1:
            return _offered(
                talk, "edit_file", file_path=order.path, old_string=tail, new_string=f"{tail}\n{order.text}"
            )
    return _offered(talk, "write_file", file_path=order.path, content=f"{order.text}\n")


def _offered(talk: Talk, name: str, /, **arguments: Json) -> Call | str:
    if name not in talk.offered:
        return talk.say("no_tool", tool=name)
    return Call(name, {key: value for key, value in arguments.items() if value is not None})


def _text_of(root: Path, path: str) -> str | None:
    """Return a file's text; None for one that leads out of the project, or through a link: what is read is shown."""
    try:
        return _content(root, path).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return None


def _content(root: Path, path: str) -> bytes:
    if sys.platform == "win32":
        return read_regular(root / path, _LARGEST)
    folder = open_folder(root.resolve())
    try:
        return read_beneath(folder, path, _LARGEST)
    finally:
        os.close(folder)


def _short(text: str) -> str:
    line = " ".join(text.split()).replace("`", "'")
    return line if len(line) <= _SHOWN else line[:_SHOWN] + " …"


def _said(what: str, text: str) -> re.Match[str] | None:
    """Match the words of the section `what` in `text`."""
    return next(
        (
            m
            for heading, pattern in vocabulary.patterns("order_words.txt")
            if heading == what and (m := pattern.search(text))
        ),
        None,
    )


@cache
def _patterns() -> list[tuple[OrderKind, re.Pattern[str]]]:
    return [
        (
            cast("OrderKind", kind),
            re.compile(line.replace("POLITE", _POLITE).replace("ASKS", _ASKS), re.IGNORECASE | re.DOTALL),
        )
        for kind, line in vocabulary.sections("orders.txt")
    ]


def _path_and_texts(masked: str, quotes: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the named file, and the quoted texts without it."""
    if path := path_in(masked):
        return path, quotes
    named = [quote for quote in quotes if is_path(quote)]
    if len(quotes) > 1 and len(named) == 1:
        return named[0], [quote for quote in quotes if quote != named[0]]
    if len(quotes) > 2 and is_path(quotes[-1]):
        return quotes[-1], quotes[:-1]
    return "", quotes
