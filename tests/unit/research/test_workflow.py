"""The whole way of a run with a played model and web: what comes of it, how it ends, and that it can be taken up."""

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path

import msgspec
import pytest

from localllm.base import offline
from localllm.base.errors import (
    BrowserError,
    LLMConnectionError,
    LocalLLMError,
    ResearchError,
    ResearchModelError,
    ResearchUsageError,
    WebSearchError,
)
from localllm.research import model_calls, workflow
from localllm.research.records import STAGES, ResearchState, Section, Sentence, Source, Stage
from localllm.research.remark_texts import in_words
from localllm.research.report.report_files import report_files
from localllm.research.researcher import Researcher, new_state
from localllm.research.run_context import RunContext
from localllm.research.run_events import (
    ClaimChecked,
    Finished,
    ModelAnswered,
    NotesTaken,
    PageRead,
    QueryMade,
    ResearchEvent,
    RoundDone,
    SearchDone,
    StageBegun,
)
from localllm.research.run_store import RunStore, run_folder
from localllm.research.source_reading import read_sources
from localllm.web.addresses import checked_url
from localllm.web.page_reader import ReadPage
from tests.support.brains import Brain
from tests.support.research_parts import (
    PAGES,
    QUESTION,
    FakeReader,
    FakeSearch,
    Say,
    options,
    page_of,
    playing,
    run_of,
    said_in,
    sentences_of,
)

pytestmark = pytest.mark.anyio


class StoppedError(BaseException):
    """The program ends here, as by kill -9: nothing is tidied up by the stages."""


async def write_draft(run: RunContext) -> None:
    """A sentence for each piece of evidence, written by the model."""
    state = run.state
    text = await run.roles.ask("writer", {"evidence": "\n".join(one.text for one in state.evidence)}, None, **PROSE)
    sentences = tuple(
        Sentence(state.new_id("T"), f"{text} {one.text}", (one.id,)) for one in state.evidence if one.round == 0
    )
    state.title = QUESTION
    state.sections = [Section("All", tuple(one.id for one in state.evidence), sentences)]


async def patch_draft(run: RunContext) -> None:
    """The title tells how often it was patched."""
    await run.roles.ask("editor", {"round": str(run.state.round)}, None, **PROSE)
    run.state.title += "!"


def judged(asked: str) -> Say:
    """Every claim is supported by the first sentence of its passages."""
    return {"quote": sentences_of(asked.partition("\n")[2].partition("\n")[2])[0].strip(), "verdict": "supported"}


PROSE = {"temperature": 0.0, "max_tokens": 300}
PLAYED: dict[str, Say] = {
    "writer": "It is said:",
    "editor": "done",
    "splitter": "no claims",
    "verdict": judged,
    "coverage": {"unanswered": ["height"]},
    "compare": {"same_subject": True, "agree": True},
}
"""The height stays open, so that there is always another round."""


