"""The root command: the chat, the one-shot run, and the subcommands."""

import asyncio
import os
import re
import stat
import sys
import threading
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from itertools import pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from localllm import __version__
from localllm.app.app import LocalLLMCode
from localllm.app.private_log import start_log
from localllm.app.recovery import Recovery
from localllm.base import logs
from localllm.base.errors import ConfigurationError, InternalError, LocalLLMError
from localllm.base.i18n import _, language, set_language
from localllm.base.own_folders import closed_folder, reopen_at_start
from localllm.base.paths import find_project
from localllm.cli.fast_start import Opening
from localllm.cli.interruption import Interruption
from localllm.cli.settings import overrides, print_error, say, take_back
from localllm.config.loader import Loaded, load
from localllm.config.registry import PROVIDERS
from localllm.config.schema import LoggingSettings
from localllm.config.trust import Answers
from localllm.text.decoding import NotTextError, decode
from localllm.tui.headless import Headless, exit_code
from localllm.tui.signals import ForcedEnd

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from localllm.tui.repl import Terminal


_SECONDS_BEFORE_NOTICE = 2.0
_MOST_PIPED = 100_000_000  # bytes; of what does not fit the window, the model searches the rest

_OWN_MARK = r"<([\s/\u00ad\u200b-\u200f\u2060-\u2064\ufeff]{0,18}stdin(?![a-z0-9_-]))"
"""What a model may take for a mark of the frame: with blanks, attributes or invisible characters as well."""


def read_piped_input(stream: TextIO | None) -> str:
    """Read the text piped into the program, framed to follow a prompt, with the frame's own marks escaped; empty if
    nothing is piped.

    Only pipes and files are read, not a terminal or /dev/null. An open pipe without data is waited for, with a notice
    after a moment. Raises ConfigurationError for binary data.
    """
    if stream is None or not is_piped(stream):
        return ""
    given, is_whole = _read(stream)
    text = re.sub(_OWN_MARK, r"‹\1", given.strip("\n"), flags=re.IGNORECASE)
    told = (
        "" if is_whole else f"\n[Only the first {_MOST_PIPED // 1_000_000} MB were read; what followed is not known.]"
    )
    return f"\n\n<stdin>\n{text}\n</stdin>{told}" if text.strip() else ""


