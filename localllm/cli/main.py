"""The root of the command line: the chat, the one-shot, and the commands below them."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from localllm import __version__
from localllm.app import FrontEnd, LocalLLMCode
from localllm.base import logs
from localllm.base.config.loading import load
from localllm.base.errors import InternalError, LocalLLMError
from localllm.base.i18n import set_language
from localllm.base.paths import find_project, state_folder
from localllm.cli.config import config
from localllm.cli.standard_input import read_piped_input
from localllm.text.cleaning import clean
from localllm.ui.headless import Headless, exit_code
from localllm.ui.repl import Terminal

EXIT_INTERRUPTED = 130


def run(arguments: list[str]) -> int:
    """Run the command line; the exit code. Errors are printed here, and only here."""
    set_language("auto")
    debug = "--debug" in arguments
    try:
        result = root.main(arguments, prog_name="localllm", standalone_mode=False)
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone: say no more, not even when the interpreter flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except LocalLLMError as error:
        if debug:
            raise
        _print_error(error)
        return error.exit_code
    except Exception as error:
        if debug:
            raise
        logs.start(state_folder() / "logs", "INFO")
        logs.of("CLI").exception("the program failed")
        _print_error(InternalError("internal", reason=repr(error), log=logs.file()))
        return InternalError.exit_code
    return result if isinstance(result, int) else 0


@click.group(
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
@click.option("-p", "--prompt", metavar="TEXT", help="Do this once and leave; piped standard input is added to it.")
@click.option(
    "--output",
    type=click.Choice(["text", "json", "stream-json"]),
    default="text",
    show_default=True,
    help="With -p: the answer as text, as one JSON object, or every event as a JSON line.",
)
@click.option("-y", "--yes", is_flag=True, help="With -p: allow what would be asked about, except dangerous commands.")
@click.option("-m", "--model", metavar="NAME", help="The model to ask.")
@click.option("--provider", metavar="NAME", help="Where the model is: lmstudio, openai, or scripted (plays a file).")
@click.option("--base-url", metavar="URL", help="The address of an OpenAI-compatible server.")
@click.option("--script", metavar="FILE", help="Play this file of turns instead of asking a model.")
@click.option("--lang", type=click.Choice(["en", "ja"]), help="The language of the program's own words.")
@click.option("--trust-project", is_flag=True, help="For this run, believe all of the project's localllm.toml.")
@click.option("--i-accept-no-sandbox", is_flag=True, help="Run commands even where nothing can hold them.")
@click.option("--debug", is_flag=True, help="Show where an error comes from.")
@click.pass_context
def root(context: click.Context, **options: Any) -> int | None:
    """An assistant for code and research that lives on your own models.

    Without -p and without a command it opens a chat in this project.
    """
    if options["lang"]:
        set_language(options["lang"])
    if context.invoked_subcommand is not None:
        return None
    _refuse_contradictions(options)
    project = find_project(Path.cwd())
    loaded = load(project, overrides=_overrides(options), environ=os.environ, trusted=options["trust_project"])
    set_language(options["lang"] or loaded.settings.ui.language)
    front_end = _front_end(options)
    app = LocalLLMCode(project, loaded, front_end, environ=os.environ, accept_no_sandbox=options["i_accept_no_sandbox"])
    prompt = options["prompt"]
    return asyncio.run(_run(app, prompt if prompt is None else prompt + read_piped_input(sys.stdin)))


root.add_command(config)


def _refuse_contradictions(options: dict[str, Any]) -> None:
    """Options that would be passed over in silence are errors of usage."""
    if options["prompt"] is None and (options["yes"] or options["output"] != "text"):
        raise click.UsageError("--yes and --output go with -p.")
    if options["script"] and (options["base_url"] or options["provider"] not in (None, "scripted")):
        raise click.UsageError("--script plays a file: it goes with no other provider and no address.")
    if options["base_url"] and options["provider"] == "scripted":
        raise click.UsageError("--base-url is the address of a server; the scripted provider has none.")


def _overrides(options: dict[str, Any]) -> dict[str, Any]:
    """The settings named on the command line. An address or a script implies the provider it belongs to."""
    implied = "scripted" if options["script"] else "openai" if options["base_url"] else None
    provider = options["provider"] or implied
    named = {
        "llm.provider": provider,
        "llm.model": options["model"],
        f"llm.{provider}.base_url": options["base_url"],
        "llm.scripted.file": options["script"] and str(Path(options["script"]).absolute()),
    }
    return {key: value for key, value in named.items() if value}


def _front_end(options: dict[str, Any]) -> FrontEnd:
    """The chat's terminal, or the printer of a one-shot run. Each loads only what it needs."""
    if options["prompt"] is None:
        return Terminal()
    return Headless(options["output"], approve_all=options["yes"])


async def _run(app: LocalLLMCode, prompt: str | None) -> int:
    await app.initialize()
    try:
        if prompt is None:
            return await app.run_interactive()
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError):  # Windows: Ctrl+C ends the program there
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, app.interrupt)
        for notice in app.notices():
            _say(notice)
        return exit_code(await app.run_oneshot(prompt))
    finally:
        await app.cleanup()


def _say(text: str) -> None:
    click.echo(clean(text), err=True)


def _print_error(error: LocalLLMError) -> None:
    """What, why and the mend, each on its own line."""
    _say(f"localllm: {error.code} {error.what}")
    for line in (error.why, error.mend):
        if line:
            _say(f"  {line}")
