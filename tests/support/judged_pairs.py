"""Play back verdicts that somebody gave on pairs of tests/fixtures/claim_pairs, through the program's own check."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from localllm.base.events import Json
from localllm.research.claims.verdicts import judge
from localllm.research.records import Claim, Evidence, ResearchState, Source, Verdict
from localllm.research.run_context import RunContext
from localllm.research.run_store import RunStore, StoredPage
from tests.support.claim_pairs import ROOT, ClaimPair, claim_pairs, misplaced_citations
from tests.support.research_drafts import TODAY, run_of
from tests.support.research_parts import playing

FILE = ROOT / "judged.jsonl"


class Judged(NamedTuple):
    """A pair, and what whoever played the model answered to it without knowing its label."""

    pair: ClaimPair
    verdict: str
    quote: str
    judge: str
    """Who it was; `played`: no model such as users run."""

    @property
    def answer(self) -> Json:
        """The answer as a model would write it."""
        return {"quote": self.quote, "verdict": self.verdict}


def pair_id(pair: ClaimPair) -> str:
    """The name of a pair, of its words alone: it tells nothing of its label."""
    return hashlib.sha256("\n".join((pair.claim, *pair.passages)).encode()).hexdigest()[:12]


def judged_pairs() -> list[Judged]:
    """All answers, in the order they were given in. Raises KeyError where the words of a pair were changed since."""
    pairs = {pair_id(pair): pair for pair in [*claim_pairs(), *misplaced_citations()]}
    answers = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
    return [Judged(pairs[one["pair"]], one["verdict"], one["quote"], one["judge"]) for one in answers]


async def checked(judged: Sequence[Judged]) -> list[Verdict]:
    """What the program makes of each: the mechanics first, then the answer, then its quote looked for again."""
    with TemporaryDirectory() as folder, RunStore(Path(folder)) as store:
        return [await _checked(store, one) for one in judged]


async def _checked(store: RunStore, judged: Judged) -> Verdict:
    store.forget_answers()  # it would give the one of the same claim before
    run = _reading(store, judged)
    return await judge(run, Claim("C1", "T1", judged.pair.claim, tuple(one.id for one in run.state.evidence)))


def _reading(store: RunStore, judged: Judged) -> RunContext:
    """A run that has read each passage as a page of its own, and asks whoever judged."""
    state = ResearchState(id="2026-0001", question="q", today=TODAY)
    for number, passage in enumerate(judged.pair.passages, 1):
        url = f"https://page{number}.example/"
        kept = store.keep_page(url, StoredPage(url), passage)
        state.sources.append(Source(id=f"S{number}", url=url, site=f"page{number}.example", text_hash=kept.text_hash))
        state.evidence.append(Evidence(f"E{number}", f"S{number}", 0, len(passage), passage))
    return run_of(store, state, playing({"verdict": judged.answer})[0])