def is_piped(stream: TextIO) -> bool:
    """Whether `stream` is a pipe or a file."""
    if stream.closed:
        return False
    mode = os.fstat(stream.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def read_whole(stream: TextIO) -> str:
    """Read the piped text, at most 100 MB, with a notice if it has to be waited for. Raises ConfigurationError."""
    return _read(stream)[0]


def _read(stream: TextIO) -> tuple[str, bool]:
    """Return what `read_whole` does, and whether that is all of it."""
    notice = threading.Timer(
        _SECONDS_BEFORE_NOTICE,
        lambda: print(  # noqa: T201
            _("Waiting for the end of standard input (use < /dev/null if there is none)."), file=sys.stderr
        ),
    )
    notice.daemon = True
    notice.start()
    try:
        data = stream.buffer.read(_MOST_PIPED + 1)
    finally:
        notice.cancel()
    is_whole = len(data) <= _MOST_PIPED
    if not is_whole:
        data = _beginning(data[:_MOST_PIPED])
        _end_writer(stream)
    try:
        return decode(data).text, is_whole
    except NotTextError as error:
        raise ConfigurationError("input_not_text") from error


def _beginning(data: bytes) -> bytes:
    """Return the whole lines of the data, of which the last may be cut; all of it, if that is one line or UTF-16."""
    print(  # noqa: T201
        _("Only the first {most} MB of standard input are read.", most=_MOST_PIPED // 1_000_000), file=sys.stderr
    )
    whole = data[: data.rfind(b"\n") + 1]
    return whole if whole and b"\0" not in data[:1_000] else data


def _end_writer(stream: TextIO) -> None:
    """Close a pipe of which nothing more is read, so that the program at its other end is not kept waiting."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, stream.fileno())  # a closed descriptor would be the next file's
    os.close(nothing)


EXIT_INTERRUPTED = 130
_LANGUAGES = ("en", "ja")
_SECONDS_TO_CLOSE = 15.0  # for the session, its commands and connections; running threads are then abandoned
_SLASHES = ("/", "／")

PROGRAM = "localllm"
COMPLETE_VARIABLE = "_LOCALLLM_COMPLETE"
"""The variable by which the script of `localllm completion` asks for completions."""


def run(arguments: list[str], opening: Opening | None = None) -> int:
    """Run the command line and return the exit code. Errors are printed only here. `opening`: the part of a chat shown
    already."""
    set_language(_named_language(arguments))
    if language() != "en":
        from localllm.cli.help import translate, translate_click

        translate_click()
        is_completion = bool(os.environ.get(COMPLETE_VARIABLE))
        if is_completion or not {"-h", "--help"}.isdisjoint(arguments):
            os.environ["LANGUAGE"] = language()  # read by click; help starts no other program
            translate(root, in_one_line=is_completion)
    debug = "--debug" in arguments
    try:
        result = root.main(
            arguments, prog_name=PROGRAM, complete_var=COMPLETE_VARIABLE, standalone_mode=False, obj=opening
        )
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.NoSuchOption as error:
        _misplaced(error).show()
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output is gone: print nothing more, not even by the interpreter's final flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except LocalLLMError as error:
        if debug:
            raise
        print_error(error)
        return error.exit_code
    except Exception as error:
        if debug:
            raise
        failure = _failure(error)
        print_error(failure)
        return failure.exit_code
    return result if isinstance(result, int) else 0


def _failure(error: Exception) -> LocalLLMError:
    """Return the error that explains an exception, and log it if it is a bug."""
    if isinstance(error, RuntimeError) and not os.path.isabs(os.path.expanduser("~")):  # noqa: PTH111, PTH117
        return ConfigurationError("no_home")
    if closed := closed_folder(error):
        return closed
    start_log(LoggingSettings())
    logs.of("CLI").exception("the program failed")
    return InternalError("internal", reason=repr(error), log=logs.file())


def _named_language(arguments: list[str]) -> str:
    """Return the language of `--lang`: help is assembled before options are parsed."""
    before = list(takewhile(lambda one: one not in LATE_COMMANDS, arguments))
    said = {*before, *map("=".join, pairwise(before))}
    return next((one for one in _LANGUAGES if f"--lang={one}" in said), "auto")


_OF_OTHER_PROGRAMS = {"--json": "--output json", "--output-format": "--output", "--print": "--prompt"}
_WITHOUT_COMMAND = {"prompt", "output", "continue_", "resume", "yes"}
"""Parameters of the root command that a subcommand does not read."""


def _misplaced(error: click.NoSuchOption) -> click.UsageError:
    """Return the error; for an option that goes before the command, with a note on its position."""
    options = [one for one in root.params if isinstance(one, click.Option) and one.name not in _WITHOUT_COMMAND]
    option = error.option_name
    if error.ctx is None or error.ctx.parent is None:
        if meant := _OF_OTHER_PROGRAMS.get(option):
            return click.NoSuchOption(option, _("There is no {option}: use {meant}.", option=option, meant=meant))
        return error
    if not any(option in one.opts for one in options):
        return error
    called = " ".join(error.ctx.command_path.split()[1:])
    return click.UsageError(
        _("{option} goes before the command: localllm {option} … {command}", option=option, command=called), error.ctx
    )


LATE_COMMANDS = (
    *("completion", "config", "debug", "doctor", "history", "init", "log", "market", "models", "rag", "research"),
    *("sandbox", "serve", "task", "worker"),
)
"""Commands whose module, of the same name, is imported only when they are called."""


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *LATE_COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in LATE_COMMANDS:
            command: click.Command = getattr(import_module(f"localllm.cli.{cmd_name}"), cmd_name)
            if language() != "en":
                from localllm.cli.help import translate

                translate(command, in_one_line=ctx.resilient_parsing)
            return command
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if isinstance(error, click.NoSuchOption):
                raise
            raise _no_command(ctx, args, self.list_commands(ctx)) from error

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Complete the names of commands without their help, which would import every command."""
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name) for name in self.list_commands(ctx) if name.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)


