"""One task, split into parts that several agents do at the same time, and put together again.

Agents that only read share the project. Those that write have a work tree each (worktrees.py), and what they changed is
taken over one after another (applying.py). Where there is no git, they write in the project itself, one after another.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal
from uuid import uuid4

import msgspec

from localllm.agents.delegation.allowance import Allowance
from localllm.agents.delegation.splitting import SPLIT_SCHEMA, Subtask, read_split, whole
from localllm.agents.delegation.sub_agents import EXPLORER, READING_TOOLS, WORKER, Finding, SubAgent
from localllm.agents.delegation.taking_over import Report, TakingOver
from localllm.agents.delegation.worktrees import TooLargeError, WorkTrees, stoppable, surely
from localllm.agents.prompting import situation, system_prompt
from localllm.agents.running import EventStream
from localllm.base.config.schema import AgentSettings
from localllm.base.errors import LLMConnectionError, LocalLLMError, ToolExecutionError
from localllm.base.events import (
    AgentEvent,
    Compacted,
    Delegated,
    Emit,
    Json,
    MessageCompleted,
    Notice,
    RunFinished,
    RunStarted,
    TextDelta,
    Usage,
)
from localllm.base.i18n import tr
from localllm.llm.clients import LLMClient
from localllm.llm.messages import AssistantMessage, Completion, Message, SystemMessage, UserMessage
from localllm.llm.providers.base import Chunk, TextChunk
from localllm.sandbox.background import BackgroundCommands
from localllm.sandbox.running import LateRunner
from localllm.tools.guard.paths import ProjectRoot, shown
from localllm.tools.registry import Tool
from localllm.tools.tool_system import ToolSystem, Workplace

_OUTPUT = 16_000
"""Characters of one tool's output a worker is given at most."""

_LONGEST_TASK = 400
_MOST_MISSING = 8
_NOT_FOR_WORKERS = {"git_commit", "recall", "todo"}

Status = Literal["done", "limit", "stuck", "error", "interrupted"]


