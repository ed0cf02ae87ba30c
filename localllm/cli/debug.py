"""`localllm debug`: run one stage of a research run separately."""

import sys
import tempfile
from pathlib import Path
from typing import Any

import click
import msgspec

from localllm.app.research_setup import open_researcher
from localllm.app.stored_options import stored_options
from localllm.base.i18n import _
from localllm.cli.interruption import InterruptedRun, finish
from localllm.cli.research_options import given_options, research_options
from localllm.cli.research_run import RunDisplay
from localllm.cli.research_settings import setup_here
from localllm.cli.settings import say
from localllm.research.options import options_for
from localllm.research.records import STAGES, ResearchState, Stage
from localllm.research.single_stage import copy_run, made_by
from localllm.sandbox.scratch import base_folder
from localllm.text.sanitising import json_report


@click.command()
@click.argument("stage", metavar="STAGE", type=click.Choice(STAGES))
@click.argument("words", nargs=-1, metavar="[QUESTION]")
@click.option(
    "--from", "from_", metavar="ID", help="Start from the state of this run before the stage; the run is not changed."
)
@click.option("--anew", is_flag=True, help="With --from: ask the model again, even where that run has its answer.")
@research_options
@click.option("--api", metavar="URL", help="The address of the model's server.")
@click.option("--model", metavar="NAME", help="The model to use; by default the one in the settings.")
@click.option(
    "--work-dir", metavar="DIR", type=click.Path(path_type=Path), help="The folder of reports, tasks and logs."
)
@click.pass_context
def debug(
    context: click.Context, stage: Stage, words: tuple[str, ...], from_: str | None, anew: bool, **values: Any
) -> int:
    """Run one STAGE of research alone, and print its result as JSON.

    The stages, in order: normalise, queries, search, process, draft, validate, control, finalise. With a question, the
    stages before it are run first. Nothing is saved except in the log.
    """
    question = " ".join(words)
    if bool(question) == bool(from_):
        raise click.UsageError(_("Give a question, or --from and the id of a run."))
    if anew and not from_:
        raise click.UsageError(_("--anew needs --from."))
    given = given_options(values)
    if from_ and (given or values["preset"]):
        raise click.UsageError(_("--from uses the options of that run."))
    setup = setup_here(context, values)
    display = RunDisplay("text", sys.stdout, sys.stderr)
    with tempfile.TemporaryDirectory(prefix="localllm-debug-", dir=base_folder(setup.root)) as folder:
        work = Path(folder)
        if from_:
            options = stored_options(setup, from_)
            copy_run(setup.work_folder, from_, work, anew=anew)
        else:
            options = options_for(setup.settings.research, values["preset"] or "", **given)
        elsewhere = msgspec.structs.replace(setup, work_folder=work)

        async def alone() -> ResearchState:
            async with open_researcher(elsewhere, options, display.handle) as researcher, display.showing(options):
                return await researcher.run_alone(stage, question, resume=from_ or "")

        try:
            state = finish(alone)
        except InterruptedRun as stopped:
            say(_("Nothing was saved."))
            return stopped.exit_code
    click.echo(json_report({"stage": stage, "next": state.next, **made_by(stage, state)}))
    return 0
