"""Model capabilities and offered tools, as data: families by name, profiles by size."""

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
"""Families whose makers require the thinking of earlier calls to be sent back: gpt-oss (harmony), MiniMax M2, Kimi K2
Thinking, GLM from 4.6 and DeepSeek from 3.2, according to their model cards or API guides."""

_SHORT_IDS = late_pattern(r"mistral|mixtral|ministral|codestral|devstral|magistral|pixtral", re.IGNORECASE)
"""Mistral's chat templates raise an error for a call whose id is not nine letters and digits."""


def replays_thinking(model: str) -> bool:
    """Return whether the model needs its earlier thinking. It would only cost the others tokens and confuse them."""
    return _REPLAYS_THINKING.search(model) is not None


def wants_short_ids(model: str) -> bool:
    """Return whether the model's call ids must be nine letters and digits."""
    return _SHORT_IDS.search(model) is not None


ProfileName = Literal["compact", "standard", "embedded"]
ProfileSetting = Literal["auto", "compact", "standard"]

SMALL_WINDOW = 16_384
"""Tokens: up to this window the standard profile's prompt of 1,300 would take nearly a tenth or more."""

SMALL_MODEL = 14.9e9
"""Parameters: models sold as 14B have up to 14.8 billion (Qwen 2.5 and 3, Phi 4)."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What a conversation starts with. `prompt` names the system prompt.

    `tools`: the names of those offered, if the settings enable them; None for all. `brief`: omit rarely used arguments.
    `notes`: limit of the project's remembered notes, in bytes of UTF-8; `instructions`: limit of its instructions, in
    characters.
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
"""Eight tools, plus those of the web and of collections where enabled. write_file also creates files, and the rest of
git is run as a command; but not commits, as a small model runs `git add -A`, which adds unrelated files."""

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
    """Choose the profile of a model with a window of `window` tokens: as set, else compact if the window (unless only
    `assumed`) or the model is small. The exact embedded engine gets every tool."""
    if info.exact:
        return EMBEDDED
    if setting != "auto":
        return _PROFILES[setting]
    is_small = 0 < parameters(info) <= SMALL_MODEL or (not assumed and window <= SMALL_WINDOW)
    return COMPACT if is_small else STANDARD


def profile_named(name: str) -> Profile | None:
    """Return the profile of this name, or None."""
    return next((profile for profile in _PROFILES.values() if profile.name == name), None)


def parameters(info: ModelInfo) -> float:
    """Return the model's total parameters, as its server or else its name states; 0 if neither does."""
    return read_parameters(info.parameters) or read_parameters(info.id)


_NUMBER = late_pattern(r"(?<![a-z0-9.])(?:(\d{1,6})x|e)?(\d{1,6}(?:\.\d{1,6})?)([mbt])(?![a-z0-9])", re.IGNORECASE)
"""Matches 8b, 0.6B, 8x7b, e4b (effective parameters of Gemma 3n).
Not the a3b of 30b-a3b, the active parameters per token."""

_UNITS = {"m": 1e6, "b": 1e9, "t": 1e12}

_FEWEST = 50e6
"""Smaller numbers, as in "-1m", are context lengths."""


def read_parameters(text: str) -> float:
    """Parse the number of parameters from a server's text or a model's name; 0 if there is none."""
    found = (int(times or 1) * float(number) * _UNITS[unit.lower()] for times, number, unit in _NUMBER.findall(text))
    return max((count for count in found if count >= _FEWEST), default=0.0)
