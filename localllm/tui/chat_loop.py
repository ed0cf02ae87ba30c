"""Interpret and execute a line typed by the user: a request, a command, or an alias of a request."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from localllm import __version__
from localllm.agent.plan_mode import ACCEPTED, has_plan
from localllm.base import logs
from localllm.base.errors import InternalError, LocalLLMError, error_text
from localllm.base.events import AgentEvent, RunFinished
from localllm.base.i18n import _, sentences
from localllm.config.schema import Mode
from localllm.text.sanitising import clean, shorten
from localllm.text.terminal_output import plain_output
from localllm.text.wrapping import wrap
from localllm.tui.commands.builtin import COMMANDS, unknown_command
from localllm.tui.commands.context import ChatContext
from localllm.tui.commands.registry import (
    Alias,
    Confirm,
    Outcome,
    Request,
    SlashCall,
    SlashCommand,
    SlashRegistry,
    command_name,
    first_line,
    words_after,
)
from localllm.tui.dialogs.plan import Accepted, Answered, PlanAnswer
from localllm.tui.render.answer import print_exchange
from localllm.tui.render.report import failure_lines, introduction_lines, notice_lines
from localllm.tui.render.screen import Screen
from localllm.tui.render.todos import in_progress_line, reminder_lines
from localllm.tui.shell_escape import MARK, run_own
from localllm.tui.signals import ForcedEnd
from localllm.tui.theme import Line

_REQUEST = 60  # cells of a request quoted in a sentence

_INTERRUPTED = 130
"""The exit code of shells after Ctrl+C."""

_LINES_KEPT, _CHARACTERS_KEPT = 300, 20_000
"""Output of an interrupted command kept for the model."""

_WELL = ("done", "refused")
"""Ends of a run after which queued lines are processed."""


_EXIT_INTERRUPTED = 130
_SECONDS_TO_STOP = 10.0  # after the second Ctrl+C: killing a command takes some time


class Talk:
    """One chat, line by line. Everything can be interrupted, and the chat continues with the next line."""

    def __init__(
        self,
        chat: ChatContext,
        screen: Screen,
        consume: Callable[[AsyncGenerator[AgentEvent]], Awaitable[RunFinished | None]],
        *,
        is_attended: bool = False,
        decide_plan: Callable[[Mode], Awaitable[PlanAnswer]] | None = None,
        confirm: Confirm | None = None,
        forced_end: ForcedEnd | None = None,
        typed: Callable[[str], str] = str,
    ) -> None:
        """`consume` shows a run and returns how it ended. `is_attended`: a user types the lines, and may run own
        commands. `decide_plan` asks the user about a plan, given the mode before it; `confirm` asks whether to continue
        a command; `forced_end` ends the program if nothing else does. `typed` returns the part of a text that was not
        pasted."""
        self.registry = SlashRegistry(COMMANDS, chat.settings.commands.aliases, chat.config.project_aliases)
        self._chat = chat
        self._screen = screen
        self._consume = consume
        self._is_attended = is_attended
        self._decide_plan = decide_plan
        self._confirm = confirm
        self._typed = typed
        self.forced_end = forced_end or ForcedEnd()
        self._mode_before: Mode = chat.mode
        self._finished: RunFinished | None = None
        self._in_progress: set[str] = set()
        self.went_well = True
        """Whether the last line succeeded: no error, interrupt or limit."""
        self._unanswered = ""
        self._task: asyncio.Task[Outcome] | None = None
        self._running = False
        self._interrupted = False

    def greet(self, *, named: bool, first: bool = False) -> None:
        """Show the program's name and the project; `named`: the name is on the screen already. `first`: for a
        first-time user."""
        if not named:
            self._screen.print(("", f"localllm {__version__}"))
        self._screen.print(("bold", shorten(clean(str(self._chat.root)), 78)))
        what_it_does = _(
            "It reads this project, asks before it changes files or runs commands, and contacts only the model server."
        )
        greeting = sentences(_("/help lists the commands, Ctrl+D leaves."), what_it_does if first else "")
        for row in wrap(greeting, self._screen.width):
            self._screen.print(("dim", row.rstrip()))

    def warn(self, screen: Screen) -> None:
        """Show start-up notices on `screen`."""
        keeping = self._chat.keeping
        for text in keeping.welcome:
            screen.print_lines(notice_lines(text, "info", screen.width))
        print_exchange(screen, *keeping.stood)
        for text in [*self._chat.notices(), *self.registry.conflict_notices()]:
            screen.print_lines(notice_lines(text, "warning", screen.width))

    def reminder(self) -> Sequence[Line]:
        """Return a few lines on unfinished work. Reads the memory file, and the last session's."""
        width = self._screen.width
        request = " ".join(self._chat.keeping.broken_off().split())
        said = _(
            "The last session was interrupted (“{request}”). /resume 1 continues it.",
            request=shorten(clean(request, keep_newlines=False), _REQUEST),
        )
        broken_off = notice_lines(said, "info", width) if request else []
        try:
            memory = self._chat.memory
            every = {todo.id: todo for todo in (*memory.plan.open_todos(), *memory.open_todos())}
        except LocalLLMError as error:
            return [*broken_off, *notice_lines(str(error), "warning", width)]
        unfinished = list(every.values())
        self._in_progress = {todo.id for todo in unfinished if todo.state == "doing"}
        return [*broken_off, *reminder_lines(unfinished, width)]

    def introduce(self, screen: Screen) -> None:
        """Show on `screen` which model answers, as far as known."""
        screen.print_lines(introduction_lines(self._chat.introduction(), screen.width))

    async def take(self, line: str) -> Outcome:
        """Execute `line`. Errors are shown here; the chat continues after them, and after an interrupt."""
        self._interrupted = False
        self.went_well = True
        self._task = asyncio.create_task(self._do(line))
        try:
            return await self._task
        except LocalLLMError as error:
            self._show_failure(error)
        except Exception as error:  # noqa: BLE001 - a fault in one command ends neither the talk nor what else goes on
            logs.of("APP").exception("a command failed")
            self._show_failure(InternalError("internal", reason=repr(error), log=logs.file()))
        except asyncio.CancelledError:
            own = asyncio.current_task()
            if not self._interrupted or (own is not None and own.cancelling()):
                raise  # not by the user: the program is being ended
            self.went_well = False
            self._screen.print(("warning", "! " + _("Interrupted.")))
        finally:
            self._task = None
            self.forced_end.call_off()
        return None

    def _show_failure(self, error: LocalLLMError) -> None:
        self.went_well = False
        self._screen.print_lines(failure_lines(error.code, error.what, error.why, error.fix, self._screen.width))

    def interrupt(self) -> None:
        """Interrupt the current operation: a run gracefully the first time, anything at once the second time. What
        hangs in a thread after that ends with the program."""
        if self._task is None:
            return
        if self._running and not self._interrupted:
            self._chat.interrupt()
        else:
            self._task.cancel()
        if self._interrupted:
            self.forced_end.begin(_EXIT_INTERRUPTED, _SECONDS_TO_STOP)
        self._interrupted = True

    def insist(self) -> None:
        """End the program if the current operation cannot be interrupted."""
        if self._task is not None:
            self.forced_end.arm()

    async def _do(self, line: str) -> Outcome:
        """Execute a line, and then the user's decision on a plan."""
        self._mode_before = self._mode_before if self._chat.mode == "plan" else self._chat.mode
        outcome = await self._do_once(line)
        while (following := await self._after_plan()) is not None:
            outcome = await self._do_once(following)
        return outcome

    async def _after_plan(self) -> str | None:
        """Ask what to do with the plan, if the run ended with one."""
        finished, self._finished = self._finished, None
        if self._decide_plan is None or finished is None or not has_plan(finished, self._chat.mode):
            return None
        match await self._decide_plan(self._mode_before):
            case Accepted(mode=mode):
                self._chat.set_mode(mode)
                accepted = _(ACCEPTED)
                self._screen.print(("dim", f"  → {accepted}"))
                return accepted
            case Answered(words=words):
                return words
            case None:
                return None

    async def _do_once(self, line: str) -> Outcome:
        if self._is_attended and first_line(line).startswith(MARK):
            return await self._run_own(line.strip().removeprefix(MARK).strip())
        if (name := command_name(line)) is None:
            return await self._run(line)
        words = words_after(line)
        match self.registry.find(name):
            case SlashCommand() as command:
                call = SlashCall(words, self._chat, self._screen, self.registry, self._confirm)
                outcome = await command.handler(call)
                match outcome:
                    case Request(text=text):
                        return await self._run(text)
                    case _:
                        return outcome
            case Alias() as alias:
                request = alias.expand(words)
                self._screen.print(("dim", f"  → {request}"))
                return await self._run(request, words.rstrip() if alias.by_project else None)
            case None:
                unknown_command(self._screen, name, self.registry.nearest(name))
                return None

    async def _run_own(self, command: str) -> None:
        """Run a user's command: show its output, and offer it to the model."""
        if not command:
            self._screen.print(
                (
                    "dim",
                    _(
                        "!COMMAND runs it as you, outside the sandbox; the model reads the output with your "
                        "next request."
                    ),
                )
            )
            return
        shown: deque[str] = deque(maxlen=_LINES_KEPT)

        def show(text: str) -> None:
            shown.append(text)
            self._screen.print(("", plain_output(text)))

        self._warn_of_no_keyboard(command)
        try:
            ran = await run_own(command, self._chat.root, show)
        except OSError as error:
            self._screen.print(("error", _("The command was not run: {reason}.", reason=error.strerror)))
            return
        except asyncio.CancelledError:
            self._chat.offer(command, "\n".join(shown)[-_CHARACTERS_KEPT:], _INTERRUPTED)
            raise
        self._chat.offer(ran.command, ran.output, ran.return_code)
        ending = _("exit {code}; the model reads this with your next request", code=ran.return_code)
        self._screen.print(("dim", "  " + ending))

    def _warn_of_no_keyboard(self, command: str) -> None:
        from localllm.safety.rules import line_of  # few chats run own commands
        from localllm.safety.terminal_programs import waiting

        if found := waiting(line_of(command).script):
            text = _(
                "{program} gets no keyboard input here and may not end by itself: Ctrl+C stops it.",
                program=found.program,
            )
            self._screen.print(("warning", "! " + clean(text, keep_newlines=False)))

    async def _run(self, query: str, own: str | None = None) -> None:
        """Run a request. `own`: the part of it that the user entered, if an alias of the project supplied the rest."""
        before = self._chat.memory.version
        typed = self._typed(query if own is None else own)
        finished = await self._show(self._chat.run(query, typed=None if typed == query else typed))
        self._finished = finished
        if own is None and finished and _lacked_model(finished):
            self._unanswered = query
        if self._is_attended and before != self._chat.memory.version:
            self._show_work()

    def take_unanswered(self) -> str:
        """Return the last request, once, if another model has to be chosen before it can be sent again; else ""."""
        unanswered, self._unanswered = self._unanswered, ""
        return unanswered

    def _show_work(self) -> None:
        """Show the tasks a run has started and not finished, unless known before."""
        memory = self._chat.memory
        every = {todo.id: todo for todo in (*memory.known_todos(), *memory.plan.open_todos())}
        doing = [todo for todo in every.values() if todo.state == "doing"]
        before, self._in_progress = self._in_progress, {todo.id for todo in doing}
        if self._in_progress and self._in_progress != before:
            self._screen.print(*in_progress_line(doing, self._screen.width))

    async def _show(self, events: AsyncGenerator[AgentEvent]) -> RunFinished | None:
        """Show a run and return how it ended."""
        self._running = True
        try:
            finished = await self._consume(events)
        finally:
            self._running = False
        self.went_well = finished is not None and finished.status in _WELL
        return finished


def _lacked_model(finished: RunFinished) -> bool:
    """Return whether the model of a run was gone before it: the user has to choose another."""
    if not finished.error_code or finished.steps > 1:
        return False
    return finished.error_code == error_text("llm_model_not_found").code
