"""Load settings for a command line, and print warnings to standard error."""

import os
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import click

from localllm.base.errors import LocalLLMError
from localllm.base.events import Json
from localllm.base.i18n import set_language
from localllm.base.own_folders import reopen_at_start, reopened_notice
from localllm.base.paths import find_project, is_recorded, state_folder
from localllm.config.loader import Loaded, load
from localllm.llm.offline_servers import go_offline
from localllm.text.sanitising import clean


def overrides(options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings given on the command line. An address, a script or a model file implies its provider."""
    file = _model_file(options)
    implied = "scripted" if options["script"] else "openai" if options["base_url"] else "gguf" if file else None
    provider = options["provider"] or implied
    named = {
        "llm.provider": provider,
        "llm.model": None if file else options["model"],
        "llm.gguf.file": file,
        f"llm.{provider}.base_url": options["base_url"],
        "llm.scripted.file": options["script"] and str(Path(options["script"]).absolute()),
        "offline": options["offline"],
    }
    chosen = {key: value for key, value in named.items() if value}
    if mode := options["mode"]:  # it overrides require_confirmation
        chosen |= {"safety.mode": mode, "safety.require_confirmation": mode != "auto"}
    return chosen


def _model_file(options: dict[str, Any]) -> str | None:
    """Return the file --model names, None for a model's name: some servers have models called NAME.gguf, so the file
    must exist or a folder be given."""
    model, provider = options["model"], options["provider"]
    if not model or options["base_url"] or options["script"] or provider not in (None, "gguf"):
        return None
    from localllm.llm.gguf.model_file import SUFFIX

    file = Path(model).expanduser()
    means_a_file = file.suffix.lower() == SUFFIX and (file.is_file() or file.name != model)
    return str(file.absolute()) if provider == "gguf" or means_a_file else None


def load_here(context: click.Context, more: Mapping[str, Json] | None = None) -> tuple[Path, Loaded]:
    """Return the current project and its settings, with the root command's options and `more` of a command's own;
    switch to their language. Raises ConfigurationError."""
    options = context.find_root().params
    project = find_project(Path.cwd())
    reopened = reopen_at_start(project)
    take_back(project)
    named = {**overrides(options), **(more or {})}
    loaded = load(project, overrides=named, environ=os.environ, trusted=options["trust_project"])
    set_language(options["lang"] or loaded.settings.ui.language)
    go_offline(loaded, os.environ)
    if reopened:
        say(reopened_notice(reopened))
    return project, loaded


def take_back(project: Path) -> int:
    """Restore protected files that commands of a killed program had changed; return their number. The settings are
    among them, so this must precede their use."""
    root = project.resolve()
    if not is_recorded(root, state_folder() / "commands"):
        return 0
    from localllm.sandbox.runner import SandboxRunner  # which knows what commands do not see

    runner = SandboxRunner(root, state_folder=state_folder())
    with closing(runner), suppress(OSError, LocalLLMError):  # retried when the chat starts, and logged
        return len(runner.recover())
    return 0


def say(text: str) -> None:
    """Print a message to standard error."""
    click.echo(clean(text), err=True)


def print_error(error: LocalLLMError) -> None:
    """Print what, why and the fix, each on its own line; further lines of a part are indented, so that none looks like
    a line of the program's own."""
    parts = (f"localllm: {error.code} {error.what}", error.why, error.fix)
    say("\n  ".join(line for part in parts for line in part.splitlines()))
