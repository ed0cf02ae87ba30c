"""The verdict on one claim: what mechanics reject, what a quote has to be, and that nothing else is supported."""

from pathlib import Path
from tempfile import mkdtemp

import pytest

from localllm.base.events import Json
from localllm.research.claims.verdicts import find_place, judge
from localllm.research.records import Claim, Evidence, ResearchState, Source, Verdict
from localllm.research.run_context import RunContext
from localllm.research.run_store import RunStore, StoredPage
from tests.support.each import each
from tests.support.research_drafts import run_of
from tests.support.research_parts import Say, playing

pytestmark = pytest.mark.anyio

PAGE = (
    "The Kita tower stands by the river. It opened in May 1998 after four years. It is 120 metres tall. "
    "Cats like the garden behind the mill. The mill was sold to a baker. Bread is baked there."
)
OPENED = "It opened in May 1998 after four years."


def reading(store: RunStore, verdict: Say, *, copy_of: str = "") -> tuple[RunContext, list[str]]:
    """A run that has read the page, whole, as two pieces of evidence."""
    asked: list[str] = []

    def say(prompt: str) -> str | Json:
        asked.append(prompt)
        return verdict(prompt) if callable(verdict) else verdict

    state = ResearchState(id="2026-0001", question="q", today="2026-11-24")
    stored = store.keep_page("https://a.example/", StoredPage("https://a.example/"), PAGE)
    state.sources = [
        Source(
            id="S1",
            url="https://a.example/",
            site="a.example",
            title="The tower",
            text_hash=stored.text_hash,
            copy_of=copy_of,
        )
    ]
    cut = PAGE.index("Cats")
    state.evidence = [
        Evidence("E1", "S1", 0, cut - 1, PAGE[: cut - 1]),
        Evidence("E2", "S1", cut, len(PAGE), PAGE[cut:]),
    ]
    return run_of(store, state, playing({"verdict": say})[0]), asked


async def judged(
    folder: Path, claim: str, verdict: Say, *, evidence: tuple[str, ...] = ("E1", "E2"), **of: str
) -> tuple[Verdict, list[str]]:
    with RunStore(Path(mkdtemp(dir=folder))) as store:
        run, asked = reading(store, verdict, **of)
        return await judge(run, Claim("C1", "T1", claim, evidence)), asked


def said(verdict: str, quote: str) -> Say:
    return {"quote": quote, "verdict": verdict}


async def test_a_claim_is_supported_by_the_page_s_own_sentence(tmp_path: Path) -> None:
    verdict, asked = await judged(tmp_path, "The tower opened in May 1998.", said("supported", "opened in May 1998"))
    assert verdict == Verdict("supported", "model", None, OPENED, "E1")
    assert asked[0].index("[E1] (The tower)") < asked[0].index("[E2]") < asked[0].index("<claim>")


async def test_the_id_of_a_passage_is_no_part_of_a_quote(tmp_path: Path) -> None:
    for before in ("[E1] ", "[E1]: ", " [E1]\n", "[E1] (The tower)\n", "(The tower) "):
        verdict, _ = await judged(tmp_path, "The tower opened in May 1998.", said("supported", before + OPENED))
        assert verdict == Verdict("supported", "model", None, OPENED, "E1")
    verdict, _ = await judged(tmp_path, "The tower opened in May 1998.", said("supported", "[E1]"))
    assert verdict.label == "not_verified"


async def test_a_sentence_of_the_passages_is_not_said_to_be_missing_there(tmp_path: Path) -> None:
    for claim in (OPENED, "It opened in May 1998, after four years", "IT OPENED in May 1998 after four years。"):
        for wrong in ("not_found", "partial", "contradicted"):
            verdict, _ = await judged(tmp_path, claim, said(wrong, ""))
            assert (verdict.label, verdict.by) == ("not_verified", "mechanics")
            assert verdict.reason is not None
            assert "very sentence" in verdict.reason.text
    verdict, _ = await judged(tmp_path, OPENED, said("contradicted", "It is 120 metres tall."))
    assert verdict.label == "contradicted"
    verdict, _ = await judged(tmp_path, "It opened in May 1998.", said("not_found", ""))
    assert verdict.label == "not_found"


