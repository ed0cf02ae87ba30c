"""ReActAgent: thinks, acts, observes, until the model answers without calling a tool."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from localllm.agents.history import History
from localllm.agents.loop_detector import LoopDetector
from localllm.agents.middleware import Inject, Limits, Middleware, Repetition, RunState, Stop
from localllm.agents.prompting import situation, system_prompt
from localllm.agents.references import FileReference, find_references
from localllm.base.config.schema import AgentSettings
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
    ThinkingDelta,
    ToolCall,
    Usage,
)
from localllm.base.i18n import tr
from localllm.base.jsontext import encode_json
from localllm.llm.assembling import MessageAssembler
from localllm.llm.clients import LLMClient
from localllm.llm.messages import Completion, Image, ToolMessage
from localllm.llm.providers.base import Chunk, TextChunk, ThinkingChunk
from localllm.tools.tool_system import ToolResult, ToolSystem

_LONGEST_NAME = 80
_LONGEST_OUTCOME = 600

_NOT_PERMITTED = {"denied_unattended", "denied_dangerous", "command_no_sandbox", "command_root_too_wide"}
"""Errors of calls that a person, or a flag, would have permitted."""


class AgentResult(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run; str() is the answer. `data` has the fields of the tools' payloads, the newest of each name."""

    success: bool
    answer: str
    data: dict[str, Json] = {}
    status: str = "done"
    usage: Usage = Usage()
    steps: int = 0
    refused: tuple[str, ...] = ()
    error_code: str = ""
    error: str = ""

    def __str__(self) -> str:
        return self.answer


