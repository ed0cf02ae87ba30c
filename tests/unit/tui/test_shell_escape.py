"""`!command`: the person's own, outside the sandbox."""

import asyncio
from pathlib import Path

import pytest

from localllm.tui.shell_escape import Ran, run_own

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")


async def test_it_runs_in_the_folder_and_shows_what_it_writes(tmp_path: Path) -> None:
    shown: list[str] = []
    ran = await run_own("pwd; printf 'no end' >&2; exit 3", tmp_path, shown.append)
    assert ran == Ran("pwd; printf 'no end' >&2; exit 3", f"{tmp_path}\nno end", 3)
    assert shown == [str(tmp_path), "no end"]


async def test_it_has_no_input(tmp_path: Path) -> None:
    assert (await run_own("cat", tmp_path, print)).return_code == 0


async def test_long_output_is_shown_whole_and_kept_in_part(tmp_path: Path) -> None:
    shown: list[str] = []
    ran = await run_own("seq 20000", tmp_path, shown.append)
    assert len(shown) == 20_000
    assert len(ran.output) < 40_000
    assert "bytes dropped" in ran.output


async def test_a_line_without_an_end_is_shown_in_parts(tmp_path: Path) -> None:
    shown: list[str] = []
    await run_own("head -c 1000000 /dev/zero | tr '\\0' x", tmp_path, shown.append)
    assert sum(map(len, shown)) == 1_000_000
    assert max(map(len, shown)) < 300_000


async def test_what_it_leaves_running_is_not_waited_for(tmp_path: Path) -> None:
    async with asyncio.timeout(10):
        assert (await run_own("sleep 30 & echo $!", tmp_path, print)).output.strip().isdigit()


async def test_cancelling_ends_it(tmp_path: Path) -> None:
    begun = asyncio.Event()
    task = asyncio.ensure_future(
        run_own(
            "trap 'echo tidied > done; exit' INT; echo begun; while :; do sleep 0.05; done",
            tmp_path,
            lambda _: begun.set(),
        )
    )
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (tmp_path / "done").read_text() == "tidied\n"
