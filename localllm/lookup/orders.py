"""Explicit instructions: what is to be done, told by the words of a request. What is not said is left empty, and the
plan asks for it: nothing is guessed."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal, cast

import msgspec

from localllm.lookup import vocabulary
from localllm.lookup.entities import is_path, path_in

OrderKind = Literal["tests", "run", "create", "replace", "append", "insert", "delete", "rename", "commit", "several"]


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """An instruction. `text` is what is written (None: not said), `old` what it stands for, replaces or follows;
    `line` counts from 1, 0 where none is named; `before`: insert before, not after."""

    kind: OrderKind
    path: str = ""
    text: str | None = None
    old: str = ""
    line: int = 0
    before: bool = False
    every: bool = False


_QUOTE = re.compile(
    r"""```[\w+-]*\n(?P<fence>.*?)\n?``` | `(?P<tick>[^`\n]+)` | “(?P<curly>[^”]*)” | 「(?P<kagi>[^」]*)」
    | 『(?P<double>[^』]*)』 | "(?P<plain>[^"]*)" | (?<!\w)'(?P<single>[^'\n]*)'(?!\w)""",
    re.DOTALL | re.VERBOSE,
)
_POLITE = (
    r"^(?:please|pls|now|ok|okay|then|just|could you|can you|would you|will you|i want you to|i'd like you to|let's"
    r"|go ahead and|,|\s)*"
)
_ASKS = r"(?:て|てください|て下さい|てほしい|てね|せよ|しろ|たい|お願い(?:します)?|ろ|う|く|する|、|,|$|。|！|!)"
_LINE = re.compile(r"\blines? (\d+)\b|(\d+) ?行目", re.IGNORECASE)


def _said(what: str, text: str) -> re.Match[str] | None:
    """Where `text` has words of the section `what`."""
    return next(
        (
            match
            for heading, pattern in vocabulary.patterns("order_words.txt")
            if heading == what and (match := pattern.search(text))
        ),
        None,
    )


@cache
def _patterns() -> list[tuple[OrderKind, re.Pattern[str]]]:
    found: list[tuple[OrderKind, re.Pattern[str]]] = []
    for kind, line in vocabulary.sections("orders.txt"):
        pattern = line.replace("POLITE", _POLITE).replace("ASKS", _ASKS)
        found.append((cast("OrderKind", kind), re.compile(pattern, re.IGNORECASE | re.DOTALL)))
    return found


class _Request(msgspec.Struct, frozen=True):
    """A request taken apart: `masked` has a Q for each quoted text; `texts` are those that are not the path."""

    text: str
    masked: str
    quotes: Sequence[str]
    path: str
    texts: Sequence[str]


_PAIR = 2
_CLOSING = re.compile(r"\s*(?:です|にして(?:ください)?|で(?:お願い(?:します)?)?|としてください)?[。．]?$")


def order_in(request: str) -> Order | None:
    """The instruction in `request`; None where there is none."""
    text = request.strip()
    masked = _QUOTE.sub(" Q ", text)
    plain = re.sub(r"\s+", " ", masked).strip()
    plain = re.sub(r" Q (?=[ぁ-ん、。])|(?<=[ぁ-んァ-ヶ一-龠、。]) Q ", "Q", plain)
    kind: OrderKind | None = next((kind for kind, pattern in _patterns() if pattern.search(plain)), None)
    if kind is None or _said("question", plain):
        return None
    if _said("several", plain) and kind != "commit":
        return Order(kind="several")
    found = [[value for value in match.groups() if value is not None] for match in _QUOTE.finditer(text)]
    quotes = tuple(values[0] for values in found)
    path, texts = _path_and_texts(masked, quotes)
    return _READERS[kind](_Request(text, plain, quotes, path, texts))


def _tests(asked: _Request) -> Order:
    return Order(kind="tests", text=asked.quotes[0] if asked.quotes else None, path=path_in(asked.masked))


def _run(asked: _Request) -> Order | None:
    if asked.quotes:
        return Order(kind="run", text="\n".join(asked.quotes))
    text = asked.text
    match = re.search(r"\b(?:run|execute|exec)\s*:?\s*(?:the command\s*:?\s*)?(.+)$", text, re.IGNORECASE | re.DOTALL)
    command = (match[1] if match else re.split(r"\s*を(?=.{0,12}(?:実行|走らせ))", text)[0]).strip().rstrip(".。!")
    first = next(iter(command.split()), "")
    if first in vocabulary.named("programs") or first.startswith("./"):
        return Order(kind="run", text=command)
    return Order(kind="run") if re.search(r"command|コマンド", text, re.IGNORECASE) or not match else None


def _create(asked: _Request) -> Order | None:
    path, texts = asked.path, asked.texts
    if not path and len(asked.quotes) == 1 and is_path(asked.quotes[0]):
        path, texts = asked.quotes[0], ()
    if not path:
        return Order(kind="create") if re.search(r"\bfile\b|ファイル", asked.masked, re.IGNORECASE) else None
    unquoted = _unquoted_content(asked.text, path)
    if texts and (not unquoted or _QUOTE.match(unquoted)):
        return Order(kind="create", path=path, text=texts[-1])
    if unquoted:
        return Order(kind="create", path=path, text=unquoted)
    return Order(kind="create", path=path, text="" if _said("empty", asked.masked) else None)


def _unquoted_content(text: str, path: str) -> str:
    """What stands after “containing:” and its like, which may hold quotes of its own; without the words that close a
    Japanese sentence."""
    said = _said("content", text)
    rest = _CLOSING.sub("", text[said.end() :].strip()) if said else ""
    return "" if path in rest else rest


def _replace(asked: _Request) -> Order | None:
    if len(asked.texts) == _PAIR:
        return Order(kind="replace", path=asked.path, old=asked.texts[0], text=asked.texts[1])
    words = re.search(
        r"\b(?:replace|change|substitute|swap|turn)\s+(\S+)\s+(?:with|by|to|into|for)\s+(\S+)",
        asked.text,
        re.IGNORECASE,
    ) or re.search(r"(?:の|、|^)\s*([\w.$-]+)\s*を\s*([\w.$-]+)\s*(?:に|へ|と)(?:置|変|書|直|修|差)", asked.text)
    if words and not asked.texts:
        return Order(kind="replace", path=asked.path, old=words[1].strip("\"'`"), text=words[2].strip("\"'`.,"))
    return Order(kind="replace", path=asked.path) if asked.path or asked.texts else None


