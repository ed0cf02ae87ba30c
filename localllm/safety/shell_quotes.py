"""Find where quotes, substitutions, comments, here-documents and commands end, by the rules of bash.

The grammar misses some of them, and misjudges the extent of others. Where it and this scan differ,
no allow rule applies, and what only one of them finds is read all the same.
"""

import re

import msgspec

from localllm.base.lazy_patterns import late_pattern

_CODE = late_pattern(
    r"""(?P<single>\$?'(?:(?<=\$')(?:\\.|[^'\\])*|(?<!\$')[^']*)')
    |(?P<escape>\\.)
    |(?P<double>")
    |(?P<number>\$\(\([\w\s+*/%<>=-]*\)\))
    |(?P<arithmetic>\$?\(\(|\$\[)
    |(?P<substitution>[$<>]\()
    |(?P<expansion>\$\{)
    |(?P<backquote>`)
    |(?P<comment>(?<![^\s;&|()])\#[^\n]*)
    |(?P<redirect>&>>?|[<>]&|>\|)
    |(?P<heredoc><<(?!<)-?)
    |(?P<herestring><<<)
    |(?P<newline>\n)
    |(?P<operator>[;&|])
    |(?P<open>\()
    |(?P<close>\))
    |(?P<case>(?<![\w-])case(?![\w-]))
    |(?P<unclosed>')""",
    re.DOTALL | re.VERBOSE,
)
_IN_DOUBLE = late_pattern(
    r"""(?P<escape>\\.)|(?P<double>")|(?P<number>\$\(\([\w\s+*/%<>=-]*\)\))|(?P<arithmetic>\$\(\(|\$\[)"""
    r"|(?P<substitution>\$\()|(?P<expansion>\$\{)|(?P<backquote>`)",
    re.DOTALL,
)
_IN_EXPANSION = late_pattern(
    r"""(?P<single>\$?'(?:(?<=\$')(?:\\.|[^'\\])*|(?<!\$')[^']*)')|(?P<escape>\\.)|(?P<double>")"""
    r"|(?P<arithmetic>\$\(\(|\$\[)|(?P<substitution>[$<>]\()|(?P<expansion>\$\{)|(?P<backquote>`)|(?P<end>\})"
    r"|(?P<unclosed>')",
    re.DOTALL,
)
_IN_QUOTED_EXPANSION = late_pattern(
    r"""(?P<escape>\\.)|(?P<double>")|(?P<arithmetic>\$\(\(|\$\[)|(?P<substitution>\$\()|(?P<expansion>\$\{)"""
    r"|(?P<backquote>`)|(?P<end>\})",
    re.DOTALL,
)
_IN_BODY = late_pattern(r"\\.|(?P<substitution>\$\()|(?P<backquote>`)|(?P<arithmetic>\$\[|\$\{(?!\w+\}))", re.DOTALL)
_MARK = late_pattern(
    r"""[ \t]*(?:(?P<plain>[\w.+-]+)|'(?P<single>[^'\n]*)'|"(?P<double>[^"\\$`\n]*)")(?=[\s;&|<>()])"""
)
_TO_BACKQUOTE = late_pattern(r"(?>(?:\\.|[^`\\])*)", re.DOTALL)
_ANY_MARK = late_pattern(r"\$\(|[<>]\(|`")
_ODD = late_pattern(r"[\x00-\x08\x0b-\x1f\x7f]")
_ESCAPED, _ESCAPED_IN_DOUBLE = late_pattern(r"\\([\\`$])"), late_pattern(r'\\([\\`$"])')


MOST_TEXTS = 100
"""Limit of nested texts read from one line."""

_MOST_AWAITED = 8  # here-documents of one line


