"""Looking for model servers at every address they may be at, all at the same time."""

import asyncio
from collections.abc import Iterable, Mapping

from localllm.base.config.schema import LLMSettings
from localllm.llm.discovery.candidates import candidates, usual_others
from localllm.llm.discovery.servers import Server
from localllm.llm.discovery.visiting import Visit

SECONDS = 0.3
"""For a server on this machine: they answer within a few milliseconds, or are busy with something else."""

SECONDS_FAR = 2.0
"""For an address the user has set on another machine, which may be asleep or behind a VPN."""

_LAST_PART = 0.25


async def discover(
    settings: LLMSettings,
    environ: Mapping[str, str],
    *,
    also: Iterable[str] | None = None,
    within: float = SECONDS,
    within_far: float = SECONDS_FAR,
) -> list[Server]:
    """Every address a server may be at, asked at the same time; in the order in which they are preferred: those the
    user has set, then LM Studio, Ollama, other servers, and `also` (`usual_others` where it is None).

    Takes at most `within` seconds, or `within_far` where the user has set an address that is not this machine. Raises
    nothing. A key from the environment goes only to an address the user has set, and only if it asks for one.
    """
    others = usual_others(environ) if also is None else also
    visits = [Visit(candidate, settings, environ) for candidate in candidates(settings, environ, others)]
    limits = [within_far if visit.is_far else within for visit in visits]
    return list(await asyncio.gather(*map(_limited, visits, limits)))


async def _limited(visit: Visit, seconds: float) -> Server:
    """What `visit` finds in that time.

    The time is given in two parts: where this program was busy with itself for all of the first, as it is when it
    starts, the answers that have come meanwhile are still read in the second.
    """
    work = asyncio.create_task(visit.look())
    try:
        for part in (1 - _LAST_PART, _LAST_PART):
            await asyncio.wait((work,), timeout=seconds * part)
            if work.done():
                return work.result()
        return visit.unfinished(seconds)
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