class ReActAgent:
    """One conversation with one model and one set of tools.

    `run` is an event generator; `execute_query` is the same run, gathered. `listeners` are shown every event at
    once, also those after an interrupt, when nobody iterates any more. Whatever ends a run, the conversation
    stays valid and can be gone on with.
    """

    def __init__(
        self,
        llm_client: LLMClient,
        tool_system: ToolSystem,
        *,
        settings: AgentSettings = AgentSettings(),  # noqa: B008 - immutable
        session_id: str = "",
        listeners: Sequence[Emit] = (),
        middleware: Sequence[Middleware] | None = None,
    ) -> None:
        self.llm_client = llm_client
        self.tool_system = tool_system
        self.session_id = session_id
        self.max_iterations = settings.max_iterations
        self._time_limit = settings.time_limit
        self.loop_detection_threshold = settings.loop_detection_threshold
        self.current_iteration = 0
        self.thought_history: list[Completion] = []
        self.history = History(system_prompt())
        self._listeners = tuple(listeners)
        self._detector = LoopDetector(settings.loop_detection_threshold)
        self._middleware = (
            [Limits(settings.max_iterations), Repetition(self._detector)] if middleware is None else list(middleware)
        )
        self._running: asyncio.Task[None] | None = None
        self._usage = Usage()
        self._refused: list[str] = []
        self._data: dict[str, Json] = {}
        self._offered: list[str] = []

    async def run(self, query: str) -> AsyncGenerator[AgentEvent]:
        """The events of a run, as they happen, the last of them RunFinished. Closing the generator interrupts it."""
        events: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        ended = False

        def emit(event: AgentEvent) -> None:
            nonlocal ended
            ended = ended or isinstance(event, RunFinished)
            for listener in self._listeners:
                listener(event)
            events.put_nowait(event)

        def close(task: asyncio.Task[None]) -> None:
            if task.cancelled() and not ended:  # before it had begun
                emit(RunFinished(status="interrupted", answer=""))
            events.put_nowait(None)

        task = self._running = asyncio.create_task(self._run(query, emit))
        task.add_done_callback(close)
        try:
            while (event := await events.get()) is not None:
                yield event
            if not task.cancelled():
                task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def offer(self, text: str) -> None:
        """Let the model read `text` with the next request: what the person has looked at, and did not write."""
        self._offered.append(text)

    def interrupt(self) -> None:
        """Break off the run that is going on; its events still end with RunFinished."""
        if self._running is not None:
            self._running.cancel()

    async def execute_query(self, query: str) -> AgentResult:
        """The whole run as one result."""
        finished = RunFinished(status="interrupted", answer="")
        async for event in self.run(query):
            if isinstance(event, RunFinished):
                finished = event
        return AgentResult(
            success=finished.status == "done",
            answer=finished.answer,
            data=self._data,
            status=finished.status,
            usage=finished.usage,
            steps=finished.steps,
            refused=finished.refused,
            error_code=finished.error_code,
            error=finished.error,
        )

    async def _run(self, query: str, emit: Emit) -> None:
        """A run from the query to RunFinished, with the conversation left valid on every way out."""
        self._begin(query)
        client = self.llm_client
        emit(RunStarted(session_id=self.session_id, query=query, provider=client.provider.name, model=client.model))
        note = tr("agent.interrupted")
        try:
            async with asyncio.timeout(self._time_limit or None):
                request, images = await self.auto_load_file_references(query, emit)
                self.history.add_user(self._with_situation(self._with_offered(request)), images)
                finished = await self._loop(query, emit)
        except TimeoutError:
            reason = tr("agent.limit.time", seconds=f"{self._time_limit:g}")
            note = tr("agent.stopped", reason=reason)
            finished = self._finished("limit", await self.handle_stuck_situation(reason, query))
        except LocalLLMError as error:
            note = tr("agent.failed", reason=error.what)
            finished = self._finished("error", "", error_code=error.code, error=error.lines())
        except asyncio.CancelledError:
            emit(self._finished("interrupted", ""))
            raise
        finally:
            self.history.close_turn(tr("agent.interrupted"), note)
        emit(finished)

    async def _loop(self, query: str, emit: Emit) -> RunFinished:
        state = RunState(query)
        while True:
            if stop := self._consult(state):
                return await self._stopped(stop, query)
            state.step = self.current_iteration = state.step + 1
            thought = await self.think(emit)
            if not thought.message.tool_calls:
                return self._answered(thought, emit)
            await self.observe(await self.act(thought, emit))

    async def think(self, emit: Emit) -> Completion:
        """Ask the model, show its answer as it arrives, and keep it. A broken-off answer is kept as far as it came."""
        gathered = MessageAssembler()

        def show(chunk: Chunk) -> None:
            match chunk:
                case TextChunk(text):
                    emit(TextDelta(text=text))
                case ThinkingChunk(text):
                    emit(ThinkingDelta(text=text))
                case _:
                    pass

        def tell(error: LLMConnectionError, seconds: float) -> None:
            note(tr("agent.retry", what=error.what, seconds=seconds))

        def note(text: str) -> None:
            emit(Notice(text=text, level="warning"))

        try:
            completion = await self.llm_client.complete(
                self.history.messages_to_send(),
                self.tool_system.specs(),
                on_chunk=show,
                on_retry=tell,
                on_notice=note,
                assembler=gathered,
            )
        except LLMConnectionError as error:
            self._keep_broken_off(gathered, tr("agent.failed", reason=error.what), emit)
            raise
        except asyncio.CancelledError:
            self._keep_broken_off(gathered, tr("agent.interrupted"), emit)
            raise
        self.thought_history.append(completion)
        self._usage += completion.usage
        self._keep(completion, emit)
        return completion

    async def act(self, thought: Completion, emit: Emit) -> list[ToolResult]:
        """Run the calls of an answer, one after another: a later one may build on an earlier one."""
        was_cut = thought.finish_reason == "length"
        return [
            await self._answer_call(call, emit, was_cut=was_cut and call is thought.message.tool_calls[-1])
            for call in thought.message.tool_calls
        ]

    async def observe(self, results: list[ToolResult]) -> str:
        """Take note of the results: what was refused, what repeats. The text the model reads next."""
        for result in results:
            self._detector.record(result.call, result.for_model)
            if result.success:
                self._data |= result.payload
            elif result.error and result.error.key in _NOT_PERMITTED:
                self._refused.append(_named(result.call))
        return "\n".join(result.for_model for result in results)

    def detect_loop(self) -> bool:
        """Whether the last steps are one call with one result, over and over."""
        return self._detector.detected()

    async def handle_stuck_situation(self, reason: str, query: str) -> str:
        """What blocks the work, for the person: the goal, what was tried last, and its outcome."""
        newest = self.history.messages[-1]
        calls = self.thought_history[-1].message.tool_calls if self.current_iteration and self.thought_history else ()
        tried = "; ".join(_named(call) for call in calls) or "—"
        outcome = newest.text if isinstance(newest, ToolMessage) else "—"
        return tr("agent.blocker", reason=reason, goal=query, tried=tried, outcome=outcome[:_LONGEST_OUTCOME])

    async def auto_load_file_references(self, query: str, emit: Emit) -> tuple[str, tuple[Image, ...]]:
        """The query with the content of every file it names as @path behind it, and the pictures among these."""
        parts = [query]
        images: list[Image] = []
        for number, reference in enumerate(find_references(query)):
            arguments = encode_json(_read_arguments(reference)).decode()
            result = await self.tool_system.execute(ToolCall(f"@{number}", "read_file", arguments), _show_nobody)
            if result.success:
                parts.append(f'<file path="{reference.path}">\n{result.for_model}\n</file>')
                images += result.images
            else:
                emit(Notice(text=f"@{reference.path}: {result.for_model}", level="warning"))
        return "\n\n".join(parts), tuple(images)

    def _begin(self, query: str) -> None:
        self.current_iteration = 0
        self._usage = Usage()
        self._refused = []
        self._data = {}
        self._detector.reset()
        self.tool_system.begin_turn(query)

    def _with_offered(self, query: str) -> str:
        """The query behind what was offered since the last one."""
        offered, self._offered = self._offered, []
        return "\n\n".join([*offered, query])

    def _with_situation(self, query: str) -> str:
        if len(self.history.messages) > 1:
            return query
        today = datetime.now(UTC).astimezone().date()
        return f"{query}\n\n{situation(self.tool_system.root, today)}"

    def _consult(self, state: RunState) -> Stop | None:
        """Ask every policy; the first that stops the run ends the asking."""
        for policy in self._middleware:
            match policy.before_step(state):
                case Stop() as stop:
                    return stop
                case Inject(text):
                    self.history.append_note(text)
                case None:
                    pass
        return None

    async def _answer_call(self, call: ToolCall, emit: Emit, *, was_cut: bool) -> ToolResult:
        result = await self.tool_system.execute(call, emit, was_cut=was_cut)
        self.history.add_result(call.id, result.for_model, result.images)
        return result

    async def _stopped(self, stop: Stop, query: str) -> RunFinished:
        report = await self.handle_stuck_situation(stop.reason, query)
        self.history.close_turn("", tr("agent.stopped", reason=stop.reason))
        return self._finished(stop.status, report)

    def _answered(self, thought: Completion, emit: Emit) -> RunFinished:
        answer = thought.message.text
        if thought.finish_reason == "length":
            emit(Notice(text=tr("agent.cut"), level="warning"))
            return self._finished("limit", answer)
        if thought.finish_reason == "content_filter":
            emit(Notice(text=tr("agent.filtered"), level="warning"))
        if not self._refused:
            return self._finished("done", answer)
        return self._finished("refused", answer + tr("agent.refused", tools="; ".join(self._refused)))

    def _keep(self, completion: Completion, emit: Emit) -> None:
        message, client = completion.message, self.llm_client.answering
        self.history.add_assistant(message)
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

    def _keep_broken_off(self, gathered: MessageAssembler, note: str, emit: Emit) -> None:
        """Keep what the model had said, and why no more; calls that may be incomplete are not among it."""
        if gathered.text:
            said = gathered.message(with_calls=False)
            marked = msgspec.structs.replace(said, text=f"{said.text} {note}")
            self._keep(Completion(marked, "interrupted", Usage()), emit)

    def _finished(self, status: Any, answer: str, *, error_code: str = "", error: str = "") -> RunFinished:
        return RunFinished(
            status=status,
            answer=answer,
            steps=self.current_iteration,
            usage=self._usage,
            error_code=error_code,
            error=error,
            refused=tuple(self._refused),
        )


def _show_nobody(_event: AgentEvent) -> None:
    """Reading a file the person named is no step of the model's."""


def _read_arguments(reference: FileReference) -> dict[str, Json]:
    arguments: dict[str, Json] = {"file_path": reference.path}
    if reference.first_line:
        arguments |= {"start_line": reference.first_line, "max_lines": reference.line_count}
    return arguments


def _named(call: ToolCall) -> str:
    """A call in a few words: the tool and its first argument."""
    try:
        arguments = msgspec.json.decode(call.arguments or "{}", type=dict[str, Json])
    except msgspec.DecodeError:
        return call.name
    first = " ".join(str(next(iter(arguments.values()), "")).split())
    return f"{call.name} {first}"[:_LONGEST_NAME].strip()
