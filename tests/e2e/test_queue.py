"""Research tasks handed to workers, as users run them: over the tests' web, through a real Redis."""

import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.redis_server import redis_server
from tests.support.research_cli import PATIENCE, ResearchWorld, research_world

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" and shutil.which("redis-server") is None, reason="needs redis-server"
)

QUEUE = "[queue]\nheartbeat = 1.5\nmaintenance = 0.2\n"
FAST = ("--preset", "fast", "--max-search", "4")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ResearchWorld]:
    with research_world(tmp_path) as world:
        world.configure(QUEUE)
        yield world


@contextmanager
def worker(world: ResearchWorld, url: str, name: str) -> Generator["subprocess.Popen[str]"]:
    process = world.begin("worker", "--queue", url, "--work-dir", str(world.folder / name))
    assert process.stderr
    try:
        assert "waiting" in process.stderr.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


def test_tasks_are_done_by_workers_and_one_that_is_killed_costs_nothing(tmp_path: Path, world: ResearchWorld) -> None:
    world.run("task", "add", world.question.text, *FAST)
    world.run("task", "add", world.japanese_question.text, *FAST)
    world.hold(9)
    with (
        redis_server(tmp_path) as url,
        worker(world, url, "one") as one,
        worker(world, url, "two"),
    ):
        asker = world.begin("task", "run", "--all", "--queue", url)
        assert world.is_holding.wait(PATIENCE)
        one.send_signal(signal.SIGKILL)
        world.release()
        printed, said = asker.communicate(timeout=PATIENCE)
        assert asker.returncode in (0, 3), said
        import redis

        left = list(redis.Redis.from_url(url).scan_iter("localllm:research:*"))
    assert [key for key in left if b":forgotten:" not in key] == []
    reports = [Path(line) for line in printed.splitlines()]
    assert len(reports) == 2
    assert all("[1]" in report.read_text("utf-8") for report in reports)
    assert all(report.is_relative_to(world.work / "history") for report in reports)
    tasks = world.json("task", "list", "--json")["tasks"]
    assert [task["status"] for task in tasks] == ["completed", "completed"]
    assert sum(world.web.asked_twice().values()) <= 2 * 4, "the pages it had under way, at most"
    twice = [count for count in Counter(world.model.prompts).values() if count > 1]
    assert sum(twice) - len(twice) <= 2, "what each of the two had under way, at most"


def test_whoever_asked_may_leave_and_take_the_result_later(tmp_path: Path, world: ResearchWorld) -> None:
    world.run("task", "add", world.question.text, *FAST)
    world.hold(4)
    with redis_server(tmp_path) as url, worker(world, url, "one") as one:
        asker = world.begin("task", "run", "--all", "--queue", url)
        assert world.is_holding.wait(PATIENCE)
        asker.send_signal(signal.SIGINT)
        _printed, said = asker.communicate(timeout=PATIENCE)
        assert asker.returncode == 130
        assert "The workers continue" in said
        [run] = [folder.name for folder in world.work.glob("history/*")]
        here = world.run("research", "--resume", run, "--api", "http://127.0.0.1:9/v1")
        assert here.returncode == 5
        assert "with the workers of" in here.stderr
        world.release()
        later = world.run("task", "run", "--all", "--queue", url)
        assert later.returncode in (0, 3), later.stderr
        one.send_signal(signal.SIGTERM)
        assert one.wait(PATIENCE) == 128 + signal.SIGTERM
    assert len(list(world.work.glob("history/*"))) == 1
    assert max(Counter(world.model.prompts).values()) == 1


def test_what_is_wrong_with_a_queue_is_said(world: ResearchWorld) -> None:
    world.run("task", "add", world.question.text)
    for command in (("worker",), ("task", "run", "--all")):
        gone = world.run(*command, "--queue", "redis://:pass-123@127.0.0.1:9/0")
        assert (gone.returncode, "E6043" in gone.stderr) == (1, True), gone.stderr
        assert "pass-123" not in gone.stderr
        assert world.run(*command, "--queue", "nowhere").returncode == 2
    far = world.run("--offline", "worker", "--queue", "redis://192.0.2.1/0")
    assert "offline" in far.stderr
    logs = [file.read_text("utf-8") for file in world.folder.rglob("*.log")]
    assert all("pass-123" not in log for log in logs)


def test_a_worker_without_a_model_ends_at_once(tmp_path: Path, world: ResearchWorld) -> None:
    with redis_server(tmp_path) as url:
        run = world.run("worker", "--queue", url, "--api", "http://127.0.0.1:9/v1")
    assert run.returncode == 5
    assert "E2" in run.stderr
