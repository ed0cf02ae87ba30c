"""Find lines of a new text that only say that something is to be written there.

Strict, since texts about such lines, templates and TODO comments are wanted: a line counts only if it consists of the
placeholder, and code blocks of documents are passed over.
"""

import re
from pathlib import PurePosixPath

from localllm.base.lazy_patterns import late_pattern

_SIGN = r"(?:#+|//+|/\*+|\*|<!--|--|;+|%+|\{/\*|[-+>])"
_CLOSING = r"(?:\*/\}?|-->)?"
_VERB = r"(?:add|insert|put|write|place|enter|include|describe|document|implement|complete|fill in|continue)"
_THING = (
    r"(?:sections?|content|contents|text|details|descriptions?|examples?|instructions|code|implementation|logic|body"
    r"|documentation|guide|file|functions?|methods?|tests?|document|page|chapter)"
)
_DOTS = r"(?:\.{3,}|…+)"
_REST = r"(?:the |all )?(?:rest|remainder|remaining|existing|previous|other)(?: [\w'’-]{1,24}){0,5}"
_HERE = r"(?: (?:goes|go|comes|belongs|will go|stays?|remains?|continues?))? ?(?:here|below|unchanged)"
_IN_BRACKETS = (
    rf"(?:(?:TODO|TBD)[: -]{{0,3}})?(?:{_VERB}(?: [\w'’/&,-]{{1,24}}){{0,8}} {_THING}(?: here| below)?"
    rf"|{_VERB}(?: [\w'’/&,-]{{1,24}}){{1,8}} here"
    rf"|(?:your|more) (?:[\w'’-]{{1,24}} ){{0,4}}(?:goes )?here|{_REST}{_HERE})"
)
_JAPANESE = r"ここに[^\n\])）］】]{1,40}(?:追加|記載|記入|記述|挿入|書[いくき]|入[りるれ])[^\n\])）］】]{0,12}"
_JAPANESE_REST = (
    r"(?:残り|以降|続き)(?:の[^\s、。]{1,12})?(?:は|を|も)[^\n]{0,12}(?:ここに|後で|あとで|同様に(?:続|追))[^\n]{0,20}"
)
_MORE = (
    r"(?:and so (?:on|forth)|etc\.?|(?:and )?(?:\d+ |many )?(?:more|others)(?: [\w'’-]{1,24}){0,4}"
    r"|(?:repeat|continue|add|same|similar(?:ly)?)(?: [\w'’-]{1,24}){0,6} (?:remaining|rest|others?|more|up to|until)"
    r"(?: [\w'’-]{1,24}){0,4}|(?:the )?(?:rest|remaining|other)(?: of(?: the)?)?(?: [\w'’-]{1,24}){0,4})"
)
_MORE_JAPANESE = (
    r"(?:(?:残り|以下|以降|その他|ほか|他|あと)(?:の)?[^\s、。)）\]は]{0,12}?(?:は|も|を)?、?(?:すべて|全て)?"
    r"(?:同様|省略|略)(?:です|とする|に?(?:追加|続く|続ける|作成|記述|書く))?|以下略|後略|省略|同様に続く)"
)
_COMMENT = r"(?:#+|//+|/\*+|<!--|--|;+|%+|\{/\*)"
_LEFT_OUT = (
    rf"{_SIGN} ?{_DOTS} ?\(?(?:{_MORE}|{_MORE_JAPANESE}) ?{_DOTS}?\)?"
    rf"|{_COMMENT} ?(?:{_MORE}|{_MORE_JAPANESE}) ?{_DOTS}"
    rf"|{_COMMENT} ?[(（［\[]?(?:(?:repeat|continue)(?: [\w'’-]{{1,24}}){{0,4}} (?:remaining|rest|up to|until)"
    rf"(?: [\w'’-]{{1,24}}){{0,4}}|\d+ more(?: [\w'’-]{{1,24}}){{1,4}}|{_MORE_JAPANESE})[)）］\]]?"
    rf"|{_DOTS} ?[(（］\[](?:{_MORE}|{_MORE_JAPANESE})[)）］\]]"
    rf"|(?:--|#+|//) ?{_DOTS}|{_COMMENT} ?and so (?:on|forth)"
    rf"|{_COMMENT} ?TODO[: -]{{1,3}}(?:add|insert|write|include|fill in) (?:all )?(?:the )?(?:remaining|rest|other)"
    rf"(?: [\w'’-]{{1,24}}){{0,5}}"
    rf"|{_COMMENT} ?[(（](?:continue|repeat|and so on)(?: [\w'’-]{{1,24}}){{0,6}}[)）]"
    rf"|(?:{_COMMENT} ?)?[(（［\[]残り ?\d+ ?[^\s\d）)］\]]{{1,4}}[)）］\]]"
    rf"|{_COMMENT} ?(?:\d+[^\s\d、。]{{1,4}}以降|以下|以降|残り)[はもの]?、?同じ(?:形式|形|要領|パターン|ように)"
    r"[^\n。]{0,12}(?:追加|続|作成|記述|書)[^\n。]{0,8}"
    r"|[（［](?:残り|以下|以降)[^\n、。）］]{0,12}同様[^\n）］]{0,8}[）］]"
)

