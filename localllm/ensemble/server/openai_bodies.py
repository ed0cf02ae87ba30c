"""The JSON of the OpenAI-compatible API: /v1/chat/completions and /v1/models.

Fields on sampling and length are ignored: each agent has its own in the configuration. Unsupported fields that would
change the kind of the answer (tools, several choices, a schema) are rejected.
"""

from typing import Annotated, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType

from localllm.base.events import Json, Usage
from localllm.ensemble.records import StrategyName
from localllm.ensemble.server.request_bodies import VISIBLE
from localllm.llm.discovery.servers import ENSEMBLE_OWNER

MODEL = "ensemble"
STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)

MODELS: dict[str, StrategyName | None] = {MODEL: None, **{f"{MODEL}:{name}": name for name in STRATEGIES}}
"""The model names, each with its strategy; the first has the configured one."""

SINCE = 1_763_424_000
"""`created` of the models, seconds since 1970: the day of the design paper, 2025-11-18."""


class TextPart(Struct, frozen=True, tag_field="type", tag="text"):
    """A part of a message. Pictures and files are not taken."""

    text: str


Parts = Annotated[list[TextPart], Meta(min_length=1)]


class SystemTurn(Struct, frozen=True, tag_field="role", tag="system"):
    """What the agents are to be."""

    content: str | Parts


class DeveloperTurn(Struct, frozen=True, tag_field="role", tag="developer"):
    """The same by its newer name."""

    content: str | Parts


class UserTurn(Struct, frozen=True, tag_field="role", tag="user"):
    """What the user said."""

    content: str | Parts


class AssistantTurn(Struct, frozen=True, tag_field="role", tag="assistant"):
    """What was answered."""

    content: str | Parts | None = None


ChatTurn = SystemTurn | DeveloperTurn | UserTurn | AssistantTurn


_SOMETHING = {"type": "string", "pattern": VISIBLE}
_PART = {"type": "object", "properties": {"type": {"const": "text"}, "text": _SOMETHING}, "required": ["type", "text"]}
_SOMETHING_SAID: dict[str, Json] = {
    "type": "object",
    "properties": {
        "role": {"const": "user"},
        "content": {"anyOf": [_SOMETHING, {"type": "array", "contains": _PART}]},
    },
    "required": ["role", "content"],
}


class StreamOptions(Struct, frozen=True, kw_only=True):
    """What a stream has besides the answer."""

    include_usage: bool | None = None


class ResponseFormat(Struct, frozen=True, kw_only=True):
    """Only plain text."""

    type: Literal["text"]


class ChatRequest(Struct, frozen=True, kw_only=True):
    """A conversation for the ensemble. Fields that are not named here are ignored."""

    messages: Annotated[
        list[ChatTurn],
        Meta(
            min_length=1,
            description="The conversation so far, with at least one message of the user's that is not blank.",
            examples=[[{"role": "user", "content": "Why is the sky blue?"}]],
            extra_json_schema={"contains": _SOMETHING_SAID},
        ),
    ]
    model: str = MODEL
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    tools: Annotated[list[dict[str, Json]], Meta(max_length=0)] | None = None
    functions: Annotated[list[dict[str, Json]], Meta(max_length=0)] | None = None
    response_format: ResponseFormat | None = None


class CachedTokens(Struct, frozen=True, kw_only=True):
    """Tokens of prompts the servers had read before."""

    cached_tokens: int


class ChatUsage(Struct, frozen=True, kw_only=True):
    """Tokens of all agents together."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: CachedTokens


class AnswerMessage(Struct, frozen=True, kw_only=True):
    """The answer. `reasoning_content`: the reviewer's evaluation."""

    role: Literal["assistant"] = "assistant"
    content: str
    reasoning_content: str
    refusal: None = None


class Choice(Struct, frozen=True, kw_only=True):
    """The one answer there is."""

    index: Literal[0] = 0
    message: AnswerMessage
    finish_reason: str
    logprobs: None = None


class ChatCompletion(Struct, frozen=True, kw_only=True):
    """A whole answer."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: tuple[Choice]
    usage: ChatUsage


class Delta(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of the answer."""

    role: Literal["assistant"] | UnsetType = UNSET
    content: str | UnsetType = UNSET
    reasoning_content: str | UnsetType = UNSET


class ChunkChoice(Struct, frozen=True, kw_only=True):
    """A piece of the one answer there is."""

    index: Literal[0] = 0
    delta: Delta
    finish_reason: str | None = None
    logprobs: None = None


class ChatChunk(Struct, frozen=True, kw_only=True):
    """One event of a streamed answer."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: tuple[ChunkChoice, ...]
    usage: ChatUsage | UnsetType | None = UNSET


class Model(Struct, frozen=True, kw_only=True):
    """A model of the list."""

    id: str
    object: Literal["model"] = "model"
    created: int = SINCE
    owned_by: Literal["localllm"] = ENSEMBLE_OWNER


class ModelList(Struct, frozen=True, kw_only=True):
    """All models."""

    object: Literal["list"] = "list"
    data: tuple[Model, ...]


def chat_usage(usage: Usage) -> ChatUsage:
    """Convert the token usage of a run."""
    return ChatUsage(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        total_tokens=usage.prompt_tokens + usage.completion_tokens,
        prompt_tokens_details=CachedTokens(cached_tokens=usage.cached_tokens),
    )


def text_of(content: str | list[TextPart] | None) -> str:
    """Return the text of a message, its parts joined."""
    return content if isinstance(content, str) else "\n".join(part.text for part in content or ())
