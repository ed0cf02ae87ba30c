"""Parse plain command lines, whose effect is certain: literal words, pipes, `&&`, `||` and `;` only.

Only file names are expanded; nothing is set, substituted, grouped or redirected. No other line is plain,
whatever it would do.
"""

import re

import msgspec

from localllm.base.lazy_patterns import late_pattern

_TOKEN = late_pattern(
    r"""(?P<blank>[ \t]+)
    |(?P<quiet>(?<![^\s])2>(?:&1|[ ]?/dev/null)(?![^\s;|&]))
    |(?P<operator>\|\|?|&&|;|\n)
    |(?P<word>(?:'[^']*'|"(?:[^"\\$`]|\\.)*"|\\[^\n]|[\w@%+=:,./*?\[\]^-]|(?<=[\w^])~)+)""",
    re.VERBOSE | re.DOTALL,
)
_PIECE = late_pattern(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^'"\\]+""", re.DOTALL)
_ESCAPED = late_pattern(r'\\([\\$`"\n])')
_GLOB = late_pattern(r"[*?\[]")
_LONGEST = 2_000  # characters


class PlainWord(msgspec.Struct, frozen=True):
    """A word without its quotes. `glob`: the length of its certain part if the shell expands file names in it, else
    -1."""

    text: str
    glob: int = -1


class PlainCommand(msgspec.Struct, frozen=True):
    """A simple command, and the operator before it: "", "|", "||", "&&" or ";". `end`: where it ends in the line,
    without `2>&1` and blanks."""

    words: tuple[PlainWord, ...]
    after: str = ""
    end: int = 0

    @property
    def texts(self) -> tuple[str, ...]:
        """The words as text."""
        return tuple(word.text for word in self.words)


def plain_commands(line: str) -> list[PlainCommand]:
    """Return the commands of a plain line without blanks around it, in order; none if it is not plain."""
    if len(line) > _LONGEST:
        return []
    commands: list[PlainCommand] = []
    words: list[PlainWord] = []
    at, end, before = 0, 0, ""
    line = line.strip(" \t\n")
    while at < len(line):
        token = _TOKEN.match(line, at)
        if token is None:
            return []
        at = token.end()
        if token.lastgroup == "word":
            words.append(_word(token[0]))
            end = at
        elif token.lastgroup == "operator":
            if not words:
                return []
            commands.append(PlainCommand(tuple(words), before, end))
            words, before = [], ";" if token[0] == "\n" else token[0]
    if words:
        commands.append(PlainCommand(tuple(words), before, end))
    return commands if words or before == ";" else []


def _word(written: str) -> PlainWord:
    text, glob = "", -1
    for piece in _PIECE.findall(written):
        if piece[0] == "'":
            text += piece[1:-1]
        elif piece[0] == '"':
            text += _ESCAPED.sub(lambda found: "" if found[1] == "\n" else found[1], piece[1:-1])
        elif piece[0] == "\\":
            text += piece[1]
        else:
            found = _GLOB.search(piece)
            glob = len(text) + found.start() if found and glob < 0 else glob
            text += piece
    return PlainWord(text, glob)
