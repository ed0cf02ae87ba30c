"""The settings as the command line has them, for the commands beside the chat."""

import os
from pathlib import Path
from typing import Any

import click

from localllm.base.config.loading import Loaded, load
from localllm.base.i18n import set_language
from localllm.base.paths import find_project


def overrides(options: dict[str, Any]) -> dict[str, Any]:
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


def load_here(context: click.Context) -> tuple[Path, Loaded]:
    """The project the program is started in and its settings, the root command's options included; from now on the
    language is theirs. Raises ConfigurationError."""
    options = context.find_root().params
    project = find_project(Path.cwd())
    loaded = load(project, overrides=overrides(options), environ=os.environ, trusted=options["trust_project"])
    set_language(options["lang"] or loaded.settings.ui.language)
    return project, loaded
