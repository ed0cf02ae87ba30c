"""What a run writes into the log: its course, a worker's error as a warning, the reviewer's as an error."""

import logging

import pytest

from localllm.base import logs
from tests.ensemble_servers import Play
from tests.ensemble_servers.asking import PROMPT, asking

pytestmark = pytest.mark.anyio


class Kept(logging.Handler):
    """Keeps what is logged, whoever else logs it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append((record.levelname, record.getMessage()))


async def logged(level: int, *workers: Play, reviewer: Play | None = None) -> list[tuple[str, str]]:
    """The lines of a run from this level on."""
    logger, kept = logs.of("ENSEMBLE"), Kept()
    before = logger.level
    logger.addHandler(kept)
    logger.setLevel(level)
    try:
        async with asking(*workers, reviewer=reviewer, max_retries=0) as asked:
            await asked.result()
    finally:
        logger.removeHandler(kept)
        logger.setLevel(before)
    return kept.lines


async def test_a_good_run_is_information() -> None:
    lines = await logged(logging.INFO, Play(), Play())
    assert {level for level, _ in lines} == {"INFO"}
    for agent in ("Worker 1", "Worker 2", "Reviewer"):
        assert any(agent in line for _, line in lines)
    assert not any(PROMPT in line for _, line in lines)


async def test_failures_have_the_agents_name_and_their_level() -> None:
    lines = await logged(logging.WARNING, Play(fails=-1), Play(), reviewer=Play(fails=-1))
    assert [level for level, _ in lines] == ["WARNING", "ERROR"]
    assert "Worker 1" in lines[0][1]
    assert "Reviewer" in lines[1][1]


async def test_no_answer_at_all_is_an_error() -> None:
    lines = await logged(logging.ERROR, Play(fails=-1))
    assert len(lines) == 1


async def test_what_was_asked_and_answered_is_for_finding_faults() -> None:
    lines = await logged(logging.DEBUG, Play(answer="about 42"))
    bodies = [line for level, line in lines if level == "DEBUG"]
    assert all(any(text in line for line in bodies) for text in (PROMPT, "about 42", "It is 42."))
