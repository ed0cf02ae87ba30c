"""How many requests of the model a run will take, and for how long, at the speed measured on its server."""

from localllm.research.options import ResearchOptions
from localllm.research.records import STAGES, ResearchState
from localllm.research.run_context import Speed
from localllm.research.run_events import Forecast

_OUTLINE = 1
_SECTIONS = 4
_CLAIMS = 24
"""Of a draft, and a verdict for each."""

_SPLITS = 4
_AFTER_VERDICTS = 4
"""Whether everything is answered, and whether sources disagree."""

_OPEN_CLAIMS = 6
"""Of a round of corrections: sentences that are changed, and claims that are judged anew."""


def forecast(options: ResearchOptions, speed: Speed, state: ResearchState | None = None) -> Forecast:
    """What a run takes, of `state` what is left of it. Fewer sources or claims take less."""
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
    """The requests of the stages before the one that is next."""
    if state.next == "done":
        return sum(stages.values())
    return sum(stages.get(stage, 0) for stage in STAGES[: STAGES.index(state.next)])
