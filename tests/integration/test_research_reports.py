"""Reports of whole runs over the tests' web, by models that are honest, say yes to everything, or break."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from localllm.research.records import ResearchState
from localllm.research.report.report import Report, build_report
from localllm.research.report.report_files import render, report_files
from localllm.research.report.report_metadata import read_metadata
from localllm.research.run_events import ResearchEvent, StageBegun
from tests.research_web.dataset import Question, load, squeezed
from tests.research_web.played_models import BrokenModel, HonestModel, YesMan
from tests.research_web.report_checker import check, check_json, read_store
from tests.research_web.served_model import WINDOW
from tests.support.played_research import Answer, largest_request, researcher_of
from tests.support.report_checks import citation_defects, unknown_quotes

pytestmark = pytest.mark.anyio

DATA = load()
TOPICS = ("battery", "kyushoku", "library")
MODELS: dict[str, Callable[[], Answer]] = {
    "honest": HonestModel,
    "broken": BrokenModel,
    "often broken": lambda: BrokenModel(every=2),
}


def claims_in(text: str, question: Question) -> set[str]:
    """The planted facts that a text claims."""
    plain = squeezed(text)
    facts = [fact for fact in DATA.facts.values() if fact.topic == question.id]
    return {fact.id for fact in facts if squeezed(fact.claim(question.language).rstrip(".。")) in plain}


def noted_facts(state: ResearchState, question: Question) -> set[str]:
    """The planted facts that evidence was taken of."""
    noted = squeezed("\n".join(one.text for one in state.evidence))
    return {one.id for one in DATA.facts.values() if one.topic == question.id and squeezed(one.sentence) in noted}


@pytest.mark.parametrize("model", MODELS)
async def test_a_report_without_checking_is_whole_and_marked(tmp_path: Path, model: str) -> None:
    for topic in TOPICS:
        question = DATA.questions[topic]
        researcher, brain = researcher_of(
            MODELS[model](), tmp_path / topic, question.language, max_validation=0, min_validation=0
        )
        state = await researcher.run(question.text)
        files = report_files(tmp_path / topic / "history" / state.id)
        markdown = files.report.read_text(encoding="utf-8")
        assert citation_defects(markdown) == []
        assert unknown_quotes(markdown, [page.text for page in DATA.pages.values()]) == []
        assert largest_request(brain) <= WINDOW
        report = build_report(state)
        sentences = [sentence for section in report.sections for sentence in section.sentences]
        assert sentences
        assert {sentence.standing for sentence in sentences} == {"unchecked"}
        said = "".join(sentence.text for sentence in sentences)
        noted = noted_facts(state, question)
        least = {"often broken": 0.5, "broken": 0.8}.get(model, 1.0)
        assert len(claims_in(said, question) & noted) >= least * len(noted)
        metadata = read_metadata(files.metadata)
        assert (metadata.status, metadata.run_id, metadata.requests) == ("success", state.id, len(brain.requests))


LIARS: dict[str, Callable[[str], Answer]] = {
    "honest": lambda topic: HonestModel(lies=lies_of(topic)),
    "broken": lambda topic: BrokenModel(HonestModel(lies=lies_of(topic))),
    "yes-man": lambda topic: YesMan(lies=lies_of(topic)),
}


def lies_of(topic: str) -> list[str]:
    """The false claims of a topic, but for true ones that cite the wrong page."""
    return [lie.id for lie in DATA.lies.values() if lie.topic == topic and lie.kind not in ("wrong-page", "unrelated")]


@pytest.mark.parametrize("model", LIARS)
async def test_lies_of_the_draft_do_not_stand_in_a_checked_report(tmp_path: Path, model: str) -> None:
    for topic in TOPICS:
        question = DATA.questions[topic]
        given = {"max_validation": 3, "min_validation": 1}
        researcher, brain = researcher_of(LIARS[model](topic), tmp_path / topic, question.language, **given)
        state = await researcher.run(question.text)
        files = report_files(tmp_path / topic / "history" / state.id)
        report = build_report(state)
        assert check(files.report) == []
        assert check_json(json.loads(render(report, "json")), read_store(files.report.with_name("run.sqlite"))) == []
        assert citation_defects(files.report.read_text(encoding="utf-8")) == []
        assert largest_request(brain) <= WINDOW
        sentences = [sentence for section in report.sections for sentence in section.sentences]
        supported = squeezed("".join(one.text for one in sentences if one.standing == "supported"))
        lies = [DATA.lies[name] for name in lies_of(topic)]
        standing = [lie for lie in lies if squeezed(lie.text.rstrip(".。")) in supported]
        seen = [lie for lie in standing if lie.why in ("number", "unit", "date", "negation")]
        assert not [lie.text for lie in (seen if model == "yes-man" else standing)]
        assert not {one.standing for one in sentences} & {"contradicted", "not_found"}
        assert state.patches
        assert state.numbers.claims_dropped >= len(state.unsupported) > 0
        if model != "yes-man":
            facts = [fact for fact in DATA.facts.values() if fact.topic == topic]
            stand = [
                one for one in facts if {squeezed(one.sentence), squeezed(one.claim(question.language))} & parts(report)
            ]
            assert len(stand) >= 0.75 * len(facts), (topic, len(stand))


@pytest.mark.parametrize("most", [500, 8_000, 14_000, 18_000, 24_000])
async def test_a_spent_budget_leaves_nothing_false_in_the_text(tmp_path: Path, most: int) -> None:
    question = DATA.questions["battery"]
    given = {"max_validation": 3, "min_validation": 1, "max_run_tokens": most}
    researcher, _brain = researcher_of(HonestModel(lies=lies_of("battery")), tmp_path, "en", **given)
    state = await researcher.run(question.text)
    report = build_report(state)
    files = report_files(tmp_path / "history" / state.id)
    assert check(files.report) == []
    assert report.partial
    assert read_metadata(files.metadata).partial
    assert "This report is partial" in files.report.read_text(encoding="utf-8")
    standings = {sentence.standing for section in report.sections for sentence in section.sentences}
    assert not standings & {"contradicted", "not_found"}
    lies = {squeezed(DATA.lies[name].text) for name in lies_of("battery")}
    assert not lies & parts(report)


def parts(report: Report) -> set[str]:
    """The supported sentences of a report, squeezed."""
    sentences = [sentence for section in report.sections for sentence in section.sentences]
    return {squeezed(one.text) for one in sentences if one.standing == "supported"}


async def test_a_run_stopped_before_its_report_writes_the_same_bytes(tmp_path: Path) -> None:
    class StoppedError(BaseException):
        """The program ends here."""

    def stop(event: ResearchEvent) -> None:
        if isinstance(event, StageBegun) and event.stage == "finalise":
            raise StoppedError

    question = DATA.questions["battery"]
    given = {"max_validation": 0, "min_validation": 0}
    whole, _brain = researcher_of(HonestModel(), tmp_path / "whole", **given)
    state = await whole.run(question.text)
    expected = report_files(tmp_path / "whole" / "history" / state.id).report.read_bytes()
    stopped, brain = researcher_of(HonestModel(), tmp_path / "stopped", on_event=stop, **given)
    with pytest.raises(StoppedError):
        await stopped.run(question.text)
    files = report_files(tmp_path / "stopped" / "history" / state.id)
    assert not files.report.exists()
    again, more = researcher_of(HonestModel(), tmp_path / "stopped", **given)
    resumed = await again.run(resume=state.id)
    assert files.report.read_bytes() == expected
    assert more.requests == []
    assert len(brain.requests) == resumed.numbers.requests
    times = {"start_at", "finish_at", "duration", "seconds", "model_seconds"}
    mine, other = (msgspec.to_builtins(build_report(one).metadata) for one in (resumed, state))
    assert {key: mine[key] for key in mine if key not in times} == {
        key: other[key] for key in other if key not in times
    }
