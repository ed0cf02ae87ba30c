"""The last lines of a running command, while it runs."""

import asyncio

import pytest

from localllm.base.events import AgentEvent, CommandOutput
from localllm.tools import live_output
from localllm.tools.live_output import LiveOutput

pytestmark = pytest.mark.anyio


def lines_of(*pieces: bytes) -> tuple[str, ...]:
    live = LiveOutput(lambda _: None)
    for piece in pieces:
        live.add(piece)
    return live.lines()


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (b"", ()),
        (b"one\n\n  two", ("one", "  two")),
        (b"1\n2\n3\n4\n5\n6\n7\n", ("3", "4", "5", "6", "7")),
        (b"\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b[2Jend\x07", ("red end",)),
        (b"10%\r20%\r30%", ("30%",)),
        ("日本".encode() + "語".encode()[:2], ("日本",)),
        (b"\xff", ("\ufffd",)),
        ("日本語の出力です。\n二行目で".encode("cp932")[:-1], ("日本語の出力です。", "二行目")),
        (b"x" * 600, ("x" * 500,)),
    ],
)
def test_the_last_lines_are_plain_text(written: bytes, shown: tuple[str, ...]) -> None:
    assert lines_of(written) == shown


def test_of_a_long_output_only_the_end_is_kept_and_no_part_of_a_line() -> None:
    row = b"0123456789\n"
    shown = lines_of(*[row * 100] * 300, b"last\n")
    assert shown == (*["0123456789"] * 4, "last")
    assert set(lines_of(*[b"abc\xe6\x97\xa5\n"] * 5000)) == {"abc日"}


async def test_nothing_is_emitted_of_a_command_that_ends_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_output, "_FIRST_SECONDS", 30.0)
    events: list[AgentEvent] = []
    async with LiveOutput(events.append) as live:
        live.add(b"out\n")
        await asyncio.sleep(0.02)
    assert events == []


async def test_what_is_new_is_emitted_until_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_output, "_FIRST_SECONDS", 0.0)
    monkeypatch.setattr(live_output, "_SECONDS", 0.001)
    events: list[AgentEvent] = []
    async with LiveOutput(events.append) as live:
        for piece in (b"one\n", b"two\n"):
            live.add(piece)
            await asyncio.sleep(0.05)
    live.add(b"late\n")
    await asyncio.sleep(0.02)
    assert events == [CommandOutput(lines=("one",)), CommandOutput(lines=("one", "two"))]
