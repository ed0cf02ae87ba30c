"""A process and its output, without any sandbox."""

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.sandbox.process import Ending, HeadAndTail, Outcome, PlainLaunch, Process
from tests.support.sandbox_world import open_descriptors

pytestmark = [pytest.mark.anyio, pytest.mark.on_disk]


async def run(command: str, folder: Path, *, seconds: float = 20, cap: int = 1000) -> Outcome:
    return await Process(PlainLaunch(command, folder, os.environ), cap).run(seconds)


async def test_both_streams_and_the_exit_status(tmp_path: Path) -> None:
    done = await run("echo out; echo err >&2; pwd; exit 7", tmp_path)
    assert (done.stdout, done.stderr, done.exit_status) == (f"out\n{tmp_path}\n", "err\n", 7)
    assert (done.timed_out, done.truncated, done.flooded) == (False, False, False)


async def test_each_piece_of_both_streams_is_handed_on(tmp_path: Path) -> None:
    pieces: list[bytes] = []
    launch = PlainLaunch("echo out; sleep 0.2; echo err >&2", tmp_path, os.environ)
    done = await Process(launch, 1000, on_output=pieces.append).run(20)
    assert (pieces, done.stdout, done.stderr) == ([b"out\n", b"err\n"], "out\n", "err\n")


async def test_a_pipe_that_stays_open_is_not_waited_for(tmp_path: Path) -> None:
    done = await asyncio.wait_for(run("setsid sleep 7 & echo begun", tmp_path), 5)
    assert done.stdout == "begun\n"


async def test_a_time_out_is_asked_for_first(tmp_path: Path) -> None:
    done = await run("trap 'echo asked; exit 5' TERM; sleep 30 & wait", tmp_path, seconds=0.3)
    assert (done.stdout, done.exit_status, done.timed_out) == ("asked\n", 5, True)


async def test_a_time_out_is_enforced_next(tmp_path: Path) -> None:
    done = await run("trap '' TERM; while :; do sleep 5; done", tmp_path, seconds=0.1)
    assert (done.exit_status, done.timed_out) == (-9, True)


async def test_a_flood_is_ended(tmp_path: Path) -> None:
    done = await run("yes >&2", tmp_path)
    assert done.flooded
    assert done.exit_status == -9
    assert len(done.stderr) < 1100


async def test_what_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        await run("echo", tmp_path / "missing")


async def test_cancelling_kills_and_closes_every_pipe(tmp_path: Path) -> None:
    await run("true", tmp_path)
    open_before = open_descriptors()
    task = asyncio.ensure_future(run("touch begun; sleep 30; touch ended", tmp_path))
    while not (tmp_path / "begun").exists():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert open_descriptors() == open_before


@given(st.lists(st.binary(max_size=40)), st.integers(1, 60))
def test_head_and_tail(pieces: list[bytes], cap: int) -> None:
    kept = HeadAndTail(cap)
    for piece in pieces:
        kept.add(piece)
    whole = b"".join(pieces)
    if len(whole) <= cap:
        together = HeadAndTail(cap)
        together.add(whole)
        assert kept.text() == together.text()
        assert not kept.is_cut
        return
    assert kept.is_cut
    head, note, tail = kept.text().partition("\n[… ")
    assert whole[: int(cap * 0.2)].decode("utf-8", "replace").startswith(head)
    assert note
    assert whole.decode("utf-8", "replace").endswith(tail.partition("…]\n")[2])


def test_a_character_is_never_cut_through() -> None:
    kept = HeadAndTail(20)
    for _ in range(50):
        kept.add("日本語".encode())
    text = kept.text()
    assert "\ufffd" not in text
    assert text.startswith("日\n[… ")
    assert text.endswith("本語日本語")


async def test_what_was_there_when_it_was_killed_first_counts_as_left(tmp_path: Path) -> None:
    launch = PlainLaunch("sleep 300", tmp_path, os.environ)
    process = await launch.start(asyncio.subprocess.DEVNULL, asyncio.subprocess.DEVNULL)
    launch.kill()
    status = await process.wait()
    launch.close()
    assert launch.ending(status) == Ending(-9, left=True)


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        ("日付,摘要\n電気代".encode("cp932"), "日付,摘要\n電気代", "cp932"),
        (
            "家計簿:\n".encode() + "日付,摘要,金額\n".encode("cp932") + b"total 3\n",
            "家計簿:\n日付,摘要,金額\ntotal 3\n",
            "cp932",
        ),
        ("これは日本語の文です。\n".encode("euc_jp"), "これは日本語の文です。\n", "euc_jp"),
        ("上限を超えた\n".encode() + "上限を超".encode()[:-2], "上限を超えた\n上限を\ufffd", ""),
        (b"\x89", "\ufffd", ""),
        (b"\xff\xfe\x00a\nb", "\ufffd\ufffd\x00a\nb", ""),
        (b"ok \xe3\x81\n\xf0\x9f", "ok \ufffd\n\ufffd", ""),
        ("é".encode(), "é", ""),
    ],
)
def test_japanese_output_in_another_encoding_is_read_where_it_is_clear(data: bytes, text: str, encoding: str) -> None:
    kept = HeadAndTail(1_000)
    kept.add(data)
    assert (kept.text(), kept.decoded()) == (text, (text, encoding))
