"""The ensemble's configuration: reviewer, workers and how they work together, as config.json says it.

The keys of the paper's example keep their names and defaults; the others are additions.
"""

from typing import Literal

import msgspec

from localllm.ensemble.records import StrategyName

DEFAULT_TIMEOUT = 60.0


class AgentConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model behind an address.

    `api_url`: a host, a base URL or the full endpoint. `timeout`: seconds for the whole answer, retries included; None
    takes the system's default. `api_key_env`: the environment variable that holds the key. `weight` multiplies its
    votes and breaks ties. `when`: a regular expression; it is asked only where it is found in the question.
    `description`: what it is good at, for the selection.
    """

    name: str
    api_url: str
    model: str
    timeout: float | None = None
    provider: str = "ollama"
    api_key_env: str = ""
    weight: float = 1.0
    when: str = ""
    description: str = ""
    system: str = ""
    temperature: float | None = None
    max_tokens: int = 0
    num_ctx: int = 0


class SystemSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the agents work together.

    `stream`: /generate may stream events to clients that accept them. `anonymous`: the reviewer sees answers in random
    order under neutral labels. `quorum`: answers that are enough to begin the review, 0 for all. `hedge_after`: seconds
    after which the review begins with what there is (at least one answer), 0 for never. `per_host`: requests a host is
    sent at once, 0 for as many as it serves models. `select`: workers that are asked, chosen by their descriptions, 0
    for all. `samples`: answers of the strategy `self`. `check`: a command that tells whether an answer holds (`best`).
    """

    max_retries: int = 1
    default_timeout: float = DEFAULT_TIMEOUT
    stream: bool = False
    strategy: StrategyName = "review"
    anonymous: bool = True
    quorum: int = 0
    hedge_after: float = 0.0
    per_host: int = 0
    select: int = 0
    samples: int = 3
    check: str = ""
    review_language: Literal["auto", "en", "ja"] = "auto"


class EnsembleConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    reviewer_agent: AgentConfig
    worker_agents: tuple[AgentConfig, ...]
    system_settings: SystemSettings = SystemSettings()
