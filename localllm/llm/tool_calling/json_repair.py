"""Repair JSON as written by models, where the meaning is unambiguous."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Never, cast

import msgspec

from localllm.base.events import Json
from localllm.base.lazy_patterns import late_pattern

BLANK = " \t\r\n\f\v\u00a0\u200b\u200c\u200d\u2060\ufeff"
"""White space and invisible characters between tokens."""

QUOTES = {
    '"""': ('"""',),
    "'''": ("'''",),
    '<|"|>': ('<|"|>',),
    "<escape>": ("<escape>",),
    '"': ('"',),
    "'": ("'",),
    "“": ("”", "“"),
    "‘": ("’", "‘"),
}
"""String openers and the quotes that may close them:
JSON's and Python's quotes, Gemma's tokens, typographic ones. Longer ones first."""

COLONS = (":", "：")
"""Separators of key and value, with the full-width colon of Japanese text."""

VERBATIM = frozenset({'<|"|>', "<escape>"})
"""Quotes within which a backslash is literal."""

_Step = Callable[[], None]

_CLOSING = {"{": "}", "[": "]", "(": ")"}
_IN_JSON = {"(": "{", ")": "}"}
_LITERALS = {"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}
_SPACE = late_pattern(rf"(?:[{BLANK}]+|//[^\n]*|#[^\n]*|/\*.*?\*/)+", re.DOTALL)
_NUMBER = late_pattern(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")
_WORD = late_pattern(r"[A-Za-z_$][\w$-]*")
_KEYWORD = late_pattern(r"([A-Za-z_]\w*)\s*=(?!=)\s*")
_TO_ESCAPE = late_pattern(r'\\(?:u[0-9a-fA-F]{4}|.)|["\x00-\x1f]', re.DOTALL)
_SINGLE = late_pattern(
    r"\\(?:[^bfrtn]|(b"
    r'|[fr](?!\\[nrf]|")'
    r"|t(?=ext(?:(?:bf|it|tt|sc|rm|sf|normal|(?:super|sub)script)?\{|width|height|color)|heta\b|imes\b|ilde\b"
    r"|au[$_^})]|ableofcontents)"
    r"|n(?=abla\b|ewcommand|ewenvironment|ewtheorem|ewpage|ewline\b|oindent|onumber|ormalsize))|.)"
)
"""Escapes in JSON; as group 1 those that no text wants, and that were to be backslashes: a backspace, a form feed or
carriage return within a line, and what makes \\textbf or \\nabla a tab or line break before no word."""
_HARMLESS_REST = late_pattern(rf"[{BLANK}\"'`}}\]);,]*")
_DOUBLED = late_pattern(rf"\{{[{BLANK}]*\{{(?=[{BLANK}]*[\"'“\w])")
_COMMAS = (",", "，", "、")
_DEEPEST = 64
"""Maximum nesting; arguments of tools have three or four levels."""


class _UnreadableError(Exception):
    """The text is ambiguous or unreadable."""


def repair_json(text: str, *, closes: bool = True) -> str | None:
    """Return `text` as valid JSON, or None if that would be a guess.

    Valid JSON is returned unchanged. Repaired are: other quotes, Python's True, False and None, unquoted keys, missing
    or extra commas, comments, line breaks and tabs in strings, invalid escapes (the backslash is kept), unclosed
    brackets, invisible characters, and words around an object. An unterminated string is never closed, since its rest
    is unknown.

    `closes`: close brackets left open at the end; not if the answer was truncated, as more may have followed.
    """
    if _is_valid(text):
        return text
    try:
        fixed = _Repair(text, closes=closes).fix()
    except (_UnreadableError, RecursionError):
        return None
    return fixed if _is_valid(fixed) else None


def doubled_backslashes(text: str) -> str:
    """Return valid JSON with those backslashes doubled that were written once, as in "\\bword" or "\\frac"."""
    if "\\" not in text:
        return text
    return _SINGLE.sub(lambda hit: f"\\{hit[0]}" if hit[1] else hit[0], text)


def object_in(candidates: Iterable[str], *, closes: bool = True) -> dict[str, Json] | None:
    """Return the object that the first of the candidates is that is one, or a list of one, once repaired; None if none
    is. `closes`: see repair_json."""
    for candidate in filter(None, candidates):
        fixed = repair_json(candidate, closes=closes)
        try:
            value: object = msgspec.json.decode(fixed) if fixed is not None else None
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            continue
        if isinstance(value, list) and len(cast("list[object]", value)) == 1:
            value = cast("list[object]", value)[0]
        if isinstance(value, dict):
            return cast("dict[str, Json]", value)
    return None


def keywords_to_json(text: str, parameters: Sequence[str], *, closes: bool = True) -> str | None:
    """Convert Python's `(key="value", n=3)` to a JSON object; None if unreadable, as in repair_json.

    `parameters` are the names for positional arguments.
    """
    inner = _only_object(text)
    if inner and (fixed := repair_json(inner, closes=closes)) and _is_object_of(fixed, parameters):
        return fixed
    try:
        fixed = _Repair(text, closes=closes, places=parameters).fix()
    except (_UnreadableError, RecursionError):
        return None
    return fixed if _is_valid(fixed) else None


def _only_object(text: str) -> str:
    """Return the object in `({…})`, or "" if the parentheses hold anything else."""
    inner = text.strip().removeprefix("(").removesuffix(")").strip()
    return inner if inner[:1] == "{" and inner[-1:] == "}" else ""


def _is_object_of(text: str, keys: Sequence[str]) -> bool:
    """Return whether the JSON `text` is an object with no keys but `keys`."""
    value: object = msgspec.json.decode(text)
    return isinstance(value, dict) and value.keys() <= set(keys)


def _is_valid(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True


class _Repair:
    """Parses a text once from its first bracket and writes valid JSON."""

    def __init__(self, text: str, *, closes: bool, places: Sequence[str] | None = None) -> None:
        self._text = text
        self._places = places
        self._at = 0
        self._closes = closes
        self._open: list[str] = []
        self._out: list[str] = []

    def fix(self) -> str:
        """Return the first object or array. Raises _UnreadableError."""
        self._skip_to_start()
        self._read_value()
        rest = self._text[self._at :]
        if not _HARMLESS_REST.fullmatch(rest) and any(mark in rest for mark in '"{['):
            self._give_up()  # a second object, or the rest of one that ended too early
        return "".join(self._out)

    def _skip_to_start(self) -> None:
        """Skip to the value: the first token, or an object after some words."""
        self._skip_space()
        if self._peek() in ("{", "[") or (self._peek() == "(" and self._places is not None):
            return
        start = self._text.find("{")
        before = self._text[:start].rstrip().rstrip("".join(COLONS))
        if start < 0 or not self._closes or any(mark in before for mark in ('"', "“", "[", "<", *COLONS)):
            self._give_up()  # truncated text, tags or a key may contain an unintended object
        self._at = start

    def _read_value(self) -> None:
        match self._peek():
            case "{" if doubled := _DOUBLED.match(self._text, self._at):
                self._read_doubled(doubled.end() - 1)
            case "{":
                self._read_container(self._read_member)
            case "[":
                self._read_container(self._read_value)
            case "(" if not self._open:
                self._read_container(self._read_keyword)
            case "":
                self._give_up()
            case _ if self._read_string() or self._read_number() or self._read_literal():
                pass
            case _:
                self._give_up()

    def _read_container(self, read_item: _Step) -> None:
        opening = self._peek()
        closing = _CLOSING[opening]
        if len(self._open) >= _DEEPEST:
            self._give_up()
        self._open.append(closing)
        self._take(_IN_JSON.get(opening, opening))
        self._at += 1
        first = True
        self._skip_space()
        while not self._is_over(closing, after_comma=False):
            if not first:
                self._out.append(",")
                if self._skip_comma() and self._is_over(closing, after_comma=True):
                    self._out.pop()
                    break
            read_item()
            first = False
            self._skip_space()
        self._open.pop()
        self._take(_IN_JSON.get(closing, closing))

    def _read_doubled(self, inner: int) -> None:
        """Read {{"name": …}}, braces doubled as in templates, as the inner object."""
        self._at = inner
        self._read_container(self._read_member)
        self._skip_space()
        if self._peek() == "}":
            self._at += 1
        elif self._peek() or not self._closes:
            self._give_up()

    def _is_over(self, closing: str, *, after_comma: bool) -> bool:
        """Return whether the container ends here: at its bracket, at an enclosing one, or at the end of the text."""
        char = self._peek()
        if char == closing:
            self._at += 1
            return True
        if not char:
            if self._closes and not after_comma:
                return True
            self._give_up()
        return char in "}])" and char in self._open

    def _skip_comma(self) -> bool:
        """Skip a comma, or the space where one is missing; return whether there was one."""
        if self._peek() in _COMMAS:
            while self._peek() in _COMMAS:
                self._at += 1
                self._skip_space()
            return True
        before = self._text[self._at - 1]
        if before not in "}]" and before not in BLANK and before != "/":
            self._give_up()
        if not self._quote() and self._peek() not in "{[" and "\n" not in self._space_before():
            self._give_up()
        return False

    def _space_before(self) -> str:
        start = self._at
        while start and self._text[start - 1] in BLANK:
            start -= 1
        return self._text[start : self._at]

    def _read_member(self) -> None:
        if not self._read_string():
            word = _WORD.match(self._text, self._at)
            if not word:
                self._give_up()
            self._take(f'"{word.group()}"')
            self._at = word.end()
        self._skip_space()
        if self._peek() not in COLONS:
            self._give_up()
        self._take(":")
        self._at += 1
        self._skip_space()
        self._read_value()

    def _read_keyword(self) -> None:
        word = _KEYWORD.match(self._text, self._at)
        if word:
            self._at = word.end()
            self._places = ()
            self._take(f'"{word.group(1)}":')
        elif self._places:
            self._take(f'"{self._places[0]}":')
            self._places = self._places[1:]
        else:
            self._give_up()
        self._read_value()

    def _read_string(self) -> bool:
        """Read a string, if one starts here. Raises _UnreadableError if it is unterminated."""
        is_raw = self._text[self._at : self._at + 1] in ("r", "R")
        quote = self._quote(self._at + is_raw)
        if not quote:
            return False
        start = self._at + is_raw + len(quote)
        end, closing = string_end(self._text, start, quote)
        if end < 0:
            self._give_up()
        body = self._text[start:end]
        self._take(_verbatim(body) if is_raw or quote in VERBATIM else f'"{_TO_ESCAPE.sub(_escaped, body)}"')
        self._at = end + len(closing)
        return True

    def _read_number(self) -> bool:
        number = _NUMBER.match(self._text, self._at)
        if not number:
            return False
        self._take(number.group())
        self._at = number.end()
        return True

    def _read_literal(self) -> bool:
        word = _WORD.match(self._text, self._at)
        if not word or word.group() not in _LITERALS:
            return False
        self._take(_LITERALS[word.group()])
        self._at = word.end()
        return True

    def _quote(self, at: int | None = None) -> str:
        start = self._at if at is None else at
        return next((quote for quote in QUOTES if self._text.startswith(quote, start)), "")

    def _skip_space(self) -> None:
        if space := _SPACE.match(self._text, self._at):
            self._at = space.end()

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, piece: str) -> None:
        self._out.append(piece)

    def _give_up(self) -> Never:
        raise _UnreadableError


def string_end(text: str, start: int, quote: str) -> tuple[int, str]:
    """Return the end of the string whose content starts at `start` after `quote` and its closing quote, or -1."""
    endings = "|".join(re.escape(ending) for ending in QUOTES[quote])
    pattern = re.compile(endings if quote in VERBATIM else rf"\\.|{endings}", re.DOTALL)
    for hit in pattern.finditer(text, start):
        if not hit.group().startswith("\\"):
            return hit.start(), hit.group()
    return -1, ""


def _verbatim(body: str) -> str:
    return msgspec.json.encode(body).decode()


def _escaped(hit: re.Match[str]) -> str:
    """Escape a piece of a string for JSON."""
    piece = hit.group()
    if piece == "\\'":
        return "'"
    if len(piece) == 1:
        return _verbatim(piece)[1:-1]
    if len(piece) == 6 or piece[1] in '"\\/bfnrt':
        return piece
    return "\\\\" + _verbatim(piece[1])[1:-1]
