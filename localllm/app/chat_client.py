"""Open the chat's model for a command that can also work without one."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from localllm.app.model_session import Answerer
from localllm.base.errors import LLMConnectionError
from localllm.config.schema import LLMSettings
from localllm.llm.client import LLMClient

_WITHOUT_MODEL = ("embedded", "scripted")


@asynccontextmanager
async def open_chat_client(
    root: Path, settings: LLMSettings, environ: Mapping[str, str]
) -> AsyncGenerator[LLMClient | None]:
    """Open the client of the configured or discovered model; None if there is none."""
    answerer = Answerer(root, settings, environ)
    try:
        try:
            await answerer.ready()
            is_there = answerer.provider_name not in _WITHOUT_MODEL
        except LLMConnectionError:
            is_there = False
        yield answerer.llm_client if is_there else None
    finally:
        await answerer.aclose()
