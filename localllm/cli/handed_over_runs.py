"""Hand over runs to workers, and wait for them."""

import asyncio
import os

from localllm.app.research_setup import ResearchSetup
from localllm.base.i18n import _
from localllm.cli.settings import say
from localllm.integrations.task_queue.handover import Handover
from localllm.integrations.task_queue.job_board import JobBoard
from localllm.integrations.task_queue.redis_server import QueueServer
from localllm.research.records import ResearchState
from localllm.research.run_context import OnEvent
from localllm.research.run_events import ResearchEvent, StageBegun
from localllm.tui.render.research_progress import stage_name


class Workers:
    """The workers behind the queue at `url`; `shows_stages`: print each stage. Raises ResearchError if there is no such
    queue."""

    def __init__(self, setup: ResearchSetup, url: str, *, shows_stages: bool) -> None:
        board = JobBoard(QueueServer(url, os.environ))
        board.check()
        self._handover = Handover(board, setup.settings.queue, setup.work_folder)
        self._shows_stages = shows_stages

    async def carry_out(self, run: str, on_event: OnEvent) -> ResearchState:
        """Have a run in the history executed; return its state. Raises ResearchError. If cancelled, the workers
        continue."""

        def show(event: ResearchEvent) -> None:
            on_event(event)
            if self._shows_stages and isinstance(event, StageBegun):
                say(_("Run {id}: {stage}", id=event.run, stage=stage_name(event.stage)))

        await asyncio.to_thread(self._handover.hand_over, run)
        if self._shows_stages:
            say(_("Run {id}: waiting for a worker.", id=run))
        return await self._handover.follow(run, show, lambda error: say(str(error)))
