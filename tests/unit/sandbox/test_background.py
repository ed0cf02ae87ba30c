"""Commands in the background, with one that only pretends to run."""

import asyncio
from functools import partial
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from localllm.base.errors import ToolExecutionError
from localllm.cli import sandbox
from localllm.sandbox import background
from localllm.sandbox.background import MOST, BackgroundCommand, BackgroundCommands
from localllm.sandbox.process import Excess, HeadAndTail
from localllm.sandbox.protect.project_folder import moved_error
from localllm.tools import command_reports, shell

pytestmark = pytest.mark.anyio


class Ended(msgspec.Struct, frozen=True):
    return_code: int = 0
    excess: str = ""


class Pretended:
    """A handle that ends when it is told to."""

    level = "namespaces"
    reverted: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.output = HeadAndTail(100)
        self.end: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()

    def ask_to_end(self) -> None:
        self.end.set_result(Ended(-15))

    def stop(self) -> None:
        self.end.set_result(Ended(-9))

    async def ended(self) -> Ended:
        return await asyncio.shield(self.end)


class Starter:
    def __init__(self) -> None:
        self.handles: list[Pretended] = []

    async def begin(self, command: str, *, cwd: Path) -> Pretended:
        await asyncio.sleep(0)
        if command == "bad":
            raise ToolExecutionError("command_failed_to_start", reason="bad")
        self.handles.append(Pretended())
        return self.handles[-1]


async def start(commands: BackgroundCommands, starter: Starter, command: str = "x") -> BackgroundCommand:
    return await commands.start(starter, command, cwd=Path())


async def test_each_has_a_number_and_ends_once() -> None:
    ended: list[int] = []
    commands, starter = BackgroundCommands(lambda one: ended.append(one.number)), Starter()
    first, second = await start(commands, starter), await start(commands, starter)
    assert [one.number for one in commands.all()] == [1, 2]
    assert first.is_running
    starter.handles[0].end.set_result(Ended(3))
    await first.wait(1)
    assert (first.is_running, str(first.state), ended) == (False, "exit 3", [1])
    first.ask_to_end()
    second.ask_to_end()
    await second.wait(1)
    assert (str(second.state), ended) == ("stopped", [1, 2])


async def test_only_what_is_new_is_read_and_no_character_is_torn() -> None:
    commands, starter = BackgroundCommands(), Starter()
    command = await start(commands, starter)
    output = starter.handles[0].output
    output.add("one\n日".encode()[:-1])
    assert command.read() == ("one\n", 0)
    output.add("日本\nlast\n\n".encode()[2:])
    assert command.read() == ("日本\nlast\n\n", 0)
    assert command.read() == ("", 0)
    assert command.last_line == "last"
    for _ in range(50):
        output.add(b"0123456789")
    text, dropped = command.read()
    assert dropped > 0
    assert len(text) + dropped == 500
    commands.kill_all()


@pytest.mark.parametrize("encoding", ["cp932", "euc_jp"])
async def test_japanese_of_other_encodings_is_read_as_of_a_command_that_is_waited_for(encoding: str) -> None:
    commands, starter = BackgroundCommands(), Starter()
    command = await start(commands, starter)
    starter.handles[0].output = HeadAndTail(10_000)
    output = starter.handles[0].output
    text = "日本語の出力です。\n二行目です。\nファイル: 完了\n"
    data, pieces = text.encode(encoding), list[str]()
    for number, byte in enumerate(data):
        output.add(bytes([byte]))
        if number % 5 == 0:
            pieces.append(command.read()[0])
    output.add("UTF-8 の行".encode())
    assert command.last_line == "UTF-8 の行"
    starter.handles[0].end.set_result(Ended(0))
    await command.wait(1)
    pieces.append(command.read()[0])
    assert "".join(pieces) == text + "UTF-8 の行" == output.text()
    assert command.encoding == encoding


async def test_a_fault_of_the_program_is_an_end_too() -> None:
    ended: list[int] = []
    commands, starter = BackgroundCommands(lambda one: ended.append(one.number)), Starter()
    command = await start(commands, starter)
    starter.handles[0].end.set_exception(OSError(24, "Too many open files"))
    await command.wait(1)
    assert (str(command.state), ended) == ("not run", [1])
    assert "Too many open files" in str(command.error)


async def test_there_is_a_most_also_when_they_begin_together() -> None:
    commands, starter = BackgroundCommands(), Starter()
    results = await asyncio.gather(*(start(commands, starter) for _ in range(MOST + 3)), return_exceptions=True)
    refused = [one.key for one in results if isinstance(one, ToolExecutionError)]
    assert refused == ["background_too_many"] * 3
    starter.handles[0].stop()
    await commands.get(1).wait(1)
    assert (await start(commands, starter)).number == MOST + 1
    await commands.end()
    assert not any(one.is_running for one in commands.all())


