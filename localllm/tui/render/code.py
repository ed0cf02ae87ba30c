"""Highlight fenced code line by line while it is streamed: every line once."""

import re
import time
from collections.abc import Iterable, Iterator, Sequence

from rich.syntax import Syntax
from rich.text import Text

from localllm.text.sanitising import clean
from localllm.tui.theme import Theme

_FENCE = re.compile(r"\s*(`{3,}|~{3,})[ \t]*([^\s`]*)")
_TAB = 4

_PROBE = "zq: 1 */ --> ]] ' \" ` zq\n" + "} zq: 1;\n" * 6
"""Closes whatever may be open after a line (comments, strings, blocks); how a lexer tokenises it reveals the state."""

_LONGEST_CONTEXT = 4_000
"""Characters. In more deeply nested code, or code without lines, colours may be wrong."""

_LONGEST_LINE = 1_000
_BLANKS = " " * 200
"""Lines of more characters, or of so many blanks in a row, have no colours: some lexers take the cube of a run of
blanks, and nothing can interrupt them."""

_MOST_EMPTY = 2
"""Empty lines in a row that a lexer gets: it takes them for such blanks."""

_MOST_LINES, _MOST_CHARACTERS = 20, 2_000
"""What a lexer gets at one time, besides the context."""

_MOST_SECONDS = 1.0
"""CPU time for the colours of a block: what comes later has none."""

_Reading = tuple[tuple[object, str], ...]


class Highlighter:
    """Highlight code piece by piece with the same result as in one pass.

    A piece is tokenised after its `context`: the few earlier lines that bring the lexer into the state before it. The
    tokens of a probe after the piece identify the state.
    """

    def __init__(self, language: str, theme: Theme) -> None:
        colours = "ansi_light" if theme.light else "ansi_dark"
        self._lexer = Syntax("", language, theme=colours, tab_size=_TAB).lexer if language else None
        self._style = Syntax.get_theme(colours).get_style_for_token
        self._spent = 0.0
        self._context = ""
        self._contexts: dict[_Reading, str] = {}
        self._contexts[self._read("")[1]] = ""

    def highlight(self, lines: str) -> Text:
        """Highlight the next complete lines."""
        return Text().join(self._coloured(piece) if piece.strip() else Text(piece) for piece in _pieces(lines))

    def _coloured(self, lines: str) -> Text:
        if self._spent > _MOST_SECONDS or _is_slow(lines):
            return Text(lines)
        text, reading = self._read(lines)
        if reading in self._contexts:
            self._context = self._contexts[reading]
        elif lines.count("\n") > 1:  # one of them changes the state: any of them is sufficient
            return Text().join(map(self._coloured, lines.splitlines(keepends=True)))
        else:
            context = self._context + lines
            self._context = self._contexts[reading] = context if len(context) <= _LONGEST_CONTEXT else ""
        return text

    def peek(self, line: str) -> Text:
        """Highlight an incomplete line."""
        return Text(line) if self._spent > _MOST_SECONDS or _is_slow(line) else self._read(line)[0]

    def _read(self, lines: str) -> tuple[Text, _Reading]:
        """Return the highlighted lines, and the tokens of the probe after them."""
        if self._lexer is None:
            return Text(lines), ()
        begun = time.thread_time()
        begin = len(self._context)
        end = begin + len(lines)
        text, probe, at = Text(), list[tuple[object, str]](), 0
        line_end = "\n" if lines and not lines.endswith("\n") else ""
        for kind, token in self._lexer.get_tokens(self._context + lines + line_end + _PROBE):
            start, at = at, at + len(token)
            if at > begin and start < end:
                text.append(token[max(0, begin - start) : end - start], self._style(kind))
            if at > end:
                probe.append((kind, token[max(0, end - start) :]))
        self._spent += time.thread_time() - begun
        return text, tuple(probe)


class FencedCode:
    """A fenced block, shown with its fences, so that it is recognisable without colours. Complete lines are added as
    they arrive; blank ones are shown once code follows."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._opening = ""
        self._highlighter: Highlighter | None = None
        self._blank = ""

    def add(self, lines: Iterable[str]) -> Text:
        """Return the output for the next complete lines, with line ends."""
        shown = Text()
        code: list[str] = []
        for line in map(_plain, lines):
            if self._highlighter is None:
                self._open(line)
                shown.append(self._opening + "\n", "dim")
            elif _closes(line, self._opening):
                shown.append_text(self._highlight(code))
                shown.append(line.rstrip() + "\n", "dim")
                code, self._blank = [], ""
            elif not line.strip():
                self._blank += "\n"
            else:
                code.append(self._blank + line.removesuffix("\n") + "\n")
                self._blank = ""
        return shown.append_text(self._highlight(code))

    def peek(self, line: str) -> Text:
        """Return an incomplete line, after pending blank lines."""
        line = _plain(line)
        if self._highlighter is None or not line.strip("`~ "):
            return Text(self._blank + line, "dim")
        return Text(self._blank).append_text(self._highlighter.peek(line))

    def _open(self, line: str) -> None:
        self._opening = line.rstrip("\n")
        match = _FENCE.match(self._opening)
        self._highlighter = Highlighter(match[2] if match else "", self._theme)

    def _highlight(self, code: Sequence[str]) -> Text:
        return self._highlighter.highlight("".join(code)) if code and self._highlighter else Text()


def _pieces(lines: str) -> Iterator[str]:
    """Yield the lines in pieces of bounded size: slow lines each for itself, and most of many empty lines."""
    piece, empty = "", list[str]()
    count = 0
    for line in lines.splitlines(keepends=True):
        if not line.strip():
            empty.append(line)
            continue
        piece += "".join(empty[:_MOST_EMPTY])
        is_slow, more = _is_slow(line), empty[_MOST_EMPTY:]
        if more or is_slow or count >= _MOST_LINES or len(piece) + len(line) > _MOST_CHARACTERS:
            yield piece
            yield "".join(more)
            piece, count = "", 0
        piece, empty, count = piece + line, [], count + 1
        if is_slow:
            yield piece
            piece, count = "", 0
    yield piece
    yield "".join(empty)


def _is_slow(lines: str) -> bool:
    return _BLANKS in lines or any(len(line) > _LONGEST_LINE for line in lines.splitlines())


def is_fence(text: str) -> bool:
    """Whether the text begins with a fence."""
    return bool(_FENCE.match(text))


def _plain(line: str) -> str:
    return clean(line).expandtabs(_TAB)


def _closes(line: str, opening: str) -> bool:
    match = _FENCE.match(opening)
    mark = line.strip()
    return bool(match) and not line[:4].isspace() and mark.startswith(match[1]) and not mark.strip(match[1][0])
