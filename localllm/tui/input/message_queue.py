"""Queue what the user types during a run: steering messages, follow-up requests, unfinished text. Nothing is lost."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from localllm.base.i18n import N_, _
from localllm.text.sanitising import clean, display_width, shorten, shorten_start
from localllm.tui.commands.context import ChatContext
from localllm.tui.commands.registry import is_command
from localllm.tui.commands.rules import next_mode
from localllm.tui.dialogs.approval import is_bare_answer
from localllm.tui.input.typeahead import TypeAhead
from localllm.tui.render.screen import Screen
from localllm.tui.terminal_keys import KeyName
from localllm.tui.theme import Line

_MOST_SHOWN = 3
_NOT_SENT = N_("No question is open: “{text}” was not sent. Tab sends it.")


class Outbox:
    """Enter sends a line to the run, Alt+Enter and Tab queue it as a separate request, Up withdraws the last one.

    Commands, and lines that no run accepts, are queued as well. A bare "y" by Enter is neither sent nor queued: it was
    meant for a question that is not open, and a model would take it for an order.
    """

    def __init__(
        self,
        typeahead: TypeAhead,
        screen: Screen,
        chat: ChatContext,
        interrupt: Callable[[], None],
        remember: Callable[[str], None],
        *,
        is_live: Callable[[], bool],
        typed: Callable[[str], str] = str,
    ) -> None:
        """`interrupt` is called for Escape; `remember` adds a sent line to the history. `is_live`: whether `lines` are
        on the screen now. `typed` returns the part of a line that was not pasted."""
        self._typeahead = typeahead
        self._screen = screen
        self._chat = chat
        self._interrupt = interrupt
        self._remember = remember
        self._is_live = is_live
        self._typed = typed
        self._queued: list[str] = []
        self._were_told: list[bool] = []
        self._given_back: Sequence[str] = ()
        self._has_changed_mode = False
        self._unsent = ""
        """The last line if it was an answer without a question: Tab sends it."""

    @property
    def is_empty(self) -> bool:
        """Whether no sent line is waiting for the end of the run."""
        return not self._queued and not self._chat.unread

    def press(self, key: KeyName) -> None:
        """Handle a key."""
        unsent, self._unsent = self._unsent, ""
        match key:
            case "enter":
                self._send(self._typeahead.take(), now=True)
            case "queue":
                self._send(self._typeahead.take() or unsent, now=False)
            case "escape":
                self._interrupt()
            case "up" if not self._typeahead.text():
                self._take_back()
            case "mode":
                next_mode(self._chat)
                self._has_changed_mode = True
                if not self._is_live():
                    self._screen.print(("dim", "  " + self._chat.mode))
            case _:
                pass

    def settle(self) -> None:
        """After the run: requeue its unread messages before the queued ones."""
        while unread := self._chat.unsteer():
            self._queued.insert(0, unread)
        self._were_told.clear()
        self._has_changed_mode = False
        self._unsent = ""

    def queue(self, texts: Sequence[str]) -> None:
        """Queue lines that were sent before this object existed."""
        for text in texts:
            self._remember(text)
        self._queued += texts

    def put_back(self, request: str) -> None:
        """Put a request that no model has read before the queued lines."""
        self._queued[:0] = filter(None, [request])

    def next(self) -> str | None:
        """Return the next queued line, if any."""
        return self._queued.pop(0) if self._queued else None

    def give_back(self) -> str:
        """Return all unread lines to edit, one per line, and empty the queue. Text typed next does not continue a line
        that was ended by Enter."""
        queued, self._queued = self._queued, []
        ending = "\n" if self._typeahead.text().strip() and self._typeahead.text().endswith("\n") else ""
        self._given_back = [*queued, *filter(None, [self._typeahead.take()])]
        return "\n".join(self._given_back) + ending

    def sent(self, text: str) -> str:
        """Return the first request of an edited `give_back` text: commands among its lines are recognised again, and
        what follows is queued. The rest is one request."""
        pieces, self._given_back = self._given_back, ()
        if len(pieces) < 2 or not any(map(is_command, pieces)) or not text.strip():
            return text
        first, *rest = _apart(_edited(text, pieces, self._typed))
        self._queued[:0] = rest
        return first

    def lines(self, width: int) -> list[Line]:
        """Return the queue and the text being typed, in lines of at most `width` cells. The last line is the one being
        typed."""
        typed = clean(self._typeahead.text(), keep_newlines=False)
        lines = self._waiting(width)
        if self._unsent and not typed:
            lines.append(_dim(_(_NOT_SENT, text=self._unsent), width))
        if typed:
            is_told = self._chat.listens and not is_command(self._typeahead.text())
            hint = _(
                N_("Enter: send now · Alt+Enter, Tab: send after this · Esc: stop")
                if is_told
                else N_("Enter, Tab: send after this · Esc: stop")
            )
            lines.append((("dim", shorten("  " + hint, width)),))
        if typed or self._has_changed_mode:
            mode = "" if self._chat.mode == "ask" else f"{self._chat.mode} "
            room = max(1, width - display_width(mode) - 3)
            lines.append((("warning", mode), ("bold", "› "), ("", shorten_start(typed, room))))
        return lines

    def _waiting(self, width: int) -> list[Line]:
        texts = [_("sent, not read yet: {text}", text=text) for text in self._chat.unread]
        texts += [_("next: {text}", text=text) for text in self._queued]
        shown = texts[:_MOST_SHOWN] if len(texts) <= _MOST_SHOWN else texts[: _MOST_SHOWN - 1]
        if len(shown) < len(texts):
            shown.append(_("… and {count} more", count=len(texts) - len(shown)))
        return [_dim(text, width) for text in shown]

    def _take_back(self) -> None:
        """Move the newest unread line back to the input."""
        if text := self._newest():
            self._typeahead.put(text)
            self._announce(N_("taken back: {text}"), text)

    def _newest(self) -> str:
        """Withdraw the newest line that was neither read nor started."""
        while self._were_told:
            if self._were_told.pop():
                if unread := self._chat.unsteer():
                    return unread
            elif self._queued:
                return self._queued.pop()
        return self._queued.pop() if self._queued else ""

    def _send(self, text: str, *, now: bool) -> None:
        if not text.strip():
            return
        if now and is_bare_answer(text):
            self._unsent = text.strip()
            self._announce(_NOT_SENT, self._unsent)
            return
        self._remember(text)
        if now and not is_command(text) and self._chat.steer(text, typed=self._typed(text)):
            self._were_told.append(True)
            self._announce(N_("sent, not read yet: {text}"), text)
        else:
            self._queued.append(text)
            self._were_told.append(False)
            self._announce(N_("next: {text}"), text)

    def _announce(self, key: str, text: str) -> None:
        """Print a line permanently if it is not shown below."""
        if not self._is_live():
            self._screen.print_lines([_dim(_(key, text=text), self._screen.width)])


class _Part(NamedTuple):
    """A part of an edited text, and whether it is a command of the chat or the user's shell."""

    text: str
    is_command: bool


