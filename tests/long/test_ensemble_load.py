"""`localllm serve` under more clients than it has places: answers or honest refusals, and neither memory nor open files
grow."""

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
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux", reason="memory and open files are read in /proc"),
]

ROOT = Path(__file__).parents[2]
FEW, MANY = 20, 200
"""Clients at once: within the places of the server, and far more."""

SECONDS_FEW, SECONDS_MANY, WARM_UP = 15.0, 60.0, 15.0
PAUSE = 0.25  # seconds of a client that was refused
MOST_MEMORY = 90_000_000  # bytes


@pytest.fixture
def agents() -> Iterator[list[str]]:
    """The addresses of a reviewer and three workers of 50 ms each, in a process of their own."""
    command = [sys.executable, "-m", "tests.ensemble_servers", "--servers", "4", "--delay", "0.05"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield json.loads(process.stdout.readline())
        process.kill()


class Client:
    """Asks again and again over one connection. `answered` has the status of each answer."""

    def __init__(self, url: str, number: int, answered: Counter[int]) -> None:
        self._place = urlsplit(url)
        self._number = number
        self._answered = answered

    async def ask_until(self, end: float) -> None:
        """Ask until that time of the loop, each time something else."""
        loop = asyncio.get_running_loop()
        reader, writer = await asyncio.open_connection(self._place.hostname, self._place.port)
        asked = 0
        while loop.time() < end:
            asked += 1
            status, body = await self._ask(reader, writer, f"Question {asked} of client {self._number}?")
            self._answered[status] += 1
            if status == 200:
                assert body["metadata"]["successful_workers"] == 3
                assert body["final_answer"]
            else:
                await asyncio.sleep(PAUSE)
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


async def crowd(url: str, clients: int, seconds: float) -> Counter[int]:
    """So many clients at once; how often there was each status."""
    answered: Counter[int] = Counter()
    end = asyncio.get_running_loop().time() + seconds
    await asyncio.gather(*(Client(url, number, answered).ask_until(end) for number in range(clients)))
    return answered


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
        few = asyncio.run(crowd(serving.url, FEW, SECONDS_FEW))
        assert few.keys() == {200}

        early = asyncio.run(crowd(serving.url, MANY, WARM_UP))
        memory, files = resident(serving), open_files(serving)
        many = early + asyncio.run(crowd(serving.url, MANY, SECONDS_MANY - WARM_UP))

        again = asyncio.run(crowd(serving.url, FEW, SECONDS_FEW))  # what else the machine does may have changed

        assert many.keys() <= {200, 429}
        assert many[200] / SECONDS_MANY >= 0.8 * min(few[200], again[200]) / SECONDS_FEW
        assert resident(serving) <= min(1.1 * memory, MOST_MEMORY)
        assert open_files(serving) <= files + FEW
        print(f"{few} in {SECONDS_FEW} s; {many} in {SECONDS_MANY} s; {resident(serving) / 1e6:.1f} MB, {files} files")
