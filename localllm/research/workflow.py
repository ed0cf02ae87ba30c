"""The workflow of a run: stages in order on one state, which is saved after each.

    normalise → queries → search → process → draft → validate → control → finalise
                            ↑                                     │
                            └──────── another round ──────────────┘

An interrupted run resumes with the unfinished stage; its answers, searches and pages are read from the store. So a
stage must do the same when it is repeated.
"""

from collections.abc import Awaitable, Callable
from typing import Literal

from localllm.base.errors import LLMConnectionError, ResearchModelError
from localllm.base.i18n import N_, sentences
from localllm.research.claims.unsupported_claims import settle_draft
from localllm.research.claims.validation import check_claims
from localllm.research.control import decide, reason_for
from localllm.research.draft import quote_sources, write_draft
from localllm.research.draft_patches import patch_draft
from localllm.research.evidence import take_notes
from localllm.research.forecast import forecast
from localllm.research.model_calls import BudgetSpent
from localllm.research.query_plan import aim_queries, normalise, plan_queries
from localllm.research.records import ResearchState, Stage
from localllm.research.remark_texts import remark
from localllm.research.report.report_files import write_report
from localllm.research.run_context import RunContext, local_now
from localllm.research.run_events import Finished, RoundDone, StageBegun
from localllm.research.source_reading import read_sources
from localllm.research.source_search import search_sources, tell_queries

Next = Stage | Literal["done"]


async def run_stages(run: RunContext, *, until: Next = "done") -> ResearchState:
    """Run stages until the next one is `until`.

    Raises ResearchModelError if the model stops answering, and other ResearchErrors; saved data is kept.
    """
    while run.state.next not in (until, "done"):
        await run_stage(run, run.state.next)
        run.numbers()
        run.store.save_state(run.state)
    return run.state


async def run_stage(run: RunContext, stage: Stage) -> None:
    """Run one stage and set the next one."""
    state = run.state
    expected = forecast(run.options, run.speed, state)
    run.tell(StageBegun(run=state.id, stage=stage, round=state.round, forecast=expected))
    try:
        with run.tracer.stage(stage, state.round):
            state.next = await _STAGES[stage](run)
    except BudgetSpent:
        state.next = _end_early(run, stage)
    except ExceptionGroup as group:
        if group.split(BudgetSpent)[1] is not None:
            raise
        state.next = _end_early(run, stage)
    except (LLMConnectionError, ResearchModelError) as error:
        why = sentences(error.why, error.fix)
        raise ResearchModelError("research_model_stopped", id=state.id, what=error.what, why=why) from error


async def _normalise(run: RunContext) -> Next:
    await normalise(run.state, run.roles, run.language)
    return "queries"


async def _queries(run: RunContext) -> Next:
    tell_queries(run, await plan_queries(run.state, run.roles, run.options))
    return "search"


async def _search(run: RunContext) -> Next:
    if run.state.round:
        tell_queries(run, await aim_queries(run.state, run.roles, run.options))
    await search_sources(run)
    return "process"


async def _process(run: RunContext) -> Next:
    state = run.state
    known = {source.site for source in state.sources if source.state == "read" and not source.copy_of}
    new = await read_sources(run)
    await take_notes(run, new)
    helpful = {evidence.source for evidence in state.evidence}
    is_independent = any(one.id in helpful and not one.copy_of and one.site not in known for one in new)
    if state.round:
        state.barren_rounds = 0 if is_independent else state.barren_rounds + 1
    return "draft"


async def _draft(run: RunContext) -> Next:
    if not run.state.evidence:
        run.remark(remark(N_("Nothing was found that answers the question.")))
    elif not run.state.sections:
        await write_draft(run)
    else:
        await patch_draft(run)
    return "validate"


async def _validate(run: RunContext) -> Next:
    if run.options.max_validation:
        await check_claims(run)
    else:
        run.remark(remark(N_("No claim of this report was checked (max_validation is 0).")))
    return "control"


async def _control(run: RunContext) -> Next:
    state = run.state
    goes_on = decide(run) == "search"
    if reason_for(run) == "budget":
        _note_spent(run)
    run.tell(RoundDone(run=state.id, round=state.round, goes_on=goes_on, open=len(state.ledger)))
    if not goes_on:
        return "finalise"
    state.round += 1
    return "search"


async def _finalise(run: RunContext) -> Next:
    state = run.state
    settle_draft(state)
    if not any(section.sentences for section in state.sections):
        state.partial = True
        quote_sources(run)
    state.finished = state.finished or local_now()
    run.numbers()
    write_report(state, run.store.folder)
    run.tell(Finished(run=state.id, partial=state.partial))
    return "done"


_STAGES: dict[Stage, Callable[[RunContext], Awaitable[Next]]] = {
    "normalise": _normalise,
    "queries": _queries,
    "search": _search,
    "process": _process,
    "draft": _draft,
    "validate": _validate,
    "control": _control,
    "finalise": _finalise,
}


def _end_early(run: RunContext, stage: Stage) -> Next:
    """Return the next stage when the budget ends in `stage`: the report, after a draft if there is none yet."""
    _note_spent(run)
    has_new_evidence = stage == "process" and any(one.round == run.state.round for one in run.state.evidence)
    return "draft" if has_new_evidence else "finalise"


def _note_spent(run: RunContext) -> None:
    run.state.partial = True
    run.remark(remark(N_("The report is partial: the time or the tokens this run may use are used up.")))
