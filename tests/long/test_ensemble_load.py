"""`localllm serve` under more clients than it has places: answers or honest refusals, and neither the work of a
request nor memory nor the open files grow.

Phases end after a number of answers, and work is the processor's time of the server: nothing depends on how fast the
machine is at that moment.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.serving import ServeWorld, Serving, configuration

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sys.platform != "linux", reason="work, memory and open files are read in /proc"),
]

ROOT = Path(__file__).parents[2]
FEW, MANY = 20, 200
"""Clients at once: within the places of the server, and far more."""

ANSWERS = 1_000
"""Answers of a phase."""

PAUSE = 40
"""Answers that a client lets others have after it was refused."""

REFUSAL = 0.2
"""The most work of a refusal, as a share of an answer's."""

MOST_MEMORY = 90_000_000  # bytes


@pytest.fixture
def agents() -> Iterator[list[str]]:
    """The addresses of a reviewer and three workers of 50 ms each, in a process of their own."""
    command = [sys.executable, "-m", "tests.ensemble_servers", "--servers", "4", "--delay", "0.05"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield json.loads(process.stdout.readline())
        process.kill()


class Crowd:
    """What clients were answered so far, until there are so many answers. `statuses` counts them."""

    def __init__(self, answers: int) -> None:
        self.statuses: Counter[int] = Counter()
        self._answers = answers
        self._changed = asyncio.Condition()

    @property
    def is_done(self) -> bool:
        return self.statuses[200] >= self._answers

    async def count(self, status: int) -> None:
        self.statuses[status] += 1
        async with self._changed:
            self._changed.notify_all()

    async def pause(self) -> None:
        """Wait until others have had PAUSE answers."""
        end = min(self.statuses[200] + PAUSE, self._answers)
        async with self._changed:
            await self._changed.wait_for(lambda: self.statuses[200] >= end)


class Client:
    """Asks again and again over one connection."""

    def __init__(self, url: str, number: int, crowd: Crowd) -> None:
        self._place = urlsplit(url)
        self._number = number
        self._crowd = crowd

    async def ask_until_done(self) -> None:
        """Ask until the crowd has its answers, each time something else."""
        reader, writer = await asyncio.open_connection(self._place.hostname, self._place.port)
        asked = 0
        while not self._crowd.is_done:
            asked += 1
            status, body = await self._ask(reader, writer, f"Question {asked} of client {self._number}?")
            await self._crowd.count(status)
            if status == 200:
                assert body["metadata"]["successful_workers"] == 3
                assert body["final_answer"]
            else:
                await self._crowd.pause()
        writer.close()
        await writer.wait_closed()

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, prompt: str
    ) -> tuple[int, dict[str, dict[str, int]]]:
        body = json.dumps({"prompt": prompt}).encode()
        head = f"POST /generate HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n"
        writer.write(f"{head}content-type: application/json\r\n\r\n".encode() + body)
        told = (await reader.readuntil(b"\r\n\r\n")).lower()
        size = int(told.split(b"content-length:")[1].split(b"\r\n")[0])
        return int(told.split()[1]), json.loads(await reader.readexactly(size))


async def ask(url: str, clients: int, answers: int) -> Counter[int]:
    """So many clients at once, until they have so many answers; how often there was each status."""
    crowd = Crowd(answers)
    await asyncio.gather(*(Client(url, number, crowd).ask_until_done() for number in range(clients)))
    return crowd.statuses


def worked(serving: Serving) -> float:
    """Seconds of the processor's time so far."""
    fields = Path(f"/proc/{serving.process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def phase(serving: Serving, clients: int, answers: int = ANSWERS) -> tuple[Counter[int], float]:
    """How often there was each status, and the seconds of work for it."""
    before = worked(serving)
    statuses = asyncio.run(ask(serving.url, clients, answers))
    return statuses, worked(serving) - before


def resident(serving: Serving) -> int:
    """Bytes of memory."""
    pages = Path(f"/proc/{serving.process.pid}/statm").read_text("ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def open_files(serving: Serving) -> int:
    return len(list(Path(f"/proc/{serving.process.pid}/fd").iterdir()))


def test_two_hundred_clients(tmp_path: Path, agents: list[str]) -> None:
    world = ServeWorld(tmp_path)
    world.configure(configuration(*agents))
    with world.serving() as serving:
        few, work_few = phase(serving, FEW)
        assert few.keys() == {200}

        early, work_early = phase(serving, MANY)
        memory, files = resident(serving), open_files(serving)
        late, work_late = phase(serving, MANY, 3 * ANSWERS)

        assert {*early, *late} == {200, 429}
        for many, work in ((early, work_early), (late, work_late)):
            assert work / (many[200] + REFUSAL * many[429]) <= 1.25 * work_few / few[200]
        assert resident(serving) <= min(1.1 * memory, MOST_MEMORY)
        assert open_files(serving) <= files + FEW
        print(f"{few} {work_few:.1f} s; {early} {work_early:.1f} s; {late} {work_late:.1f} s of work")
        print(f"{resident(serving) / 1e6:.1f} MB, {files} files")
