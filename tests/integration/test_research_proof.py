"""Whole research runs on the tests' web, with models that are honest, agree to everything, or break; all plant lies."""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from localllm.research.claims.claim_checks import refuse
from localllm.research.records import ResearchState
from localllm.research.report.report import build_report
from localllm.research.report.report_files import render
from tests.research_web.dataset import Question, load, squeezed
from tests.research_web.played_models import BrokenModel, HonestModel, YesMan
from tests.research_web.report_checker import Defect, check, check_json, read_store
from tests.research_web.server import ResearchWeb
from tests.research_web.tally import Tally, tally
from tests.research_web.whole_run import Answer, WholeRun, research
from tests.support.stated_numbers import missing_numbers

pytestmark = pytest.mark.anyio

DATA = load()
QUICK = ("battery", "rice", "fishing", "kyushoku")
MODELS: dict[str, Callable[[Sequence[str]], Answer]] = {
    "honest": lambda lies: HonestModel(lies=lies),
    "yes-man": lambda lies: YesMan(lies=lies),
    "broken": lambda lies: BrokenModel(HonestModel(lies=lies)),
}
HELD = {"honest": 0.9, "broken": 0.75}
"""The share of the facts said that has to stand in the end; of a broken model some are never judged."""

SEEN = 0.6
"""The share of the lies that rules see without a model; what else an agreeing model supports nobody can see."""


def lies_of(topic: str) -> list[str]:
    return [lie.id for lie in DATA.lies.values() if lie.topic == topic]


async def runs_of(make: Callable[[str], Answer], topics: Iterable[str], folder: Path) -> dict[str, WholeRun]:
    """A run for each topic, all at the same time."""

    async def one(topic: str) -> WholeRun:
        return await research(DATA.questions[topic], make(topic), folder / topic, web=web)

    names = list(topics)
    with ResearchWeb(slow=0.01, hang=0.1) as web:
        return dict(zip(names, await asyncio.gather(*map(one, names)), strict=True))


def counted(runs: dict[str, WholeRun]) -> Tally:
    whole = Tally()
    for topic, run in runs.items():
        whole.add(tally(run.state, [DATA.lies[name] for name in lies_of(topic)], DATA))
    return whole


def defects(runs: dict[str, WholeRun]) -> list[Defect]:
    """What is wrong with the citations of all reports, in both of their forms."""
    found: list[Defect] = []
    for run in runs.values():
        as_json = json.loads(render(build_report(run.state), "json"))
        found += [*check(run.report), *check_json(as_json, read_store(run.report.with_name("run.sqlite")))]
    return found


async def lying_runs(model: str, topics: Iterable[str], folder: Path) -> dict[str, WholeRun]:
    return await runs_of(lambda topic: MODELS[model](lies_of(topic)), topics, folder)


async def check_lying_runs(model: str, topics: Sequence[str], folder: Path) -> None:
    """Facts stand, lies do not, and every citation holds, whatever the model does."""
    runs = await lying_runs(model, topics, folder)
    count = counted(runs)
    assert defects(runs) == []
    assert all(run.server.refused == 0 for run in runs.values()), "a request did not fit the window"
    assert len(count.written) >= 9 * len(topics)
    assert len(count.lies) >= 4 * len(topics)
    if model in HELD:
        assert count.supported == {}
        assert len(count.standing) >= HELD[model] * len(count.written), sorted(count.lost)
        return
    for name, claim in count.supported.items():
        state = runs[name.split("-")[0]].state
        cited = [one.text for one in state.evidence if one.id in claim.evidence]
        assert refuse(claim.text, cited, today=state.today) is None, f"the rules refuse it: {claim}"
        assert missing_numbers(claim.text, cited) == [], f"its numbers are not where it leads: {claim}"
    assert len(count.seen) >= SEEN * len(count.lies)
    assert len(count.supported) <= (1 - SEEN) * len(count.lies), [claim.text for claim in count.supported.values()]


@pytest.mark.parametrize("model", MODELS)
async def test_facts_stand_and_lies_do_not(tmp_path: Path, model: str) -> None:
    await check_lying_runs(model, QUICK, tmp_path)


def gap_is_searched(state: ResearchState, question: Question) -> bool:
    return any(
        query.round and (query.purpose == "gap" or squeezed(query.text) == squeezed(question.gap_query))
        for query in state.queries
    )


def check_gap(run: WholeRun, question: Question) -> None:
    """The part of the question without an answer is searched for, and answered or shown."""
    state = run.state
    assert gap_is_searched(state, question), f"{question.id}: {question.gap} is not searched for"
    shown = run.report.read_text("utf-8")
    if question.gap in state.unanswered:
        assert question.gap in shown
        return
    page = DATA.pages[question.gap_page]
    cited = [state.source(one.source).url for one in state.evidence if one.round]
    assert page.url in cited, f"{question.id}: answered without the page that has the answer"


def check_contradiction(run: WholeRun, question: Question) -> None:
    """What two sources say differently is found, searched for once more and shown with both sides."""
    state = run.state
    pages = {DATA.statements[name].sentence for name in question.contradiction}
    sides = [
        {squeezed(state.evidence_named(name).text) for side in one.sides for name in side.evidence}
        for one in state.disagreements
    ]
    both = [found for found in sides if all(any(squeezed(text) in one for one in found) for text in pages)]
    assert both, f"{question.id}: the contradiction is not found: {state.disagreements}"
    assert any(query.purpose == "counter_evidence" for query in state.queries), f"{question.id}: nobody looked again"
    shown = squeezed(run.report.read_text("utf-8"))
    assert all(squeezed(text) in shown for text in pages)


async def check_open_points(topics: Sequence[str], folder: Path) -> dict[str, WholeRun]:
    runs = await runs_of(lambda _topic: HonestModel(), topics, folder)
    assert defects(runs) == []
    for topic, run in runs.items():
        check_gap(run, DATA.questions[topic])
        check_contradiction(run, DATA.questions[topic])
    return runs


async def test_a_gap_and_a_contradiction_are_searched_for_again(tmp_path: Path) -> None:
    runs = await check_open_points(QUICK, tmp_path)
    resolved = [topic for topic, run in runs.items() if DATA.questions[topic].gap not in run.state.unanswered]
    assert len(resolved) >= 2