_LINE = (
    rf"(?:{_SIGN} ?)?(?:\d{{1,2}}[.)] )?(?:"
    rf"[\[(<（［【]{_DOTS}? ?(?:{_IN_BRACKETS}|{_JAPANESE}|{_JAPANESE_REST}) ?{_DOTS}?[.。]?[\])>）］】]"
    rf"|{_DOTS} \(?(?:{_REST}{_HERE}?|{_JAPANESE_REST})\)? ?{_DOTS}?"
    rf"|(?:TODO|FIXME|TBD)[: -]{{1,3}}(?:{_REST}{_HERE}|{_JAPANESE_REST}|{_JAPANESE}) ?{_DOTS}?"
    rf")[.。]? ?{_CLOSING}"
    rf"|{_SIGN} ?{_DOTS} ?(?:{_REST}{_HERE}?) ?{_DOTS}? ?{_CLOSING}"
    rf"|{_SIGN} ?(?:TODO[: -]{{1,3}})?{_VERB} your (?:[\w'’-]{{1,24}} ){{1,4}}here{_DOTS}?\.? ?{_CLOSING}"
    rf"|(?:{_LEFT_OUT})[.。]? ?{_CLOSING}"
)
_CANDIDATE = late_pattern(
    r"^(?=[^\n]{4,160}$)[^\n]*(?:\b(?:here|below|unchanged|remaining|rest|more|up to)\b|\.\.\.|…|[\[(<（［【]|ここに"
    r"|後で|あとで|残り|同様|同じ|省略|以下略|後略|and so |TODO)[^\n]*$",
    re.MULTILINE | re.IGNORECASE,
)
_FENCE = late_pattern(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_MEANT = late_pattern(r"template|cookiecutter|scaffold|boilerplate|skeleton|stub|placeholder|\.github/", re.IGNORECASE)
"""In the path of a file that is to hold such lines."""
_MEANT_ENDINGS = frozenset(
    {".j2", ".jinja", ".jinja2", ".tmpl", ".tpl", ".mustache", ".hbs", ".example", ".sample", ".dist"}
)
_LONGEST = 500_000
_NAMED = 5


def unwritten_lines(path: str, new: str, old: str = "") -> list[int]:
    """Return the lines of `new`, from 1, and not of `old`, that stand for what was not written."""
    if len(new) > _LONGEST or _MEANT.search(path) or PurePosixPath(path).suffix.casefold() in _MEANT_ENDINGS:
        return []
    found = [
        (new.count("\n", 0, match.start()) + 1, line)
        for match in _CANDIDATE.finditer(new)
        if re.fullmatch(_LINE, line := " ".join(match[0].split()), re.IGNORECASE)
    ]
    if not found:
        return []
    known = {" ".join(line.split()) for line in old.split("\n")}
    fenced = _fenced(new)
    return [number for number, line in found if line not in known and number not in fenced]


_QUOTED = late_pattern(r"\"[^\"\n]*+\"|'[^'\n]*+'|`[^`\n]*+`|/[^/\n]*+/")
_LEAST_BREAKS = 2


def _has_doubled_escapes(new: str) -> bool:
    """Return whether a text of one line has the letters of line breaks in it, outside of what is quoted."""
    line = new.strip()
    if "\n" in line or line.count("\\n") < _LEAST_BREAKS:
        return False
    first = line.partition("\\n")[0]
    is_begun = not any(first.count(quote) % 2 for quote in "\"'`")  # no string has begun before the first
    return is_begun and _QUOTED.sub(" ", line).count("\\n") >= _LEAST_BREAKS


def remark_on(path: str, new: str, old: str = "") -> list[str]:
    """Return a remark for the model on the placeholders in a written text, or on its line breaks that are none; empty
    if there are none."""
    if _has_doubled_escapes(new):
        return ["[It is one line with the letters \\n in it: write it again with line breaks, escaped once.]"]
    numbers = unwritten_lines(path, new, old)
    if not numbers:
        return []
    *others, last = [*map(str, numbers[:_NAMED]), *["others"] * (len(numbers) > _NAMED)]
    lines = (
        f"Lines {', '.join(others)} and {last} look like placeholders"
        if others
        else f"Line {last} looks like a placeholder"
    )
    return [f"[{lines}: write what belongs there, or say that it is missing.]"]


def _fenced(text: str) -> set[int]:
    """Return the numbers of the lines in code blocks of Markdown."""
    inside: set[int] = set()
    mark, start = "", 0
    for found in _FENCE.finditer(text):
        number = text.count("\n", 0, found.start()) + 1
        if not mark:
            mark, start = found[1], number
        elif found[1].startswith(mark):
            inside.update(range(start, number + 1))
            mark = ""
    return inside
