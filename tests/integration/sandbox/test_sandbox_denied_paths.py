"""What deny rules close to the file tools is closed to commands as well, by whatever name they reach it."""

import pytest

from localllm.sandbox.backend import Level
from localllm.sandbox.runner import SandboxRunner
from tests.support.sandbox_world import World

pytestmark = pytest.mark.anyio


@pytest.fixture
def level() -> Level:
    return "namespaces"


@pytest.fixture
def closed(world: World, level: Level) -> SandboxRunner:
    project = world.project
    for name in ("secrets/key", "docs/guide.md", "src/a.py"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(f"{name} as it was\n")
    (project / "alone.txt").write_text("a secret file\n")
    return SandboxRunner(
        project,
        unreadable=[project / "secrets/", project / "alone.txt", project / "missing"],
        unwritable=[project / "docs"],
        levels=(level,),
    )


async def test_what_must_not_be_read_is_not_there(closed: SandboxRunner, world: World) -> None:
    command = "cat s*/k* ./secrets//key alone.txt; ln -s secrets x; ls -la x/; mv secrets y; cat y/key; cat src/a.py"
    result = await closed.run(command, cwd=world.project, timeout=20)
    assert "src/a.py as it was" in result.stdout
    assert "secrets/key as it was" not in result.stdout
    assert "a secret file" not in result.stdout
    assert (world.project / "secrets/key").read_text() == "secrets/key as it was\n"
    closed.close()


async def test_what_must_not_be_written_stays(closed: SandboxRunner, world: World) -> None:
    command = "cat docs/guide.md; echo x >| d*s/guide.md; rm -r docs; mv docs b; echo y > docs/new; echo z > src/a.py"
    result = await closed.run(command, cwd=world.project, timeout=20)
    assert "docs/guide.md as it was" in result.stdout
    assert [path.name for path in (world.project / "docs").iterdir()] == ["guide.md"]
    assert (world.project / "docs/guide.md").read_text() == "docs/guide.md as it was\n"
    assert (world.project / "src/a.py").read_text() == "z\n"
    closed.close()