@pytest.fixture(autouse=True)
def thin_stages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Put thin ones in the place of the stages that write."""
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    for role in ("writer", "editor"):
        (prompts / f"{role}.md").write_text(f"You are the {role} of a research team.")
    own = model_calls.prompt_of

    def prompt_of(role: str) -> str:
        file = prompts / f"{role}.md"
        return file.read_text() if file.exists() else own(role)

    monkeypatch.setattr(model_calls, "prompt_of", prompt_of)
    for stage in (write_draft, patch_draft):
        monkeypatch.setattr(workflow, stage.__name__, stage)


class World:
    """A model, a web and a data folder that outlive runs."""

    def __init__(self, folder: Path, answers: Mapping[str, Say] | None = None, **given: object) -> None:
        self.data = folder / "data"
        self.client, self.brain = playing({**PLAYED, **(answers or {})})
        self.search = FakeSearch()
        self.reader = FakeReader()
        self.events: list[ResearchEvent] = []
        self.options = options(**given)
        self.now = 0.0
        self.on_event: Callable[[ResearchEvent], None] = self.events.append

    def _tell(self, event: ResearchEvent) -> None:
        self.on_event(event)

    def researcher(self, *, web: bool = True) -> Researcher:
        return Researcher(
            self.client,
            self.search if web else None,
            self.reader if web else None,
            self.data,
            self.options,
            self._tell,
            today=lambda: date(2026, 11, 24),
            clock=lambda: self.now,
        )


def told(events: Iterable[ResearchEvent], kind: type[ResearchEvent]) -> list[ResearchEvent]:
    return [event for event in events if isinstance(event, kind)]


async def test_a_run_goes_its_way(tmp_path: Path) -> None:
    world = World(tmp_path, max_validation=2)
    state = await world.researcher().run(QUESTION)
    assert (state.id, state.next, state.round, state.numbers.loops) == ("2026-0001", "done", 1, 2)
    assert [source.state for source in state.sources] == ["read", "read", "read"]
    assert {one.source for one in state.evidence} == {"S1", "S2"}
    assert all(PAGES[state.source(one.source).url][one.start : one.end] == one.text for one in state.evidence)
    assert state.title.endswith("!")
    assert state.barren_rounds == 1
    assert not state.partial
    assert set(report_files(world.data / "history" / state.id)) <= {*(world.data / "history" / state.id).iterdir()}
    begun = [event.stage for event in told(world.events, StageBegun) if isinstance(event, StageBegun)]
    assert begun == [*STAGES[:7], *STAGES[2:]]
    for kind in (QueryMade, SearchDone, PageRead, NotesTaken, ModelAnswered, ClaimChecked, Finished):
        assert told(world.events, kind)
    assert state.numbers.requests == len(world.brain.requests) == len(told(world.events, ModelAnswered))
    assert state.numbers.tokens > 0


def without_times(state: ResearchState) -> ResearchState:
    numbers = msgspec.structs.replace(state.numbers, seconds=0.0, model_seconds=0.0)
    return msgspec.structs.replace(state, numbers=numbers, started="", finished="")


@pytest.mark.parametrize(("stage", "number"), [*((one, 0) for one in STAGES[:7]), *((one, 1) for one in STAGES[2:])])
async def test_a_run_stopped_at_a_stage_goes_on_and_asks_nothing_twice(
    tmp_path: Path, stage: Stage, number: int
) -> None:
    whole = World(tmp_path / "whole", max_validation=2)
    expected = await whole.researcher().run(QUESTION)
    world = World(tmp_path / "stopped", max_validation=2)

    def stop(event: ResearchEvent) -> None:
        if isinstance(event, StageBegun) and event.stage == stage and event.round == number:
            raise StoppedError

    world.on_event = stop
    with pytest.raises(StoppedError):
        await world.researcher().run(QUESTION)
    world.on_event = world.events.append
    state = await world.researcher().run(resume="2026-0001")
    assert msgspec.to_builtins(without_times(state)) == msgspec.to_builtins(without_times(expected))
    assert [one.messages for one in world.brain.requests] == [one.messages for one in whole.brain.requests]
    assert world.reader.asked == whole.reader.asked
    assert world.search.asked == whole.search.asked


@pytest.mark.parametrize("request_number", range(1, 12))
async def test_a_run_stopped_in_a_stage_asks_nothing_twice(tmp_path: Path, request_number: int) -> None:
    whole = World(tmp_path / "whole", max_validation=2)
    expected = await whole.researcher().run(QUESTION)
    world = World(tmp_path / "stopped", max_validation=2)
    answered = 0

    def stop(event: ResearchEvent) -> None:
        nonlocal answered
        answered += isinstance(event, ModelAnswered)
        if answered == request_number:
            raise StoppedError

    world.on_event = stop
    with pytest.raises(StoppedError):
        await world.researcher().run(QUESTION)
    world.on_event = world.events.append
    state = await world.researcher().run(resume="2026-0001")
    assert without_times(state) == without_times(expected)
    assert len(world.brain.requests) == len(whole.brain.requests)
    assert world.reader.asked == whole.reader.asked
    assert world.search.asked == whole.search.asked


async def test_a_cancelled_run_goes_on(tmp_path: Path) -> None:
    world = World(tmp_path)

    def interrupt(event: ResearchEvent) -> None:
        if isinstance(event, NotesTaken) and running:
            running.pop().cancel()

    world.on_event = interrupt
    running: list[asyncio.Task[ResearchState]] = []
    running.append(task := asyncio.create_task(world.researcher().run(QUESTION)))
    with pytest.raises(asyncio.CancelledError):
        await task
    asked = len(world.brain.requests)
    state = await world.researcher().run(resume="2026-0001")
    assert state.next == "done"
    assert state.numbers.requests <= len(world.brain.requests) <= state.numbers.requests + 1
    assert asked


async def test_a_model_that_dies_leaves_a_run_that_goes_on(tmp_path: Path) -> None:
    world = World(tmp_path)
    is_dead = True
    say = PLAYED["writer"]

    def writer(_asked: str) -> Say:
        if is_dead:
            raise LLMConnectionError("llm_cut", url="brain", reason="gone")
        return say

    world.client, world.brain = playing({**PLAYED, "writer": writer})
    with pytest.raises(ResearchModelError, match="--resume 2026-0001") as died:
        await world.researcher().run(QUESTION)
    assert died.value.exit_code == 5
    is_dead = False
    asked = len(world.brain.requests)
    state = await world.researcher().run(resume="2026-0001")
    assert state.next == "done"
    assert not any("reader of a research" in one.messages[0].text for one in world.brain.requests[asked:])


async def test_without_a_model_nothing_is_begun(tmp_path: Path) -> None:
    world = World(tmp_path)

    class Gone(Brain):
        async def list_models(self) -> list[object]:  # type: ignore[override]
            raise LLMConnectionError("llm_refused", url="x", provider="p", reason="r", start="s")

    world.client.provider, world.client.model = Gone(lambda _: ""), ""
    with pytest.raises(LLMConnectionError):
        await world.researcher().run(QUESTION)
    assert not world.data.exists()
    assert not world.search.asked


async def test_a_dead_search_is_told_and_the_run_goes_on_later(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.search = FakeSearch((), [WebSearchError("serper_limited")])
    with pytest.raises(ResearchError) as dead:
        await world.researcher().run(QUESTION)
    assert dead.value.key == "research_search_dead"
    assert "--resume 2026-0001" in str(dead.value)
    world.search = FakeSearch()
    assert (await world.researcher().run(resume="2026-0001")).next == "done"


async def test_offline_the_report_says_why_pages_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offline, "is_on", lambda: True)
    world = World(tmp_path, min_search=2)
    researcher = Researcher(world.client, world.search, None, world.data, world.options)
    remarks = said_in((await researcher.run(QUESTION)).remarks)
    assert remarks.count("Pages are not read while the program is offline.") == 1
    assert "No source could be read; 2 were wanted." in remarks


class GuardedReader(FakeReader):
    """Refuses addresses as the fetcher does."""

    async def read(self, url: str) -> ReadPage:
        checked_url(url)
        return await super().read(url)


async def test_pages_of_this_machine_are_named_with_the_setting(tmp_path: Path) -> None:
    world = World(tmp_path, min_search=3)
    private = ["http://127.0.0.1:8080/a", "http://wiki.intranet/b", "http://127.0.0.1:8080/c"]
    world.search, world.reader = FakeSearch([*private, *list(PAGES)[:1]]), GuardedReader()
    remarks = said_in((await world.researcher().run(QUESTION)).remarks)
    assert "3 pages were not read" in remarks
    assert "127.0.0.1:8080, wiki.intranet (see web.allow_private)" in remarks


async def test_pages_of_this_machine_are_counted_once_over_all_rounds(tmp_path: Path) -> None:
    state = new_state("2026-0001", QUESTION, options(), language="en", today=date(2026, 11, 24))
    with run_of(state, tmp_path, {}) as (run, _):
        run.reader = GuardedReader()
        for name in ("a.intranet", "b.intranet"):
            state.sources.append(Source(id=state.new_id("S"), url=f"http://{name}/", title=name, site=name))
            await read_sources(run)
            state.round += 1
    remarks = [one for one in map(in_words, state.remarks) if "web.allow_private" in one]
    assert [one.partition(",")[0] for one in remarks] == ["2 pages were not read"]
    assert "a.intranet, b.intranet" in remarks[0]


async def test_what_fails_in_part_is_told_in_the_report(tmp_path: Path) -> None:
    world = World(tmp_path, min_search=3)
    world.search = FakeSearch([*list(PAGES)[:2], "https://gone.example/"], [WebSearchError("serper_limited")])
    state = await world.researcher().run(QUESTION)
    remarks = said_in(state.remarks)
    assert WebSearchError("serper_limited").what in remarks
    assert "Only 2 sources could be read; 3 were wanted." in remarks
    gone = state.source("S3")
    assert gone.state == "failed"
    assert gone.problem
    assert "gone.example" in said_in([gone.problem])


async def test_a_page_that_cannot_be_read_makes_room_for_another(tmp_path: Path) -> None:
    world = World(tmp_path, max_search=2, min_search=1)
    world.search = FakeSearch(["https://gone.example/", *PAGES])
    state = await world.researcher().run(QUESTION)
    assert [source.state for source in state.sources] == ["failed", "read", "read", "found"]


async def test_what_a_round_finds_is_read_before_what_an_earlier_one_left(tmp_path: Path) -> None:
    aimed = "https://aimed.example/"
    world = World(tmp_path, max_search=1, min_search=1, max_validation=2)
    world.reader = FakeReader({**PAGES, aimed: PAGES["https://b.example/kita"]})

    def find_more(event: ResearchEvent) -> None:
        if isinstance(event, RoundDone):
            world.search.pages = [*PAGES, aimed]

    world.on_event = find_more
    await world.researcher().run(QUESTION)
    assert world.reader.asked == ["https://a.example/tower", aimed]


async def test_a_missing_browser_is_told_once_and_what_can_be_read_is_kept(tmp_path: Path) -> None:
    class Reader(FakeReader):
        async def read(self, url: str) -> ReadPage:
            text = "" if "a.example" in url else self.pages[url]
            return ReadPage(url, "T", text, "html", "2026-11-24", BrowserError("browser_missing"))

    world = World(tmp_path, max_search=3, min_search=1)
    world.reader = Reader()
    state = await world.researcher().run(QUESTION)
    assert [source.state for source in state.sources] == ["failed", "read", "read"]
    problem = state.sources[0].problem
    missing = BrowserError("browser_missing").what
    assert problem
    assert missing in said_in([problem])
    assert said_in(state.remarks).count(missing) == 1


async def test_too_few_sources_are_searched_for_in_other_words(tmp_path: Path) -> None:
    world = World(tmp_path, min_search=10)
    state = await world.researcher().run(QUESTION)
    first, second = world.search.asked
    assert not set(first) & set(second)
    assert [query.purpose for query in state.queries] == ["viewpoint"] * 2 + ["more_sources"] * 2


async def test_invented_and_altered_quotes_are_thrown_away(tmp_path: Path) -> None:
    def lying(asked: str) -> Say:
        true = sentences_of(page_of(asked))[0]
        return {"relevant": True, "quotes": [re.sub(r"\d+", "1777", true), "The tower is made of gold.", true]}

    world = World(tmp_path, {"reader": lying})
    state = await world.researcher().run(QUESTION)
    assert state.numbers.quotes_dropped >= 4
    assert all(one.text in PAGES[state.source(one.source).url] for one in state.evidence)


async def test_of_a_copy_only_what_differs_is_taken(tmp_path: Path) -> None:
    long = " ".join(f"Fact {number} of the Kita tower is told here." for number in range(60))
    pages = {
        "https://a.example/": f"The tower opened in 1998. {long}",
        "https://copy.example/": f"The tower opened in 1998. {long}",
    }
    world = World(tmp_path, {"reader": {"relevant": True, "quotes": ["The tower opened in 1998."]}})
    world.search, world.reader = FakeSearch(list(pages)), FakeReader(pages)
    state = await world.researcher().run(QUESTION)
    assert [source.copy_of for source in state.sources] == ["", "S1"]
    assert [one.source for one in state.evidence] == ["S1"]


async def test_folders_are_searched_without_the_web(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "tower.md").write_text("# About the tower\n\nThe Kita tower opened in May 1998.")
    (docs / "塔.txt").write_bytes("北塔は1998年に開業した。Kita tower opening.".encode("shift_jis"))
    (docs / "page.html").write_text(
        "<html><title>Kita</title><body><p>The Kita tower is 120 metres tall.</body></html>"
    )
    (docs / "picture.png").write_bytes(b"\x89PNG")
    world = World(tmp_path, docs=(str(docs),))
    state = await world.researcher(web=False).run(QUESTION)
    assert {Path(source.url).name for source in state.sources} == {"tower.md", "塔.txt", "page.html"}
    assert all(source.local and source.state == "read" for source in state.sources)
    assert state.evidence


@pytest.mark.parametrize("found", ["", "docs/tower.md", "http://docs/tower.md"])
async def test_no_search_engine_is_told_what_own_documents_say(tmp_path: Path, found: str) -> None:
    """Nor where an engine gives the path of a document for a page of the web."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "about.md").write_text(f"{QUESTION} " * 20)
    (docs / "tower.md").write_text("The Kita tower opened its annex ZEBRA in May 1998.")
    unsupported = {"verdict": {"quote": "", "verdict": "not_found"}}
    world = World(tmp_path, unsupported, docs=(str(docs),), max_validation=3, query_count=5)
    if found:
        world.search.pages.insert(0, found.replace("docs", str(docs)))
    state = await world.researcher().run(QUESTION)
    assert {one.local for one in state.sources if one.url == str(docs / "tower.md") and one.text_hash} == {True}
    assert len(world.search.asked) > 1
    assert not any("ZEBRA" in query for asked in world.search.asked for query in asked)
    assert any("ZEBRA" in query.text for query in state.queries if query.local), "the documents are searched with it"


