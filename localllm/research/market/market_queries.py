"""Create the queries of a scan: by the model, from the cache for the same theme, or the default set."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.events import Json
from localllm.base.i18n import N_
from localllm.llm.overflow import overflow_of
from localllm.research.market.market_records import (
    GLOBAL,
    JAPANESE,
    MarketPurpose,
    MarketQuery,
    MarketQuerySet,
    Origin,
    Region,
    SearchOptions,
    region_of,
)
from localllm.research.model_calls import BudgetSpent
from localllm.research.remark_texts import remark
from localllm.research.role_answers import TEXT, AnswerUnusable, answer_schema, choice, several
from localllm.research.run_context import RunContext, local_now
from localllm.text import privacy_mask
from localllm.web.search_cache import SearchCache, search_key

_LONGEST = 120
"""Characters of a query."""

_DEBRIS = frozenset("{}[]<>\\\N{REPLACEMENT CHARACTER}")
"""Characters that only a garbled answer leaves in a query."""

_AGAIN = "An answer before this one had no usable query for these purposes: only 2 to 8 words each."
"""Makes the retry differ from the first request, whose answer is cached."""

_FEWER: tuple[tuple[MarketPurpose, ...], ...] = (
    ("market_size", "competitors", "trends", "startups", "technology"),
    ("market_size", "competitors", "technology"),
)
"""Subsets of the purposes for smaller context windows."""

_LOOKED_FOR: dict[MarketPurpose, str] = {
    "market_size": "size and growth of the market in Japan (query in Japanese)",
    "competitors": "companies and their shares in Japan (query in Japanese)",
    "trends": "newest developments in Japan (query in Japanese)",
    "regulations": "laws, rules and subsidies in Japan (query in Japanese)",
    "needs": "what customers in Japan want and lack (query in Japanese)",
    "startups": "startups and their funding in the world (query in English)",
    "technology": "newest technology in the world (query in English)",
    "best_practices": "successful examples and case studies in the world (query in English)",
}
_DEFAULTS: dict[MarketPurpose, str] = {
    "market_size": "{theme} 市場規模 日本",
    "competitors": "{theme} 主要企業 シェア 日本",
    "trends": "{theme} 最新動向 日本",
    "regulations": "{theme} 規制 法律 補助金",
    "needs": "{theme} ニーズ 課題 調査",
    "startups": "{theme} startups funding",
    "technology": "{theme} latest technology",
    "best_practices": "{theme} best practices case study",
}
_OPTIONS: dict[Region, tuple[str, str]] = {"jp": ("jp", "ja"), "global": ("us", "en")}
"""gl and hl of a region."""


def looked_for(purpose: MarketPurpose) -> str:
    """Describe what a purpose looks for, for the model."""
    return _LOOKED_FOR[purpose].partition(" (")[0]


async def make_queries(
    run: RunContext, purposes: Sequence[MarketPurpose], num: int, cache: SearchCache | None
) -> MarketQuerySet:
    """Create a query per purpose; fewer if the model's window is too small. Raises LLMConnectionError."""
    theme = run.state.question
    origin: Origin = "model"
    key = search_key("market queries", _form(theme), run.language, run.state.model, *purposes)
    if texts := await _kept(cache, key, purposes):
        origin = "kept"
    else:
        purposes, texts = await _from_model(run, purposes)
        if len(texts) < len(purposes):
            origin = "mixed" if texts else "default"
            run.remark(
                remark(
                    N_(
                        "The model made no usable query for {count} of the purposes: a standard one was used.",
                        "The model made no usable queries for {count} of the purposes: standard ones were used.",
                    ),
                    count=len(purposes) - len(texts),
                )
            )
        elif cache is not None:
            await cache.keep_value(key, msgspec.json.encode(texts))
    made = [_query(run, one, texts.get(one) or _DEFAULTS[one].format(theme=theme), num) for one in purposes]
    return MarketQuerySet(
        japanese=tuple(one for one in made if one.region == "jp"),
        global_=tuple(one for one in made if one.region == "global"),
        generated_at=local_now(),
        origin=origin,
    )


def chosen_purposes(regions: Sequence[str]) -> list[MarketPurpose]:
    """Return the purposes of the regions, Japan first."""
    return [*(JAPANESE if "jp" in regions else ()), *(GLOBAL if "global" in regions else ())]


async def _kept(
    cache: SearchCache | None, key: str, purposes: Sequence[MarketPurpose]
) -> dict[MarketPurpose, str] | None:
    """Return cached queries for the same request, as long as searches are cached; None if there are none."""
    data = await cache.value(key) if cache is not None else None
    if data is None:
        return None
    try:
        texts = msgspec.json.decode(data, type=dict[MarketPurpose, str])
    except msgspec.DecodeError:
        return None
    return texts if set(texts) == set(purposes) else None


async def _from_model(
    run: RunContext, purposes: Sequence[MarketPurpose]
) -> tuple[Sequence[MarketPurpose], dict[MarketPurpose, str]]:
    """Return the purposes that fit the window and the model's queries, with one retry for missing ones."""
    fewer: list[list[MarketPurpose]] = [[one for one in purposes if one in some] for some in _FEWER]
    for wanted in filter(None, [list(purposes), *fewer]):
        try:
            return wanted, await _asked_twice(run, wanted)
        except LLMConnectionError as error:
            if not overflow_of(error):
                raise
            said = N_("The window of the model is too small for all queries: fewer were made.")
            run.remark(remark(said))
            run.state.partial = True
    return next(filter(None, reversed(fewer)), list(purposes)), {}


async def _asked_twice(run: RunContext, purposes: Sequence[MarketPurpose]) -> dict[MarketPurpose, str]:
    found: dict[MarketPurpose, str] = {}
    for note in ("", _AGAIN):
        missing: list[MarketPurpose] = [one for one in purposes if one not in found]
        if not missing:
            break
        values = {
            "theme": run.state.question,
            "purposes": "\n".join(f"- {one}: {_LOOKED_FOR[one]}" for one in missing),
            "note": note,
        }
        schema = answer_schema(queries=several(purpose=choice(*missing), query=TEXT))
        try:
            answer = await run.roles.ask("market_queries", values, schema)
        except AnswerUnusable:  # after its own retry
            break
        except BudgetSpent:
            break
        found |= _read(answer)
    return found


def _read(answer: Mapping[str, Json]) -> dict[MarketPurpose, str]:
    """Return the first usable query of each purpose."""
    found: dict[MarketPurpose, str] = {}
    for one in cast("list[dict[str, str]]", answer["queries"]):
        text = " ".join(one["query"].split()).strip("\"'“”「」`- ")[:_LONGEST].strip()
        if any(character.isalnum() for character in text) and _DEBRIS.isdisjoint(text):
            found.setdefault(cast("MarketPurpose", one["purpose"]), text)
    return found


def _query(run: RunContext, purpose: MarketPurpose, text: str, num: int) -> MarketQuery:
    """Mask private data in a query before it leaves this machine."""
    masked = privacy_mask.mask(text)
    if masked.kinds:
        kinds = ", ".join(dict.fromkeys(masked.kinds))
        run.remark(remark(N_("Removed from the queries before they were sent: {kinds}."), kinds=kinds))
    region = region_of(purpose)
    gl, hl = _OPTIONS[region]
    return MarketQuery(query=masked.text, purpose=purpose, region=region, options=SearchOptions(gl=gl, hl=hl, num=num))


def _form(theme: str) -> str:
    """Normalise a theme for comparison."""
    return " ".join(unicodedata.normalize("NFKC", theme).casefold().split())
