"""No command puts a collection where the user's own are kept: native code reads their files."""

from pathlib import Path

import pytest

from localllm.app.late_sandbox import late_runner
from localllm.config.rag_settings import RagSettings
from localllm.config.schema import Settings
from localllm.sandbox.backend import Level
from tests.support.sandbox_world import World

pytestmark = pytest.mark.anyio


@pytest.fixture
def level() -> Level:
    return "namespaces"


@pytest.mark.parametrize("place", ["kb", "deep/kb"])
async def test_a_folder_of_collections_in_the_project_is_closed_to_commands(
    world: World, place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(tmp_path / "state"))
    folder = world.project / place
    settings = Settings(rag=RagSettings(path=str(folder)))
    runner = late_runner(settings, world.project, accept_no_sandbox=False)
    command = f"mkdir -p {place}/docs; echo x > {place}/docs/files.sqlite; mv {place} a; rm -r {place}; echo y > made"
    result = await runner.run(command, cwd=world.project, timeout=20)
    assert (world.project / "made").exists(), result
    assert list(folder.iterdir()) == []


async def test_no_filter_that_git_runs_reads_them_either(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(tmp_path / "state"))
    folder = world.project / "kb"
    folder.mkdir()
    (folder / "files.sqlite").write_text("private")
    runner = late_runner(Settings(rag=RagSettings(path=str(folder))), world.project, accept_no_sandbox=False)
    seen = await runner.inspect("cat kb/* >$TMPDIR/seen; true", files={}, results=["seen"], timeout=20)
    assert seen.files["seen"] == b""
