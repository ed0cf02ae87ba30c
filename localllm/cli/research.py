"""`localllm research`: answer a question with a report of sourced claims."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from localllm.app.report_formats import FORMATS
from localllm.app.research_setup import ResearchSetup
from localllm.app.stored_options import remember_named, stored_options
from localllm.base import logs
from localllm.base.errors import LocalLLMError, ResearchUsageError
from localllm.base.i18n import _
from localllm.cli.interruption import InterruptedRun, finish
from localllm.cli.main import EXIT_INTERRUPTED, is_piped, read_whole
from localllm.cli.report_output import ReportOutput
from localllm.cli.research_options import SHARED, given_options, research_options
from localllm.cli.research_run import EXIT_PARTIAL, RunDisplay, carry_out, plan_only, say_how_to_resume
from localllm.cli.research_settings import setup_here
from localllm.cli.settings import print_error, say
from localllm.research.options import ResearchOptions, options_for
from localllm.research.otel_tracer import OpenTelemetryTracer, open_tracer
from localllm.research.records import ResearchState
from localllm.research.remark_texts import in_words
from localllm.text.sanitising import clean


@click.command()
@click.argument("words", nargs=-1, metavar="[QUESTION]")
@click.option("--prompt", metavar="TEXT", help="The question, as an option.")
@click.option("--task-id", metavar="ID", help="Run this task of localllm task.")
@click.option("--task-all", is_flag=True, help="Run all tasks that have not been run yet.")
@click.option("--resume", metavar="ID", help="Continue a stopped run with its original options.")
@click.option(
    "--plan", is_flag=True, help="Show the queries before the search, to edit them; if piped, only print them."
)
@research_options
@click.option("--api", metavar="URL", help="The address of the model's server.")
@click.option("--model", metavar="NAME", help="The model to use; by default the one in the settings.")
@click.option("--retry", type=click.IntRange(0, 10), metavar="N", help="Retries of a failed request.")
@click.option("--clear", is_flag=True, help="Ignore the [research] settings for this run.")
@click.option("--no-cache", is_flag=True, help="Search again even where results are cached, and cache none.")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="The report's format.  [default: md]")
@click.option("--export", metavar="FILE", type=click.Path(path_type=Path), help="Also write the report into FILE.")
@click.option("--force", is_flag=True, help="With --export: overwrite an existing file.")
@click.option(
    "--output",
    type=click.Choice(["text", "json", "stream-json"]),
    help="Standard output: the report (the default where it is piped), one JSON object, or each event as a JSON line.",
)
@click.option("--trace", is_flag=True, help="Send a trace of the run to an OpenTelemetry receiver (see [trace]).")
@click.option("--langfuse", is_flag=True, help="The same as --trace.")
@click.option(
    "--work-dir", metavar="DIR", type=click.Path(path_type=Path), help="The folder of reports, tasks and logs."
)
@click.pass_context
def research(context: click.Context, words: tuple[str, ...], **values: Any) -> int:
    """Answer QUESTION from the web and your documents, in a report whose claims link to the sentences that support
    them.

    Running it allows the searches and pages of this run; with --offline it reads only --docs and --collection. What is
    found is saved: --resume continues a stopped run.
    """
    _refuse_contradictions(words, values)
    given = given_options(values)
    setup = setup_here(context, values)
    remember_named(setup, docs=given.get("docs", ()), collections=given.get("collections", ()))
    report = ReportOutput(
        output=values["output"] or "text",
        prints=values["output"] == "text" or not sys.stdout.isatty(),
        format=values["format_"],
        export=values["export"],
        force=values["force"],
    )
    if values["task_id"] or values["task_all"]:
        from localllm.cli.task import chosen_tasks, run_tasks

        wanted = {values["task_id"]: None} if values["task_id"] else chosen_tasks(setup, due_only=False)
        report.check()
        trace = values["trace"] or values["langfuse"]
        return run_tasks(setup, wanted, report, trace=trace, given=given, preset=values["preset"])
    report.check()
    if values["resume"]:
        options = stored_options(setup, values["resume"])
        _warn_of_workers(setup, values["resume"])
        return _research(setup, options, report, values, resume=values["resume"])
    question = " ".join(words) or values["prompt"] or _piped_question()
    if not question.strip():
        raise ResearchUsageError("research_no_question")
    given["use_cache"] = not values["no_cache"]
    options = options_for(setup.settings.research, values["preset"] or "", **given)
    if values["plan"] and not sys.stdin.isatty():
        return _print_plan(setup, options, report, question)
    return _research(setup, options, report, values, question=question)


def _research(
    setup: ResearchSetup,
    options: ResearchOptions,
    report: ReportOutput,
    values: Mapping[str, Any],
    *,
    question: str = "",
    resume: str = "",
) -> int:
    """Execute one run and write its report; return the exit code."""
    display = RunDisplay(report.output, sys.stdout, sys.stderr)
    tracer = open_tracer(setup.settings.trace, os.environ, asked=values["trace"] or values["langfuse"])

    async def work() -> tuple[ResearchState, LocalLLMError | None]:
        edit = _edited if values["plan"] else None
        state = await carry_out(setup, options, display, question=question, resume=resume, edit=edit, tracer=tracer)
        return state, await report.deliver(setup, state)

    try:
        state, undelivered = finish(work)
    except (InterruptedRun, KeyboardInterrupt, EOFError) as stopped:
        report.tell_failure(None, display.run)
        say_how_to_resume(display.run)
        return stopped.exit_code if isinstance(stopped, InterruptedRun) else EXIT_INTERRUPTED
    except LocalLLMError as error:
        logs.of("RUN").error("%s %s %s", display.run or "no run", error.code, error.english)
        report.tell_failure(error, display.run)
        raise
    finally:
        _close(tracer)
    if undelivered is not None:
        print_error(undelivered)
        return undelivered.exit_code
    return EXIT_PARTIAL if state.partial else 0


async def _edited(planned: ResearchState) -> tuple[str, ...]:
    """Return the queries as edited by the user. Raises KeyboardInterrupt."""
    from localllm.tui.dialogs.queries import edit_queries

    edited = await edit_queries([query.text for query in planned.queries])
    if not edited:
        raise EOFError  # all lines were deleted: there is nothing to search for
    return edited


def _print_plan(setup: ResearchSetup, options: ResearchOptions, report: ReportOutput, question: str) -> int:
    """Print the queries of a new run, which is stored; return the exit code."""
    display = RunDisplay(report.output, sys.stdout, sys.stderr)
    try:
        state = finish(lambda: plan_only(setup, options, display, question))
    except InterruptedRun as stopped:
        say_how_to_resume(display.run)
        return stopped.exit_code
    queries = [query.text for query in state.queries]
    if report.output == "text":
        click.echo(clean("\n".join(queries)))
    else:
        report.print_json({"type": "Plan", "id": state.id, "question": state.question, "queries": queries})
    say_how_to_resume(state.id)
    return 0


def _close(tracer: OpenTelemetryTracer | None) -> None:
    if tracer is not None and (remark := tracer.close()):
        say(in_words(remark))


def _warn_of_workers(setup: ResearchSetup, run: str) -> None:
    """Report a run that workers execute elsewhere: their findings are not here yet."""
    from localllm.integrations.task_queue.handover import place_of

    if place := place_of(setup.work_folder, run):
        say(_("Run {id} is also with the workers of {where}; what they find is not used here.", id=run, where=place))


def _refuse_contradictions(words: Sequence[str], values: Mapping[str, Any]) -> None:
    """Raise usage errors for options that would otherwise be ignored."""
    asked = [name for name in ("prompt", "task_id", "resume") if values[name] is not None]
    asked += ["task_all"] * values["task_all"] + ["question"] * bool(words)
    if len(asked) > 1:
        raise click.UsageError(_("Give only one of: a question, --prompt, --task-id, --task-all or --resume."))
    if values["force"] and values["export"] is None:
        raise click.UsageError(_("--force needs --export."))
    if values["resume"] is not None:
        of_run = [*(name for name in SHARED if values[name] not in (None, ())), "no_cache"]
        if given := [name for name in of_run if values[name]]:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise click.UsageError(_("--resume uses the original options of the run: leave out {names}.", names=names))
    if values["task_all"] and values["export"] is not None:
        raise click.UsageError(_("--export works with only one report."))
    if values["plan"] and (values["task_id"] or values["task_all"]):
        raise click.UsageError(_("--plan needs a question."))


def _piped_question() -> str:
    """Read the question from standard input; empty if nothing is piped. Raises ConfigurationError."""
    return read_whole(sys.stdin).strip() if is_piped(sys.stdin) else ""
