"""ReActAgent: think, act, observe, until the model answers without a tool call."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import msgspec

from localllm.agent.compaction import Compaction, Surroundings
from localllm.agent.continuation import Answer, Unanswered
from localllm.agent.file_references import tell_of_others, with_files
from localllm.agent.history import History
from localllm.agent.loop_detection import PATTERNS, LoopDetector
from localllm.agent.loop_escalation import Ladder
from localllm.agent.middleware import Inject, Late, Limits, Middleware, Policies, RunState, Stop, goal_of
from localllm.agent.panel.records import Advisers
from localllm.agent.plan_mode import is_told_to_plan
from localllm.agent.prohibitions import bans_after, bans_of, bans_of_refusal, heard_part
from localllm.agent.run_stats import AgentResult, EventStream, Tally
from localllm.agent.steering import Steering, quoted, unforged
from localllm.agent.system_prompt import date_note, situation, system_prompt, told_date
from localllm.base.errors import LLMConnectionError, LocalLLMError
from localllm.base.events import (
    AgentEvent,
    Emit,
    Json,
    MessageCompleted,
    Notice,
    RunFinished,
    RunStarted,
    TextDelta,
    Usage,
)
from localllm.base.i18n import Phrase, _, sentences
from localllm.config.schema import AgentSettings
from localllm.context.budget import MENTIONS, output_limit
from localllm.llm.client import UNANSWERED, LLMClient
from localllm.llm.message_format import NO_ANSWER
from localllm.llm.messages import AssistantMessage, Completion, Image, UserMessage
from localllm.llm.providers.base import NO_MODEL
from localllm.tools.results import ToolResult
from localllm.tools.tool_system import ToolSystem

if TYPE_CHECKING:
    from localllm.agent.checks.completion_checks import Finishing
    from localllm.context.context_manager import Compacted, SmartContextManager
    from localllm.memory.external_memory import ExternalMemorySystem

_LIMITS = UNANSWERED | {"llm_context_overflow", "context_full"}
"""Errors that end a run like a limit: no server is at fault."""


class ReActAgent:
    """One conversation with one model and one set of tools.

    `run` is an event generator; `execute_query` is the same run, collected. `listeners` are called with every event at
    once, even after an interrupt, when nothing iterates any more. `middleware`: policies besides its own limits and its
    ladder. `advisers` are asked when it is stuck. `history` is one to continue. However a run ends, the conversation
    stays valid and can be continued. `shows_pieces`: stream answers; else an interrupted one can be requested again.
    """

    def __init__(
        self,
        llm_client: LLMClient,
        tool_system: ToolSystem,
        *,
        settings: AgentSettings = AgentSettings(),  # noqa: B008 - immutable
        session_id: str = "",
        listeners: Sequence[Emit] = (),
        middleware: Sequence[Middleware] = (),
        advisers: Advisers | None = None,
        surroundings: Surroundings = Surroundings(),  # noqa: B008 - immutable
        history: History | None = None,
        shows_pieces: bool = True,
    ) -> None:
        self.llm_client = llm_client
        self.tool_system = tool_system
        self.session_id = session_id
        self._settings = settings
        self._shows_pieces = shows_pieces
        self.thought_history: list[Completion] = []
        """The answers of this run, or the last one."""
        self.history = history or History(system_prompt())
        self.read_now = surroundings.read
        self._notes = surroundings.notes
        self._is_situated = False
        self._here = surroundings.here
        self._stream = EventStream(listeners)
        self._steering = Steering(self.auto_load_file_references, lambda: self.ladder.begin())  # noqa: PLW0108 - made below
        detector = LoopDetector(settings.loop_detection_threshold)
        self.ladder = Ladder(detector, advisers, surroundings.read, self._steering.unless_spoken)
        self.compaction = Compaction(
            llm_client,
            self.history,
            tool_system.specs,
            compact_at=settings.compact_at,
            surroundings=msgspec.structs.replace(surroundings, situation=self._situation, keep=tool_system.keep_words),
            note=self._note_compaction,
        )
        self._finishing = Late(self._make_finishing)
        # Before each step they are called in this order, up to the first that stops the run. For an answer without a
        # call the first response counts.
        policies = [
            Limits(settings.max_iterations, max_tool_calls=settings.max_tool_calls, token_limit=settings.token_limit),
            self._steering,  # what the user has said meanwhile
            self.compaction,  # room for the request, including what steering has added
            Unanswered(llm_client),  # empty answers
            self.ladder,  # hint, panel, boss or end of a stuck run
            self._finishing,  # answers that announce a step without a call, or contradict the facts
            *middleware,  # of the session: plan mode
        ]
        self._policies = Policies(policies, self._tell)
        self._late_words = Policies([self._steering, self.compaction], self._tell)
        self._tally = Tally()
        self._offered: list[str] = []
        self._told: list[str] = []
        """What was offered and sent with this run's request."""
        self._require_call, self._thinking = False, True

    def run(self, query: str, *, piped: str = "", typed: str | None = None) -> AsyncGenerator[AgentEvent]:
        """Yield the events of a run as they happen, the last of them RunFinished. Closing the generator interrupts it.
        `piped` follows the query as untrusted text: its file references are not read, its addresses do not count as
        typed. `typed`: the part of the query that is the user's, if the rest of it is untrusted too."""
        own = query if typed is None else typed
        return self._stream.of(lambda emit: self._run(query, piped, own, emit))

    async def execute_query(self, query: str, context: Mapping[str, Json] | None = None) -> AgentResult:
        """Run the query and return the collected result. Each entry of `context` is shown to the model under its name,
        before the query: as data, whose file references and addresses do not count as the user's."""
        for name, value in (context or {}).items():
            self.offer(f"{name}:\n{value}")
        finished = RunFinished(status="interrupted", answer="")
        async for event in self.run(query):
            if isinstance(event, RunFinished):
                finished = event
        return self._tally.result(finished)

    def _make_finishing(self) -> "Finishing":
        from localllm.agent.checks.completion_checks import Finishing

        return Finishing(self.tool_system, self._settings.max_iterations, lambda: self.llm_client.answering.info.exact)

    def interrupt(self) -> None:
        """Interrupt the current run; its events still end with RunFinished."""
        self._stream.interrupt()

    async def _loop(self, query: str, emit: Emit) -> RunFinished:
        """Think, act, observe, until an answer has no call and no policy objects, or a policy stops the run."""
        state = RunState(query, self.history, self._tally.counting(emit), self.tool_system.specs())
        while True:
            stop = await self._policies.before_step(state)
            while stop is None and self._steering.unread:  # said while the panel was asked, or room was made
                stop = await self._late_words.before_step(state)
            if stop:
                return await self._stopped(stop, query)
            state.step = self._tally.steps = state.step + 1
            thought = await self.think(emit, lambda said: self._finishing.policy.with_calls(state, said))
            state.usage = self._tally.usage
            if thought.message.tool_calls:
                results: list[ToolResult] = []
                async for result in self.act(thought, emit):
                    self.observe(result)
                    results.append(result)
                state.tool_calls, state.usage = state.tool_calls + len(results), self._tally.usage
                self._policies.after_results(state, results)
            elif (said := await self._policies.after_answer(state, thought)) is None:
                return self._answered(thought, emit)
            elif isinstance(said, Stop):
                return await self._stopped(said, query)

    async def think(self, emit: Emit, read: Callable[[Completion], Completion] = lambda said: said) -> Completion:
        """Request an answer, streaming it, and store it as converted by `read`.
        An interrupted answer is stored as far as it came."""
        answer = Answer(self.llm_client, self.compaction, emit, is_shown=self._shows_pieces, thinking=self._thinking)
        try:
            completion = await answer.get(
                self.history.messages_to_send, self.tool_system.specs, "required" if self._require_call else "auto"
            )
        except LLMConnectionError as error:
            note = Phrase("[no answer: {reason}]", reason=error.what_phrase).english
            self._keep_broken_off(answer.said, note, emit)
            raise
        except asyncio.CancelledError:
            self._keep_broken_off(answer.said, "[interrupted by the user]", emit)
            raise
        finally:
            self._tally.usage += answer.spent
        self._require_call, self._thinking = False, True
        completion = read(self._understood(completion, emit))
        self.thought_history.append(completion)
        self._tally.usage += completion.usage
        self._keep(completion, emit)
        return completion

    def _understood(self, completion: Completion, emit: Emit) -> Completion:
        """Return the answer with its calls translated to our tools; one that ends the work makes it the last."""
        said = completion.message
        message = self.tool_system.understood(said)
        if message.text != said.text:
            emit(TextDelta(text=message.text[len(said.text) :]))
        return msgspec.structs.replace(completion, message=message)

    async def act(self, thought: Completion, emit: Emit) -> AsyncGenerator[ToolResult]:
        """Run the calls of an answer sequentially, as later ones may depend on earlier ones."""
        was_cut, emit = thought.finish_reason == "length", self._tally.counting(emit)
        for call in thought.message.tool_calls:
            is_last = call is thought.message.tool_calls[-1]
            try:
                result = await self.tool_system.execute(call, emit, was_cut=was_cut and is_last)
            except asyncio.CancelledError as interrupt:
                if interrupt.args and isinstance(interrupt.args[0], ToolResult):
                    self.observe(interrupt.args[0])
                raise
            if result.refused:
                self.tool_system.hear("", bans=bans_of_refusal(result))
            yield result

    def observe(self, result: ToolResult) -> None:
        """Add a result to the conversation and the run's statistics."""
        self.history.add_result(result.call.id, unforged(result.for_model), result.images)
        self._tally.note(result)

    async def _run(self, query: str, piped: str, typed: str, emit: Emit) -> None:
        """Run the query up to RunFinished, leaving the conversation valid however it ends."""
        client, note = self.llm_client, Phrase("[interrupted by the user]")
        said = len(self.history.words)
        try:
            self._begin(query, piped, typed)
            emit(RunStarted(session_id=self.session_id, query=query, provider=client.provider.name, model=client.model))
            async with asyncio.timeout(self._settings.time_limit or None):
                await self._begin_turn(query, piped, typed, emit)
                finished = await self._loop(query, emit)
        except TimeoutError:
            reason = Phrase(
                "Stopped after {seconds} s, the time limit of a run (agent.time_limit).",
                seconds=f"{self._settings.time_limit:g}",
            )
            note = Phrase("[stopped: {reason}]", reason=reason)
            finished = self._tally.finished("limit", await self.handle_stuck_situation(str(reason), query))
        except LocalLLMError as error:
            note = Phrase("[no answer: {reason}]", reason=error.what_phrase)
            if len(self.history.words) == said:  # the request was withdrawn
                self._offered[:0] = self._told
            finished = await self._failed(error, query)
        except asyncio.CancelledError:
            emit(self._tally.finished("interrupted", ""))
            raise
        finally:
            self._steering.close()
            self.history.close_turn(Phrase("[interrupted by the user]"), note)
        emit(finished)

    def _begin(self, query: str, piped: str, typed: str) -> None:
        self._tally.begin()
        self._told = []
        self.thought_history = []
        self._require_call, self._thinking = False, True
        self._policies.begin()
        # What was pasted may stand in several places.
        before, _, behind = query.rpartition(typed) if typed and typed in query else (query, "", "")
        bans = bans_after(self.tool_system.bans, query, is_planned=lambda: is_told_to_plan(self.history))
        self.tool_system.begin_turn(heard_part(typed), beside=before + behind + piped, bans=bans)

    async def _begin_turn(self, query: str, piped: str, typed: str, emit: Emit) -> None:
        """Add the user's message to the conversation, even if reading its files is interrupted."""
        request, images = query, ()
        try:
            request, images = await self.auto_load_file_references(query, typed, emit)
            if piped:
                from localllm.agent.piped_text import fitted  # most requests come alone

                piped = await fitted(piped, self.llm_client, self.tool_system, emit)
        finally:
            request = self._with_situation(self._with_offered(request + unforged(piped)))
            self.history.add_user(request, images, words=query, typed=None if typed == query else typed)

    async def auto_load_file_references(self, query: str, typed: str, emit: Emit) -> tuple[str, tuple[Image, ...]]:
        """Return the query with the content of every file that its `typed` part references as @path, and the images
        among them."""
        room = MENTIONS * output_limit(self.llm_client)
        whole, images = await with_files(typed, self.tool_system, room, emit, self._here)
        if typed != query:
            tell_of_others(query, typed, self.tool_system.root, emit, self._here)
        return query + whole.removeprefix(typed), images

    def offer(self, text: str) -> None:
        """Add `text` to the next request: something the user has looked at, but not written."""
        self._offered.append(unforged(text))

    def offer_quoted(self, head: str, text: str) -> None:
        """Like `offer`, for untrusted text, behind a `head` that names its origin."""
        self._offered.append(quoted(head, text))

    def _with_offered(self, query: str) -> str:
        """Return the query preceded by what was offered since the last one."""
        self._told, self._offered = self._offered, []
        return "\n\n".join([*self._told, query])

    def _with_situation(self, query: str) -> str:
        was_told, self._is_situated = self._is_situated, True
        if len(self.history.messages) == 1:
            return f"{query}\n\n{self._situation()}"
        if not (was_told or self.tool_system.is_attended):
            return f"{query}\n\n{self._here_and_now()}"
        today = _today()
        told = told_date(one.text for one in reversed(self.history.messages) if isinstance(one, UserMessage))
        return f"{query}\n\n{date_note(today)}" if told and told != today.isoformat() else query

    def _situation(self) -> str:
        return "\n\n".join(filter(None, (self._notes(), self._here_and_now())))

    def _here_and_now(self) -> str:
        return situation(self.tool_system.root, _today(), here=self._here, is_attended=self.tool_system.is_attended)

    def steer(self, text: str, *, typed: str | None = None) -> bool:
        """Send `text` to the model during the run; False if no run can receive it. `typed`: as for `run`."""
        if is_taken := self._steering.say(text, typed=typed):
            own = text if typed is None else typed
            beside = text if own != text else ""
            self.tool_system.hear(heard_part(own), beside=beside, bans=bans_of(text))
        return is_taken

    @property
    def listens(self) -> bool:
        """Whether a run can receive `steer`."""
        return self._steering.is_open

    @property
    def unread(self) -> tuple[str, ...]:
        """Texts from `steer` that the model has not read yet, oldest first."""
        return self._steering.unread

    def unsteer(self) -> str:
        """Withdraw the newest of `unread`; return "" if there is none."""
        return self._steering.take_back()

    def detect_loop(self) -> bool:
        """Return whether the last steps are a loop: one of `loop_detection.PATTERNS`."""
        return self.ladder.detector.detected()

    @property
    def context_manager(self) -> "SmartContextManager":
        """The manager that keeps the conversation within the model's window."""
        return self.compaction.manager

    @property
    def max_iterations(self) -> int:
        """Maximum requests to the model per run."""
        return self._settings.max_iterations

    @property
    def loop_detection_threshold(self) -> int:
        """Number of equal steps that count as a loop."""
        return self._settings.loop_detection_threshold

    @property
    def stuck_patterns(self) -> tuple[str, ...]:
        """The kinds of loops detected."""
        return PATTERNS

    @property
    def external_memory(self) -> "ExternalMemorySystem":
        """The project's memory."""
        return self.tool_system.memory.system

    @property
    def current_iteration(self) -> int:
        """Number of the model's answers in this run, or the last one."""
        return self._tally.steps

    def _keep(self, completion: Completion, emit: Emit) -> None:
        message, client = completion.message, self.llm_client.answering
        is_empty = not message.text.strip() and not message.tool_calls
        self.history.add_assistant(msgspec.structs.replace(message, text=NO_ANSWER) if is_empty else message)
        emit(
            MessageCompleted(
                text=message.text,
                thinking=message.thinking,
                tool_calls=message.tool_calls,
                finish_reason=completion.finish_reason,
                model=client.model,
                usage=completion.usage,
                provider=client.provider.name,
            )
        )

    def _keep_broken_off(self, said: AssistantMessage, note: str, emit: Emit) -> None:
        """Store the partial answer, with the reason for its end."""
        if said.text.strip() and self.history.awaits_answer:
            marked = msgspec.structs.replace(said, text=f"{said.text} {note}")
            self._keep(Completion(marked, "interrupted", Usage()), emit)

    def _answered(self, thought: Completion, emit: Emit) -> RunFinished:
        ending = self._finishing.policy.ending
        answer = "\n\n".join(filter(None, (ending.first, thought.message.text)))
        if thought.finish_reason == "length":
            emit(Notice(text=_("The answer was cut off at the token limit (llm.max_tokens)."), level="warning"))
            return self._tally.finished("limit", answer)
        if thought.finish_reason == NO_MODEL:
            error = LLMConnectionError("llm_none")
            return self._tally.finished("error", answer, error_code=error.code, error=error.lines())
        if thought.finish_reason == "content_filter":
            emit(Notice(text=_("The server's content filter cut the answer short."), level="warning"))
        if self._tally.refused and not self._tally.missing:
            calls = "; ".join(self._tally.refused)
            emit(Notice(text=_("Refused during the run: {calls}.", calls=calls)))
        unverified = [*map(str, ending.contradicts), *map(str, ending.unverified)]
        if not self._tally.missing and ending.contradicts:
            reasons = "; ".join(str(reason).rstrip(".。") for reason in ending.contradicts)
            known = _("Not finished: {reasons}.", reasons=reasons)
            return self._tally.finished("incomplete", f"{answer}\n\n{known}", unverified=unverified)
        if not self._tally.missing:
            return self._tally.finished("done", answer, unverified=unverified)
        return self._tally.finished(
            "refused",
            answer
            + _(
                "\n\n"
                "Not done, because nobody was there to confirm it: {tools}. Allow it in the chat, with an "
                "allow rule (safety.allow), or with --yes (which allows no web addresses); dangerous "
                "commands can be allowed only in the chat.",
                tools="; ".join(self._tally.missing),
            ),
            unverified=unverified,
        )

    async def _stopped(self, stop: Stop, query: str) -> RunFinished:
        report = await self.handle_stuck_situation(str(stop.reason), query)
        self.history.close_turn("", Phrase("[stopped: {reason}]", reason=stop.reason))
        return self._tally.finished(stop.status, report)

    async def _failed(self, error: LocalLLMError, query: str) -> RunFinished:
        """End a run by an error, reported as a limit if the model gave no answer or its window has no room."""
        if error.key not in _LIMITS:
            return self._tally.finished("error", "", error_code=error.code, error=error.lines())
        report = await self.handle_stuck_situation(sentences(error.what, error.why), query, error.key)
        return self._tally.finished("limit", report, error_code=error.code, error=error.lines())

    async def handle_stuck_situation(self, reason: str, query: str, error: str = "") -> str:
        """Return the blocker report for the user: goal, attempts, exact errors, hints.
        `error` is the key of the one that ended the run."""
        blocker = self.ladder.blocker(reason, goal_of(query, self.history))
        return msgspec.structs.replace(blocker, errors=(*blocker.errors, error)).report()

    def _tell(self, said: Inject) -> None:
        """Pass a policy's message to the model."""
        self.history.add_remark(said.text, said.images, words=said.words, typed=said.typed)
        self._require_call = self._require_call or said.require_call
        self._thinking = self._thinking and said.thinking

    def _note_compaction(self, made: "Compacted") -> None:
        self._tally.usage += made.usage
        self.ladder.note_compaction(was_summed_up=made.how == "summarised")


def _today() -> date:
    """Return the user's date."""
    return datetime.now(UTC).astimezone().date()
