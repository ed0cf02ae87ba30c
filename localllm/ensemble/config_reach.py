"""Determine which commands and remote servers a configuration uses, and restrict files others may have written."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from localllm.base import offline
from localllm.base.errors import ConfigurationError
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.base.offline import is_own_address
from localllm.config.trust import is_loopback, runs_elsewhere
from localllm.ensemble.config import AgentConfig, EnsembleConfig

_URL = late_pattern(
    r"https?://(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<name>[a-z0-9_-]+(?:\.[a-z0-9_-]+)*))(?::\d{1,5})?(?:/[a-z0-9._~/-]*)?",
    re.ASCII | re.IGNORECASE,
)
"""Addresses that all parsers read alike: ASCII, without users, queries and escapes."""

_NUMBER = late_pattern(r"\d+|0x[0-9a-f]*", re.ASCII)
"""A last label of this form makes the whole an IPv4 address for resolvers: 134744072, 8.0x80808 (WHATWG URL, 3.5)."""

_PRIVATE_ENDINGS = (".local", ".lan", ".internal", ".home.arpa")
"""Domains that exist only in private networks (RFC 6762, RFC 8375, ICANN's resolution 2024.07.29.06; .lan by
custom)."""

Reach = tuple[str, ...]
"""One privileged effect of a configuration: more than requests to servers of the user's own network."""


def refuse_far_reach(config: EnsembleConfig, file: Path) -> None:
    """Raise ConfigurationError if a file that was found, not named, does more than send requests to servers of the
    user's own network: it may have come with someone else's project."""
    for _reach, reason in _far_reach(config):
        raise ConfigurationError("ensemble_config_unnamed", file=file, reason=reason)


def refuse_more_reach(config: EnsembleConfig, first: EnsembleConfig, file: Path) -> None:
    """Raise ConfigurationError if a changed file has effects it did not have at `first`, when its user named it: a
    command may have written it since. New names of servers are refused as well: where they lead shows only later."""
    named = {reach for reach, _reason in (*_far_reach(first), *_by_name(first))}
    for reach, reason in (*_far_reach(config), *_by_name(config)):
        if reach not in named:
            raise ConfigurationError("ensemble_config_reaches_further", file=file, reason=reason)


def _by_name(config: EnsembleConfig) -> Iterator[tuple[Reach, Phrase]]:
    """Yield each server near by its name only, not by an IP address, with the reason to refuse it."""
    for agent in (config.reviewer_agent, *config.worker_agents):
        address = agent.base_url
        if address and is_near(address) and not (is_loopback(address) or is_own_address(_host(address))):
            reason = Phrase("It asks {address}, a name that may lead anywhere", address=agent.api_url)
            yield ("address", address), reason


def refuse_unnamed_servers(config: EnsembleConfig, file: Path) -> None:
    """Raise ConfigurationError if a changed file names servers not allowed offline: the user has not named them."""
    for agent in (config.reviewer_agent, *config.worker_agents):
        if agent.base_url and not offline.is_named(agent.base_url):
            reason = Phrase(
                "It asks {address}, and offline only servers named at the start are contacted",
                address=agent.api_url,
            )
            raise ConfigurationError("ensemble_config_reaches_further", file=file, reason=reason)


def _far_reach(config: EnsembleConfig) -> Iterator[tuple[Reach, Phrase]]:
    """Yield each effect that the user must confirm by naming the file, with the reason."""
    if check := config.system_settings.check:
        yield ("check", check), Phrase("It runs a command (system_settings.check)")
    for agent in (config.reviewer_agent, *config.worker_agents):
        yield from _agent_reach(agent)


def _agent_reach(agent: AgentConfig) -> Iterator[tuple[Reach, Phrase]]:
    address = agent.base_url
    if agent.provider == "gguf":
        yield ("gguf", agent.model), Phrase("It runs a model file, which native code reads")
    if agent.provider == "scripted":
        yield ("scripted", agent.model), Phrase("It plays a file as a model (scripted)")
    if variable := agent.api_key_env:
        yield (variable, address), Phrase("It sends the key in the variable {variable}", variable=variable)
    if address and not is_near(address):
        reason = Phrase("It sends questions to {address}, which is not in your own network", address=agent.api_url)
        yield ("address", address), reason
    if runs_elsewhere(agent.model):
        reason = Phrase("It uses the model {model}, which Ollama runs elsewhere", model=agent.model)
        yield ("cloud", address, agent.model), reason


def is_near(url: str) -> bool:
    """Whether a server is on this machine or in a private network, judging by its address or by a domain only private
    networks have."""
    host = _host(url)
    if ":" in host or _NUMBER.fullmatch(host.rpartition(".")[2]):
        return is_own_address(host)
    return bool(host) and ("." not in host or host.endswith(_PRIVATE_ENDINGS))


def _host(url: str) -> str:
    """Return the host of a plain address, in lower case; empty for one that parsers may read differently."""
    found = _URL.fullmatch(url)
    return (found["v6"] or found["name"]).lower() if found else ""


def is_on_this_machine(config: EnsembleConfig) -> bool:
    """Whether all agents run on this machine."""
    agents = (config.reviewer_agent, *config.worker_agents)
    return all(is_loopback(agent.base_url or "localhost") and not runs_elsewhere(agent.model) for agent in agents)


def lies_in(file: Path, folder: Path) -> bool:
    """Whether a file is in a folder, by its path or by resolved links: whether it is exposed there."""
    return any(_is_beneath(place, folder) for place in _places(file))


def is_safe_in(folder: Path, file: Path, project: Path) -> bool:
    """Whether a file is in a folder that commands cannot write, by its path and by resolved links; false for a folder
    in the project, which commands can write."""
    return all(_is_beneath(place, folder) for place in _places(file)) and not lies_in(folder, project)


def _places(file: Path) -> tuple[str, str]:
    return os.path.abspath(file), os.path.realpath(file)  # noqa: PTH100 - Path.absolute keeps ".."


def _is_beneath(place: str, folder: Path) -> bool:
    return any(Path(place).is_relative_to(base) for base in (folder.absolute(), folder.resolve()))
