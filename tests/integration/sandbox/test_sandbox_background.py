"""Commands in the background: under the same sandbox, read and stopped while they run, gone with the session."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from localllm.base.errors import LocalLLMError
from localllm.base.i18n import _
from localllm.safety.journal import Journal
from localllm.sandbox.background import BackgroundCommands
from localllm.sandbox.runner import SandboxRunner
from localllm.tools.context import ToolContext
from localllm.tools.shell import command_output, note_end, run_command
from tests.support.sandbox_world import World, open_descriptors, processes_with, unlike_any_other, until
from tests.support.tools import make_context, use

pytestmark = pytest.mark.anyio


def context_of(world: World, background: BackgroundCommands | None = None) -> ToolContext:
    background = background or BackgroundCommands()
    return msgspec.structs.replace(make_context(world.project), runner=world.runner, background=background)


async def test_it_runs_while_others_run_and_is_held_as_they_are(world: World) -> None:
    context = context_of(world)
    seconds = unlike_any_other()
    begun = await use(
        run_command, context, command=f"echo begun; echo x > {world.file}; sleep {seconds}", background=True
    )
    assert begun.success
    assert begun.payload["running"]
    assert begun.payload["id"] == 1
    assert "begun\n" in begun.payload["output"]
    assert "command_output" in begun.for_model
    assert "cannot reach" in begun.for_model
    assert str(begun.summary) == "runs in the background as 1; your browser cannot reach its ports"
    assert (await use(run_command, context, command="echo meanwhile")).for_model == "meanwhile"
    assert world.outside_is_untouched()
    stopped = await use(command_output, context, id=1, stop=True)
    assert not stopped.payload["running"]
    assert not processes_with(seconds)


async def test_what_is_new_is_read(world: World) -> None:
    context = context_of(world)
    command = "echo first; while [ ! -e go ]; do sleep 0.02; done; echo second >&2; echo third; exit 4"
    begun = await use(run_command, context, command=command, background=True)
    assert begun.payload["output"] == "first\n"
    (world.project / "go").touch()
    await context.background.get(1).wait(10)
    done = await use(command_output, context, id="1")
    assert (done.payload["output"], done.payload["return_code"], done.success) == ("second\nthird\n", 4, False)
    assert (await use(command_output, context, id=1)).payload["output"] == ""


async def test_one_that_fails_at_once_is_told_at_once(world: World) -> None:
    done = await use(run_command, context_of(world), command="no-such-program", background=True)
    assert (done.payload["running"], done.payload["return_code"]) == (False, 127)
    assert "not found" in done.for_model


async def test_one_that_cannot_be_run_is_an_error(world: World) -> None:
    with pytest.raises(LocalLLMError) as raised:
        await use(run_command, context_of(world), command="true " + "x" * 200_000, background=True)
    assert raised.value.key == "command_failed_to_start"


async def test_one_that_does_not_end_is_ended(world: World) -> None:
    runner = SandboxRunner(world.project, levels=world.levels, longest_background=0.5)
    background = BackgroundCommands()
    context = msgspec.structs.replace(context_of(world, background), runner=runner)
    seconds = unlike_any_other()
    await use(run_command, context, command=f"echo begun; sleep {seconds}", background=True)
    await background.get(1).wait(10)
    assert str(background.get(1).state) == _("killed: ran too long")
    assert not processes_with(seconds)
    runner.close()


async def test_stopping_lets_it_tidy_up(world: World) -> None:
    context = context_of(world)
    command = "trap 'echo saved > state; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
    await use(run_command, context, command=command, background=True)
    await until(lambda: context.background.get(1).last_line == "ready")
    done = await use(command_output, context, id=1, stop=True)
    assert (done.payload["return_code"], done.success) == (3, True)
    assert (world.project / "state").read_text() == "saved\n"


async def test_what_it_must_not_change_is_put_back_while_it_runs(world: World) -> None:
    context = context_of(world)
    await use(run_command, context, command="echo evil > .envrc; sleep 300", background=True)
    await until(lambda: ".envrc" in context.background.get(1).reverted)
    assert not (world.project / ".envrc").exists()
    told = await use(command_output, context, id=1)
    assert told.payload["running"]
    assert ".envrc" in told.for_model
    await context.background.end()


async def test_one_that_goes_on_writing_what_it_must_not_is_killed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localllm.sandbox.command_job._BETWEEN_LOOKS", 0.2)
    begun = await world.runner.begin("while sleep 0.02; do echo x > .envrc; done", cwd=world.project)
    ended = await begun.ended()
    assert (ended.excess, ended.reverted) == ("protected", (".envrc",))
    assert not (world.project / ".envrc").exists()


async def test_one_that_is_waited_for_is_looked_at_too_while_it_runs(world: World) -> None:
    wait = "echo evil > .envrc; while [ -e .envrc ]; do sleep 0.05; done; echo gone"
    result = await world.run(wait, timeout=60)
    assert (result.stdout, result.reverted, result.excess) == ("gone\n", (".envrc",), "")


async def test_one_that_is_waited_for_and_goes_on_writing_is_killed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localllm.sandbox.command_job._BETWEEN_LOOKS", 0.2)
    result = await world.run("while sleep 0.02; do echo x > .envrc; done", timeout=60)
    assert (result.timed_out, result.excess, result.reverted) == (False, "protected", (".envrc",))


async def test_one_that_installs_many_packages_with_settings_is_not_killed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localllm.sandbox.command_job._BETWEEN_LOOKS", 0.2)
    command = "for i in 1 2 3 4 5 6 7; do mkdir $i; touch $i/.envrc; while [ -e $i/.envrc ]; do sleep 0.02; done; done"
    result = await world.run(command, timeout=60)
    assert (result.return_code, result.excess, len(result.reverted)) == (0, "", 7)


async def test_work_of_git_goes_on_while_it_is_looked_at(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localllm.sandbox.command_job._BETWEEN_LOOKS", 0.02)
    monkeypatch.setattr("localllm.sandbox.command_job._UNTIL_FIRST_LOOK", 0.0)
    script = """
        set -e
        export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
        for i in 1 2 3 4; do
            git init -q r$i; cd r$i; git config user.name x
            echo 1 > a; git add a; git commit -qm one; git branch side; echo 2 > a; git commit -qam two
            git worktree add -q ../w$i side; (cd ../w$i; echo 5 > b; git add b; git commit -qm three)
            git rebase -q -x 'sleep 0.3; echo ran >> ../ran' side; git gc -q; cd ..
            git clone -q r$i c$i; git -C c$i fetch -q; git clone -q --bare r$i b$i.git
            git -C r$i worktree remove ../w$i
        done
    """
    result = await world.run(script, timeout=120)
    assert (result.return_code, result.reverted, result.stderr.count("fatal")) == (0, (), 0)
    assert (world.project / "ran").read_text() == "ran\n" * 4


async def test_all_end_with_the_session_and_are_in_the_journal(world: World, tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    background = BackgroundCommands(lambda one: note_end(Journal(journal, "test"), one))
    context = context_of(world, background)
    seconds = unlike_any_other()
    for _time in range(3):
        await use(run_command, context, command=f"setsid -w sleep {seconds}", background=True)
    for _time in range(5):
        await background.start(world.runner, f"sleep {seconds}", cwd=world.project)
    with pytest.raises(LocalLLMError) as raised:
        await background.start(world.runner, f"sleep {seconds}", cwd=world.project)
    assert raised.value.key == "background_too_many"
    await background.end()
    assert not processes_with(seconds)
    entries = [msgspec.json.decode(line) for line in journal.read_text().splitlines()]
    assert [entry["tool"] for entry in entries] == ["background"] * 8
    assert {entry["outcome"] for entry in entries} == {"ok"}
    assert {entry["sandbox"] for entry in entries} == {world.runner.level}


async def test_nothing_of_it_stays_open(world: World) -> None:
    context = context_of(world)
    await world.run("true")
    before = open_descriptors()
    await use(run_command, context, command="sleep 300", background=True)
    await context.background.end()
    await until(lambda: open_descriptors() <= before)


PROGRAM = """
import asyncio, sys
from pathlib import Path
from localllm.sandbox.background import BackgroundCommands
from localllm.sandbox.runner import SandboxRunner
root = Path(sys.argv[1])
runner = SandboxRunner(root, levels=sys.argv[3:])
async def main():
    await BackgroundCommands().start(runner, f"touch begun; setsid -w sleep {sys.argv[2]}", cwd=root)
    if not (root / "die").exists():
        await asyncio.sleep(60)
    while not (root / "begun").exists():
        await asyncio.sleep(0.02)
asyncio.run(main())
"""


@pytest.mark.parametrize("end", ["kill -9", "leave"])
async def test_none_outlives_the_program(world: World, end: str) -> None:
    seconds = unlike_any_other()
    if end == "leave":
        (world.project / "die").touch()
    program = subprocess.Popen([sys.executable, "-c", PROGRAM, str(world.project), seconds, *world.levels])
    await until((world.project / "begun").exists)
    if end == "kill -9":
        program.kill()
    program.wait(timeout=20)
    await until(lambda: not processes_with(seconds))


async def test_japanese_of_another_encoding_is_read_and_the_encoding_told_once(world: World) -> None:
    (world.project / "list.txt").write_bytes("日付,摘要\n電気代の明細です\n".encode("cp932"))
    context = context_of(world)
    begun = await use(run_command, context, command="cat list.txt; read < /dev/null; cat list.txt", background=True)
    await context.background.get(1).wait(10)
    done = await use(command_output, context, id=1)
    whole = begun.for_model + done.for_model
    assert whole.count("電気代の明細です") == 2
    assert whole.count("[Printed in cp932, not UTF-8") == 1
