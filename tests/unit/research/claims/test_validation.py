"""A draft checked as a whole: every claim has a verdict, nothing is asked twice, what is verified stays."""

from pathlib import Path

import msgspec
import pytest

from localllm.research.claims.validation import check_claims
from localllm.research.evidence import keep_quotes
from localllm.research.model_calls import BudgetSpent
from localllm.research.records import Brief, ResearchState, Section, Sentence, Source
from localllm.research.run_context import RunContext
from localllm.research.run_events import ClaimChecked, ResearchEvent
from localllm.research.run_store import RunStore, StoredAnswer, StoredPage
from tests.support.brains import Brain
from tests.support.research_drafts import run_of
from tests.support.research_parts import Say, playing, sentences_of

pytestmark = pytest.mark.anyio

PAGES = {
    "a.example": "The Kita tower opened in May 1998. The Kita tower is 120 metres tall. Sato built it.",
    "b.example": "In May 1998 the Kita tower opened. The Kita tower is 130 metres tall, says the mayor.",
}
SENTENCES = {
    "The Kita tower opened in May 1998.": ("E1",),
    "The Kita tower is 120 metres tall.": ("E1",),
    "The Kita tower is 150 metres tall.": ("E1",),
    "The Kita tower is made of wood.": ("E1", "E2"),
}


def quoting(prompt: str) -> Say:
    """A model that looks for the claim's number in the passages."""
    passages, _, rest = prompt.partition("<claim>\n")
    claim = rest.partition("\n</claim>")[0]
    number = next((one for one in ("1998", "120", "130", "150") if one in claim), "wood")
    quote = next((one.strip() for one in sentences_of(passages.replace(")\n", ".")) if number in one), "")
    return {"quote": quote.rpartition(".\n")[2], "verdict": "supported" if quote else "not_found"}


ANSWERS: dict[str, Say] = {
    "splitter": {"claims": []},
    "verdict": quoting,
    "compare": {"same_subject": True, "agree": False},
    "coverage": {"unanswered": ["architect"]},
}


def state_of() -> ResearchState:
    state = ResearchState(id="2026-0001", question="q", today="2026-11-24")
    state.brief = Brief("q", "en", ("opening date", "architect"))
    return state


def read(store: RunStore, state: ResearchState, site: str, *, round_: int = 0) -> None:
    """Take all sentences of a page as evidence."""
    stored = store.keep_page(f"https://{site}/", StoredPage(f"https://{site}/"), PAGES[site])
    name = state.new_id("S")
    source = Source(id=name, url=f"https://{site}/", site=site, title="Kita", text_hash=stored.text_hash, state="read")
    state.sources.append(source)
    state.round = round_
    keep_quotes(run_of(store, state, playing({})[0]), source, [PAGES[site]])


def drafted(store: RunStore) -> ResearchState:
    state = state_of()
    for site in PAGES:
        read(store, state, site)
    sentences = tuple(Sentence(state.new_id("T"), text, cited) for text, cited in SENTENCES.items())
    state.sections = [Section("The tower", ("E1", "E2"), sentences)]
    return state


def checking(store: RunStore, state: ResearchState, **answers: Say) -> tuple[RunContext, Brain]:
    client, brain = playing({**ANSWERS, **answers})
    return run_of(store, state, client), brain


def labels(state: ResearchState) -> dict[str, str]:
    return {one.sentence: one.verdict.label if one.verdict else "" for one in state.claims}


async def test_a_draft_is_checked(tmp_path: Path) -> None:
    with RunStore(tmp_path) as store:
        run, brain = checking(store, drafted(store))
        events: list[ResearchEvent] = []
        run.on_event = events.append
        await check_claims(run)
    state = run.state
    assert labels(state) == {"T1": "supported", "T2": "supported", "T3": "not_found", "T4": "not_found"}
    assert [one.frozen for one in state.sections[0].sentences] == [True, True, False, False]
    assert [one.label for one in events if isinstance(one, ClaimChecked)] == list(labels(state).values())
    assert [[side.statement for side in one.sides] for one in state.disagreements] == [
        ["The Kita tower is 120 metres tall.", "The Kita tower is 130 metres tall, says the mayor."]
    ]
    assert state.unanswered == ["architect"]
    assert {(one.kind, one.claim or one.subject) for one in state.ledger} == {
        ("contradicted", "C2"),
        ("not_found", "C3"),
        ("not_found", "C4"),
        ("gap", "architect"),
        ("single_source", "C1"),
        ("single_source", "C2"),
    }
    assert (state.numbers.claims_checked, state.numbers.loops) == (4, 1)
    assert not any("150 metres" in one.messages[-1].text for one in brain.requests if "verdict" in one.messages[0].text)


async def test_no_claim_is_supported_without_a_quote_found_again(tmp_path: Path) -> None:
    for number, said in enumerate(["yes", {"quote": "It is so.", "verdict": "supported"}, quoting]):
        folder = tmp_path / str(number)
        folder.mkdir()
        with RunStore(folder) as store:
            run, _ = checking(store, drafted(store), verdict=said)
            await check_claims(run)
            for one in run.state.claims:
                assert one.verdict
                if one.verdict.label == "supported":
                    assert one.verdict.by == "model"
                    assert one.verdict.evidence in one.evidence
                    assert one.verdict.quote in run.state.evidence_named(one.verdict.evidence).text
        assert any(one.verdict and one.verdict.label == "supported" for one in run.state.claims) is (said is quoting)


