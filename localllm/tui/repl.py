"""The interactive chat in the terminal."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localllm.base.errors import SafetyViolationError
from localllm.base.events import AgentEvent, Json, RunFinished
from localllm.base.i18n import N_, _
from localllm.base.paths import state_folder
from localllm.config.schema import Mode
from localllm.text.sanitising import clean, display_width, shorten
from localllm.tui.bracketed_paste import PasteReader
from localllm.tui.chat_loop import Talk
from localllm.tui.commands.context import ChatContext, answering_model
from localllm.tui.commands.registry import Leave
from localllm.tui.commands.rules import next_mode
from localllm.tui.dialogs.approval import TerminalConfirmer, ask_yes_no
from localllm.tui.dialogs.plan import PlanAnswer, PlanQuestion
from localllm.tui.dialogs.trust import QUIET_SECONDS, ask_trust
from localllm.tui.headless import Headless, HeadlessConfirmer, exit_code, read_lines
from localllm.tui.input.completion import Suggester
from localllm.tui.input.message_queue import Outbox
from localllm.tui.input.strangers_words import StrangersWords
from localllm.tui.input.typeahead import TypeAhead
from localllm.tui.render.answer import preload
from localllm.tui.render.events import Renderer
from localllm.tui.render.report import failure_lines, notice_lines, said_lines
from localllm.tui.render.screen import Screen
from localllm.tui.signals import ForcedEnd, signal_handlers
from localllm.tui.terminal_keys import KeyName
from localllm.tui.theme import Line, choose_theme

if TYPE_CHECKING:
    from localllm.tui.input.prompt import ChatPrompt, Question


class Stage:
    """Transfer the terminal between the run and a question. Keys typed before the question was visible, or right after
    it, never answer it."""

    def __init__(
        self,
        screen: Screen,
        renderer: Renderer,
        typeahead: TypeAhead,
        strangers: StrangersWords,
        pastes: PasteReader,
    ) -> None:
        self._screen = screen
        self._strangers = strangers
        self._pastes = pastes
        self._renderer = renderer
        self._typeahead = typeahead
        self._opened: Question | None = None

    @property
    def has_asked(self) -> bool:
        """Whether there was a question."""
        return self._opened is not None

    async def reached(self, request_id: str) -> None:
        """Wait until everything before the question is on the screen."""
        await self._renderer.reached(request_id)

    @contextmanager
    def cleared(self, call_id: str) -> Generator[None]:
        """Acquire screen and keyboard for a question on `call_id`."""
        self._renderer.suspend()
        self._typeahead.pause()
        self._typeahead.keep(self._question.pending())
        try:
            yield
        finally:
            self._typeahead.keep(self._question.pending())
            self._typeahead.start()
            self._renderer.resume(shown_diff_of=call_id)

    async def ask(self, default: str = "") -> str:
        """Read one line, initially `default`. Raises KeyboardInterrupt for Ctrl+C, EOFError at the end of input."""
        self._typeahead.keep(self._question.pending())  # typed behind the answer to an earlier question
        await self._typeahead.settle(QUIET_SECONDS)  # nobody has read the question yet
        return await self._question.ask(default)

    async def view(self, lines: Sequence[Line]) -> None:
        """Show `lines` in a full-screen pager."""
        await self._question.view(lines)

    @property
    def _question(self) -> "Question":
        if self._opened is None:
            from localllm.tui.input.prompt import Question  # imports prompt_toolkit, which loads slowly

            self._opened = Question(self._screen.theme, self._strangers, self._pastes)
        return self._opened


_MOMENT_SECONDS = 0.05
"""Seconds from asking until the prompt is drawn."""

_IDLE_SECONDS = 0.2


class Terminal:
    """The front end of the chat. If standard input is no terminal, each of its lines is a request."""

    def __init__(self, state: Path | None = None, *, is_open: bool = False, modes: list[Any] | None = None) -> None:
        """`state` is the folder of the input history; None for the user's own. `is_open`: the first line is on the
        screen, and echo is off; `modes` are the terminal's modes before that."""
        self._interactive = sys.stdin.isatty()
        self._screen = Screen(sys.stdout, choose_theme(sys.stdout))
        self._is_open = is_open
        self._strangers = StrangersWords()
        self._pastes = PasteReader()
        self._typeahead = TypeAhead(
            sys.stdin, modes, write=self._control, on_paste=self._strangers.add, pastes=self._pastes
        )
        self._screen.below = self._below
        self._renderer = Renderer(self._screen, below=self._below)
        self._typeahead.on_change = self._renderer.echo
        self._stage = Stage(self._screen, self._renderer, self._typeahead, self._strangers, self._pastes)
        self._confirmer = TerminalConfirmer(self._screen, self._stage, self.interrupt)
        self._headless = Headless("text")
        self._history_file = (state or state_folder()) / "history"
        self._is_first_time = not os.path.lexists(self._history_file)
        self._talk: Talk | None = None
        self._prompt: ChatPrompt | None = None
        self._outbox: Outbox | None = None
        self._has_asked = asyncio.Event()
        self._early: list[str] = []

    @property
    def confirmer(self) -> TerminalConfirmer | HeadlessConfirmer:
        """The confirmer: the user, or a non-interactive one."""
        return self._confirmer if self._interactive else self._headless.confirmer

    @property
    def shows_pieces(self) -> bool:
        """Whether answers are streamed to the display."""
        return self._interactive

    @property
    def is_attended(self) -> bool:
        """Whether a user sees the output and can answer."""
        return self._interactive and sys.stdout.isatty()

    def ask_trust(self, file: Path, values: Mapping[str, Json]) -> bool | None:
        """Ask the user whether to trust these settings of a project; None without an answer."""
        return ask_trust(self._screen, sys.stdin, self._typeahead.keep, file, values, self._pastes)

    def remark(self, text: str, level: str = "info") -> None:
        """Print a notice before the chat begins."""
        self._screen.print_lines(notice_lines(text, level, self._screen.width))

    async def notify(self, text: str) -> None:
        """Print a notice above the prompt or question, if there is one."""
        if not self._interactive:
            await self._headless.notify(text)
        else:
            await self._show_above(partial(self.remark, text))

    async def _show_above(self, write: Callable[[], None]) -> None:
        """Have `write` print above the prompt or question, if there is one."""
        if self._prompt is None and not self._stage.has_asked:
            write()
            return
        from localllm.tui.input.prompt import show_above  # loaded by now

        await show_above(write)

    async def consume(self, events: AsyncGenerator[AgentEvent]) -> None:
        """Show one run."""
        await self._show(events)

    async def _show(self, events: AsyncGenerator[AgentEvent]) -> RunFinished | None:
        if self._interactive:
            return await self._renderer.consume(events)
        await self._headless.consume(events)
        return self._headless.finished

    def interrupt(self) -> None:
        """Interrupt the current operation, and a paste whose end mark is lost."""
        self._typeahead.end_stalled_paste()
        if self._talk is not None:
            self._talk.interrupt()

    async def interact(self, chat: ChatContext) -> int:
        """Run the chat until the user exits; return the exit code (of the last request, if non-interactive)."""
        chat.begin_connecting()
        self._screen.theme = choose_theme(sys.stdout, chat.settings.ui.theme)
        decide_plan = self._decide_plan if self._interactive else None
        talk = self._talk = Talk(
            chat,
            self._screen,
            self._show,
            is_attended=self._interactive,
            decide_plan=decide_plan,
            confirm=self._confirm if self._interactive else None,
            forced_end=ForcedEnd(self._typeahead.stop),
            typed=self._strangers.typed,
        )
        ending = _Ending(talk.forced_end)
        handlers = {**ending.handlers(), "SIGCONT": self._wake}
        if self._interactive:
            handlers["SIGINT"] = self.interrupt
        with signal_handlers(handlers, talk.insist):
            try:
                await self._converse(talk, chat)
            except asyncio.CancelledError:
                if ending.exit_code:
                    return ending.exit_code
                raise
            finally:
                self._typeahead.stop()
                talk.forced_end.call_off()
        return 0 if self._headless.finished is None else exit_code(self._headless.finished)

    async def _converse(self, talk: Talk, chat: ChatContext) -> None:
        if self._interactive:
            self._typeahead.on_key = self._send_early
            self._typeahead.start()
            talk.greet(named=self._is_open, first=self._is_first_time)
            talk.warn(self._screen)
            said = self._prompts(talk, chat)
        else:
            await chat.settled()
            errors = Screen(sys.stderr, choose_theme(sys.stderr))
            talk.warn(errors)
            talk.introduce(errors)
            said = read_lines(sys.stdin)
        async with aclosing(said):
            async for line in said:
                if line.strip() and isinstance(await talk.take(line), Leave):
                    return

    async def _prompts(self, talk: Talk, chat: ChatContext) -> AsyncGenerator[str]:
        """Yield the user's lines until the user exits. Between prompts, type-ahead is read."""
        background = [asyncio.create_task(work) for work in (self._introduce(talk, chat), self._prepare(chat))]
        try:
            # In a thread, so that the server's answers are processed meanwhile.
            await asyncio.to_thread(import_module, "localllm.tui.input.prompt")
            self._screen.print_lines(await asyncio.to_thread(talk.reminder))
            prompt = self._prompt = self._make_prompt(talk, chat)
            outbox = self._outbox = Outbox(
                self._typeahead,
                self._screen,
                chat,
                talk.interrupt,
                prompt.remember,
                is_live=self._is_live,
                typed=self._strangers.typed,
            )
            outbox.queue(self._early)
            self._typeahead.on_key = outbox.press
            while (said := await self._next_line(prompt, chat, talk, outbox)) is not None:
                self._typeahead.start()
                yield said
        finally:
            for task in background:
                task.cancel()
            await asyncio.wait(background)

    async def _next_line(self, prompt: "ChatPrompt", chat: ChatContext, talk: Talk, outbox: Outbox) -> str | None:
        """Return the next queued line after a success; otherwise read a line, initially the unread ones. None if the
        user exits."""
        self._typeahead.pause()
        outbox.settle()
        outbox.put_back(talk.take_unanswered())
        self._screen.print()
        if talk.went_well and (queued := outbox.next()) is not None:
            self._screen.print_lines(said_lines(queued, self._screen.width, _marked_mode(chat)))
            return queued
        self._has_asked.set()
        try:
            return outbox.sent(await prompt.ask(outbox.give_back()))
        except EOFError:
            return None
        finally:
            self._typeahead.press(prompt.pending())

    def _send_early(self, key: KeyName) -> None:
        """Buffer lines sent before the first prompt; they precede what is typed there."""
        if key in ("enter", "queue") and (text := self._typeahead.take()).strip():
            self._early.append(text)

    async def _decide_plan(self, before: Mode) -> PlanAnswer:
        """Ask about a plan, unless the user has already sent something."""
        if self._outbox is not None and not self._outbox.is_empty:
            return None
        return await PlanQuestion(self._screen, self._stage, before).ask()

    async def _confirm(self, question: str) -> bool:
        return await ask_yes_no(question, self._screen, self._stage)

    def _below(self, width: int) -> list[Line]:
        return self._outbox.lines(width) if self._outbox is not None else []

    def _wake(self) -> None:
        """Restore the modes and the screen after a suspension."""
        self._screen.forget()
        self._typeahead.refresh()

    def _is_live(self) -> bool:
        return self._renderer.is_live or self._screen.is_drawn

    def _control(self, sequence: str) -> None:
        """Send an invisible control sequence to the terminal."""
        if self.is_attended and os.environ.get("TERM") != "dumb":
            self._screen.control(sequence)

    async def _introduce(self, talk: Talk, chat: ChatContext) -> None:
        """Show which model answers as soon as it is known, above the prompt if it is there already."""
        await chat.settled()
        if self._prompt is None:
            talk.introduce(self._screen)
            return

        def show() -> None:
            talk.introduce(self._screen)
            self._screen.print()

        await self._show_above(show)

    async def _prepare(self, chat: ChatContext) -> None:
        """Probe and preload, while the user types the first request, what is needed after it."""
        await self._has_asked.wait()
        await asyncio.sleep(_MOMENT_SECONDS)
        await chat.probe_sandbox()
        if self._prompt is not None:
            await self._leave_unheld_mode(chat)
            self._prompt.refresh()
        await asyncio.sleep(_IDLE_SECONDS)
        if not self._screen.plain:
            await asyncio.to_thread(preload)

    async def _leave_unheld_mode(self, chat: ChatContext) -> None:
        """Return to mode ask, with the reason, if the mode is not available here; no request has run in it."""
        try:
            chat.set_mode(chat.mode)
        except SafetyViolationError as error:
            chat.set_mode("ask")
            lines = failure_lines(error.code, error.what, error.why, error.fix, self._screen.width)
            lines += notice_lines(_("The mode is now ask."), "warning", self._screen.width)
            await self._show_above(lambda: self._screen.print_lines([*lines, ()]))

    def _make_prompt(self, talk: Talk, chat: ChatContext) -> "ChatPrompt":
        from localllm.tui.input.prompt import (
            ChatPrompt,  # imports prompt_toolkit, after the first lines are on the screen
        )

        commands = talk.registry
        hidden = chat.settings.project.exclude_patterns
        suggester = Suggester(
            chat.root, hidden, commands.overview, lambda name, after: commands.choices(name, chat, after), chat.here
        )
        return ChatPrompt(
            history_file=self._keep_history(),
            suggester=suggester,
            toolbar=lambda: toolbar(chat, self._screen.width),
            mode=lambda: _marked_mode(chat),
            change_mode=lambda: next_mode(chat),
            echo=lambda mode, text: self._screen.print_lines(said_lines(text, self._screen.width, mode)),
            theme=self._screen.theme,
            strangers=self._strangers,
            pastes=self._pastes,
        )

    def _keep_history(self) -> Path | None:
        """Create the private history file; None, with a notice, if that fails."""
        try:
            self._history_file.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self._history_file, os.O_WRONLY | os.O_CREAT, 0o600))
            self._history_file.chmod(0o600)
        except OSError as error:
            text = _(
                "Your input history is not saved: {file}: {reason}.",
                file=self._history_file,
                reason=error.strerror,
            )
            self._screen.print_lines(notice_lines(text, "warning", self._screen.width))
            return None
        return self._history_file


