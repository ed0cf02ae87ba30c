"""A command line as both readers see it, and what the policy asks of it."""

from collections.abc import Iterable, Sequence
from functools import cached_property

from localllm.tools.guard.command_line import commands_in
from localllm.tools.guard.dangers import is_dangerous, may_run, uses_network
from localllm.tools.guard.shell import Script, read_script
from localllm.tools.guard.words import Piece, Word, expand


class Line:
    """One command line. It is read when first asked about."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def script(self) -> Script:
        """As the grammar reads it."""
        return read_script(self.text)

    @cached_property
    def commands(self) -> list[Sequence[Word]]:
        """Every command that either reader finds."""
        by_grammar: list[Sequence[Word]] = [command.words for command in self.script.commands]
        return by_grammar + [_with_braces(words) for text in self.script.texts for words in commands_in(text)]

    @property
    def unreadable(self) -> bool:
        """Whether something in it runs that cannot be told."""
        return not self.script.sound or self.script.opaque

    @property
    def uses_network(self) -> bool:
        """Whether it talks to other machines, as far as can be told."""
        targets = (*self.script.reads, *self.script.writes)
        return any(uses_network(words) for words in [*self.commands, targets])

    @property
    def folders(self) -> list[str]:
        """The folders it changes to, as written."""
        moving = (command.words for command in self.script.commands if command.words[0].text in ("cd", "pushd", "popd"))
        return [words[1].text if len(words) > 1 else "~" for words in moving]

    def danger(self, entries: Iterable[str]) -> str:
        """The entry of `dangerous_commands` that a part of it matches, or nothing."""
        found = (entry for entry in entries if entry.strip() and any(is_dangerous(w, entry) for w in self.commands))
        return next(found, "")

    def may_run(self, wanted: Sequence[str]) -> bool:
        """Whether a part of it may be the command that begins with these words."""
        return bool(wanted) and any(may_run(words, wanted) for words in self.commands)


def _with_braces(words: Sequence[Word]) -> Sequence[Word]:
    """The words with `{a,b}` made out, which the second reader leaves as it is."""
    if not any(word.computed and "{" in word.text for word in words):
        return words
    return [made for word in words for made in (expand([Piece("plain", word.text)], {}) if word.computed else [word])]
