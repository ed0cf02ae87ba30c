#!/usr/bin/env python3
"""The chat's screen while a long answer streams in: how soon a typed key is shown in the midst of a table and of a code
block, and what CPU a thousand streamed tokens cost as prose, code and a table. On a pseudo-terminal of 100 columns,
over a server of its own.

.venv/bin/python benchmarks/screen.py [KILOBYTES]
"""

import fcntl
import os
import pty
import re
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Generator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.bytecode import with_own_bytecode

PROGRAM = str(Path(sys.executable).with_name("localllm"))
RATE, TOKEN = 400, 4
"""Tokens a second, and characters of a token."""
KEYS = "абвгдежзиклмнопрстуфхцчшщэюя"
"""Typed one after another: nothing else on the screen has these letters."""
CLEAR = "\x15"
"""Ctrl+U: empties the line."""
PAUSE_SECONDS = 0.05
QUIET_SECONDS = 1.0
PATIENCE_SECONDS = 30.0
LAST = "the-end-of-it"
_ESCAPE = re.compile(rb"\x1b\[[0-9;?<=>]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][0-9A-Z]|\x1b[=>78DMc]")
_TORN = re.compile(rb"\x1b[^\x1b]{0,40}$")

SERVER = """
import asyncio, json, random, sys, time

RATE, TOKEN, SIZE, LAST = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
WORDS = "parser table reads writes module a cache the file of entries when each lock keeps order for programs".split()
HEADS = {"prose": "", "code": "```python\\n", "table": "| file | purpose | size | tests |\\n|---|---|---|---|\\n"}

def row_of(kind, number, chance):
    words, lines = chance.sample(WORDS, 9), chance.randrange(9999)
    if kind == "table":
        return f"| src/module_{number:05}.py | {' '.join(words[:4])} | **{lines}** lines | `{words[5]}` |\\n"
    if kind == "code":
        return f"    {words[0]}_{number} = {words[1]}({words[2]}, {lines})  # {' '.join(words[3:7])}\\n"
    return f"The {' '.join(words)} *{lines}* times, as `{words[0]}` says.{' ' if number % 4 else chr(10) * 2}"

def text_of(kind):
    chance, text, number = random.Random(1), HEADS[kind], 0
    while len(text) < SIZE:
        text += row_of(kind, number, chance)
        number += 1
    return text + ("```\\n" if kind == "code" else "") + f"\\n{LAST}\\n"

def send(writer, choice, more=b""):
    event = {"object": "chat.completion.chunk", "model": "m", "choices": [choice]}
    data = b"data: " + json.dumps(event).encode() + b"\\n\\n" + more
    writer.write(b"%x\\r\\n%s\\r\\n" % (len(data), data))

async def answer(reader, writer):
    head = await reader.readuntil(b"\\r\\n\\r\\n")
    if head.startswith(b"GET"):
        body = b'{"object": "list", "data": [{"id": "m"}]}'
        writer.write(b"HTTP/1.1 200 OK\\r\\nconnection: close\\r\\ncontent-length: %d\\r\\n\\r\\n" % len(body) + body)
    else:
        length = next(line for line in head.lower().splitlines() if line.startswith(b"content-length:"))
        asked = json.loads(await reader.readexactly(int(length.split(b":")[1])))["messages"][-1]["content"]
        text = text_of(next((kind for kind in HEADS if f"stream {kind}" in str(asked)), "prose"))
        writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\nconnection: close\\r\\n"
                     b"transfer-encoding: chunked\\r\\n\\r\\n")
        start = time.monotonic()
        for number in range(0, len(text), TOKEN):
            await asyncio.sleep(max(0.0, start + number / TOKEN / RATE - time.monotonic()))
            send(writer, {"index": 0, "delta": {"content": text[number : number + TOKEN]}})
        send(writer, {"index": 0, "delta": {}, "finish_reason": "stop"}, b"data: [DONE]\\n\\n")
        writer.write(b"0\\r\\n\\r\\n")
    await writer.drain()
    writer.close()

async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""
"""A server in a process of its own: a request to stream prose, code or a table is answered with so much of it."""


class Chat:
    """The chat on a pseudo-terminal, and the CPU seconds it has used."""

    def __init__(self, terminal: int, pid: int) -> None:
        self._terminal = terminal
        self._stat = Path(f"/proc/{pid}/stat")

    @property
    def cpu(self) -> float:
        times = self._stat.read_text("utf-8").rpartition(")")[2].split()[11:13]
        return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def read(self, seconds: float) -> bytes:
        """What is written next within so many seconds; b"" where nothing is. Its questions are answered."""
        if not select.select([self._terminal], [], [], seconds)[0]:
            return b""
        piece = os.read(self._terminal, 65_536)
        if b"\x1b[6n" in piece:
            os.write(self._terminal, b"\x1b[1;1R")
        return piece

    def read_all(self, seconds: float) -> bytes:
        """All that is written within so many seconds."""
        ends = time.perf_counter() + seconds
        written = b""
        while (left := ends - time.perf_counter()) > 0:
            written += self.read(left)
        return written

    def wait_for(self, text: str) -> tuple[float, bytes]:
        """Seconds until a text is shown, and all that was written till then."""
        began = time.perf_counter()
        shown = b""
        while time.perf_counter() - began < PATIENCE_SECONDS:
            piece = self.read(0.5)
            shown += piece
            if piece and text.encode() in visible(shown):
                return time.perf_counter() - began, shown
        sys.exit(
            f"“{text}” was not shown in {PATIENCE_SECONDS} s; last: {visible(shown[-2_000:]).decode(errors='replace')}"
        )

    def rest(self) -> None:
        """Wait until nothing more is written."""
        while self.read(QUIET_SECONDS):
            pass


def visible(written: bytes) -> bytes:
    """What was written without the sequences that move the cursor and colour, whole or torn off."""
    return _TORN.sub(b"", _ESCAPE.sub(b"", written))


def main() -> None:
    with_own_bytecode(os.environ)
    size = 1_000 * (int(sys.argv[1]) if len(sys.argv) > 1 else 40)
    print(f"{size // 1_000} kB at {RATE} tokens of {TOKEN} characters a second; load {os.getloadavg()[0]:.1f}")
    with chat(size) as screen:
        print(f"\n{'key → its echo, in':22}{'median':>9}{'95 %':>9}{'keys':>7}   budget 16 ms")
        for kind in ("table", "code"):
            late = echoes(screen, kind)
            median, most = statistics.median(late), statistics.quantiles(late, n=20)[18]
            print(f"{kind:22}{median * 1e3:6.1f} ms{most * 1e3:6.1f} ms{len(late):7}")
        print(f"\n{'CPU of 1,000 tokens':22}{'chat':>9}")
        for kind in ("prose", "code", "table"):
            print(f"{kind:22}{streaming_cpu(screen, kind) / size * TOKEN * 1_000:7.2f} s")


def echoes(screen: Chat, kind: str) -> list[float]:
    """Seconds from each key that is typed while an answer streams in to its echo."""
    screen.type(f"stream {kind}\r")
    screen.wait_for("module_00005" if kind == "table" else "_5 =")
    late: list[float] = []
    for key in cycle(KEYS):
        if LAST.encode() in visible(screen.read_all(PAUSE_SECONDS)):
            break
        screen.type(f"{CLEAR}{key}" if key == KEYS[0] else key)
        seconds, written = screen.wait_for(key)
        if LAST.encode() in visible(written):
            break
        late.append(seconds)
    screen.type(CLEAR)
    screen.rest()
    return late


def streaming_cpu(screen: Chat, kind: str) -> float:
    """CPU seconds of a whole answer that nobody types into."""
    before = screen.cpu
    screen.type(f"stream {kind}\r")
    shown = b""
    while LAST.encode() not in visible(shown):
        piece = screen.read(PATIENCE_SECONDS)
        if not piece:
            sys.exit("the answer does not go on")
        shown = shown[-1_000:] + piece
    screen.rest()
    return screen.cpu - before


@contextmanager
def chat(size: int) -> Generator[Chat]:
    """A chat with the server, at its prompt."""
    serving = [sys.executable, "-c", SERVER, str(RATE), str(TOKEN), str(size), LAST]
    with (
        tempfile.TemporaryDirectory() as name,
        subprocess.Popen(serving, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout
        address = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        environment = {**os.environ, "HOME": name, "TERM": "xterm-256color", "LOCALLLM_LLM_CONTEXT_WINDOW": "1000000"}
        environment |= {f"XDG_{kind}_HOME": name for kind in ("STATE", "CONFIG")}
        (project := Path(name, "project")).mkdir()
        command = [PROGRAM, "--base-url", address, "-m", "m"]
        process = subprocess.Popen(command, cwd=project, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
        try:
            screen = Chat(ours, process.pid)
            screen.wait_for("›")
            screen.rest()
            yield screen
        finally:
            for each in (process, server):
                each.kill()
                each.wait()
            os.close(ours)
            os.close(theirs)


if __name__ == "__main__":
    main()
