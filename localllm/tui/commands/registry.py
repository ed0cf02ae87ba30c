"""The registry of slash commands: define, look up, describe, and show progress.

    @slash("model", usage="[name]")
    async def model(call: SlashCall) -> Outcome:
        '''Show the model, or change to another.'''

The docstring is the help text; `forms` lists the usages, one per line, with their meaning after “ | ”.
"""

import asyncio
import difflib
import inspect
import time
import unicodedata
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec

from localllm.base.i18n import N_, _, gettext
from localllm.text.sanitising import clean, display_width, shorten
from localllm.text.wrapping import wrap
from localllm.tui.commands.context import ChatContext
from localllm.tui.render.activity import duration
from localllm.tui.render.screen import Screen
from localllm.tui.shell_escape import MARK
from localllm.tui.theme import Line, Style

_FULL_WIDTH = "／"  # the slash of a Japanese input method


class Leave(msgspec.Struct, frozen=True):
    """End the chat."""


class Request(msgspec.Struct, frozen=True):
    """Send the command's text to the model, as if it had been typed."""

    text: str


Outcome = Leave | Request | None

Confirm = Callable[[str], Awaitable[bool]]
"""Asks the user a yes-or-no question."""


class SlashCall(msgspec.Struct, frozen=True):
    """A command as typed: `arguments` is the text after its name. `confirm` asks the user whether to continue; None if
    no one can be asked."""

    arguments: str
    chat: ChatContext
    screen: Screen
    commands: "SlashRegistry"
    confirm: Confirm | None = None


Handler = Callable[[SlashCall], Awaitable[Outcome]]
Choice = str | tuple[str, str]
"""A completion, optionally with a note."""
Choices = Callable[[ChatContext], Iterable[Choice]]
Further = Callable[[ChatContext, str], Iterable[Choice]]


class SlashCommand(msgspec.Struct, frozen=True):
    """A built-in command. `also` are other names; `choices` returns completions of its argument without waiting;
    `further` completions after a first word."""

    name: str
    handler: Handler
    usage: str = ""
    also: tuple[str, ...] = ()
    choices: Choices | None = None
    further: Further | None = None

    forms: str = ""

    @property
    def help(self) -> str:
        """The help text, in the current language."""
        return gettext(inspect.getdoc(self.handler) or "")

    @property
    def signature(self) -> str:
        """The name with its arguments, in the current language."""
        return f"/{self.name} {gettext(self.usage)}".rstrip()

    @property
    def ways(self) -> list[tuple[str, str]]:
        """The usages with their meaning; empty if there is only the name."""
        lines = (line.partition(" | ") for line in gettext(self.forms).splitlines())
        return [(form, meaning) for form, _, meaning in lines]


_ARGUMENTS = "$ARGUMENTS"
"""The place of the typed words in an alias."""


class Alias(msgspec.Struct, frozen=True):
    """A word that stands for a request; `by_project`: defined in the project's settings, so the user did not type the
    request."""

    name: str
    request: str
    by_project: bool = False

    @property
    def help(self) -> str:
        """The request."""
        return self.request

    def expand(self, words: str) -> str:
        """Put the typed words in place of $ARGUMENTS, else append them."""
        if _ARGUMENTS in self.request:
            return self.request.replace(_ARGUMENTS, words).rstrip()
        return f"{self.request} {words}".rstrip()


def slash(
    name: str,
    *,
    usage: str = "",
    forms: str = "",
    also: tuple[str, ...] = (),
    choices: Choices | None = None,
    further: Further | None = None,
) -> Callable[[Handler], SlashCommand]:
    """Register a function as a command."""
    return lambda handler: SlashCommand(name, handler, usage, also, choices, further, forms)


