"""Analyse a command line for the policy: by the grammar, and by words where that fails."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from localllm.base.lazy_patterns import late_pattern
from localllm.safety.dangerous_commands import dangerous_as, is_networked, may_run, prints_foreign_text, uses_network
from localllm.safety.shell_parser import Script, read_script
from localllm.safety.shell_words import Piece, Word, expand

_TOKEN = late_pattern(
    r"""(?P<blank>(?:[ \t\r]|\\\n)+)
    |(?P<comment>(?<![^\s;&|()])\#[^\n]*)
    |(?P<redirection>\d*(?:<<<|<<-?|<>|<&|<|&>>?|>>|>&|>\||>))
    |(?P<separator>[;&|()\n`]|\{(?=\s))
    |(?P<word>(?>(?:\$\$|\$'(?:\\.|[^'\\])*'|\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s;&|()<>`'"\\])+))
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
_OF_SQL = late_pattern(r"(?i)\b(?:delete\s+from|update\s|truncate\s)")
_MOST_TEXTS = 100  # nested texts that are read
_MOST_CHARACTERS = 200_000  # of these texts together
_MOST_COMPARED = 2_000_000
"""Words of a line times rules that are compared; a longer line may be what further rules name."""


def commands_in(line: str) -> list[list[Word]]:
    """Return the words of every command in the line: of pipelines, lists, groups, substitutions, `-c`, `eval`.

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
    """Yield each command's words, and the texts in it that must be read separately."""
    words: list[Word] = []
    # Quotes in a here-document or a comment do not quote: they must not hide the lines after it.
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
                    if room >= 0:  # otherwise `commands_in` reports that this is too much
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
    """Yield what follows the first substitution of each double-quoted piece: there, quoting starts afresh."""
    for piece in _PIECE.finditer(text, word.start(), word.end()):
        if piece[0].startswith('"') and (found := _SUBSTITUTION.search(text, piece.start(), piece.end())):
            yield text[found.end() :]


def _interpreted(words: list[Word]) -> str:
    """Return the text that a shell or `eval` makes of its arguments; "" if they are plain, already read."""
    for position, word in enumerate(words):
        if word.text.rpartition("/")[2] in _INTERPRETERS:
            rest = [word.text for word in words[position + 1 :]]
            return " ".join(rest) if any(_TOKEN.fullmatch(text) is None or "\\" in text for text in rest) else ""
    return ""


class Line:
    """A command line, parsed on first use."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._may_run: dict[tuple[str, ...], bool] = {}

    @cached_property
    def script(self) -> Script:
        """The line as parsed by the grammar."""
        return read_script(self.text)

    @cached_property
    def commands(self) -> list[Sequence[Word]]:
        """Every command that either reader finds, each once: commands within commands make many of few words."""
        by_grammar: list[Sequence[Word]] = [command.words for command in self.script.commands]
        by_words = [_with_braces(words) for text in self.script.texts for words in commands_in(text)]
        return list(dict.fromkeys(map(tuple, [*by_grammar, *by_words])))

    @property
    def unreadable(self) -> bool:
        """Whether it runs something that cannot be determined."""
        return not self.script.sound or self.script.opaque

    @property
    def uses_network(self) -> bool:
        """Whether it contacts other machines, as far as can be determined."""
        targets = (*self.script.reads, *self.script.writes)
        return any(uses_network(words) for words in [*self.commands, targets])

    @property
    def is_networked(self) -> bool:
        """Whether a part is a command that contacts other machines."""
        return any(map(is_networked, self.commands))

    @property
    def prints_foreign_text(self) -> bool:
        """Whether it may print what another machine sends, as far as can be determined."""
        return any(prints_foreign_text(words) for words in [*self.commands, self.script.reads])

    @property
    def folders(self) -> list[str]:
        """The folders it changes to, as written."""
        moving = (command.words for command in self.script.commands if command.words[0].text in ("cd", "pushd", "popd"))
        return [words[1].text if len(words) > 1 else "~" for words in moving]

    def danger(self, entries: Iterable[str], kept: frozenset[tuple[str, ...]] = frozenset()) -> str:
        """Return the first of `entries`, or its equivalent, that a part of it is, or "". `kept`: see Situation."""
        commands = [w for w in self.commands if tuple(word.text for word in w) not in kept] if kept else self.commands
        for number, one in enumerate(filter(str.strip, entries)):
            if number * self._words > _MOST_COMPARED:
                return one
            if found := next(filter(None, (dangerous_as(words, one) for words in commands)), ""):
                return found
        return ""

    @cached_property
    def _words(self) -> int:
        return sum(map(len, self.commands))

    @cached_property
    def every_row_statement(self) -> str:
        """A statement of SQL in it that changes every row of a table, "delete from orders without where"; or ""."""
        if not _OF_SQL.search(self.text):
            return ""
        from localllm.safety.sql_statements import every_row_statement  # few commands hold any

        found = every_row_statement(self.text, self.commands)
        return f"{found} without where" if found else ""

    def may_run(self, wanted: Sequence[str]) -> bool:
        """Return whether a part of it may be the command that begins with these words."""
        key = tuple(wanted)
        if key not in self._may_run:
            is_too_much = len(self._may_run) * self._words > _MOST_COMPARED
            self._may_run[key] = bool(key) and (is_too_much or any(may_run(words, key) for words in self.commands))
        return self._may_run[key]


def _with_braces(words: Sequence[Word]) -> Sequence[Word]:
    """Expand `{a,b}` in the words, which the second reader leaves as it is."""
    if not any(word.computed and "{" in word.text for word in words):
        return words
    return [made for word in words for made in (expand([Piece("plain", word.text)], {}) if word.computed else [word])]
