"""Claims checked over the tests' web: planted lies are never supported, planted facts are, whatever the model does."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from localllm.research.claims.validation import check_claims
from localllm.research.run_store import RunStore
from tests.research_web.dataset import Fact, load
from tests.research_web.played_models import BrokenModel, HonestModel, YesMan
from tests.support.research_drafts import begun, client_of, draft, read_topic, run_of

pytestmark = pytest.mark.anyio

VISIBLE = {"number", "unit", "date", "negation", "quote", "elsewhere"}
"""Why a lie is one, where rules can see it in the cited page."""

OTHER = {"en": "ja", "ja": "en"}


async def counted(folder: Path, make: Callable[[], HonestModel | BrokenModel], *, translated: bool) -> Counter[str]:
    """How many facts, visible lies and other lies came out supported, and how many there were (`all …`)."""
    data = load()
    found: Counter[str] = Counter()
    for topic, question in data.questions.items():
        state = begun(folder / topic, topic, OTHER[question.language] if translated else question.language)
        with RunStore(folder / topic) as store:
            run = run_of(store, state, client_of(make())[0])
            await read_topic(run, topic)
            facts = [fact for fact in data.statements.values() if fact.topic == topic]
            said = draft(run, facts, [lie for lie in data.lies.values() if lie.topic == topic])
            await check_claims(run)
            for name, what in said.items():
                kind = "facts" if isinstance(what, Fact) else "visible lies" if what.why in VISIBLE else "other lies"
                verdicts = [one.verdict for one in state.claims if one.sentence == name]
                assert verdicts
                assert all(verdicts)
                found[f"all {kind}"] += 1
                found[kind] += all(one and one.label == "supported" for one in verdicts)
            for claim in state.claims:
                assert claim.verdict
                if claim.verdict.label == "supported":
                    evidence = state.evidence_named(claim.verdict.evidence)
                    assert claim.verdict.evidence in claim.evidence
                    assert claim.verdict.quote in store.text(state.source(evidence.source).text_hash)
            found["disagreements"] += len(state.disagreements)
            found["gaps"] += sum(entry.kind == "gap" for entry in state.ledger)
    return found


@pytest.mark.parametrize("translated", [False, True], ids=["own language", "translated"])
async def test_an_honest_model(tmp_path: Path, translated: bool) -> None:
    found = await counted(tmp_path, HonestModel, translated=translated)
    assert found["all facts"] >= 144
    assert found["facts"] >= 0.95 * found["all facts"]
    assert found["visible lies"] == found["other lies"] == 0
    assert found["disagreements"] == 12


@pytest.mark.parametrize("translated", [False, True], ids=["own language", "translated"])
async def test_a_yes_man(tmp_path: Path, translated: bool) -> None:
    found = await counted(tmp_path, YesMan, translated=translated)
    assert found["visible lies"] == 0
    assert found["other lies"] <= 0.5 * found["all other lies"]


async def test_a_broken_model(tmp_path: Path) -> None:
    found = await counted(tmp_path, BrokenModel, translated=False)
    assert found["facts"] >= 0.9 * found["all facts"]
    assert found["visible lies"] == found["other lies"] == 0
    assert found["disagreements"] >= 10
