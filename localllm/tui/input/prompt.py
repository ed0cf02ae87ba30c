"""The prompts, on prompt_toolkit. Imported when the first prompt is about to appear, since it loads slowly."""

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.application.current import get_app, get_app_or_none
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_completions, has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import fragment_list_to_text
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.input.base import Input
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import HSplit, Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style
from prompt_toolkit.validation import ValidationError, Validator
from prompt_toolkit.widgets import TextArea

from localllm.base.i18n import _
from localllm.text.sanitising import clean, display_width
from localllm.tui.bracketed_paste import PasteReader, Piece, with_marks
from localllm.tui.dialogs.approval import Escaped, understood
from localllm.tui.dialogs.visible_input import NothingHidden
from localllm.tui.input.completion import Suggester, Suggestion
from localllm.tui.input.pastes import Pastes, inserted
from localllm.tui.input.strangers_words import Span, StrangersWords
from localllm.tui.terminal_keys import ESCAPE_SECONDS
from localllm.tui.theme import Line, Theme

_PROMPT = "› "
_MENU_ROWS = 6
_STYLE = Style.from_dict(
    {
        "prompt": "bold",
        "bottom-toolbar": "noreverse ansibrightblack",
        "dim": "ansibrightblack",
        "accent": "ansicyan",
        "good": "ansigreen",
        "bad": "ansired",
        "warning": "ansiyellow",
        "error": "ansired bold",
        "hunk": "ansicyan",
    }
)


