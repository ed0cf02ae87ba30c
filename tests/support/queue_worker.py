"""A worker in a process of its own: `python -m tests.support.queue_worker QUEUE MODEL WORK_FOLDER DOCS HEARTBEAT`.

It says `ready`, then a line for each job that begins, waits again or ends, and ends in good order by SIGTERM.
"""

import signal
import sys
import threading
from pathlib import Path

from localllm.app.research_setup import ResearchParts, ResearchSetup
from localllm.config.research_settings import QueueSettings, ResearchSettings
from localllm.config.schema import LLMSettings, ServerSettings, Settings
from localllm.integrations.task_queue.job_board import JobBoard
from localllm.integrations.task_queue.redis_server import QueueServer
from localllm.integrations.task_queue.research_worker import ResearchWorker
from tests.support.research_parts import FakeReader


def main(queue: str, model: str, folder: str, docs: str, heartbeat: str) -> None:
    settings = Settings(
        llm=LLMSettings(provider="openai", openai=ServerSettings(base_url=model), max_retries=0),
        research=ResearchSettings(retry=0),
        queue=QueueSettings(heartbeat=float(heartbeat), maintenance=0.2, retries=2),
    )
    setup = ResearchSetup(
        settings=settings, root=Path(folder), environ={"LOCALLLM_CACHE_DIR": folder}, work_folder=Path(folder)
    )
    worker = ResearchWorker(
        setup,
        JobBoard(QueueServer(queue, {})),
        folders=(Path(docs),),
        parts=ResearchParts(FakeReader),
        on_job=lambda job: print(job.run, job.status, flush=True),
    )
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=worker.stop).start())
    print("ready", flush=True)
    worker.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