class _Ending:
    """Ends the current task when the process is told to end, so that the terminal is restored."""

    def __init__(self, forced_end: ForcedEnd) -> None:
        self.exit_code = 0
        self._forced_end = forced_end
        self._task = asyncio.current_task()

    def handlers(self) -> dict[str, Callable[[], None]]:
        """Return a handler per signal; exit codes are 128 plus the signal's number, as in shells."""
        codes = {"SIGHUP": 129, "SIGINT": 130, "SIGQUIT": 131, "SIGTERM": 143}
        return {name: partial(self._end, code) for name, code in codes.items()}

    def _end(self, code: int) -> None:
        self.exit_code = code
        self._forced_end.begin(code)
        if self._task is not None:
            self._task.cancel()


_LEAST_OF_MODEL = 16  # cells


def _marked_mode(chat: ChatContext) -> str:
    """Return the mode as named before a line; "" for ask."""
    return "" if chat.mode == "ask" else chat.mode


def toolbar(chat: ChatContext, width: int) -> str:
    """Format mode, model, sandbox, and the used share of the window, with a mark if its size is assumed.

    If `width` cells are too few, the model's name is truncated, then the mode is left out, which is shown before the
    line, then the sandbox.
    """
    sandbox = _("sandbox {sandbox}", sandbox=chat.sandbox_level or "…")
    if chat.connecting:
        model, tokens = _("looking for the model…"), "…"
    else:
        used = f"{chat.context_used:,}" if chat.context_used else "0"
        key = N_("{used} / {window} tokens (assumed)") if chat.assumes_window else N_("{used} / {window} tokens")
        model = answering_model(chat) or chat.provider_name
        tokens = _(key, used=used, window=f"{chat.context_window:,}")
    model = " ".join(model.replace("·", " ").split())  # a server or a project's file may call it "m · sandbox bwrap"
    parts = [clean(part, keep_newlines=False) for part in (chat.mode, model, sandbox, tokens)]
    if (excess := display_width(" · ".join(parts)) - width) > 0:
        parts[1] = shorten(parts[1], max(_LEAST_OF_MODEL, display_width(parts[1]) - excess))
    while len(parts) > 2 and display_width(" · ".join(parts)) > width:  # model and tokens stay
        del parts[0 if len(parts) == 4 else 1]
    return " · ".join(parts)
