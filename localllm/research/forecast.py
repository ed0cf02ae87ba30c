"""Estimate a run's model requests and duration, from the measured speed of its server."""

from localllm.research.options import ResearchOptions
from localllm.research.records import STAGES, ResearchState
from localllm.research.run_context import Speed
from localllm.research.run_events import Forecast

_OUTLINE = 1
_SECTIONS = 4
_CLAIMS = 24
"""Claims of a draft, each with a verdict."""

_SPLITS = 4
_AFTER_VERDICTS = 4
"""Requests on open questions and on disagreements."""

_OPEN_CLAIMS = 6
"""Claims in a round of corrections: sentences changed and claims judged again."""


def forecast(options: ResearchOptions, speed: Speed, state: ResearchState | None = None) -> Forecast:
    """Estimate a run, or the rest of it from `state`. Fewer sources or claims take less."""
    reading = options.max_search
    check = _SPLITS + _CLAIMS + _AFTER_VERDICTS
    another = 1 + reading + _OPEN_CLAIMS + check // 2
    stages = {
        "normalise": 1,
        "queries": 0 if options.queries else 1,
        "search": 0,
        "process": reading,
        "draft": _OUTLINE + _SECTIONS,
        "validate": check if options.max_validation else 0,
    }
    done = 0 if state is None or state.round else _done(state, stages)
    rounds = state.round if state else 0
    first = sum(stages.values()) - done if not rounds else another // 2
    least = first + max(0, min(options.min_validation, options.max_validation) - 1 - rounds) * another
    most = first + max(0, options.max_validation - 1 - rounds) * another
    if state and state.next in ("finalise", "done"):
        least = most = 0
    each = speed.seconds / speed.requests if speed.requests else 0.0
    return Forecast(least, most, least * each, most * each, speed.tokens_per_second)


def _done(state: ResearchState, stages: dict[str, int]) -> int:
    """Return the requests of the stages before the next one."""
    if state.next == "done":
        return sum(stages.values())
    return sum(stages.get(stage, 0) for stage in STAGES[: STAGES.index(state.next)])
