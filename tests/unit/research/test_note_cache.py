"""What the model noted of pages serves other runs, for a week, and never fails one."""

from datetime import date
from pathlib import Path

import pytest

from localllm.research.note_cache import FILE, SECONDS, NoteCache
from localllm.research.records import ResearchState
from localllm.research.researcher import Researcher
from localllm.research.run_store import StoredAnswer
from localllm.web.search_cache import DiskCache
from tests.support.brains import Brain
from tests.support.research_parts import PAGES, QUESTION, FakeReader, FakeSearch, options, playing, role_of

pytestmark = pytest.mark.anyio


async def run(
    data: Path,
    day: int,
    question: str = QUESTION,
    *,
    model: str = "played",
    caches: Path | None = None,
    **given: object,
) -> tuple[ResearchState, Brain]:
    """A run as far as its notes, and what its model was asked."""
    client, brain = playing({})
    client.model = model
    researcher = Researcher(
        client,
        FakeSearch(),
        FakeReader(),
        data,
        options(**given),
        today=lambda: date(2026, 11, day),
        caches=caches,
    )
    return await researcher.run_alone("process", question), brain


def asked(brain: Brain) -> list[str]:
    return [role_of(request) for request in brain.requests if role_of(request) == "reader"]


async def test_another_run_has_the_notes_on_another_day(tmp_path: Path) -> None:
    first, brain = await run(tmp_path, 24)
    assert len(asked(brain)) == len(PAGES)
    second, other = await run(tmp_path, 25)
    assert asked(other) == []
    assert [one.text for one in second.evidence] == [one.text for one in first.evidence]
    assert second.numbers.requests == len(other.requests), "what was kept is no request"
    assert 0 < second.numbers.tokens < first.numbers.tokens


async def test_they_are_kept_where_they_are_told_to_be(tmp_path: Path) -> None:
    await run(tmp_path / "one", 24, caches=tmp_path / "kept")
    assert not (tmp_path / "one/cache").exists()
    _state, brain = await run(tmp_path / "two", 24, caches=tmp_path / "kept")
    assert asked(brain) == []


@pytest.mark.parametrize("other", [{"question": "How wide is it?"}, {"model": "other"}, {"use_cache": False}])
async def test_they_are_not_those_of_another_question_or_model(tmp_path: Path, other: dict[str, str]) -> None:
    await run(tmp_path, 24)
    _state, brain = await run(tmp_path, 24, **other)
    assert len(asked(brain)) == len(PAGES)


async def test_after_a_week_they_are_gone(tmp_path: Path) -> None:
    now = 1_000_000.0
    cache = NoteCache(tmp_path)
    cache._kept = DiskCache(tmp_path / FILE, SECONDS, clock=lambda: now)
    await cache.put("key", StoredAnswer("notes", tokens=9))
    now += SECONDS - 1
    assert await cache.get("key") == StoredAnswer("notes", tokens=0)
    now += 2
    assert await cache.get("key") is None


async def test_a_cache_that_fails_fails_no_run(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    state, brain = await run(tmp_path, 24)
    assert state.evidence
    assert len(asked(brain)) == len(PAGES)
    cache = NoteCache(tmp_path / "other")
    (tmp_path / "other").mkdir()
    DiskCache(tmp_path / "other" / FILE, SECONDS).put("key", b"no answer")
    assert await cache.get("key") is None
