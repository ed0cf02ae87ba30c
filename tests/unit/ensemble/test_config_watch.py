"""A configuration that is saved while the server runs: taken whole, or not at all."""

import asyncio
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from localllm.base.errors import ConfigurationError
from localllm.base.files import atomic_write
from localllm.ensemble.config import EnsembleConfig
from localllm.ensemble.config_watch import (
    ConfigChanged,
    ConfigEvent,
    ConfigRefused,
    ConfigRestored,
    ConfigWatch,
)


def text(number: int, workers: int = 2) -> str:
    """A configuration in which everything says the same number."""
    agent = {"api_url": f"http://127.0.0.1:{20_000 + number}", "model": f"m{number}", "timeout": 1 + number}
    whole = {
        "reviewer_agent": {"name": f"R{number}", **agent},
        "worker_agents": [{"name": f"W{number}.{place}", **agent} for place in range(workers + number % 7)],
        "system_settings": {"default_timeout": 1 + number},
    }
    return json.dumps(whole, indent=2)


def number_of(config: EnsembleConfig) -> int:
    """The number everything in it says."""
    number = int(config.reviewer_agent.name[1:])
    for place, agent in enumerate((config.reviewer_agent, *config.worker_agents), -1):
        assert agent.name in (f"R{number}", f"W{number}.{place}")
        assert (agent.model, agent.timeout) == (f"m{number}", 1 + number)
        assert agent.api_url.endswith(f":{20_000 + number}")
    assert len(config.worker_agents) == 2 + number % 7
    assert config.system_settings.default_timeout == 1 + number
    return number


class World:
    """A file, its watch, what it told, and a clock."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "config.json"
        self.file.write_text(text(0))
        self.events: list[ConfigEvent] = []
        self.now = 0.0
        self.watch = ConfigWatch(self.file, on_event=self.events.append, patience=2, clock=lambda: self.now)

    def pass_time(self, seconds: float = 1.0) -> None:
        """Looks, four a second."""
        for _ in range(int(seconds * 4)):
            self.now += 0.25
            self.watch.look()

    @property
    def kinds(self) -> list[type[ConfigEvent]]:
        return [type(event) for event in self.events]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def _rename_over(file: Path, content: str) -> None:
    beside = file.with_name("config.json.swp")
    beside.write_text(content)
    beside.replace(file)


def _move_away_and_write(file: Path, content: str) -> None:
    file.rename(file.with_name("config.json~"))
    file.write_text(content)


@pytest.mark.parametrize("save", [Path.write_text, _rename_over, _move_away_and_write])
def test_every_way_of_saving_is_seen(world: World, save: Callable[[Path, str], object]) -> None:
    save(world.file, text(1))
    world.pass_time()
    assert number_of(world.watch.current) == 1
    assert world.kinds == [ConfigChanged]


def test_a_file_that_was_only_touched_changes_nothing(world: World) -> None:
    before = world.watch.current
    os.utime(world.file)
    world.pass_time()
    assert world.watch.current is before
    assert world.events == []


def test_one_that_is_being_written_is_left_alone(world: World) -> None:
    whole = text(1)
    with world.file.open("w") as stream:
        for at in range(0, len(whole), 100):
            stream.write(whole[at : at + 100])
            stream.flush()
            world.now += 0.25
            world.watch.look()
            assert number_of(world.watch.current) == 0
    world.pass_time()
    assert number_of(world.watch.current) == 1
    assert world.kinds == [ConfigChanged]


@pytest.mark.parametrize("between", ["", '{"reviewer_agent": {', None])
def test_what_an_editor_leaves_for_a_moment_is_no_fault(world: World, between: str | None) -> None:
    if between is None:
        world.file.unlink()
    else:
        world.file.write_text(between)
    world.pass_time(1)
    world.file.write_text(text(1))
    world.pass_time(1)
    assert number_of(world.watch.current) == 1
    assert world.kinds == [ConfigChanged]


@pytest.mark.parametrize("broken", ["", "{", text(1).replace('"model"', '"mdoel"'), None])
def test_a_broken_edit_keeps_what_held_and_is_told_once(world: World, broken: str | None) -> None:
    before = world.watch.current
    if broken is None:
        world.file.unlink()
    else:
        world.file.write_text(broken)
    world.pass_time(10)
    assert world.watch.current is before
    assert world.kinds == [ConfigRefused]
    if broken is not None:
        world.file.write_text(broken)  # saved again
        world.pass_time(10)
        assert world.kinds == [ConfigRefused]
    world.file.write_text(text(1))
    world.pass_time()
    assert number_of(world.watch.current) == 1
    assert world.kinds == [ConfigRefused, ConfigChanged]


def test_another_fault_is_told_as_well_and_so_is_the_end_of_it(world: World) -> None:
    world.file.write_text("{")
    world.pass_time(5)
    world.file.write_text(text(1).replace('"model"', '"mdoel"'))
    world.pass_time(5)
    world.file.write_text(text(0))
    world.pass_time(5)
    assert world.kinds == [ConfigRefused, ConfigRefused, ConfigRestored]
    assert number_of(world.watch.current) == 0


def test_one_that_may_not_be_used_is_refused(tmp_path: Path) -> None:
    def check(config: EnsembleConfig) -> None:
        if number_of(config) == 1:
            raise ConfigurationError("ensemble_config_unnamed", file="config.json", reason="")

    file = tmp_path / "config.json"
    file.write_text(text(0))
    watch = ConfigWatch(file, check=check, patience=0)
    file.write_text(text(1))
    watch.look()
    watch.look()
    assert number_of(watch.current) == 0
    with pytest.raises(ConfigurationError):
        ConfigWatch(file, check=check)


def test_what_has_to_be_known_before_it_is_read_is_looked_at_then(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(text(0))
    watch = ConfigWatch(file, before=lambda: file.write_text(text(1)) and None)
    assert number_of(watch.current) == 1


def test_a_link_to_another_file_counts_as_a_change(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text(0))
    (tmp_path / "b.json").write_text(text(1))
    link = tmp_path / "config.json"
    link.symlink_to("a.json")
    watch = ConfigWatch(link)
    link.unlink()
    link.symlink_to("b.json")
    watch.look()
    watch.look()
    assert number_of(watch.current) == 1


async def _reload(folder: Path, times: int) -> int:
    """Save so many configurations in several ways while it is read; how often it was read."""
    file = folder / "config.json"
    file.write_text(text(0))
    watch = ConfigWatch(file)
    reads = 0

    async def read() -> None:
        nonlocal reads
        while True:
            config = watch.current
            await asyncio.sleep(0)
            number_of(config)
            reads += 1

    def save(number: int) -> None:
        match number % 3:
            case 0:
                atomic_write(file, text(number).encode())
            case 1:
                file.write_text("")
                file.write_text(text(number))
            case _:
                file.write_text("{")
                file.write_text(text(number))

    following = asyncio.create_task(watch.follow(0.002))
    readers = [asyncio.create_task(read()) for _ in range(3)]
    for number in range(1, times + 1):
        save(number)
        while number_of(watch.current) != number:
            assert not any(task.done() for task in (following, *readers))
            await asyncio.sleep(0.001)
    for task in (following, *readers):
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    return reads


def test_reloads_under_load(tmp_path: Path) -> None:
    assert asyncio.run(_reload(tmp_path, 30)) > 30


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_thousand_reloads_under_load(tmp_path: Path) -> None:
    assert asyncio.run(_reload(tmp_path, 1_000)) > 1_000