def _no_command(context: click.Context, words: list[str], commands: list[str]) -> click.UsageError:
    """Return the error for a word that is no command: with the nearest one, or how to ask if it begins a question."""
    import shlex
    from difflib import get_close_matches

    name = words[0]
    if words == ["help"]:
        said = _("There is no command “help”. All commands and options: localllm --help")
    elif words in (["chat"], ["start"]):
        said = _("There is no command “{name}”. The chat begins with localllm alone.", name=name)
    elif near := get_close_matches(name, commands, 1, cutoff=0.7):
        said = _("There is no command “{name}”. Did you mean “{near}”?", name=name, near=near[0])
    else:
        words_said = shlex.quote(" ".join(takewhile(lambda word: not word.startswith("-"), words)))
        said = _("There is no command “{name}”. To ask a question: localllm -p {words}", name=name, words=words_said)
    return click.UsageError(said, context)


def _providers(_context: click.Context, _option: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in ("auto", *PROVIDERS) if name.startswith(incomplete)]


_FILE = click.Path(readable=False)
"""The name of a file, unchecked: shells complete it."""


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
@click.option("-p", "--prompt", metavar="TEXT", help="Do this once and exit; piped standard input is added to it.")
@click.option(
    "--output",
    type=click.Choice(["text", "json", "stream-json"]),
    default="text",
    help="With -p: the answer as text (the default), as one JSON object, or every event as a JSON line.",
)
@click.option("-c", "--continue", "continue_", is_flag=True, help="Continue the newest session of this project.")
@click.option("--resume", metavar="NAME", help="Resume this session; the beginning of its name is enough.")
@click.option(
    "-y",
    "--yes",
    is_flag=True,
    help="With -p: allow what would need confirmation, except dangerous commands and unknown addresses.",
)
@click.option(
    "--mode",
    type=click.Choice(["plan", "ask", "auto-edit", "auto"]),
    help="When to ask: plan only reads, auto asks only about dangerous commands and unknown addresses.",
)
@click.option("-m", "--model", metavar="NAME", type=_FILE, help="The model to ask, or a .gguf file to run.")
@click.option(
    "--provider",
    metavar="NAME",
    shell_complete=_providers,
    help="Model provider: auto, lmstudio, ollama, openai, azure, gemini, gguf, embedded, scripted.",
)
@click.option("--base-url", metavar="URL", help="The address of an OpenAI-compatible server.")
@click.option("--script", metavar="FILE", type=_FILE, help="Play this file of turns instead of asking a model.")
@click.option("--lang", type=click.Choice(_LANGUAGES), help="The language of the program's messages.")
@click.option("--trust-project", is_flag=True, help="For this run, trust all of the project's localllm.toml.")
@click.option("--i-accept-no-sandbox", is_flag=True, help="Run commands even if they cannot be sandboxed.")
@click.option("--offline", is_flag=True, help="Reach only this machine and servers you named in your own network.")
@click.option("--debug", is_flag=True, help="Show where an error comes from.")
@click.pass_context
def root(context: click.Context, **options: Any) -> int | None:
    """An assistant for code and research that runs on your own models.

    Without -p and without a command it opens a chat in this project.
    """
    if options["lang"]:
        set_language(options["lang"])
    here = _working_folder()
    if context.invoked_subcommand is not None:
        return None
    _refuse_contradictions(options)
    project = find_project(here)
    recovery = Recovery(reopened=reopen_at_start(project), put_back=take_back(project))
    prompt = options["prompt"]
    if prompt is None:
        front_end = _terminal(context.obj)
        loaded = _settled(project, front_end, options)
    else:
        front_end = Headless(options["output"], approve_all=options["yes"])
        loaded = _load(project, options)
        if prompt.lstrip().startswith(_SLASHES):
            _say_if_a_command(prompt, loaded)
    app = LocalLLMCode(
        project,
        loaded,
        front_end,
        environ=os.environ,
        here=here,
        accept_no_sandbox=options["i_accept_no_sandbox"],
        recovery=recovery,
    )
    wanted = "" if options["continue_"] else options["resume"]
    piped = "" if prompt is None else read_piped_input(sys.stdin)
    forced_end = ForcedEnd()
    try:
        return asyncio.run(_run(app, prompt, piped, wanted, forced_end))
    finally:
        forced_end.call_off()


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise ConfigurationError("usage_no_folder") from error


