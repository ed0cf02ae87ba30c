"""What deny rules close to the file tools is closed to commands as well, by whatever name they reach it."""

import pytest

from localllm.base.errors import ToolExecutionError
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


async def test_a_secret_that_a_variable_names_stays_closed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """By no other name either: a command would otherwise move a folder above it, and the next one read it there."""
    for name in ("k8s/config", "deep/xdg/hosts"):
        (world.project / name).parent.mkdir(parents=True)
        (world.project / name).write_text("a token\n")
    monkeypatch.setenv("KUBECONFIG", f"{world.home}/missing:{world.project}/k8s/config")
    monkeypatch.setenv("XDG_CONFIG_HOME", f"{world.project}/deep/xdg")
    runner = SandboxRunner(world.project, levels=world.levels)
    for command in ("mv k8s k; mv deep d; echo done", "cat */config */*/hosts; echo bad | tee */config; mv k k8s"):
        result = await runner.run(command, cwd=world.project, timeout=20)
        assert "a token" not in result.stdout
    assert (world.project / "k8s/config").read_text() == "a token\n"
    assert (world.project / "deep/xdg/hosts").exists()
    runner.close()


@pytest.mark.parametrize("level", ["namespaces", "landlock"])
async def test_what_must_not_be_written_is_not_made_either(world: World, level: Level) -> None:
    project = world.project
    runner = SandboxRunner(project, unwritable=[project / "conf/prod.yml", project / "deploy"], levels=(level,))
    for number in range(2):
        made = "mkdir -p conf deploy/in; echo bad > conf/prod.yml; echo bad > deploy/in/x; echo good > conf/test.yml"
        result = await runner.run(made, cwd=project, timeout=20)
        assert not (project / "conf/prod.yml").exists()
        assert not (project / "deploy/in/x").exists()
        assert (project / "conf/test.yml").read_text() == "good\n"
        assert number or {*result.reverted} == {"conf/prod.yml", "deploy/in/x"}
    runner.close()


async def test_what_the_user_makes_where_nothing_may_be_written_stays(world: World) -> None:
    project = world.project
    runner = SandboxRunner(project, unwritable=[project / "conf/prod.yml", project / "deploy"])
    await runner.run("true", cwd=project, timeout=20)
    for name in ("conf/prod.yml", "deploy/x"):
        (project / name).parent.mkdir()
        (project / name).write_text("the user's\n")
    result = await runner.run("echo bad > conf/prod.yml; echo bad > deploy/y; rm deploy/x", cwd=project, timeout=20)
    assert (project / "conf/prod.yml").read_text() == (project / "deploy/x").read_text() == "the user's\n"
    assert not (project / "deploy/y").exists()
    assert result.reverted == ()
    runner.close()


async def test_a_link_that_is_changed_between_commands_closes_what_it_leads_to_by_then(world: World) -> None:
    project = world.project
    for name in ("releases/1/key", "releases/2/key", "private/key"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(f"secret of {name}\n")
    (project / "current").symlink_to("releases/1")
    runner = SandboxRunner(project, unreadable=[project / "current", project / "later"], levels=world.levels)
    command = "cat releases/*/key current/key later/key private/key"
    result = await runner.run(command, cwd=project, timeout=20)
    assert result.stdout == "secret of releases/2/key\nsecret of private/key\n"
    (project / "current").unlink()
    (project / "current").symlink_to("releases/2")
    (project / "later").symlink_to("private")
    for _ in range(2):
        result = await runner.run(command, cwd=project, timeout=20)
        assert result.stdout == ""
    assert (project / "releases/1/key").read_text() == "secret of releases/1/key\n"
    runner.close()


async def test_links_in_a_circle_keep_no_command_from_running(world: World) -> None:
    (world.project / "circle").symlink_to("circle")
    runner = SandboxRunner(world.project, unreadable=[world.project / "circle"])
    assert (await runner.run("echo ran", cwd=world.project, timeout=20)).stdout == "ran\n"
    runner.close()


@pytest.mark.parametrize("is_said", [True, False])
async def test_a_command_that_cannot_start_names_the_rules_that_lead_out(world: World, *, is_said: bool) -> None:
    (world.project / "system").symlink_to("/usr")
    rules = ["read_file(system)"] if is_said else []
    runner = SandboxRunner(world.project, unreadable=[world.project / "system"], leading_out=lambda: rules)
    with pytest.raises(ToolExecutionError) as found:
        await runner.run("echo ran", cwd=world.project, timeout=20)
    assert found.value.key == ("command_closed_out" if is_said else "command_failed_to_start")
    assert "read_file(system)" in str(found.value.why) or not is_said
    runner.close()
