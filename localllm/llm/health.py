"""Whether a model server is there and well, and waiting for one that restarts."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.llm.providers.base import Provider

SECONDS_TO_ANSWER = 5.0
"""A server that has not listed its models by then is not well."""

ATTEMPTS = 3
FIRST_WAIT = 1.0
"""Seconds before the second look at a server; each wait is twice the one before."""

NOT_THERE = frozenset({"llm_refused", "llm_unreachable", "llm_cut"})
"""Errors of a server nobody can talk to. After any other it has at least answered."""


class Health(msgspec.Struct, frozen=True):
    """How a server is. `latency`: milliseconds until it had listed its models; `error`: what is wrong, in words."""

    status: Literal["healthy", "loading", "unhealthy"]
    connected: bool
    latency: float
    provider: str
    address: str
    model: str
    error: str = ""


async def look_at(provider: Provider, model: str, *, clock: Callable[[], float] = time.perf_counter) -> Health:
    """The health of `provider`, by the cheapest thing it can be asked: its list of models. `model`: the one in use."""
    began = clock()
    error: LLMConnectionError | None = None
    try:
        async with asyncio.timeout(SECONDS_TO_ANSWER):
            await provider.list_models()
    except TimeoutError:
        error = LLMConnectionError("llm_silent", url=provider.address, seconds=SECONDS_TO_ANSWER)
    except LLMConnectionError as failure:
        error = failure
    return Health(
        status=_status(error),
        connected=error is None or error.key not in NOT_THERE,
        latency=round((clock() - began) * 1000, 1),
        provider=provider.name,
        address=provider.address,
        model=model,
        error=error.what if error else "",
    )


async def wait_for(
    provider: Provider,
    *,
    attempts: int = ATTEMPTS,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> bool:
    """Whether the server is well, looked at up to `attempts` times with growing waits between."""
    for attempt in range(attempts):
        if attempt:
            await pause(FIRST_WAIT * 2 ** (attempt - 1))
        if (await look_at(provider, "")).status == "healthy":
            return True
    return False


def _status(error: LLMConnectionError | None) -> Literal["healthy", "loading", "unhealthy"]:
    if error is None:
        return "healthy"
    return "loading" if error.key == "llm_loading" else "unhealthy"
