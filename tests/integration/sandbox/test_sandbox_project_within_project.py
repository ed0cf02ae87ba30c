"""A command of the project around another one exchanges a folder above that, while a command there runs."""

import asyncio
from pathlib import Path

import pytest

from localllm.base.errors import LocalLLMError
from localllm.sandbox.backend import Level
from localllm.sandbox.runner import SandboxRunner
from tests.support.sandbox_world import World

pytestmark = [pytest.mark.anyio, pytest.mark.on_disk]


@pytest.mark.parametrize("level", ["namespaces", "bubblewrap", "landlock"])
async def test_what_is_put_back_does_not_come_where_a_link_leads(world: World, level: Level, tmp_path: Path) -> None:
    outside = tmp_path.resolve() / "outside/app"
    outside.mkdir(parents=True)
    (outside / ".envrc").write_text("the user's")
    app = world.project / "sub/app"
    app.mkdir(parents=True)
    (app / ".envrc").write_text("evil")
    inner, around = SandboxRunner(app, levels=(level,)), SandboxRunner(world.project, levels=(level,))
    for runner, folder in ((inner, app), (around, world.project)):
        await runner.run("true", cwd=folder, timeout=20)  # each has found its level
    swap = (
        f"while [ ! -e sub/app/begun ]; do sleep 0.02; done; mv sub was; ln -s {outside.parent} sub; touch was/app/go"
    )
    wait = "touch begun; while [ ! -e go ]; do sleep 0.02; done"
    results = await asyncio.gather(
        inner.run(wait, cwd=app, timeout=20),
        around.run(f"{swap}; sleep 2", cwd=world.project, timeout=20),
        return_exceptions=True,
    )
    assert {path.name: path.read_text() for path in outside.iterdir()} == {".envrc": "the user's"}
    assert isinstance(results[0], LocalLLMError), "what it changed could not be looked at"
    assert (app / ".envrc").read_text() == "evil", "put back for the project around"
    assert (await inner.run("ls -a", cwd=app, timeout=20)).return_code == 0, "and work goes on"
    for runner in (inner, around):
        runner.close()