class SlashRegistry:
    """The commands and the aliases. An alias cannot replace a built-in name, nor a project's alias the user's, in any
    case or width; `conflicts` lists the attempts."""

    def __init__(
        self, commands: Sequence[SlashCommand], aliases: Mapping[str, str], by_project: Collection[str] = ()
    ) -> None:
        self.commands = tuple(commands)
        self.change_aliases(aliases, by_project)

    def change_aliases(self, aliases: Mapping[str, str], by_project: Collection[str] = ()) -> None:
        """Replace the aliases."""
        self._found: dict[str, SlashCommand | Alias] = {}
        for command in self.commands:
            for name in (command.name, *command.also):
                self._found[name] = command
        self.conflicts: list[str] = []
        self.aliases: list[Alias] = []
        for name in sorted(aliases, key=lambda name: name in by_project):
            if (word := _folded(name)) in self._found:
                self.conflicts.append(_word(name))
                continue
            alias = Alias(_word(name), aliases[name], name in by_project)
            self.aliases.append(alias)
            self._found[word] = alias

    def conflict_notices(self) -> list[str]:
        """Tell which aliases are not used."""
        text = N_(
            "The alias “{name}” is not used: /{name} is taken by a command or another alias. Give it another name."
        )
        return [_(text, name=name) for name in self.conflicts]

    def find(self, name: str) -> SlashCommand | Alias | None:
        """Look up `name` (without slash, in any case or width)."""
        return self._found.get(_folded(name))

    def nearest(self, name: str) -> list[str]:
        """Return the most similar known names, the best first: two at most, and no second that is its plural."""
        near = difflib.get_close_matches(name.lower(), list(self._found), n=2, cutoff=0.7)
        return [other for other in near if other in near[:1] or other.rstrip("s") != near[0].rstrip("s")]

    def choices(self, name: str, chat: ChatContext, after: str = "") -> list[Choice]:
        """Return completions for the command `name`, or `after` its first word."""
        found = self.find(name)
        if not isinstance(found, SlashCommand):
            return []
        if after:
            return list(found.further(chat, after)) if found.further else []
        return list(found.choices(chat)) if found.choices else []

    def overview(self) -> list[tuple[str, str]]:
        """List every name with a line of help: commands in order, then aliases."""
        entries = [(command.name, command.help) for command in self.commands]
        return entries + [(alias.name, alias.help) for alias in self.aliases]


def command_name(line: str) -> str | None:
    """Return the word after a leading slash, even a misspelt one; None without a slash, or for a path."""
    word = next(iter(first_line(line).split(None, 1)), "").replace(_FULL_WIDTH, "/")
    return word[1:] if word.startswith("/") and "/" not in word[1:] else None


def first_line(line: str) -> str:
    """Return the first line without leading blanks: a text that begins with a line break is no command."""
    return line.partition("\n")[0].lstrip()


def is_command(line: str) -> bool:
    """Return whether it is a command of the chat or of the user's shell, which is never sent to the model."""
    return command_name(line) is not None or first_line(line).startswith(MARK)


def words_after(line: str) -> str:
    """Return the text after the command that `line` begins with."""
    return next(iter(line.split(None, 1)[1:]), "").strip()


def _word(name: str) -> str:
    return name.removeprefix("/")


def _folded(name: str) -> str:
    """Normalise a name for look-up."""
    return _word(unicodedata.normalize("NFKC", name)).casefold()


def show_forms(call: SlashCall, name: str) -> None:
    """Show all usages of the command `name` with their meaning."""
    if isinstance(command := call.commands.find(name), SlashCommand):
        _show_forms(call.screen, command.ways)


def _show_forms(screen: Screen, forms: Sequence[tuple[str, str]]) -> None:
    """Print usages in two columns, or below each other if the first would be too wide."""
    if max((display_width(form) for form, _ in forms), default=0) <= screen.width // 2:
        table(screen, forms)
        return
    for form, meaning in forms:
        screen.print_lines((("accent", f"  {row}"),) for row in wrap(form, screen.width - 2))
        screen.print_lines((("", f"    {row}"),) for row in wrap(meaning, screen.width - 4))


_LEAST_SECOND_COLUMN = 20


def table(screen: Screen, rows: Sequence[tuple[str, str]], style: Style = "accent") -> None:
    """Print two columns, the second wrapped; the first, in `style`, is as wide as its widest entry."""
    rows = [(clean(name, keep_newlines=False), clean(text)) for name, text in rows]
    first = max((display_width(name) for name, _ in rows), default=0)
    room = max(_LEAST_SECOND_COLUMN, screen.width - first - 4)
    screen.print_lines(line for name, text in rows for line in _table_row(name, text, first, room, style))


def _table_row(name: str, text: str, first: int, room: int, style: Style) -> Iterable[Line]:
    for row in wrap(text, room) or [""]:
        gap = " " * (first - display_width(name) + 2)
        yield (style, f"  {name}"), ("", f"{gap}{row}".rstrip())
        name = ""


_REPAINT_SECONDS = 0.1


@asynccontextmanager
async def saying(screen: Screen, what: str, more: Callable[[], str] = str) -> AsyncGenerator[None]:
    """While open, show that `what` is in progress and how to stop it; below it what the user types meanwhile. `more`
    returns what is in progress of it."""
    painter = asyncio.create_task(_keep_painting(screen, what, more))
    try:
        yield
    finally:
        painter.cancel()
        screen.erase()


async def _keep_painting(screen: Screen, what: str, more: Callable[[], str]) -> None:
    if screen.plain:
        screen.print(("dim", f"  {what}"))
        return
    began = time.monotonic()
    while True:
        parts = what, more(), duration(time.monotonic() - began), "Ctrl+C"
        text = f"  {' · '.join(filter(None, parts))}"
        lines: list[Line] = [(("dim", shorten(text, screen.width)),), *screen.below(screen.width)]
        screen.draw([screen.format(line) for line in lines])
        await asyncio.sleep(_REPAINT_SECONDS)
