"""The schema of the ensemble's configuration file: reviewer, workers and how they work together.

The keys of the paper's example keep their names and defaults; the others are additions.
"""

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from msgspec import Meta

from localllm.config.schema import LLMSettings, NamedProvider
from localllm.config.section import Count, Positive, Section
from localllm.ensemble.records import StrategyName
from localllm.llm.addresses import address_fault, reachable

DEFAULT_TIMEOUT = 60.0

AtLeastZero = Annotated[float, Meta(ge=0)]
Whole = Annotated[int, Meta(ge=0)]

_OLLAMA_ENDPOINT = re.compile(r"/api/(chat|generate|tags|show|ps|version)/?$")


class AgentConfig(Section, frozen=True, kw_only=True):
    """A model behind an address.

    `api_url`: a host, a base URL or the full endpoint; empty for a provider that has no server. `timeout`: seconds for
    the whole answer, retries included; None takes the system's default. `api_key_env`: the environment variable that
    holds the key. `weight` multiplies its votes and breaks ties. `when`: a regular expression; it is asked only where
    it is found in the question. `description`: what it is good at, for the selection. `max_tokens`: the longest
    answer; 0 leaves it to the server. `num_ctx`: the window Ollama is asked for; 0 takes what fits.
    """

    name: str
    api_url: str = ""
    model: str
    timeout: Positive | None = None
    provider: NamedProvider = "ollama"
    api_key_env: str = ""
    weight: AtLeastZero = 1.0
    when: str = ""
    description: str = ""
    system: str = ""
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    max_tokens: Whole = 0
    num_ctx: Whole = 0

    @property
    def base_url(self) -> str:
        """`api_url` in the form of the provider's settings: a bare host gets the usual scheme and port, and an endpoint
        of Ollama's is stripped, whatever the provider."""
        return complete_address(self.api_url, usual_address(self.provider))


def usual_address(provider: str) -> str:
    """Return the default address of this provider; empty if it has no server or no default."""
    section = getattr(LLMSettings(), provider, None)
    return str(getattr(section, "base_url", ""))


def has_server(provider: str) -> bool:
    """Whether this provider is reached at an address."""
    section = getattr(LLMSettings(), provider, None)
    return hasattr(section, "base_url") or hasattr(section, "endpoint")


def complete_address(api_url: str, usual: str) -> str:
    """Complete a bare host in `api_url` with the scheme and port of the `usual` address, and strip an endpoint of
    Ollama's."""
    url = _OLLAMA_ENDPOINT.sub("", api_url.strip())
    if not url or "://" in url:
        return reachable(url) if url else ""
    usual_parts = urlsplit(usual or "https://")
    is_bare_ipv6 = url.count(":") > 1 and not url.startswith("[") and "/" not in url
    url = f"{usual_parts.scheme}://{f'[{url}]' if is_bare_ipv6 else url}"
    if address_fault(url):
        return url
    parts = urlsplit(url)
    if parts.port is None and usual_parts.port is not None:
        url = parts._replace(netloc=f"{parts.netloc.rstrip(':')}:{usual_parts.port}").geturl()
    return reachable(url)


class SystemSettings(Section, frozen=True, kw_only=True):
    """How the agents work together.

    `stream`: /generate may stream events to clients that accept them. `anonymous`: the reviewer sees answers in random
    order under neutral labels. `quorum`: answers that are enough to begin the review, 0 for all. `hedge_after`: seconds
    after which the review begins with what there is (at least one answer), 0 for never. `per_host`: different models a
    host is asked for at once, so that it need not unload one for another; 0 for any number. `select`: workers that are
    asked, chosen by their descriptions, 0 for all. `samples`: answers of the strategy `self`. `check`: a command that
    tells whether an answer holds (`best`).
    """

    max_retries: Annotated[int, Meta(ge=0, le=10)] = 1
    default_timeout: Positive = DEFAULT_TIMEOUT
    stream: bool = False
    strategy: StrategyName = "review"
    anonymous: bool = True
    quorum: Whole = 0
    hedge_after: AtLeastZero = 0.0
    per_host: Whole = 0
    select: Whole = 0
    samples: Count = 3
    check: str = ""
    review_language: Literal["auto", "en", "ja"] = "auto"


class EnsembleConfig(Section, frozen=True, kw_only=True):
    """The whole file."""

    reviewer_agent: AgentConfig
    worker_agents: tuple[AgentConfig, ...]
    system_settings: SystemSettings = SystemSettings()
