"""Ask the chat model what retrieval cannot know: how well passages answer a query, what a collection holds.

Both are extras: an answer that cannot be used, or a server that fails, changes nothing.
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
from localllm.llm.client import LLMClient
from localllm.llm.messages import SystemMessage, UserMessage
from localllm.llm.tool_calling.json_repair import repair_json
from localllm.rag.records import Hit
from localllm.text.sanitising import clean

MOST_RERANKED = 10
_BEST = 3
"""The score of a passage that answers the query."""
_SHOWN = 700
"""Characters of a passage that are judged."""
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
    """The chat model behind `client`, asked at temperature 0 in a schema."""

    def __init__(self, client: LLMClient) -> None:
        self._client = client

    async def rerank(self, query: str, hits: Sequence[Hit]) -> tuple[list[Hit], Phrase | None]:
        """The hits as the model orders them, without those that do not help; as they were where it gave no usable
        answer, and what to say of that."""
        shown = "\n\n".join(f"[{number}] {clean(hit.text)[:_SHOWN]}" for number, hit in enumerate(hits, 1))
        answer = await self._ask("rerank", f"{shown}\n\nQuestion: {query}", _SCORES, _Scores)
        if answer is None or len(answer.scores) != len(hits):
            return list(hits), Phrase(N_("The chat model did not order the passages: they stand as they were found."))
        scored = [
            msgspec.structs.replace(hit, scores=msgspec.structs.replace(hit.scores, rerank=_share(score)))
            for hit, score in zip(hits, answer.scores, strict=True)
        ]
        return sorted((hit for hit in scored if hit.scores.rerank), key=lambda hit: -(hit.scores.rerank or 0)), None

    async def describe(self, contents: str) -> str:
        """One sentence on what a collection holds; "" where the model gave no usable answer."""
        answer = await self._ask("describe", contents, _DESCRIPTION, _Description)
        said = " ".join(clean(answer.description).split()) if answer else ""
        return said if len(said) <= _LONGEST_DESCRIPTION else ""

    async def _ask(self, prompt: str, text: str, schema: dict[str, Json], kind: type[Answer]) -> Answer | None:
        messages = [SystemMessage(_prompt(prompt)), UserMessage(text)]
        try:
            await self._client.get_ready()
            completion = await self._client.complete(messages, schema=schema, max_tokens=400, temperature=0.0)
        except LLMConnectionError as error:
            logs.of("RAG").warning("%s", error)
            return None
        said = completion.message.text
        fixed = repair_json(said[said.find("{") : said.rfind("}") + 1] or said)
        try:
            return msgspec.json.decode(fixed or "", type=kind)
        except msgspec.DecodeError:
            logs.of("RAG").warning("an answer of the role %s could not be read", prompt)
            return None


@cache
def _prompt(name: str) -> str:
    return (Path(__file__).parent / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def _share(score: int) -> float:
    """A score as a share of the best one."""
    return min(max(score, 0), _BEST) / _BEST
