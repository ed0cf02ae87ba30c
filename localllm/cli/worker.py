"""`localllm worker`: execute research handed over through a queue."""

import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localllm.base.i18n import _
from localllm.cli.research_settings import setup_here
from localllm.cli.settings import say
from localllm.tui.signals import ForcedEnd

if TYPE_CHECKING:
    from localllm.integrations.task_queue.job_board import Job
    from localllm.integrations.task_queue.research_worker import ResearchWorker

_SECONDS_TO_STOP = 40.0


@click.command()
@click.option("--queue", required=True, metavar="URL", help="The Redis or Valkey server: redis://HOST:6379/0.")
@click.option(
    "--docs",
    multiple=True,
    metavar="FOLDER",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A folder that tasks may search (research --docs); others are refused.",
)
@click.option("--api", metavar="URL", help="The address of the model's server.")
@click.option("--model", metavar="NAME", help="The model to use; by default the one in the settings.")
@click.option("--retry", type=click.IntRange(0, 10), metavar="N", help="Retries of a failed request.")
@click.option("--work-dir", metavar="DIR", type=click.Path(path_type=Path), help="The folder of runs and logs.")
@click.pass_context
def worker(context: click.Context, queue: str, docs: tuple[Path, ...], **values: Any) -> int:
    """Run research tasks that localllm task run --queue hands over, until Ctrl+C.

    The worker uses its own model, settings and search engines. If a worker dies, another continues its run. Running it
    allows the searches and pages of these runs. The password of the queue comes from REDIS_PASSWORD.
    """
    from localllm.integrations.task_queue.job_board import JobBoard
    from localllm.integrations.task_queue.redis_server import QueueServer
    from localllm.integrations.task_queue.research_worker import ResearchWorker

    setup = setup_here(context, values)
    server = QueueServer(queue, os.environ)
    working = ResearchWorker(setup, JobBoard(server), folders=docs, on_job=_tell)
    working.check()
    say(_("Worker {name} is waiting for tasks from {queue}. Ctrl+C stops it.", name=working.name, queue=server.shown))
    return _work(working)


def _work(working: "ResearchWorker") -> int:
    """Work until a signal arrives; return the exit code. A second signal ends the program at once."""
    forced_end = ForcedEnd()
    numbers: list[int] = []

    def end(number: int, _frame: object) -> None:
        if numbers:
            os._exit(128 + number)
        numbers.append(number)
        forced_end.begin(128 + number, _SECONDS_TO_STOP)
        threading.Thread(target=working.stop, daemon=True).start()
        say(_("The worker is stopping; its current run goes back to the queue. Ctrl+C again stops it at once."))

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), end)
    try:
        working.run()
    finally:
        forced_end.call_off()
    return 128 + numbers[0] if numbers else 0


def _tell(job: "Job") -> None:
    """Print a line per step of a job."""
    match job.status:
        case "running":
            say(_("Run {id}: started (attempt {count}).", id=job.run, count=job.attempts))
        case "waiting":
            say(_("Run {id}: returned to the queue.", id=job.run))
        case "done":
            say(_("Run {id}: done.", id=job.run))
        case "failed":
            from localllm.research.remark_texts import in_words

            what = f"{job.failure.code} {in_words(job.failure.what)}" if job.failure else ""
            say(_("Run {id}: failed. {what}", id=job.run, what=what))