async def test_only_what_changed_is_judged_again(tmp_path: Path) -> None:
    with RunStore(tmp_path) as store:
        run, brain = checking(store, drafted(store))
        await check_claims(run)
        asked, checked = len(brain.requests), run.state.claims
        await check_claims(run)
        assert run.state.claims == checked
        assert len(brain.requests) == asked
        first, second, third, _ = run.state.sections[0].sentences
        better = msgspec.structs.replace(
            third, text="The mayor says that the Kita tower is 130 metres tall.", evidence=("E2",)
        )
        run.state.sections = [msgspec.structs.replace(run.state.sections[0], sentences=(first, second, better))]
        await check_claims(run)
    asked_again = [one.messages[0].text.split()[3] for one in brain.requests[asked:]]
    assert asked_again.count("verdict") == 1
    assert labels(run.state) == {"T1": "supported", "T2": "supported", "T3": "supported"}
    assert [one.frozen for one in run.state.sections[0].sentences] == [True, True, True]
    assert run.state.numbers.claims_checked == 5
    assert run.state.numbers.loops == 3


class StoppedError(BaseException):
    """The program ends here, as by kill -9."""


class StoppingStore(RunStore):
    """Ends the program once it has kept so many answers; `kept` counts them."""

    kept = 0
    limit = 0

    def keep_answer(self, key: str, role: str, answer: StoredAnswer) -> None:
        super().keep_answer(key, role, answer)
        self.kept += 1
        if self.kept == self.limit:
            raise StoppedError


async def stopped_and_resumed(folder: Path, limit: int) -> tuple[ResearchState, int]:
    """What comes of a check that is stopped after so many answers and begun anew, and the requests of both."""
    folder.mkdir()
    with StoppingStore(folder) as store:
        before = msgspec.msgpack.encode(drafted(store))
        store.limit = limit
        asked = 0
        while True:
            run, brain = checking(store, msgspec.msgpack.decode(before, type=ResearchState))
            try:
                await check_claims(run)
            except StoppedError:
                asked = len(brain.requests)
                continue
            run.numbers()
            return run.state, asked + len(brain.requests)


async def test_stopped_between_any_two_answers_nothing_is_asked_twice(tmp_path: Path) -> None:
    expected, number = await stopped_and_resumed(tmp_path / "whole", 0)
    assert number >= 6
    for limit in range(1, number + 1):
        assert await stopped_and_resumed(tmp_path / str(limit), limit) == (expected, number)


async def test_where_the_budget_ends_the_rest_is_not_verified(tmp_path: Path) -> None:
    with RunStore(tmp_path) as store:
        run, brain = checking(store, drafted(store))
        run.roles._may_ask = lambda _writes: len(brain.requests) < 2
        with pytest.raises(BudgetSpent):
            await check_claims(run)
    assert labels(run.state) == {"T1": "supported", "T2": "not_verified", "T3": "not_found", "T4": "not_verified"}
    assert run.state.unanswered == ["architect"]
    assert {one.claim for one in run.state.ledger if one.kind == "not_found"} == {"C2", "C3", "C4"}


async def test_a_run_without_a_draft_has_only_gaps(tmp_path: Path) -> None:
    with RunStore(tmp_path) as store:
        run, brain = checking(store, state_of())
        await check_claims(run)
    assert run.state.unanswered == ["opening date", "architect"]
    assert [one.kind for one in run.state.ledger] == ["gap", "gap"]
    assert not brain.requests


async def test_what_another_page_of_a_later_round_says_too_is_cited(tmp_path: Path) -> None:
    with RunStore(tmp_path) as store:
        state = state_of()
        read(store, state, "a.example")
        sentence = Sentence("T1", "The Kita tower opened in May 1998.", ("E1",))
        state.sections = [Section("The tower", ("E1",), (sentence,))]
        run, _ = checking(store, state, compare={"same_subject": False, "agree": True})
        await check_claims(run)
        assert [one.kind for one in state.ledger] == ["gap", "single_source"]
        read(store, state, "b.example", round_=1)
        await check_claims(run)
    assert state.sections[0].sentences[0].evidence == ("E1", "E2")
    assert state.sections[0].evidence == ("E1", "E2")
    assert [one.evidence for one in state.claims] == [("E1", "E2")]
    assert [one.kind for one in state.ledger] == ["gap"]


async def test_requests_about_one_sentence_begin_alike(tmp_path: Path) -> None:
    with RunStore(tmp_path) as store:
        state = drafted(store)
        run, brain = checking(store, state)
        await check_claims(run)
    asked = [one.messages for one in brain.requests if one.messages[0].text.startswith("You are the verdict")]
    assert len({one[0].text for one in asked}) == 1
    heads = [one[1].text.partition("<claim>")[0] for one in asked]
    assert heads[0] == heads[1]
    assert all(one[1].text.endswith("Language: en. Today: 2026-11-24.") for one in asked)
