"""Command lines so plain that it is certain what they do: words as they stand, pipes, `&&`, `||` and `;`, no more.

Nothing is expanded but file names, nothing is set, substituted, grouped or redirected. Every other line is not plain,
whatever it would do.
"""

import re
from collections.abc import Callable, Mapping

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
    """A word without its quotes. `glob`: how far it is certain, where the shell puts file names in its place; else
    -1."""

    text: str
    glob: int = -1


class PlainCommand(msgspec.Struct, frozen=True):
    """A simple command, and what stands before it: "", "|", "||", "&&" or ";"."""

    words: tuple[PlainWord, ...]
    after: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The words as text."""
        return tuple(word.text for word in self.words)


def plain_commands(line: str) -> list[PlainCommand]:
    """The commands of a plain line, in their order; none where it is not plain."""
    if len(line) > _LONGEST:
        return []
    commands: list[PlainCommand] = []
    words: list[PlainWord] = []
    at, before = 0, ""
    line = line.strip(" \t\n")
    while at < len(line):
        token = _TOKEN.match(line, at)
        if token is None:
            return []
        at = token.end()
        if token.lastgroup == "word":
            words.append(_word(token[0]))
        elif token.lastgroup == "operator":
            if not words:
                return []
            commands.append(PlainCommand(tuple(words), before))
            words, before = [], ";" if token[0] == "\n" else token[0]
    if words:
        commands.append(PlainCommand(tuple(words), before))
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


_REMOVING_OPTIONS = late_pattern(r"-[rRfvdi]+|--(?:recursive|force|verbose|dir)")
_BESIDE_REMOVING = frozenset({"rm", "mkdir", "echo", "true", "ls", "pwd"})
"""What may stand before `rm` in a line in which it is certain what it removes: these give nothing another name."""


def removed(line: str) -> Mapping[tuple[str, ...], tuple[str, ...]]:
    """The paths, relative to where the line runs, that each `rm` of a plain line removes, by its words. Nothing where
    that is not certain."""
    commands = plain_commands(line)
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    folder = ""
    if commands and commands[0].words[0].text == "cd" and len(commands) > 1 and commands[1].after == "&&":
        texts = commands[0].texts
        if len(texts) != 2 or texts[1][:1] in ("-", "/", "") or commands[0].words[1].glob >= 0:
            return {}
        folder, commands = f"{texts[1]}/", commands[1:]
    last = max((at for at, command in enumerate(commands) if command.texts[0] == "rm"), default=-1)
    for command in commands[: last + 1]:
        name, *rest = command.texts
        if name not in _BESIDE_REMOVING:
            return {}
        if name == "rm":
            paths = _operands(rest, _REMOVING_OPTIONS.fullmatch)
            if paths is None or any(word.glob >= 0 for word in command.words):
                return {}
            found[command.texts] = (*found.get(command.texts, ()), *(_below(folder, path) for path in paths))
    return found


def _below(folder: str, path: str) -> str:
    return path if path.startswith("/") else folder + path


def _operands(words: list[str], is_option: Callable[[str], object]) -> list[str] | None:
    """The words that are no options; None where one is unknown."""
    found: list[str] = []
    for at, word in enumerate(words):
        if word == "--":
            return [*found, *words[at + 1 :]]
        if word[:1] != "-":
            found.append(word)
        elif not is_option(word):
            return None
    return found