def _load(project: Path, options: dict[str, Any], believed: str = "") -> Loaded:
    """Load the settings for this run, and switch to their language."""
    trusted = options["trust_project"]
    loaded = load(project, overrides=overrides(options), environ=os.environ, trusted=trusted, believed=believed)
    set_language(options["lang"] or loaded.settings.ui.language)
    return loaded


def _refuse_contradictions(options: dict[str, Any]) -> None:
    """Raise usage errors for options that would otherwise be ignored."""
    if options["prompt"] is None and (options["yes"] or options["output"] != "text"):
        raise click.UsageError(_("--yes and --output need -p."))
    if (options["prompt"] or "").strip() == "-":
        raise click.UsageError(
            _('-p - is no request: what is piped in is data. Say what to do with it: localllm -p "summarise" < FILE')
        )
    if options["continue_"] and options["resume"] is not None:
        raise click.UsageError(
            _("--continue takes the newest session, --resume the one you name: give only one of them.")
        )
    if options["resume"] is not None and not options["resume"].strip():
        raise click.UsageError(_("--resume needs the name of a session; --continue takes the newest."))
    if options["script"] and (options["base_url"] or options["provider"] not in (None, "scripted")):
        raise click.UsageError(_("--script plays a file: it cannot be combined with another provider or an address."))
    if options["base_url"] and options["provider"] in ("scripted", "gguf"):
        raise click.UsageError(
            _("--base-url is the address of a server; the {provider} provider has none.", provider=options["provider"])
        )


def _terminal(opening: Opening | None) -> "Terminal":
    """Create the chat's terminal. Imported late, since a one-shot run does not need it."""
    from localllm.tui.repl import Terminal

    return Terminal(is_open=opening is not None, modes=opening and opening.modes)


def _say_if_a_command(prompt: str, loaded: Loaded) -> None:
    """Notify a user whose one-shot prompt begins with a chat command, which was not executed. Imported late."""
    from localllm.cli.chat_words import sent_as_words

    if told := sent_as_words(prompt, loaded.settings.commands.aliases):
        say(told)


def _settled(project: Path, terminal: "Terminal", options: dict[str, Any]) -> Loaded:
    """Load the settings after asking the user whether to trust the project's."""
    from localllm.cli.trust import settle

    return settle(project, _load(project, options), terminal, partial(_load, project, options), Answers.of_user())


async def _resumed(app: LocalLLMCode, wanted: str) -> Sequence[str]:
    """Resume a session and return notes on it, for displays that do not show its last exchange."""
    return [*await app.keeping.resume(wanted), *app.keeping.last_said]


async def _run(app: LocalLLMCode, prompt: str | None, piped: str, wanted: str | None, forced_end: ForcedEnd) -> int:
    """Run the program. `piped` follows the prompt. `wanted`: the session to resume, "" for the newest, None for a new
    one."""
    code = InternalError.exit_code
    await app.initialize()
    try:
        told: Sequence[str] = () if wanted is None else await _resumed(app, wanted)
        if prompt is None:
            code = await app.run_interactive()
            return code
        await app.settled()
        Interruption(app.interrupt, forced_end).listen()
        for notice in (*told, *app.notices(), *app.warnings()):
            say(notice)
        code = exit_code(await app.run_oneshot(prompt, piped))
        return code
    finally:
        forced_end.begin(code, _SECONDS_TO_CLOSE)  # threads are waited for after this as well
        await app.cleanup()
