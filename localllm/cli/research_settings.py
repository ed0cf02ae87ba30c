"""The research setup for the current folder: settings, a command's options, the work folder."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import msgspec

from localllm import __version__
from localllm.app.private_log import start_log
from localllm.app.research_setup import ResearchSetup
from localllm.app.work_folder import work_folder
from localllm.base import logs
from localllm.base.events import Json
from localllm.base.i18n import _
from localllm.cli.settings import load_here, say
from localllm.config.research_settings import ResearchSettings
from localllm.llm.addresses import address_fault, server_root

_OLLAMA_PORT = 11434


def setup_here(context: click.Context, values: Mapping[str, Any]) -> ResearchSetup:
    """Create the research setup for the current folder, with the options `api`, `model`, `retry`, `clear` and
    `work_dir` of a command; start the log. Raises ConfigurationError."""
    project, loaded = load_here(context, _named(context, values))
    settings = loaded.settings
    folder = work_folder(settings, given=values.get("work_dir"))
    if values.get("clear"):
        named = {name: value for name, value in _named(context, values).items() if name.startswith("research.")}
        cleared = ResearchSettings(**{name.partition(".")[2]: value for name, value in named.items()})
        settings = msgspec.structs.replace(settings, research=cleared)
    start_log(settings.logging, folder)
    logs.of("SYSTEM").info("localllm %s: %s in %s", __version__, context.info_name, folder)
    logs.of("CONFIG").info("settings of %s", ", ".join(map(str, loaded.files.values())) or "no file")
    for warning in loaded.warnings:
        say(warning)
    environ = loaded.allowed_environ(os.environ)
    return ResearchSetup(settings=settings, root=project, environ=environ, work_folder=folder)


def _named(context: click.Context, values: Mapping[str, Any]) -> dict[str, Json]:
    """Return the settings given by options of the command, or those before it."""
    before = context.find_root().params
    named: dict[str, Json] = {}
    if any(before[name] for name in ("model", "provider", "base_url", "script")):
        named = {"research.provider": "", "research.model": ""}  # typed options override the saved model
    if api := values.get("api"):
        if fault := address_fault(api):
            raise click.UsageError(_("--api: “{url}” is not an address: {reason}.", url=api, reason=fault))
        is_ollama = urlsplit(server_root(api)).port == _OLLAMA_PORT or "/api/" in api
        provider = "ollama" if is_ollama else "openai"
        named |= {"research.provider": provider, f"llm.{provider}.base_url": server_root(api) if is_ollama else api}
    if values.get("model"):
        named["research.model"] = values["model"]
    if values.get("retry") is not None:
        named["research.retry"] = values["retry"]
    return named


def work_folder_here(context: click.Context, given: Path | None) -> Path:
    """Return the work folder, for commands without a setup. Raises ConfigurationError."""
    _project, loaded = load_here(context)
    return work_folder(loaded.settings, given=given)