async def test_without_anything_to_search_nothing_is_begun(tmp_path: Path) -> None:
    world = World(tmp_path)
    for researcher, question, key in (
        (world.researcher(web=False), QUESTION, "research_no_sources"),
        (world.researcher(), "  ", "research_no_question"),
    ):
        with pytest.raises(ResearchUsageError) as refused:
            await researcher.run(question)
        assert refused.value.key == key
    world.options = options(docs=(str(tmp_path / "nowhere"),))
    with pytest.raises(ResearchUsageError) as refused:
        await world.researcher().run(QUESTION)
    assert refused.value.key == "research_docs"
    assert not world.data.exists()


async def test_only_the_sites_asked_for(tmp_path: Path) -> None:
    world = World(tmp_path, sites=("a.example", "b.example"), exclude_sites=("b.example",))
    state = await world.researcher().run(QUESTION)
    assert [source.site for source in state.sources] == ["a.example"]


async def test_nothing_found_still_gives_a_report(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.search = FakeSearch([])
    state = await world.researcher().run(QUESTION)
    assert state.partial
    assert state.unanswered == ["opening date", "height"]
    assert report_files(world.data / "history" / state.id).report.is_file()


async def test_a_report_that_is_not_checked_says_so(tmp_path: Path) -> None:
    world = World(tmp_path, max_validation=0)
    state = await world.researcher().run(QUESTION)
    assert not state.claims
    assert "No claim of this report was checked" in said_in(state.remarks)


@pytest.mark.parametrize("limit", ["max_minutes", "max_run_tokens"])
async def test_the_last_of_the_budget_is_for_writing(tmp_path: Path, limit: str) -> None:
    measured = await World(tmp_path / "whole").researcher().run(QUESTION)
    world = World(tmp_path / "spent", **{limit: 10 if limit == "max_minutes" else measured.numbers.tokens})

    def tick(event: ResearchEvent) -> None:
        world.events.append(event)
        if isinstance(event, NotesTaken):
            world.now += 300

    world.on_event = tick
    state = await world.researcher().run(QUESTION)
    assert state.partial
    assert state.sections
    assert report_files(world.data / "history" / state.id).report.is_file()
    assert "partial" in said_in(state.remarks)


async def test_queries_can_be_seen_and_changed_before_they_leave(tmp_path: Path) -> None:
    world = World(tmp_path)
    planned = await world.researcher().plan(QUESTION)
    assert [query.text for query in planned.queries] == ["Kita tower opening", "Kita tower height"]
    assert not world.search.asked
    await world.researcher().run(resume=planned.id, queries=("mine", "me@home.example"))
    assert world.search.asked == [("mine", "[EMAIL]")]


async def test_a_run_goes_on_as_it_was_begun(tmp_path: Path) -> None:
    world = World(tmp_path, max_validation=2)
    planned = await world.researcher().plan(QUESTION)
    world.options = options(max_validation=0, query_count=7)
    assert (await world.researcher().run(resume=planned.id)).numbers.loops == 2


async def test_the_forecast_covers_what_is_asked(tmp_path: Path) -> None:
    world = World(tmp_path, max_validation=2)
    before = await world.researcher().forecast()
    assert before.least_seconds == 0
    state = await world.researcher().run(QUESTION)
    assert before.least_requests <= before.most_requests
    assert state.numbers.requests <= before.most_requests
    after = await world.researcher().forecast()
    assert 0 < after.least_seconds <= after.most_seconds
    last = told(world.events, ModelAnswered)[-1]
    assert isinstance(last, ModelAnswered)
    assert last.forecast
    assert last.forecast.most_requests <= before.most_requests


async def test_a_finished_run_is_given_back(tmp_path: Path) -> None:
    world = World(tmp_path)
    state = await world.researcher().run(QUESTION)
    asked = len(world.brain.requests)
    again = await world.researcher().run(resume=state.id)
    assert without_times(again) == without_times(state)
    assert len(world.brain.requests) == asked
    with RunStore(run_folder(world.data, state.id)) as store:
        assert store.load_state() == again


def test_errors_name_the_run() -> None:
    error: LocalLLMError = ResearchError("research_search_dead", reasons="r", id="2026-0001")
    assert error.code == "E7008"


async def test_a_report_of_which_every_claim_is_denied_quotes_its_sources(tmp_path: Path) -> None:
    world = World(tmp_path, {"verdict": {"quote": "", "verdict": "not_found"}})
    state = await world.researcher().run(QUESTION)
    kept = [one.text for section in state.sections for one in section.sentences]
    assert state.partial
    assert "The Kita tower opened in May 1998." in kept
    assert not {*kept} & {one.text for one in state.unsupported}
    assert "word for word" in said_in(state.remarks)