def _rename(asked: _Request) -> Order | None:
    if len(asked.texts) == _PAIR:
        return Order(kind="rename", path=asked.path, old=asked.texts[0], text=asked.texts[1])
    words = re.search(
        r"\brename\s+(?:the\s+)?(?:\w+\s+)??([\w$]+)\s+(?:to|into|as)\s+([\w$]+)", asked.text, re.IGNORECASE
    ) or re.search(r"([A-Za-z_$][\w$]*)\s*(?:の名前)?を\s*([A-Za-z_$][\w$]*)\s*(?:に|へ)", asked.text, re.ASCII)
    return Order(kind="rename", path=asked.path, old=words[1] if words else "", text=words[2] if words else None)


def _append(asked: _Request) -> Order | None:
    if len(asked.texts) == 1:
        return Order(kind="append", path=asked.path, text=asked.texts[0])
    of_text = re.search(r"\blines?\b|\btext\b|append|行|末尾|追記", asked.masked, re.IGNORECASE)
    return Order(kind="append", path=asked.path) if asked.path and of_text else None


def _insert(asked: _Request) -> Order | None:
    path, texts, masked = asked.path, asked.texts, asked.masked
    if not path and not texts:
        return None
    line = _line_number(masked)
    before = bool(_said("before", masked))
    if _said("top", masked) and not line and len(texts) == 1:
        return Order(kind="insert", path=path, text=texts[0], line=1, before=True)
    if line and texts:
        return Order(kind="insert", path=path, text=texts[0], line=line, before=before or not _said("after", masked))
    if len(texts) == _PAIR:
        anchor, added = texts if _anchor_comes_first(masked) else texts[::-1]
        return Order(kind="insert", path=path, text=added, old=anchor, before=before)
    return Order(kind="insert", path=path)


def _anchor_comes_first(masked: str) -> bool:
    """Whether the first quoted text is where to insert: 「A」の次に「B」を…, after "A" insert "B"."""
    japanese = re.search(r"Q[^Q]*の(?:行の)?(?:後|あと|次|下|前|上|直後|直前)に", re.sub(r"\s", "", masked))
    return bool(japanese or re.match(r"\W*(?:after|before|below|above)\b", masked, re.IGNORECASE))


def _delete(asked: _Request) -> Order | None:
    line = _line_number(asked.masked)
    if not (line or asked.texts or asked.path):
        return None
    return Order(kind="delete", path=asked.path, line=line, old=asked.texts[0] if len(asked.texts) == 1 else "")


def _commit(asked: _Request) -> Order:
    message = asked.quotes[-1] if asked.quotes else None
    said = re.search(r"\bmessage\s*[:：]?\s*(.+)$|メッセージは\s*(.+?)\s*で?$", asked.text, re.IGNORECASE)
    if message is None and said:
        message = (said[1] or said[2]).strip()
    return Order(kind="commit", text=message, every=bool(_said("everything", asked.masked)), path=path_in(asked.masked))


_READERS: dict[OrderKind, Callable[[_Request], Order | None]] = {
    "tests": _tests,
    "run": _run,
    "create": _create,
    "replace": _replace,
    "rename": _rename,
    "append": _append,
    "insert": _insert,
    "delete": _delete,
    "commit": _commit,
}


def _path_and_texts(masked: str, quotes: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The file that is named, and the quoted texts without it."""
    if path := path_in(masked):
        return path, quotes
    named = [quote for quote in quotes if is_path(quote)]
    if len(quotes) > 1 and len(named) == 1:
        return named[0], tuple(quote for quote in quotes if quote != named[0])
    if len(quotes) > _PAIR and is_path(quotes[-1]):
        return quotes[-1], quotes[:-1]
    return "", quotes


def _line_number(text: str) -> int:
    match = _LINE.search(text)
    return int(next(filter(None, match.groups()))) if match else 0