class ChatPrompt:
    """The chat's input line (or lines)."""

    def __init__(
        self,
        *,
        history_file: Path | None,
        suggester: Suggester,
        toolbar: Callable[[], str],
        theme: Theme,
        mode: Callable[[], str] = str,
        change_mode: Callable[[], None] = lambda: None,
        echo: Callable[[str, str], None] = lambda _mode, _text: None,
        strangers: StrangersWords | None = None,
        pastes: PasteReader | None = None,
    ) -> None:
        """`mode` is shown before the line if it is not empty; `change_mode` is called for Shift+Tab. `echo` prints mode
        and text of a finished line in its place, broken between words; not with a plain theme. `strangers` is told what
        is pasted; `pastes` is shared with what else reads the terminal."""
        self._mode = mode
        self._echo = None if theme.plain else echo
        self._change_mode = change_mode
        self._toolbar = toolbar
        self._hint = ""
        self._pastes = Pastes()
        self._strangers = strangers or StrangersWords()
        self._session: PromptSession[str] = PromptSession(
            history=_History(str(history_file), self._pastes, self._strangers) if history_file else InMemoryHistory(),
            completer=_Completer(suggester.suggest),
            complete_in_thread=True,
            # Without completions, prompt_toolkit reserves no rows for the menu.
            complete_while_typing=Condition(
                lambda: suggester.applies(get_app().current_buffer.document.text_before_cursor)
            ),
            key_bindings=self._bindings(),
            multiline=True,
            prompt_continuation=lambda width, _number, _wraps: " " * width,
            bottom_toolbar=self._bottom,
            reserve_space_for_menu=_MENU_ROWS,
            style=_STYLE,
            color_depth=_depth(theme),
            input_processors=[NothingHidden()],
            erase_when_done=not theme.plain,
        )

        _share(self._session.input, pastes)

        def recall(buffer: Buffer) -> None:
            self._strangers.recall(buffer.text)

        self._session.default_buffer.on_text_changed += recall

    async def ask(self, default: str = "") -> str:
        """Read the user's input, initially `default`. Raises EOFError if the user exits."""
        self._hint = ""
        size = self._session.output.get_size()
        begun = self._pastes.fold_tall(default, size.columns, size.rows)
        try:
            said = await self._session.prompt_async(self._lead, default=begun, handle_sigint=False)
        finally:
            if self._echo is not None:
                self._echo(self._mode(), self._session.default_buffer.text)
        return _encodable(self._pastes.whole(said))

    def _lead(self) -> StyleAndTextTuples:
        """Return the prompt before the line."""
        mode = self._mode()
        return [*([("class:warning", f"{mode} ")] if mode else []), ("class:prompt", _PROMPT)]

    def _room(self) -> int:
        """Return the cells behind the prompt in its row, less the cursor's."""
        return self._session.output.get_size().columns - display_width(fragment_list_to_text(self._lead())) - 1

    def remember(self, line: str) -> None:
        """Add a line that was entered elsewhere to the history."""
        self._session.history.append_string(self._pastes.fold(_encodable(line)))

    def refresh(self) -> None:
        """Redraw the toolbar."""
        self._session.app.invalidate()

    def pending(self) -> str:
        """Return keys read after the line was submitted."""
        return pending_keys(self._session.input)

    def _bottom(self) -> str:
        is_empty = not get_app().current_buffer.text
        return self._hint if self._hint and is_empty else self._toolbar()

    def _is_behind_paste(self) -> bool:
        return bool(self._pastes.name_at_end(get_app().current_buffer.document.text_before_cursor))

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()
        in_text = has_focus(DEFAULT_BUFFER)

        @bindings.add("enter", filter=in_text)
        def _send(event: KeyPressEvent) -> None:
            _enter(event.current_buffer)

        @bindings.add("escape", "enter", filter=in_text)
        @bindings.add("c-j", filter=in_text)
        def _new_line(event: KeyPressEvent) -> None:
            event.current_buffer.newline(copy_margin=False)

        @bindings.add("s-tab", filter=in_text & ~has_completions)
        def _next_mode(event: KeyPressEvent) -> None:
            self._change_mode()
            event.app.invalidate()

        @bindings.add(Keys.BracketedPaste, filter=in_text)
        def _paste(event: KeyPressEvent) -> None:
            text = _pasted(event)
            self._strangers.add(text)
            document = event.current_buffer.document
            text = inserted(text, document.text_before_cursor, document.text_after_cursor, room=self._room())
            event.current_buffer.insert_text(self._pastes.fold(text))

        @bindings.add("backspace", filter=in_text & Condition(self._is_behind_paste))
        def _take_out(event: KeyPressEvent) -> None:
            before = event.current_buffer.document.text_before_cursor
            event.current_buffer.delete_before_cursor(len(self._pastes.name_at_end(before)))

        @bindings.add("c-c", filter=in_text)
        def _clear(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            self._hint = "" if buffer.text else _("Ctrl+D or /exit leaves.")
            buffer.reset()

        return bindings


def _enter(buffer: Buffer) -> None:
    """Accept the chosen completion, or continue on a new line after a backslash, or submit."""
    if buffer.complete_state and buffer.complete_state.current_completion:
        buffer.complete_state = None
    elif buffer.document.is_cursor_at_the_end and buffer.text.endswith("\\") and not buffer.text.endswith("\\\\"):
        buffer.delete_before_cursor()
        buffer.newline(copy_margin=False)
    else:
        buffer.validate_and_handle()


def _pasted(event: KeyPressEvent) -> str:
    return event.data.replace("\r\n", "\n").replace("\r", "\n")


class _Completer(Completer):
    def __init__(self, suggest: Callable[[str], Sequence[Suggestion]]) -> None:
        self._suggest = suggest

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        for found in self._suggest(document.text_before_cursor):
            yield Completion(found.text, start_position=-found.replaces, display_meta=clean(found.note))


def _depth(theme: Theme) -> ColorDepth | None:
    return ColorDepth.DEPTH_1_BIT if theme.plain or not theme.colours else None


async def show_above(write: Callable[[], None]) -> None:
    """Have `write` print above the line being edited, a request or the answer to a question, if there is one."""
    if (app := get_app_or_none()) and app.is_running:
        await run_in_terminal(write)
    else:
        write()


class Question:
    """Ask for one short answer during a run. A permission is typed: pasted text is words for the model, or nothing."""

    def __init__(
        self, theme: Theme, strangers: StrangersWords | None = None, pastes: PasteReader | None = None
    ) -> None:
        """`strangers` is told what is pasted; `pastes` is shared with what else reads the terminal."""
        bindings = KeyBindings()
        noted = strangers or StrangersWords()
        self._has_pasted = self._edits_scope = False

        @bindings.add(Keys.BracketedPaste)
        def _paste(event: KeyPressEvent) -> None:
            text = _pasted(event)
            noted.add(text)
            self._has_pasted = True
            event.current_buffer.insert_text(inserted(text, event.current_buffer.document.text_before_cursor))

        @bindings.add("escape")
        def _(event: KeyPressEvent) -> None:
            event.app.exit(exception=Escaped)

        self._session: PromptSession[str] = PromptSession(
            style=_STYLE,
            color_depth=_depth(theme),
            key_bindings=bindings,
            input_processors=[NothingHidden()],
            validator=_Typed(lambda: self._has_pasted, lambda: self._edits_scope),
            validate_while_typing=False,
        )
        _share(self._session.input, pastes)

        def forget(buffer: Buffer) -> None:
            self._has_pasted = self._has_pasted and bool(buffer.text)

        self._session.default_buffer.on_text_changed += forget
        # The time an Escape may be part of a sequence; as long as outside of questions.
        self._session.app.ttimeoutlen = self._session.app.timeoutlen = ESCAPE_SECONDS

    async def ask(self, default: str = "") -> str:
        """Read the answer, initially `default`, the scope of a permission. Raises KeyboardInterrupt for Ctrl+C, Escaped
        for Escape, EOFError for Ctrl+D."""
        self._has_pasted, self._edits_scope = False, bool(default)
        prompt: StyleAndTextTuples = [("class:prompt", f"  {_PROMPT}")]
        return _encodable(await self._session.prompt_async(prompt, default=default, handle_sigint=False))

    async def view(self, lines: Sequence[Line]) -> None:
        """Show `lines` in a full-screen pager."""
        await _pager(lines).run_async(handle_sigint=False)

    def pending(self) -> str:
        """Return keys typed before the question or after its answer."""
        return pending_keys(self._session.input)


class _Typed(Validator):
    """Accept no answer that allows something, and no scope of a permission, if a part of it was pasted."""

    def __init__(self, has_pasted: Callable[[], bool], edits_scope: Callable[[], bool]) -> None:
        self._has_pasted = has_pasted
        self._edits_scope = edits_scope

    def validate(self, document: Document) -> None:
        """Raise ValidationError, which is shown, for such an answer."""
        said = document.text.strip()
        is_answer = self._edits_scope() or len(said) == 1 or understood(said) is not None
        if self._has_pasted() and is_answer:
            raise ValidationError(len(document.text), _("Pasted text gives no permission: type it."))


class _Parser(Vt100Parser):
    """Prompt_toolkit's parser of what is typed. Pastes come from the reader that the whole program shares."""

    def __init__(self, on_key: Callable[[KeyPress], None], pastes: PasteReader) -> None:
        super().__init__(on_key)
        self._pastes = pastes

    def feed(self, data: str) -> None:
        """Take what the terminal sent."""
        for piece in self._pastes.read(data):
            if not piece.is_pasted:
                super().feed(piece.text)
                continue
            self.reset()  # the begin of its mark
            if piece.text:
                self.feed_key_callback(KeyPress(Keys.BracketedPaste, piece.text))
        if self._pastes.pasting:
            self.reset()


def _share(source: Input, pastes: PasteReader | None) -> None:
    """Have `pastes` separate what is pasted in an input of prompt_toolkit's."""
    parser = getattr(source, "vt100_parser", None)
    if pastes is not None and isinstance(parser, Vt100Parser):
        setattr(source, "vt100_parser", _Parser(parser.feed_key_callback, pastes))  # noqa: B010 - of several classes


def pending_keys(source: Input) -> str:
    """Take the keys prompt_toolkit has read but not processed, as raw text."""
    return with_marks(Piece(press.data, is_pasted=press.key is Keys.BracketedPaste) for press in get_typeahead(source))


def _pager(lines: Sequence[Line]) -> Application[None]:
    rows: list[StyleAndTextTuples] = [
        [(f"class:{style}" if style else "", clean(text, keep_newlines=False)) for style, text in line]
        for line in lines
    ]
    area = TextArea(
        "\n".join(fragment_list_to_text(row) for row in rows),
        read_only=True,
        scrollbar=True,
        lexer=_Painted(rows),
    )
    area.buffer.cursor_position = 0
    keys = Window(FormattedTextControl([("class:dim", _("Up, Down, PageUp, PageDown: move   q: back"))]), height=1)
    bindings = KeyBindings()

    @bindings.add("q")
    @bindings.add("enter")
    @bindings.add("escape", eager=True)
    @bindings.add("c-c")
    def _interrupt(event: KeyPressEvent) -> None:
        event.app.exit()

    return Application(Layout(HSplit([area, keys])), key_bindings=bindings, style=_STYLE, full_screen=True)


class _Painted(Lexer):
    """A lexer that returns each line's own styles."""

    def __init__(self, rows: Sequence[StyleAndTextTuples]) -> None:
        self._rows = rows

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        return lambda number: self._rows[number] if number < len(self._rows) else []


_PASTED = "# pasted"
"""Begins a line before a stored text with the places of what was pasted of it; FileHistory skips such lines."""


class _History(FileHistory):
    """The input history, stored in full; long texts are folded when recalled."""

    def __init__(self, filename: str, pastes: Pastes, strangers: StrangersWords) -> None:
        super().__init__(filename)
        self._file = Path(filename)
        self._pastes = pastes
        self._strangers = strangers

    def load_history_strings(self) -> Iterable[str]:
        texts: list[str] = []
        for text, places in _stored(self._file):
            texts.append(self._pastes.fold(text))
            if places:
                self._strangers.keep(texts[-1], [text[begin:end] for begin, end in places])
        return reversed(texts)

    def store_string(self, string: str) -> None:
        """Store a line; on a full disk it is kept for this session only."""
        text = _encodable(self._pastes.whole(string))
        places = " ".join(f"{begin}-{end}" for begin, end in self._strangers.spans(text))
        lines = [f"# {datetime.now()}", *([f"{_PASTED} {places}"] if places else [])]  # noqa: DTZ005 - as FileHistory
        lines += [f"+{line}" for line in text.split("\n")]
        with contextlib.suppress(OSError), self._file.open("ab") as file:
            file.write(("\n" + "\n".join(lines) + "\n").encode())


def _stored(file: Path) -> Iterator[tuple[str, list[Span]]]:
    """Yield the texts of a history file with the places of what was pasted, oldest first."""
    lines: list[str] = []
    places: list[Span] = []
    for line in file.read_bytes().decode("utf-8", "replace").split("\n") if file.exists() else ():
        if line.startswith("+"):
            lines.append(line[1:])
            continue
        if lines:
            yield "\n".join(lines), places
            lines, places = [], []
        if line.startswith(_PASTED):
            places = [(int(begin), int(end)) for begin, end in re.findall(r"(\d{1,9})-(\d{1,9})", line)]
    if lines:
        yield "\n".join(lines), places


def _encodable(text: str) -> str:
    """Replace lone surrogates, which stand for typed bytes that are not UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")
