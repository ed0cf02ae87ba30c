"""A run that has read the tests' web on one topic, with a draft of planted facts and lies, ready to be checked."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from localllm.llm.client import LLMClient
from localllm.llm.messages import CompletionRequest
from localllm.research.evidence import take_notes
from localllm.research.model_calls import Roles
from localllm.research.options import ResearchOptions
from localllm.research.records import Brief, ResearchState, Section, Sentence, Source
from localllm.research.run_context import Budget, RunContext
from localllm.research.run_store import RunStore
from localllm.research.source_reading import read_sources
from tests.research_web.dataset import Fact, Lie, facts_in, load
from tests.support.brains import Brain
from tests.support.research_parts import FakeReader, options

Answer = Callable[[Sequence[dict[str, Any]], dict[str, Any] | None], str]
TODAY = "2026-11-24"


def client_of(answer: Answer) -> tuple[LLMClient, Brain]:
    """A model of tests/research_web in the program itself, and what it was asked."""

    def turn(request: CompletionRequest) -> str:
        system, *others = (message.text for message in request.messages)
        messages = [{"role": "system", "content": system}, *({"role": "user", "content": text} for text in others)]
        return answer(messages, json.loads(json.dumps(request.schema)))

    brain = Brain(turn)
    return LLMClient(brain, model="played", max_retries=0), brain


def run_of(
    store: RunStore, state: ResearchState, client: LLMClient, given: ResearchOptions | None = None
) -> RunContext:
    """The context of a run of this state, without a web."""
    wanted = given or options(max_search=20, max_validation=3)
    budget = Budget(wanted, 0.0, clock=lambda: 0.0)
    roles = Roles(client, store, wanted, today=TODAY, language=state.language, may_ask=budget.allows)
    return RunContext(state, store, roles, wanted, state.language, budget)


async def read_topic(run: RunContext, topic: str, *, pages: Sequence[str] = ()) -> None:
    """Read the pages of a topic and take notes of them; only those named where there are names."""
    data = load()
    found = [page for page in data.pages.values() if page.topic == topic and page.status == 200]
    chosen = [page for page in found if not pages or page.id in pages]
    texts = {page.url: page.text for page in chosen}
    run.reader = FakeReader(texts)
    run.state.sources += [
        Source(id=run.state.new_id("S"), url=page.url, title=page.title, site=page.host) for page in chosen
    ]
    question = data.questions[topic]
    needs = tuple(need.text for need in question.needs)
    run.state.brief = Brief(question.text, run.state.language, needs)
    await take_notes(run, await read_sources(run))


def holders(run: RunContext, fact: Fact) -> list[str]:
    """The evidence that holds a fact, of copies too."""
    return [one.id for one in run.state.evidence if fact in facts_in(one.text, [fact])]


def draft(run: RunContext, facts: Sequence[Fact], lies: Sequence[Lie] = ()) -> dict[str, Fact | Lie]:
    """Write a section that says these, each citing what it is or pretends to be of; by sentence what it says."""
    state = run.state
    said: dict[str, Fact | Lie] = {}
    sentences: list[Sentence] = []
    for fact in facts:
        if names := holders(run, fact):
            sentences.append(Sentence(state.new_id("T"), fact.claim(state.language), tuple(names[:2])))
            said[sentences[-1].id] = fact
    for lie in lies:
        sentences.append(Sentence(state.new_id("T"), lie.text, (cited_by(run, lie),)))
        said[sentences[-1].id] = lie
    state.sections = [Section("Findings", tuple(one.id for one in state.evidence), tuple(sentences))]
    return said


def cited_by(run: RunContext, lie: Lie) -> str:
    """The evidence a lie cites: of the fact it twists, of its altered copy, or of another page than its own."""
    owners = holders(run, load().statements[lie.fact])
    if lie.kind in ("wrong-page", "unrelated"):
        return next(one.id for one in run.state.evidence if one.id not in owners)
    if lie.kind == "altered-mirror":
        copies = [one.id for one in run.state.evidence if run.state.source(one.source).copy_of]
        return next(iter(copies), owners[0])
    return owners[0]


def begun(folder: Path, topic: str, language: str = "") -> ResearchState:
    """The state of a run on a topic that has not read anything."""
    question = load().questions[topic]
    folder.mkdir(parents=True, exist_ok=True)
    return ResearchState(id="2026-0001", question=question.text, today=TODAY, language=language or question.language)
