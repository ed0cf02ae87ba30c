"""Decide whether to run another round of searching, correcting and checking."""

from typing import Literal

from localllm.research.run_context import RunContext

MOST_BARREN_ROUNDS = 2
"""Consecutive rounds without a new independent source, after which searching stops."""

Reason = Literal["maximum", "budget", "minimum", "settled", "barren", "open"]


def decide(run: RunContext) -> Literal["search", "finalise"]:
    """Return whether to search again or to write the report."""
    return "search" if reason_for(run) in ("minimum", "open") else "finalise"


def reason_for(run: RunContext) -> Reason:
    """Return the reason for another round ("minimum", "open"), or against one. The maximum, then the budget, take
    precedence over the minimum; "budget" only if there would have been another round."""
    state, options = run.state, run.options
    if state.numbers.loops >= options.max_validation:
        return "maximum"
    wanted: Reason
    if state.numbers.loops < options.min_validation:
        wanted = "minimum"
    elif all(entry.kind == "single_source" for entry in state.ledger):
        return "settled"
    elif state.barren_rounds >= MOST_BARREN_ROUNDS:
        return "barren"
    else:
        wanted = "open"
    return wanted if run.budget.allows() else "budget"
