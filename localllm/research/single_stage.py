"""Run one stage separately for inspection, without changing the run it starts from."""

from pathlib import Path
from typing import cast

import msgspec

from localllm.base.errors import ResearchError
from localllm.base.events import Json
from localllm.research.records import STAGES, ResearchState, Stage
from localllm.research.run_store import HISTORY, RunStore, run_folder

_MADE: dict[Stage, tuple[str, ...]] = {
    "normalise": ("brief",),
    "queries": ("queries",),
    "search": ("sources",),
    "process": ("evidence",),
    "draft": ("title", "sections", "patches"),
    "validate": ("claims", "disagreements", "ledger", "unanswered"),
    "control": (),
    "finalise": (),
}
"""The fields of the state each stage sets; they are empty before it."""

_SHOWN: dict[Stage, tuple[str, ...]] = {
    **_MADE,
    "process": ("sources", "evidence"),
    "control": ("next", "round", "ledger"),
    "finalise": ("next", "partial"),
}


def copy_run(work: Path, run: str, other: Path, *, anew: bool = False) -> None:
    """Copy a run's stored data, but no other file of its folder, to another work folder, where it may be changed; with
    `anew` without the model's answers, so that the model is called again. Raises ResearchError."""
    folder = run_folder(work, run)
    target = other / HISTORY / run
    try:
        target.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise ResearchError("research_disk", id=run, folder=target, reason=str(error)) from error
    with RunStore(folder) as kept, RunStore(target) as copied:
        copied.add_rows(kept.rows())
        if anew:
            copied.forget_answers()


def rewind(state: ResearchState, stage: Stage) -> None:
    """Rewind the state to `stage`: its and later results are cleared; sources and evidence of earlier stages are
    kept."""
    place = STAGES.index(stage)
    unmade = ResearchState(id=state.id, question=state.question, today=state.today)
    for name in (name for later in STAGES[place:] for name in _MADE[later]):
        setattr(state, name, getattr(unmade, name))
    if stage == "process":
        state.sources = [msgspec.structs.replace(one, state="found", problem=None, copy_of="") for one in state.sources]
    state.next = stage
    if place <= STAGES.index("process"):
        state.round = 0


def made_by(stage: Stage, state: ResearchState) -> dict[str, Json]:
    """Return the results of a stage as JSON."""
    whole = cast("dict[str, Json]", msgspec.to_builtins(state))
    return {name: whole[name] for name in _SHOWN[stage]}
