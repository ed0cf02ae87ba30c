"""What commands reach of the network: nothing, or what the user named. The "outside" is a server of the test's own."""

import asyncio
import shlex
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from localllm.app.session_recorder import Recorder
from localllm.config.schema import SafetySettings
from localllm.safety.tool_definition import Risk, ToolOutput
from localllm.sandbox.backend import Level
from localllm.sandbox.runner import CommandResult, SandboxRunner
from localllm.sessions.entries import Entry, Tainted
from localllm.sessions.log import SessionLog
from localllm.tools.builtin import TOOLS
from localllm.tools.context import ToolContext
from localllm.tools.registry import tool
from tests.support.agents import Answering, make_tools

pytestmark = pytest.mark.anyio

ASK = """
import socket, sys
proxy, request = sys.argv[1], sys.argv[2]
with socket.create_connection((proxy.rpartition(":")[0].removeprefix("http://"), int(proxy.rpartition(":")[2]))) as s:
    s.sendall(request.encode().decode("unicode_escape").encode())
    while data := s.recv(65536):
        sys.stdout.write(data.decode())
"""


class Outside:
    """A server on this machine, and a project whose commands may or may not reach it."""

    def __init__(self, folder: Path, level: Level) -> None:
        self.got: list[bytes] = []
        self.port = 0
        self.project = folder / "project"
        self.project.mkdir()
        (self.project / "ask.py").write_text(ASK)
        self._folder = folder
        self._level: Level = level

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.read(1 << 16)
        if asked:
            self.got.append(asked)
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfrom outside")
        await writer.drain()
        writer.close()

    async def run(self, command: str, *, hosts: list[str], timeout: float = 20) -> CommandResult:
        runner = SandboxRunner(
            self.project, state_folder=self._folder / "state", network_hosts=hosts, levels=(self._level,)
        )
        try:
            return await runner.run(command, cwd=self.project, timeout=timeout)
        finally:
            runner.close()

    def ask(self, request: str, proxy: str = "$http_proxy") -> str:
        return f'{shlex.quote(sys.executable)} ask.py "{proxy}" {shlex.quote(request)}'


@pytest.fixture
async def outside(tmp_path: Path, level: Level) -> AsyncGenerator[Outside]:
    outside = Outside(tmp_path, level)
    server = await asyncio.start_server(outside.serve, "127.0.0.1", 0)
    outside.port = server.sockets[0].getsockname()[1]
    yield outside
    server.close()


async def test_a_named_host_is_reached_through_the_proxy(outside: Outside, level: Level) -> None:
    named = f"127.0.0.1:{outside.port}"
    command = outside.ask(f"GET http://{named}/x HTTP/1.1\\r\\n\\r\\n", "${http_proxy:-http://127.0.0.1:3128}")
    done = await outside.run(command, hosts=[named])
    if level == "landlock":
        assert (done.network, outside.got, done.contacts) == ("not possible", [], ())
        return
    assert done.stdout.endswith("from outside"), done.stderr
    assert outside.got[0].startswith(b"GET /x HTTP/1.1\r\nHost: " + named.encode())
    assert done.network == "hosts"
    assert [(one.host, one.connections, one.refused) for one in done.contacts] == [(named, 1, "")]


async def test_what_a_command_receives_is_text_of_strangers_to_all_but_commands(outside: Outside, level: Level) -> None:
    @tool(risk=Risk.SAFE, sends=("query",))
    async def ask_web(context: ToolContext, query: str) -> ToolOutput:
        """Search."""
        return ToolOutput(payload={}, for_model="page", summary="")

    named = f"127.0.0.1:{outside.port}"
    person = Answering(approve=False)
    runner = SandboxRunner(outside.project, network_hosts=[named], levels=(level,))
    safety = SafetySettings(mode="auto", network_hosts=(named,))
    tools = make_tools(outside.project, confirmer=person, safety=safety, runner=runner, tools=[*TOOLS, ask_web])
    entries: list[Entry] = []
    recorder = Recorder(cast("SessionLog", SimpleNamespace(append=entries.append)), tools, str, "")
    try:
        assert await tools.execute_tool("run_command", command=outside.ask("GET http://refused.example/ HTTP/1.1"))
        assert (await tools.execute_tool("ask_web", query="what secret.txt holds"))["success"]
        fetch = outside.ask(f"GET http://{named}/x HTTP/1.1\\r\\n\\r\\n", "${http_proxy:-http://127.0.0.1:3128}")
        assert (await tools.execute_tool("run_command", command=f"{fetch} > page.html"))["success"] != (
            level == "landlock"
        )
        assert tools.has_downloaded == (level != "landlock")
        assert (await tools.execute_tool("ask_web", query="what secret.txt holds"))["success"] != tools.has_downloaded
        assert (await tools.execute_tool("run_command", command="touch made"))["success"]
        assert [asked.tool for asked in person.asked] == ["ask_web"] * tools.has_downloaded
        assert tools.part("x", [], output_limit=1_000).has_downloaded == tools.has_downloaded
        recorder.catch_up()
        recorder.catch_up()
        assert [entry for entry in entries if isinstance(entry, Tainted)] == [
            Tainted(by_command=True)
        ] * tools.has_downloaded
    finally:
        runner.close()


async def test_no_other_host_and_no_other_way(outside: Outside, level: Level) -> None:
    for hosts in ([], ["pypi.org"]):
        direct = f"(exec 3<>/dev/tcp/127.0.0.1/{outside.port}) 2>/dev/null && echo connected"
        asked = outside.ask(f"CONNECT 127.0.0.1:{outside.port} HTTP/1.1\\r\\n\\r\\n", "http://127.0.0.1:3128")
        done = await outside.run(f"{direct}; {asked}", hosts=hosts)
        assert "connected" not in done.stdout
        assert ("403" in done.stdout) == (bool(hosts) and level != "landlock"), "there, there is no way at all"
        assert outside.got == []


async def test_without_hosts_nothing_tells_of_a_proxy(outside: Outside) -> None:
    assert (await outside.run("env | grep -i _proxy", hosts=[])).stdout == ""


async def test_the_commands_own_servers_still_work(outside: Outside, level: Level) -> None:
    (outside.project / "own.py").write_text(
        "import http.server, threading, urllib.request\n"
        "server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
        "threading.Thread(target=server.handle_request).start()\n"
        "print(urllib.request.urlopen(f'http://127.0.0.1:{server.server_port}/own.py').status)\n"
    )
    done = await outside.run(f"{shlex.quote(sys.executable)} own.py 2>/dev/null", hosts=["pypi.org"])
    assert done.stdout == ("" if level == "landlock" else "200\n"), "there are none at the level landlock"


async def test_connections_end_with_the_command(outside: Outside, level: Level) -> None:
    named = f"127.0.0.1:{outside.port}"
    command = (
        f"exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT {named} HTTP/1.1\\r\\n\\r\\n' >&3; head -1 <&3; sleep 60"
    )
    done = await outside.run(command, hosts=[named], timeout=1.0)
    assert done.timed_out
    assert done.stdout.startswith("HTTP/1.1 200") == (level != "landlock"), "there are none at the level landlock"
    assert len(asyncio.all_tasks()) < 10  # what served it has ended
