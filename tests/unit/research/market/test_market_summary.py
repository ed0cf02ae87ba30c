"""The summary of a scan: the findings' marks are none of its words."""

from pathlib import Path

import pytest

from localllm.research.market.insights import Findings, NotedInsight
from localllm.research.market.market_records import Insight
from localllm.research.market.market_summary import sum_up
from localllm.research.records import Evidence, ResearchState, Source
from localllm.research.run_store import StoredPage
from tests.support.research_parts import run_of

pytestmark = pytest.mark.anyio

FACT = "The market grew by 12 percent in 2025."


async def test_a_finding_that_is_copied_with_its_marks_is_a_sentence_without_them(tmp_path: Path) -> None:
    state = ResearchState(id="2026-0001", question="Robots", today="2026-11-24")
    evidence = Evidence("E1", "S1", 0, len(FACT), FACT)
    state.evidence = [evidence]
    insight = Insight(
        id="I1",
        text=FACT,
        purpose="market_size",
        quote=FACT,
        source_url="",
        source_title="",
        origin="page",
        supported=True,
    )
    answers = {
        "market summary": {
            "summary": [{"text": f"[I1] (market_size) {FACT} [I1]", "findings": ["[I1]"]}],
            "key_findings": ["I1"],
            "recommendations": [],
        },
        "verdict": {"quote": FACT, "verdict": "supported"},
    }
    with run_of(state, tmp_path, answers) as (run, _brain):
        stored = run.store.keep_page("https://a.example/", StoredPage("https://a.example/"), FACT)
        state.sources = [Source(id="S1", url="https://a.example/", site="a.example", text_hash=stored.text_hash)]
        digest = await sum_up(run, Findings([NotedInsight(insight, evidence)]), [])
    assert digest.summary == FACT
    assert not state.remarks