async def test_what_mechanics_reject_no_model_is_asked_about(tmp_path: Path) -> None:
    for claim, evidence in (("The tower opened in May 1989.", ("E1",)), ("The tower opened.", ())):
        verdict, asked = await judged(tmp_path, claim, said("supported", OPENED), evidence=evidence)
        assert (verdict.label, verdict.by) == ("not_found", "mechanics")
        assert verdict.reason
        assert not asked


@each(
    ("answer", "label"),
    [
        (said("supported", "The tower opened with fireworks in May 1998."), "not_verified"),
        (said("supported", ""), "not_verified"),
        (said("supported", "It opened in May 1989 after four years."), "not_verified"),
        (said("supported", f"{OPENED} … Nothing of that."), "not_verified"),
        (said("supported", "Bread is baked there."), "not_found"),
        (said("supported", "The tower"), "not_verified"),
        (said("partial", OPENED), "partial"),
        (said("contradicted", OPENED), "contradicted"),
        (said("contradicted", "It opened in 2005."), "not_found"),
        (said("not_found", ""), "not_found"),
        ("nothing that can be read", "not_verified"),
        ('{"quote": "It opened in May 19', "not_verified"),
        ({"quote": OPENED, "verdict": "true"}, "not_verified"),
    ],
)
async def test_nothing_else_is_supported(tmp_path: Path, answer: Say, label: str) -> None:
    verdict, _asked = await judged(tmp_path, "The tower opened in May 1998.", answer)
    assert verdict.label == label
    assert verdict.reason


async def test_a_quote_with_an_omission_is_looked_for_in_its_parts(tmp_path: Path) -> None:
    answer = said("supported", "It opened in May 1998 … It is 120 metres tall.")
    verdict, _ = await judged(tmp_path, "The tower opened in May 1998 and is 120 metres tall.", answer)
    assert (verdict.label, verdict.quote) == ("supported", OPENED)


@each(
    ("copies", "label"),
    [
        ({"https://b.example/": "1998"}, "supported"),
        ({"https://b.example/": "1989"}, "contradicted"),
        ({"https://b.example/": "1989", "https://c.example/": "1998"}, "supported"),
        ({"https://b.example/": "1989", "https://c.example/": "1989"}, "contradicted"),
        ({"https://b.example/": "1989", "https://b.example/2": "1989", "https://c.example/": "1998"}, "supported"),
        ({"https://a.example/of-1989": "1989"}, "supported"),
    ],
)
async def test_what_copies_have_otherwise_is_supported_by_none(
    tmp_path: Path, copies: dict[str, str], label: str
) -> None:
    for first in ("S1", "S2"):  # whichever was read first
        with RunStore(Path(mkdtemp(dir=tmp_path))) as store:
            run, _ = reading(store, said("supported", OPENED), copy_of="" if first == "S1" else first)
            for number, (url, year) in enumerate(copies.items(), 2):
                page = store.keep_page(url, StoredPage(url), PAGE.replace("1998", year))
                name, site = f"S{number}", url.split("/")[2]
                copy_of = "" if name == first else first
                run.state.sources.append(Source(id=name, url=url, site=site, text_hash=page.text_hash, copy_of=copy_of))
            verdict = await judge(run, Claim("C1", "T1", "The tower opened in May 1998.", ("E1", "E2")))
            assert verdict.label == label


async def test_the_sentences_next_to_a_quote_are_looked_at_with_it(tmp_path: Path) -> None:
    with RunStore(tmp_path) as store:
        run, _ = reading(store, "")
        place = find_place(run, "It opened in May 1998", run.state.evidence)
        assert place
        assert (place.evidence.id, place.words) == ("E1", OPENED)
        assert place.around == PAGE[: PAGE.index(" Cats")]
        assert find_place(run, "It opened in May 1998", run.state.evidence[1:]) is None