class Quotes(msgspec.Struct, frozen=True, kw_only=True):
    """The findings, as positions in the text.

    `spans`: each quoted text, substitution and comment, as [start, end). `bodies`: of
    here-documents, each with the line that ends it. `marks`: where substitutions begin, with the position after
    the mark. `renewed`: texts in back quotes that are read anew, without the backslashes. `in_bodies`: what follows the
    marks in here-documents with an unquoted delimiter, to their end. `unsure`: the position from which quoting is
    uncertain; the length of the text if nowhere. `breaks`: where commands are separated, at `;`, `&`, `|`, line
    ends, and the brackets of groups.
    """

    spans: frozenset[tuple[int, int]]
    bodies: tuple[tuple[int, int], ...]
    marks: tuple[tuple[int, int], ...]
    renewed: tuple[str, ...]
    in_bodies: tuple[str, ...]
    unsure: int
    breaks: tuple[int, ...]


def read_quotes(text: str) -> Quotes:
    """Scan `text`, which has one character for each byte."""
    return _Scan(text).run()


class _Frame(msgspec.Struct, frozen=True):
    """An open construct: "code" (substitution), "group", "double" quotes, "expansion" or a "quoted" one."""

    kind: str
    start: int = -1


class _Heredoc(msgspec.Struct, frozen=True):
    """A here-document whose lines are to come. `depth`: the number of constructs open where it was named."""

    end: str
    quoted: bool
    tabs: bool
    depth: int


_PATTERNS = {
    "double": _IN_DOUBLE,
    "expansion": _IN_EXPANSION,
    "quoted": _IN_QUOTED_EXPANSION,
}


