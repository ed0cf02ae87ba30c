"""What a bash command line would run, as far as it can be told without a grammar: the second reader beside `shell`.

A grammar may err without knowing it, and bash does not ask it. This reader has other weaknesses: where it is unsure it
gives too many commands rather than too few.
"""

import re
import shlex
from collections.abc import Iterator

from localllm.base.patterns import late_pattern
from localllm.tools.guard.words import Word

_TOKEN = late_pattern(
    r"""(?P<blank>(?:[ \t\r]|\\\n)+)
    |(?P<comment>(?<![^\s;&|()])\#[^\n]*)
    |(?P<redirection>\d*(?:<<<|<<-?|<>|<&|<|&>>?|>>|>&|>\||>))
    |(?P<separator>[;&|()\n`]|\{(?=\s))
    |(?P<word>(?:\$\$|\$'(?:\\.|[^'\\])*'|\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s;&|()<>`'"\\])+)
    |(?P<unclosed>.)""",
    re.DOTALL | re.VERBOSE,
)
_PIECE = late_pattern(
    r"""\$\$|\$'(?:\\.|[^'\\])*'|\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\\'"$]+|\$""",
    re.DOTALL,
)
_QUOTES = late_pattern(r"['\"]")
_SUBSTITUTION = late_pattern(r"\$\(|`")
_INTERPRETERS = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "fish", "eval", "trap", "watch", "su", "env", "parallel"}
)
_MOST_TEXTS = 100  # how many texts within texts are read
_MOST_CHARACTERS = 200_000  # of these texts together


def commands_in(line: str) -> list[list[Word]]:
    """The words of every command in the line: of pipelines, lists, groups, substitutions, `-c` and `eval` texts.

    Redirections are left out. A line too deep to read ends with a command that is one computed word.
    """
    commands: list[list[Word]] = []
    texts, seen = [line], {line}
    while texts:
        text = texts.pop()
        for words, within in _read(text):
            if words:
                commands.append(words)
            fresh = {*within, _interpreted(words)} - seen - {""}
            texts.extend(fresh)
            seen |= fresh
        if len(seen) > _MOST_TEXTS or sum(map(len, seen)) - len(line) > _MOST_CHARACTERS:
            return [*commands, [Word("$", computed=True)]]
    return commands


def _read(text: str) -> Iterator[tuple[list[Word], list[str]]]:
    """Each command's words, and the texts in it that must be read by themselves."""
    words: list[Word] = []
    # The quotes in a here-document or a comment are none: they must not hide the lines after it.
    within = [_QUOTES.sub("", text)] if re.search(r"(?<!<)<<(?!<)", text) else []
    comments = ""
    operator = ""
    room = _MOST_CHARACTERS
    for token in _TOKEN.finditer(text):
        match token.lastgroup:
            case "separator":
                yield words, within
                words, within, operator = [], [], ""
            case "comment":
                comments += _QUOTES.sub("", token[0][1:]) + "\n"
            case "redirection":
                operator = token[0]
            case "word":
                for inner in _substitutions(text, token):
                    if room >= 0:  # where it is not, `commands_in` says that this is too much
                        within.append(inner)
                        room -= len(inner)
                if operator == "<<<":
                    within.append(_word(token[0]).text)
                elif not operator:
                    words.append(_word(token[0]))
                operator = ""
            case _:
                pass
    yield words, [*within, comments]


def _word(raw: str) -> Word:
    raw = raw.replace("\\\n", "")
    pieces: list[str] = _PIECE.findall(raw)
    computed = any(
        re.search(r"[$`]", piece) or (piece[0] != '"' and re.search(r"[*?{\[]", piece))
        for piece in pieces
        if piece[0] not in "'\\"
    )
    plain = "".join("$" if piece.startswith("$'") else piece for piece in pieces)
    return Word("".join(shlex.split(plain)), computed and raw not in ("[", "[[", "{}"))


def _substitutions(text: str, word: re.Match[str]) -> Iterator[str]:
    """What follows the first substitution of each double-quoted piece, to the end: quotes begin anew inside it."""
    for piece in _PIECE.finditer(text, word.start(), word.end()):
        if piece[0].startswith('"') and (found := _SUBSTITUTION.search(text, piece.start(), piece.end())):
            yield text[found.end() :]


def _interpreted(words: list[Word]) -> str:
    """The text a shell, or `eval`, makes of its arguments; nothing where they are plain words, as read already."""
    for position, word in enumerate(words):
        if word.text.rpartition("/")[2] in _INTERPRETERS:
            rest = [word.text for word in words[position + 1 :]]
            return " ".join(rest) if any(_TOKEN.fullmatch(text) is None or "\\" in text for text in rest) else ""
    return ""
