"""Where there is no sandbox these tests fail, as a machine without one is not fit for them; other systems have none."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.sandbox.backend import LEVELS, Level
from localllm.sandbox.launcher.bwrap_program import find_bwrap
from tests.support.one_sandbox import compiled_and_tried_once
from tests.support.sandbox_world import World


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if sys.platform == "linux":
        return
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="the sandbox is for Linux so far"))


@pytest.fixture(scope="module", autouse=True)
def one_sandbox() -> Iterator[None]:
    """Each runner starts a fork server of its own here."""
    with compiled_and_tried_once():
        yield


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> Level:
    if request.param == "bubblewrap" and not find_bwrap():
        pytest.skip("bubblewrap is not installed")
    return request.param


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: Level) -> Iterator[World]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    world = World(tmp_path, (level,))
    assert world.runner.level == level, f"this machine does not have this level: {world.runner.reason}"
    yield world
    world.runner.close()


@pytest.fixture
def repository(world: World) -> World:
    subprocess.run(["git", "init", "-q", "--template="], cwd=world.project, check=True)
    (world.project / ".git/hooks").mkdir()
    (world.project / ".git/hooks/pre-commit").write_text("#!/bin/sh\n# the user's own\n")
    (world.project / ".envrc").write_text("export A=1\n")
    (world.project / ".localllm/sessions").mkdir(parents=True)
    (world.project / ".localllm/sessions/old.jsonl").write_text('{"type":"RunStarted"}\n')
    return world