class _Scan:
    """One scan of a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._open = [_Frame("code")]
        self._awaited: list[_Heredoc] = []
        self._spans: set[tuple[int, int]] = set()
        self._bodies: list[tuple[int, int]] = []
        self._marks: list[tuple[int, int]] = []
        self._renewed: list[str] = []
        self._in_bodies: list[str] = []
        self._breaks: list[int] = []
        odd = _ODD.search(text)
        self._unsure = odd.start() if odd else len(text)

    def run(self) -> Quotes:
        at = 0
        while found := _PATTERNS.get(self._open[-1].kind, _CODE).search(self._text, at):
            at = self._take(found)
        if len(self._open) > 1 or self._awaited:
            self._doubt(max(self._open[-1].start, 0))
        marks = {*self._marks, *((m.start(), m.end()) for m in _ANY_MARK.finditer(self._text, self._unsure))}
        return Quotes(
            spans=frozenset(self._spans),
            bodies=tuple(self._bodies),
            marks=tuple(sorted(marks)),
            renewed=tuple(self._renewed),
            in_bodies=tuple(self._in_bodies),
            unsure=self._unsure,
            breaks=tuple(self._breaks),
        )

    def _doubt(self, at: int) -> None:
        self._unsure = min(self._unsure, at)

    def _take(self, found: re.Match[str]) -> int:
        """Process one token; return where the next may begin."""
        start, end = found.span()
        frame = self._open[-1]
        in_double = frame.kind in ("double", "quoted")
        if found.lastgroup in ("newline", "operator", "open") or (found.lastgroup == "close" and frame.kind == "group"):
            self._breaks.append(start)
        match found.lastgroup:
            case "single" | "comment":
                self._spans.add((start, end))
            case "end":
                self._open.pop()
            case "double" if frame.kind == "double":
                self._close(end)
            case "double" | "open" | "expansion" as group:
                kind = "group" if group == "open" else group
                self._open.append(_Frame("quoted" if in_double and kind == "expansion" else kind, start))
            case "substitution":
                self._marks.append((start, end))
                self._open.append(_Frame("code", start))
            case "close":
                self._end_code(frame, end)
            case "backquote":
                return self._take_backquoted(start, in_double=in_double)
            case "heredoc":
                return self._expect_heredoc(found)
            case "newline":
                return self._take_heredocs(end)
            case _:
                return self._pass(found)
        return end

    def _pass(self, found: re.Match[str]) -> int:
        """Skip a token that opens nothing; after some of them quoting is uncertain."""
        match found.lastgroup:
            case "case" if len(self._open) > 1:  # its patterns end with `)`
                self._doubt(found.start())
            case "arithmetic" | "unclosed":  # or two groups, in which quoting differs
                self._doubt(found.start())
                return found.start() + 1
            case _:
                pass
        return found.end()

    def _close(self, end: int) -> None:
        self._spans.add((self._open.pop().start, end))

    def _end_code(self, frame: _Frame, end: int) -> None:
        if any(heredoc.depth == len(self._open) for heredoc in self._awaited):
            self._doubt(end - 1)
        if frame.kind == "group":
            self._open.pop()
        elif len(self._open) > 1:
            self._close(end)

    def _take_backquoted(self, start: int, *, in_double: bool) -> int:
        found = _TO_BACKQUOTE.match(self._text, start + 1)
        end = found.end() if found else start + 1
        inner = self._text[start + 1 : end]
        if end >= len(self._text):
            self._doubt(start)
        self._marks.append((start, start + 1))
        self._spans.add((start, end + 1))
        if "\\" in inner:
            self._renewed.append((_ESCAPED_IN_DOUBLE if in_double else _ESCAPED).sub(r"\1", inner))
        else:
            quotes = read_quotes(inner)
            self._take_in(quotes, start + 1)
            if quotes.unsure < len(inner):
                self._doubt(start + 1 + quotes.unsure)
        return end + 1

    def _take_in(self, inner: Quotes, at: int) -> None:
        """Add the findings of a part of the text that begins at `at`."""
        self._spans |= {(at + start, at + end) for start, end in inner.spans}
        self._bodies += [(at + start, at + end) for start, end in inner.bodies]
        self._marks += [(at + start, at + end) for start, end in inner.marks]
        self._breaks += [at + place for place in inner.breaks]
        self._in_bodies += inner.in_bodies

    def _expect_heredoc(self, operator: re.Match[str]) -> int:
        mark = _MARK.match(self._text, operator.end())
        if mark is None or len(self._awaited) > _MOST_AWAITED:
            self._doubt(operator.start())
            return operator.end()
        end = next(text for text in mark.groups() if text is not None)
        quoted = mark["plain"] is None
        self._awaited.append(_Heredoc(end, quoted, operator[0].endswith("-"), len(self._open)))
        return mark.end()

    def _take_heredocs(self, at: int) -> int:
        """Skip the bodies that begin at a line; return where the line after them begins."""
        for heredoc in self._awaited:
            if heredoc.depth != len(self._open):
                self._doubt(at)
            at = self._take_body(heredoc, at)
        self._awaited = []
        return at

    def _take_body(self, heredoc: _Heredoc, start: int) -> int:
        at = end = start
        while at < len(self._text):
            end = self._text.find("\n", at)
            end = len(self._text) if end < 0 else end
            line = self._text[at:end]
            if (line.lstrip("\t") if heredoc.tabs else line) == heredoc.end:
                break
            if not heredoc.quoted and line.endswith("\\"):  # the next line is no delimiter
                self._doubt(at)
            at = end + 1
        else:
            self._doubt(start)
        self._bodies.append((start, end))
        if not heredoc.quoted:
            self._take_substitutions(start, min(at, len(self._text)))
        return end

    def _take_substitutions(self, start: int, end: int) -> None:
        """Record the substitutions in a here-document, each with all that follows it."""
        at = start
        while found := _IN_BODY.search(self._text, at, end):
            at = found.end()
            if found.lastgroup:
                self._doubt(found.start())
            if len(self._in_bodies) > MOST_TEXTS:
                return
            if found.lastgroup == "substitution":
                self._in_bodies.append(self._text[at:end])
            elif found.lastgroup == "backquote":
                at = self._take_backquoted(found.start(), in_double=False)
                self._in_bodies.append(_ESCAPED.sub(r"\1", self._text[found.end() : at - 1]))