async def test_what_cannot_begin_takes_no_place() -> None:
    commands, starter = BackgroundCommands(), Starter()
    for _ in range(MOST + 1):
        with pytest.raises(ToolExecutionError, match="bad"):
            await start(commands, starter, "bad")
    assert commands.all() == []


async def test_the_oldest_that_ended_are_forgotten() -> None:
    commands, starter = BackgroundCommands(), Starter()
    running = await start(commands, starter)
    for _ in range(50):
        one = await start(commands, starter)
        one.kill()
        await one.wait(1)
    assert len(commands.all()) == 32
    assert commands.get(1) is running
    with pytest.raises(ToolExecutionError) as raised:
        commands.get(2)
    assert raised.value.key == "background_unknown"
    assert raised.value.fix.startswith("Known: 1, 21, 22")
    with pytest.raises(ToolExecutionError, match="None has been started: run_command with background starts one"):
        BackgroundCommands().get(1)
    commands.kill_all()


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Ended(-9, "memory"), "killed: too much memory"),
        (Ended(0), "exit 0"),
        (Ended(1, "time"), "killed: ran too long"),
    ],
)
async def test_how_one_ended_is_said_in_a_few_words(outcome: Ended, state: str) -> None:
    commands, starter = BackgroundCommands(), Starter()
    command = await start(commands, starter)
    assert (str(command.state), commands.is_any_running) == ("running", True)
    starter.handles[0].end.set_result(outcome)
    await command.wait(1)
    seconds = command.seconds
    command.kill()
    assert (str(command.state), command.was_stopped, commands.is_any_running) == (state, False, False)
    assert command.seconds == seconds
    assert (command.level, command.reverted) == ("namespaces", ())


async def test_one_that_could_not_be_run_says_so() -> None:
    commands, starter = BackgroundCommands(), Starter()
    command = await start(commands, starter)
    with pytest.raises(ToolExecutionError, match="1"):
        commands.get(7)
    starter.handles[0].end.set_exception(ToolExecutionError("command_lost", status=-9))
    await command.wait(1)
    assert str(command.state) == "not run"
    assert command.error
    assert command.error.key == "command_lost"
    with pytest.raises(ToolExecutionError, match="None has been started"):
        BackgroundCommands().get(1)


async def test_the_last_character_is_given_out_torn_when_nothing_comes_any_more() -> None:
    commands, starter = BackgroundCommands(), Starter()
    command = await start(commands, starter)
    starter.handles[0].output.add("日".encode()[:-1])
    assert command.read() == ("", 0)
    starter.handles[0].stop()
    await command.wait(1)
    assert command.read() == ("\ufffd", 0)


@pytest.mark.parametrize("words", [background.EXCESS, sandbox.KILLED_FOR, command_reports._EXCESS])  # pyright: ignore[reportPrivateUsage]
async def test_each_kind_of_end_has_words(words: dict[str, str]) -> None:
    assert words.keys() == set(get_args(Excess)) - {""}


async def test_what_is_restored_is_told_while_it_runs_and_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_BETWEEN_NEWS", 0.001)
    told: list[str] = []
    is_told = asyncio.Event()

    async def notify(text: str) -> None:
        told.append(text)
        is_told.set()

    commands = BackgroundCommands(on_news=partial(shell.tell_news, notify))
    starter = Starter()
    command = await start(commands, starter)
    handle = starter.handles[0]
    handle.reverted = (".envrc",)
    await is_told.wait()
    assert command.is_running
    handle.reverted = (".envrc", ".vscode/tasks.json")
    handle.end.set_result(Ended(0))
    await command.wait(10)
    assert len(told) == 2
    assert (".envrc" in told[0], ".envrc" in told[1], ".vscode/tasks.json" in told[1]) == (True, False, True)


async def test_an_error_by_which_it_ended_is_told_also_when_it_was_stopped(tmp_path: Path) -> None:
    told: list[str] = []

    async def notify(text: str) -> None:
        await asyncio.sleep(0)
        told.append(text)

    commands = BackgroundCommands(on_news=partial(shell.tell_news, notify))
    starter = Starter()
    command = await start(commands, starter)
    command.was_stopped = True
    starter.handles[0].end.set_exception(moved_error(tmp_path, tmp_path / "moved", (".envrc",)))
    await command.wait(10)
    (text,) = told
    assert "E9042" in text
    assert str(tmp_path / "moved") in text
