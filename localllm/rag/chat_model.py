"""Ask the chat model to rerank passages and to describe a collection.

Both are optional: an unusable answer or a failing server leaves the result as it was.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec

from localllm.base import logs
from localllm.base.errors import LLMConnectionError
from localllm.base.events import Json
from localllm.base.i18n import N_, Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.client import LLMClient
from localllm.llm.messages import SystemMessage, UserMessage
from localllm.llm.tool_calling.json_repair import repair_json
from localllm.rag.records import Hit
from localllm.text.sanitising import clean

MOST_RERANKED = 10
_BEST = 3
"""The highest score: the passage answers the query."""
_SHOWN = 700
"""Characters of each passage shown to the model."""
_LONGEST_DESCRIPTION = 300

Answer = TypeVar("Answer")


class _Scores(msgspec.Struct):
    scores: list[int]


class _Description(msgspec.Struct):
    description: str


_SCORES: dict[str, Json] = {
    "type": "object",
    "properties": {"scores": {"type": "array", "items": {"type": "integer"}}},
    "required": ["scores"],
    "additionalProperties": False,
}
_DESCRIPTION: dict[str, Json] = {
    "type": "object",
    "properties": {"description": {"type": "string"}},
    "required": ["description"],
    "additionalProperties": False,
}


class ChatModel:
    """The chat model behind `client`, called at temperature 0 with a JSON schema."""

    def __init__(self, client: LLMClient) -> None:
        self._client = client

    async def rerank(self, query: str, hits: Sequence[Hit]) -> tuple[list[Hit], Phrase | None]:
        """Rerank the hits and drop irrelevant ones; after an unusable answer, return them unchanged with a remark."""
        shown = "\n\n".join(f"[{number}] {clean(hit.text)[:_SHOWN]}" for number, hit in enumerate(hits, 1))
        answer = _read(await self._ask("rerank", f"{shown}\n\nQuestion: {query}", _SCORES), _Scores)
        if answer is None or len(answer.scores) != len(hits):
            logs.of("RAG").warning("the model's order of the passages could not be read")
            return list(hits), Phrase(
                N_("The chat model did not rank the passages: they are in the order they were found.")
            )
        scored = [
            msgspec.structs.replace(hit, scores=msgspec.structs.replace(hit.scores, rerank=_share(score)))
            for hit, score in zip(hits, answer.scores, strict=True)
        ]
        return sorted((hit for hit in scored if hit.scores.rerank), key=lambda hit: -(hit.scores.rerank or 0)), None

    async def describe(self, contents: str) -> str:
        """Describe the contents of a collection in one sentence; "" after an unusable answer. A sentence without the
        object around it is one as well: not every server holds a model to a schema."""
        said = await self._ask("describe", contents, _DESCRIPTION)
        answer = _read(said, _Description)
        described = " ".join(clean(answer.description).split()) if answer else _sentence(clean(said))
        if not 0 < len(described) <= _LONGEST_DESCRIPTION:
            logs.of("RAG").warning("the model's description could not be read")
            return ""
        return described

    async def _ask(self, prompt: str, text: str, schema: dict[str, Json]) -> str:
        """Return the answer's text; "" if the model is not to be had."""
        messages = [SystemMessage(_prompt(prompt)), UserMessage(text)]
        try:
            await self._client.get_ready()
            completion = await self._client.complete(messages, schema=schema, max_tokens=400, temperature=0.0)
        except LLMConnectionError as error:
            logs.of("RAG").warning("%s", error)
            return ""
        return completion.message.text


def _read(said: str, kind: type[Answer]) -> Answer | None:
    fixed = repair_json(said[said.find("{") : said.rfind("}") + 1] or said)
    try:
        return msgspec.json.decode(fixed or "", type=kind)
    except msgspec.DecodeError:
        return None


_MARKS = " \t\"'“”「」*_`"
_LABEL = late_pattern(r"(?i)^\W*(?:description|the description|説明)\W*[:：]\s*")
_PREFACE = late_pattern(
    r"(?i)^(?:i\b|i'|sure|certainly|of course|okay|ok\b|here\b|as an ai|sorry|unfortunately|based on)|[:：]$"
    r"|[{}<>\[\]|]|^(?:申し訳|すみません|はい|承知|わかりました|以下)"
)
"""What begins an answer that is no description, or stands in none."""
_LEAST_WORDS, _MOST_WORDS = 3, 35
_LEAST_SIGNS = 8
"""Of a sentence in Japanese, which has no spaces."""


def _sentence(said: str) -> str:
    """Return the one plain sentence that an answer consists of; "" if it is something else."""
    lines = [line for line in said.splitlines() if line.strip()]
    if len(lines) != 1:
        return ""
    text = _LABEL.sub("", lines[0]).strip(_MARKS)
    words = text.split()
    is_long_enough = len(words) >= _LEAST_WORDS or (not text.isascii() and len(text) >= _LEAST_SIGNS)
    return " ".join(words) if is_long_enough and len(words) <= _MOST_WORDS and not _PREFACE.search(text) else ""


@cache
def _prompt(name: str) -> str:
    return (Path(__file__).parent / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def _share(score: int) -> float:
    """Scale a score to 0..1."""
    return min(max(score, 0), _BEST) / _BEST
