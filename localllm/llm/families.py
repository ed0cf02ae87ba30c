"""What families of models want of a conversation, known by the models' names."""

import re

from localllm.base.patterns import late_pattern

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