def _edited(text: str, pieces: Sequence[str], typed: Callable[[str], str]) -> list[_Part]:
    """Split an edited text: unchanged `pieces` stay what they are, even if one of their lines looks like a command. Of
    a new text, which may be pasted, no line becomes a command that was none."""
    whole, at = f"\n{text}\n", 0
    missing: list[str] = []
    parts: list[_Part] = []
    for piece in pieces:
        found = whole.find(f"\n{piece}\n", at)
        if found < 0:
            missing.append(piece)
            continue
        parts += [*_changed(whole[at + 1 : found], missing, typed), _Part(piece, is_command(piece))]
        at, missing = found + 1 + len(piece), []
    return parts + _changed(whole[at + 1 : -1], missing, typed)


def _changed(text: str, pieces: Sequence[str], typed: Callable[[str], str]) -> list[_Part]:
    """Return the parts of a text that replaces the pieces: one for one, which may be a new command if it is one line;
    otherwise the lines, of which those are commands that begin like one of the pieces; none if any was pasted."""
    if not text:
        return []
    begins = {_begin(piece) for piece in pieces if is_command(piece)}
    if len(pieces) == 1:
        return [_Part(text, is_command(text) and ("\n" not in text or _begin(text) in begins))]
    if typed(text) != text:
        return [_Part(text, is_command=False)]
    return [_Part(line, is_command(line) and _begin(line) in begins) for line in text.split("\n")]


def _begin(command: str) -> str:
    return next(iter(command.split()), "")


def _apart(parts: Sequence[_Part]) -> list[str]:
    """Separate the commands from the text between them. Text that looks like a command begins with a line break."""
    joined: list[_Part] = []
    for part in parts:
        if joined and not part.is_command and not joined[-1].is_command:
            joined[-1] = _Part(f"{joined[-1].text}\n{part.text}", is_command=False)
        else:
            joined.append(part)
    told = [part.text if part.is_command or not is_command(part.text) else f"\n{part.text}" for part in joined]
    return [text for text in told if text.strip()]


def _dim(text: str, width: int) -> Line:
    return (("dim", shorten("  " + clean(text, keep_newlines=False), width - 1)),)