class MultiAgentOrchestrator:
    """Has tasks done by several agents at the same time, in the project of `tools`.

    `crew`: what an agent that writes may use. `make_runner` runs the commands of a work tree. `trees`: the folder for
    work trees, outside of the project; `kept`: the folder for changes that could not be taken over;
    `excluded` and `closed`: see WorkTrees. `parallel`: how many agents work at a time; 0 for as many as the server has
    room for, as far as it tells. `settings` limit all of them together, see Allowance. One task at a time.
    """

    def __init__(
        self,
        llm_client: LLMClient,
        tools: ToolSystem,
        crew: Sequence[Tool],
        *,
        make_runner: Callable[[Path], LateRunner],
        trees: Path,
        kept: Path,
        excluded: Sequence[str] = (),
        closed: Sequence[str] = (),
        parallel: int = 0,
        settings: AgentSettings = AgentSettings(),  # noqa: B008 - immutable
        session_id: str = "",
        listeners: Sequence[Emit] = (),
    ) -> None:
        self._llm_client = llm_client
        self._tools = tools
        self._crew = [tool for tool in crew if tool.name not in _NOT_FOR_WORKERS]
        self._make_runner = make_runner
        self._folder = trees
        self._kept = kept
        self._excluded = excluded
        self._closed = closed
        self._parallel = parallel
        self._settings = settings
        self._session_id = session_id
        self._stream = EventStream(listeners)
        self._usage = Usage()
        self._allowance = Allowance(settings)
        self._unfinished = 1
        self.reports: list[Report] = []

    async def coordinate(self, task: str) -> dict[str, Json]:
        """The whole work as one result: success, status, answer, usage, and subtasks with what became of each."""
        finished = RunFinished(status="interrupted", answer="")
        async for event in self.run(task):
            finished = event if isinstance(event, RunFinished) else finished
        return {
            "success": finished.status == "done",
            "status": finished.status,
            "answer": finished.answer,
            "error": finished.error,
            "usage": msgspec.to_builtins(finished.usage),
            "subtasks": [
                {
                    "title": report.subtask.title,
                    "writes": report.subtask.writes,
                    "status": report.finding.status,
                    "finding": report.finding.report(),
                    "files": list(report.files),
                    "became": report.became,
                    "patch": report.patch,
                }
                for report in self.reports
            ],
        }

    async def run(self, task: str) -> AsyncGenerator[AgentEvent]:
        """The events of the work, the last of them RunFinished. Closing the generator interrupts it."""
        async with aclosing(self._stream.of(lambda emit: self._run(task, self._counting(emit)))) as events:
            async for event in events:
                yield event

    def interrupt(self) -> None:
        """Break off the work: no work tree is left, and of the changes only those that were applied already."""
        self._stream.interrupt()

    async def _run(self, task: str, emit: Emit) -> None:
        self.reports, self._usage, self._allowance = [], Usage(), Allowance(self._settings)
        client = self._llm_client
        emit(RunStarted(session_id=self._session_id, query=task, provider=client.provider.name, model=client.model))
        self._tools.begin_turn(task)
        try:
            finished = await self._work(task, emit)
        except LocalLLMError as error:
            finished = self._finished("error", "", error)
        except asyncio.CancelledError:
            emit(self._finished("interrupted", ""))
            raise
        emit(finished)

    async def _work(self, task: str, emit: Emit) -> RunFinished:
        try:
            async with asyncio.timeout(self._allowance.seconds):
                subtasks = await self._split_task(task, emit)
        except TimeoutError:
            return self._finished("limit", self._allowance.reached)
        self._unfinished = len(subtasks)
        if len(subtasks) == 1:
            report = await self._in_project(subtasks[0], task, emit)
            self.reports = [report]
            return self._finished(self._status, report.finding.report())
        emit(Notice(text="\n".join([tr("coordinate.plan", count=len(subtasks)), *map(str, subtasks)])))
        await self._do_all(subtasks, task, emit)
        return self._finished(self._status, await self._answer(task, emit))

    @property
    def _status(self) -> Status:
        """How the work ended: parts that are done count more than those that are not, but for a limit of the whole."""
        done = [report.finding.is_done for report in self.reports]
        if self._allowance.reached and not all(done):
            return "limit"
        return "done" if any(done) else "stuck"

    # --- splitting

    async def _split_task(self, task: str, emit: Emit) -> list[Subtask]:
        """The parts of a task, one at least. What is no usable split, twice, means that it cannot be split."""
        about = situation(self._tools.root, datetime.now(UTC).astimezone().date())
        messages: list[Message] = [SystemMessage(system_prompt("splitting")), UserMessage(f"{task}\n\n{about}")]
        for _ in range(2):
            completion = await self._ask(messages, emit, schema=SPLIT_SCHEMA)
            if (subtasks := read_split(completion.message.text)) is not None:
                return subtasks or [whole(task)]
            messages += [AssistantMessage(completion.message.text), UserMessage(tr("coordinate.not_split"))]
        return [whole(task)]

    # --- working

    async def _do_all(self, subtasks: Sequence[Subtask], task: str, emit: Emit) -> None:
        """Have every subtask done; `reports` are in their order."""
        trees = await self._open_trees(subtasks, emit)
        try:
            room = asyncio.Semaphore(self._at_once)
            in_turn = [] if trees else [subtask for subtask in subtasks if subtask.writes]
            async with asyncio.TaskGroup() as group:
                tasks = {
                    subtask.title: group.create_task(self._when_there_is_room(room, subtask, task, trees, emit))
                    for subtask in subtasks
                    if subtask not in in_turn
                }
            done = {title: made.result() for title, made in tasks.items()}
            for subtask in in_turn:
                done[subtask.title] = await self._in_project(subtask, task, emit)
            self.reports = [done[subtask.title] for subtask in subtasks]
            if trees:
                taking_over = TakingOver(self._tools, trees, self._kept, self._session_id or "work")
                for report in self.reports:
                    await taking_over.take_over(report, emit)
        finally:
            if trees:
                await surely(trees.close)

    @property
    def _at_once(self) -> int:
        return self._parallel or self._llm_client.answering.info.slots or 1

    async def _open_trees(self, subtasks: Sequence[Subtask], emit: Emit) -> WorkTrees | None:
        """Work trees for those that write; None where none does, or where they cannot have any, which is said."""
        if not any(subtask.writes for subtask in subtasks):
            return None
        trees = WorkTrees(self._tools.root, self._folder, self._excluded, closed=self._closed)
        try:
            await stoppable(trees, trees.open)
        except (ToolExecutionError, TooLargeError) as error:
            await surely(trees.close)
            reason = error.what if isinstance(error, ToolExecutionError) else tr("coordinate.too_large")
            emit(Notice(text=tr("coordinate.in_turn", reason=reason), level="warning"))
            return None
        except BaseException:
            await surely(trees.close)
            raise
        if trees.submodules:
            emit(Notice(text=tr("coordinate.submodules", names=", ".join(trees.submodules)), level="warning"))
        return trees

    async def _when_there_is_room(
        self, room: asyncio.Semaphore, subtask: Subtask, task: str, trees: WorkTrees | None, emit: Emit
    ) -> Report:
        """A subtask done; what keeps it from being done is its finding, and ends no other."""
        async with room:
            try:
                if subtask.writes and trees:
                    return await self._in_tree(subtask, task, trees, emit)
                return await self._in_project(subtask, task, emit)
            except LocalLLMError as error:
                finding = Finding(status="error", answer="", steps=0, reason=error.what)
                return Report(subtask=subtask, finding=finding)

    async def _in_project(self, subtask: Subtask, task: str, emit: Emit) -> Report:
        if used_up := self._allowance.reached:
            return _not_begun(subtask, used_up)
        tools = self._tools.part(subtask.title, self._crew if subtask.writes else READING_TOOLS, output_limit=_OUTPUT)
        return Report(subtask=subtask, finding=await self._delegate(subtask, task, tools, emit))

    async def _in_tree(self, subtask: Subtask, task: str, trees: WorkTrees, emit: Emit) -> Report:
        if used_up := self._allowance.reached:
            return _not_begun(subtask, used_up)
        tree = await stoppable(trees, partial(trees.add, uuid4().hex[:8]))
        runner, background = self._make_runner(tree), BackgroundCommands()
        workplace = Workplace(ProjectRoot(tree), runner, background)
        tools = self._tools.part(subtask.title, self._crew, output_limit=_OUTPUT, workplace=workplace)
        try:
            finding = await self._delegate(subtask, task, tools, emit, missing=trees.missing[:_MOST_MISSING])
        finally:
            try:
                await background.end()
            finally:
                runner.close()
        return Report(subtask=subtask, finding=finding, tree=tree)

    async def _delegate(
        self, subtask: Subtask, task: str, tools: ToolSystem, emit: Emit, *, missing: Sequence[str] = ()
    ) -> Finding:
        kind = WORKER if subtask.writes else EXPLORER
        limits = self._allowance.share(self._unfinished, min(self._unfinished, self._at_once))
        agent = SubAgent(subtask.title, kind, self._llm_client, tools, emit, limits)
        about = "" if subtask.instructions == task else "\n\n" + tr("coordinate.part_of", task=task[:_LONGEST_TASK])
        lacks = "\n\n" + tr("coordinate.missing", names=", ".join(map(shown, missing))) if missing else ""
        try:
            finding = await agent.run(subtask.instructions + about + lacks)
        finally:
            self._unfinished -= 1
        if tools.tainted:
            self._tools.taint()
        return finding

    # --- putting together

    async def _answer(self, task: str, emit: Emit) -> str:
        """One answer of all reports; where a limit leaves nothing to make it with, the reports and what is not done."""
        estimate = self._llm_client.estimate_tokens
        reports = "\n\n".join(report.text(estimate) for report in self.reports)
        if not self._allowance.reached:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._allowance.seconds):
                    return await self._merge_results(task, reports, emit)
        names = ", ".join(report.subtask.title for report in self.reports if not report.finding.is_done)
        used_up = self._allowance.reached
        if not names:
            emit(Notice(text=tr("coordinate.not_merged", reason=used_up), level="warning"))
            return reports
        limited = tr("coordinate.limited", reason=used_up, names=names)
        emit(Notice(text=limited, level="warning"))
        return f"{limited}\n\n{reports}"

    async def _merge_results(self, task: str, reports: str, emit: Emit) -> str:
        """One answer of all reports. Where the model cannot give it, the reports themselves."""
        messages = [
            SystemMessage(system_prompt("merging")),
            UserMessage(f"{tr('coordinate.the_task')}\n{task}\n\n{tr('coordinate.the_reports')}\n\n{reports}"),
        ]

        def show(chunk: Chunk) -> None:
            if isinstance(chunk, TextChunk):
                emit(TextDelta(text=chunk.text))

        try:
            completion = await self._ask(messages, emit, show=show)
        except LLMConnectionError as error:
            emit(Notice(text=tr("coordinate.not_merged", reason=error.what), level="warning"))
            return reports
        return completion.message.text

    async def _ask(
        self,
        messages: Sequence[Message],
        emit: Emit,
        *,
        schema: dict[str, Json] | None = None,
        show: Callable[[Chunk], None] | None = None,
    ) -> Completion:
        def warn(text: str) -> None:
            emit(Notice(text=text, level="warning"))

        completion = await self._llm_client.complete(
            messages,
            schema=schema,
            on_chunk=show,
            on_retry=lambda error, seconds: warn(tr("agent.retry", what=error.what, seconds=seconds)),
            on_notice=warn,
        )
        client = self._llm_client.answering
        said = MessageCompleted(
            text=completion.message.text,
            thinking=completion.message.thinking,
            finish_reason=completion.finish_reason,
            model=client.model,
            usage=completion.usage,
            provider=client.provider.name,
        )
        emit(said if show else Delegated(agent=tr("coordinate.planner"), event=said))
        return completion

    def _counting(self, emit: Emit) -> Emit:
        """`emit`, which also adds up what everybody uses."""

        def counted(event: AgentEvent) -> None:
            told = event.event if isinstance(event, Delegated) else event
            if isinstance(told, MessageCompleted | Compacted):
                self._usage += told.usage
                self._allowance.note(told.usage)
            emit(event)

        return counted

    def _finished(self, status: Status, answer: str, error: LocalLLMError | None = None) -> RunFinished:
        return RunFinished(
            status=status,
            answer=answer,
            steps=sum(report.finding.steps for report in self.reports),
            usage=self._usage,
            error_code=error.code if error else "",
            error=error.lines() if error else "",
        )


def _not_begun(subtask: Subtask, reason: str) -> Report:
    return Report(subtask=subtask, finding=Finding(status="limit", answer="", steps=0, reason=reason))
