"""What models can do and are offered, as data: families by name, profiles by size."""

import re
from typing import Literal

import msgspec

from localllm.base.lazy_patterns import late_pattern
from localllm.llm.providers.base import ModelInfo

_REPLAYS_THINKING = late_pattern(
    r"gpt-?oss|minimax-?m[2-9]|kimi-?k2(?:\.\d+)?-?thinking|kimi-?k2\.[5-9]|glm-?(?:4\.[6-9]|[5-9])|deepseek-?v(?:3\.[2-9]|[4-9])"
    r"|deepseek-?reasoner",
    re.IGNORECASE,
)
"""Families whose makers ask for the thinking behind earlier calls to be sent back: gpt-oss (harmony), MiniMax M2,
Kimi K2 Thinking, GLM from 4.6 and DeepSeek from 3.2, each in its model card or interface guide."""

_SHORT_IDS = late_pattern(r"mistral|mixtral|ministral|codestral|devstral|magistral|pixtral", re.IGNORECASE)
"""Mistral's own chat templates raise an error for a call whose id has not nine letters and digits."""


def replays_thinking(model: str) -> bool:
    """Whether the model needs its earlier thinking. The others would only read it again, and are confused by it."""
    return _REPLAYS_THINKING.search(model) is not None


def wants_short_ids(model: str) -> bool:
    """Whether the ids of the model's calls must have nine letters and digits."""
    return _SHORT_IDS.search(model) is not None


ProfileName = Literal["compact", "standard", "embedded"]
ProfileSetting = Literal["auto", "compact", "standard"]

SMALL_WINDOW = 16_384
"""Tokens: up to here the standard profile's 1,300 would be nearly a tenth of the window and more."""

SMALL_MODEL = 14.9e9
"""Parameters: what is sold as 14B has up to 14.8 billion (Qwen 2.5 and 3, Phi 4)."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What a conversation begins with. `prompt` names the system prompt.

    `tools`: the names of those offered, as far as the settings turn them on; None for all. `brief`: without the
    arguments few calls need. At most so much is told of what is remembered of the project (`notes`, bytes of UTF-8) and
    of how it wants to be worked on (`instructions`, characters).
    """

    name: ProfileName
    prompt: str
    tools: frozenset[str] | None = None
    brief: bool = False
    notes: int = 1_200
    instructions: int = 8_000


_COMPACT_TOOLS = frozenset(
    {
        *("analyze_code", "list_files", "read_file", "search_files"),
        *("edit_file", "write_file", "run_command", "git_commit"),
        *("fetch_page", "searxng_search", "web_search"),
        "search_rag_knowledge_base",
    }
)
"""Eight tools, and those of the web and of collections where there are any. write_file makes new files too, and the
rest of git is a command; committing is not left to one, for a small model writes `git add -A`, and with it goes
whatever lies about."""

STANDARD = Profile(
    name="standard",
    prompt="system",
    tools=_COMPACT_TOOLS | {"command_output", "deep_research", "explore", "list_rag_collections", "recall", "todo"},
)

COMPACT = Profile(
    name="compact",
    prompt="compact",
    tools=_COMPACT_TOOLS,
    brief=True,
    notes=500,
    instructions=2_000,
)

EMBEDDED = Profile(name="embedded", prompt="system")

_PROFILES = {profile.name: profile for profile in (COMPACT, STANDARD, EMBEDDED)}


def choose(setting: ProfileSetting, info: ModelInfo, window: int, assumed: bool) -> Profile:
    """The profile of a model whose window has `window` tokens: as set, else compact where the window (unless it is
    only `assumed`) or the model is small. The embedded engine, which is exact, plans with every tool there is."""
    if info.exact:
        return EMBEDDED
    if setting != "auto":
        return _PROFILES[setting]
    is_small = 0 < parameters(info) <= SMALL_MODEL or (not assumed and window <= SMALL_WINDOW)
    return COMPACT if is_small else STANDARD


def profile_named(name: str) -> Profile | None:
    """The profile of this name; None where there is none."""
    return next((profile for profile in _PROFILES.values() if profile.name == name), None)


def parameters(info: ModelInfo) -> float:
    """How many parameters the model has in all: as its server tells, else as its name does; 0 where neither does."""
    return read_parameters(info.parameters) or read_parameters(info.id)


_NUMBER = late_pattern(r"(?<![a-z0-9.])(?:(\d+)x|e)?(\d+(?:\.\d+)?)([mbt])(?![a-z0-9])", re.IGNORECASE)
"""8b, 0.6B, 8x7b, e4b (what of Gemma 3n is in memory at once); not the a3b of 30b-a3b, which says how many work on
each token."""

_UNITS = {"m": 1e6, "b": 1e9, "t": 1e12}

_FEWEST = 50e6
"""Less than this, as in "-1m", is a length of context."""


def read_parameters(text: str) -> float:
    """The number of parameters in a server's words or a model's name; 0 where there is none."""
    found = (int(times or 1) * float(number) * _UNITS[unit.lower()] for times, number, unit in _NUMBER.findall(text))
    return max((count for count in found if count >= _FEWEST), default=0.0)
