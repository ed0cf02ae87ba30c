"""Whether there is another round: the table of decisions."""

from pathlib import Path
from typing import Literal

from localllm.research.control import decide, reason_for
from localllm.research.records import LedgerEntry, ResearchState
from localllm.research.run_store import RunStore
from tests.support.each import each
from tests.support.research_drafts import client_of, run_of
from tests.support.research_parts import options

OPEN, SINGLE = LedgerEntry("not_found", "a"), LedgerEntry("single_source", "b")

TABLE = {
    # loops, min, max, ledger, barren rounds, spent share of the budget
    "maximum 0: nothing is checked": (0, 0, 0, [OPEN], 0, 0.0, "maximum"),
    "the maximum ends it, whatever is open": (3, 1, 3, [OPEN], 0, 0.0, "maximum"),
    "the maximum wins over the minimum": (2, 2, 2, [OPEN], 0, 0.0, "maximum"),
    "below the minimum although nothing is open": (1, 2, 3, [], 0, 0.0, "minimum"),
    "below the minimum although nothing new is found": (2, 3, 5, [OPEN], 2, 0.0, "minimum"),
    "the budget wins over the minimum": (1, 2, 3, [], 0, 0.85, "budget"),
    "the budget wins over what is open": (1, 1, 3, [OPEN], 0, 0.9, "budget"),
    "a spent budget matters only where there would be a round": (1, 1, 3, [], 0, 0.9, "settled"),
    "an empty ledger": (1, 1, 3, [], 0, 0.0, "settled"),
    "what one source says is settled": (1, 1, 3, [SINGLE], 0, 0.0, "settled"),
    "something is open": (1, 1, 3, [SINGLE, OPEN], 0, 0.84, "open"),
    "a minimum of none": (1, 0, 3, [OPEN], 0, 0.0, "open"),
    "one barren round": (2, 1, 5, [OPEN], 1, 0.0, "open"),
    "two barren rounds": (3, 1, 5, [OPEN], 2, 0.0, "barren"),
    "one round below the maximum": (2, 1, 3, [OPEN], 0, 0.0, "open"),
}


def decided(tmp_path: Path, case: tuple[int, int, int, list[LedgerEntry], int, float, str]) -> tuple[str, str]:
    loops, least, most, ledger, barren, share, _reason = case
    given = options(min_validation=least, max_validation=most, max_run_tokens=1_000)
    state = ResearchState(id="2026-0001", question="q", today="2026-11-24", ledger=ledger, barren_rounds=barren)
    state.numbers.loops = loops
    with RunStore(tmp_path) as store:
        run = run_of(store, state, client_of(lambda _messages, _schema: "")[0], given)
        run.budget.tokens = round(share * 1_000)
        return reason_for(run), decide(run)


@each("name", list(TABLE))
def test_decisions(tmp_path: Path, name: str) -> None:
    reason, decision = decided(tmp_path, TABLE[name])
    assert reason == TABLE[name][-1]
    expected: Literal["search", "finalise"] = "search" if reason in ("minimum", "open") else "finalise"
    assert decision == expected
