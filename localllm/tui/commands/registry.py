"""Slash commands: made, found, described, and shown while they work.

    @slash("model", usage="[name]")
    async def model(call: SlashCall) -> Outcome:
        '''Show the model, or change to another.'''

The docstring is the help; `forms` are the ways to write it, a line each, and what that does behind “ | ”.
"""

import asyncio
import difflib
import inspect
import time
import unicodedata
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec

from localllm.base.i18n import gettext
from localllm.text.sanitising import clean, display_width, shorten
from localllm.text.wrapping import wrap
from localllm.tui.commands.context import ChatContext
from localllm.tui.render.activity import duration
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Line, Style

_FULL_WIDTH = "／"  # what a Japanese input method makes of a slash


class Leave(msgspec.Struct, frozen=True):
    """The chat ends."""


class Request(msgspec.Struct, frozen=True):
    """What the command stands for is asked of the model, as if it had been typed."""

    text: str


Outcome = Leave | Request | None

Confirm = Callable[[str], Awaitable[bool]]
"""Asks the person a question: whether the answer is yes."""


class SlashCall(msgspec.Struct, frozen=True):
    """A command as it was typed: `arguments` is what follows its name. `confirm` asks the person whether to go on; None
    where nobody can be asked."""

    arguments: str
    chat: ChatContext
    screen: Screen
    commands: "SlashRegistry"
    confirm: Confirm | None = None


Handler = Callable[[SlashCall], Awaitable[Outcome]]
Choice = str | tuple[str, str]
"""What may follow, or that and a note on it."""
Choices = Callable[[ChatContext], Iterable[Choice]]
Further = Callable[[ChatContext, str], Iterable[Choice]]


class SlashCommand(msgspec.Struct, frozen=True):
    """A built-in command. `also` are other names for it; `choices` gives what may follow it, told without waiting;
    `further` what may follow it and a word."""

    name: str
    handler: Handler
    usage: str = ""
    also: tuple[str, ...] = ()
    choices: Choices | None = None
    further: Further | None = None

    forms: str = ""

    @property
    def help(self) -> str:
        """What it does, in the current language."""
        return gettext(inspect.getdoc(self.handler) or "")

    @property
    def signature(self) -> str:
        """Its name and what may follow it, in the current language."""
        return f"/{self.name} {gettext(self.usage)}".rstrip()

    @property
    def ways(self) -> list[tuple[str, str]]:
        """Every way to write it, and what that does; none where there is but the name."""
        lines = (line.partition(" | ") for line in gettext(self.forms).splitlines())
        return [(form, meaning) for form, _, meaning in lines]


class Alias(msgspec.Struct, frozen=True):
    """A word that stands for a request; `by_project`: its settings say so, and nothing of the request was typed."""

    name: str
    request: str
    by_project: bool = False

    @property
    def help(self) -> str:
        """The request."""
        return self.request

    def expand(self, words: str) -> str:
        """The request, with what was typed after the word."""
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
    """Make a command of a function."""
    return lambda handler: SlashCommand(name, handler, usage, also, choices, further, forms)


class SlashRegistry:
    """The commands and the aliases. An alias cannot take a built-in name, nor one of a project the name of a user's,
    in any case or width; `conflicts` says which tried."""

    def __init__(
        self, commands: Sequence[SlashCommand], aliases: Mapping[str, str], by_project: Collection[str] = ()
    ) -> None:
        self.commands = tuple(commands)
        self._found: dict[str, SlashCommand | Alias] = {}
        for command in commands:
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

    def find(self, name: str) -> SlashCommand | Alias | None:
        """What `name` (without slash, any case or width) stands for."""
        return self._found.get(_folded(name))

    def nearest(self, name: str) -> str:
        """The known name most like `name`, or nothing."""
        return next(iter(difflib.get_close_matches(name.lower(), list(self._found), n=1, cutoff=0.7)), "")

    def choices(self, name: str, chat: ChatContext, after: str = "") -> list[Choice]:
        """What may follow the command `name`, or `after` a word behind it."""
        found = self.find(name)
        if not isinstance(found, SlashCommand):
            return []
        if after:
            return list(found.further(chat, after)) if found.further else []
        return list(found.choices(chat)) if found.choices else []

    def overview(self) -> list[tuple[str, str]]:
        """Every name with a line on what it does: the commands in their order, then the aliases."""
        entries = [(command.name, command.help) for command in self.commands]
        return entries + [(alias.name, alias.help) for alias in self.aliases]


def command_name(line: str) -> str | None:
    """The word after the slash that `line` begins with, be it a misspelt one; None where it begins with none, or with a
    path."""
    word = next(iter(line.split(None, 1)), "").replace(_FULL_WIDTH, "/")
    return word[1:] if word.startswith("/") and "/" not in word[1:] else None


def words_after(line: str) -> str:
    """What follows the command that `line` begins with."""
    return next(iter(line.split(None, 1)[1:]), "").strip()


def _word(name: str) -> str:
    return name.removeprefix("/")


def _folded(name: str) -> str:
    """A name as it is looked up, however it was typed."""
    return _word(unicodedata.normalize("NFKC", name)).casefold()


def show_forms(call: SlashCall, name: str) -> None:
    """Every way to write the command `name`, and what that does."""
    if isinstance(command := call.commands.find(name), SlashCommand):
        _show_forms(call.screen, command.ways)


def _show_forms(screen: Screen, forms: Sequence[tuple[str, str]]) -> None:
    """In two columns, or one below the other where the first would be too wide."""
    if max((display_width(form) for form, _ in forms), default=0) <= screen.width // 2:
        table(screen, forms)
        return
    for form, meaning in forms:
        screen.print_lines((("accent", f"  {row}"),) for row in wrap(form, screen.width - 2))
        screen.print_lines((("", f"    {row}"),) for row in wrap(meaning, screen.width - 4))


_LEAST_SECOND_COLUMN = 20


def table(screen: Screen, rows: Sequence[tuple[str, str]], style: Style = "accent") -> None:
    """Two columns, the second wrapped; the first, in `style`, is as wide as its widest entry."""
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
async def saying(screen: Screen, what: str) -> AsyncGenerator[None]:
    """While this is open, `what` is going on, and how it is stopped stands on the screen; below it what the person
    writes meanwhile."""
    painter = asyncio.create_task(_keep_painting(screen, what))
    try:
        yield
    finally:
        painter.cancel()
        screen.erase()


async def _keep_painting(screen: Screen, what: str) -> None:
    if screen.plain:
        screen.print(("dim", f"  {what}"))
        return
    began = time.monotonic()
    while True:
        text = f"  {what} · {duration(time.monotonic() - began)} · Ctrl+C"
        lines: list[Line] = [(("dim", shorten(text, screen.width)),), *screen.below(screen.width)]
        screen.draw([screen.format(line) for line in lines])
        await asyncio.sleep(_REPAINT_SECONDS)
