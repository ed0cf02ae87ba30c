"""`--offline`: nothing leaves this machine but what goes to the user's own servers; no client is trusted to see to it.

Every program here runs in a process where a connection that leaves the machine is written down and fails
(tests/support/dials.py).
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.test_oneshot import environment
from tests.ensemble_servers import OllamaServers, Play
from tests.support.dials import PRIVATE, PUBLIC, ROOT, watched
from tests.support.serving import ServeWorld, configuration
from tests.support.wire_server import Reply, WireServer, calls, says

MAIN = "from localllm.cli import main; main()"


class World:
    """A project, a user, and what of the program's connections left the machine."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        self.config = folder / "home" / ".config" / "localllm"
        self.report = folder / "dials"
        self.names: Mapping[str, Sequence[str]] = {}
        self.stand_ins: dict[str, int] = {}

    @property
    def left(self) -> list[str]:
        """What was looked up and dialled, in order, each once."""
        return list(dict.fromkeys(self.report.read_text().splitlines()))

    def run(
        self, *arguments: str, program: str = MAIN, given: str = "", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        surroundings = environment(self.root) | {"LOCALLLM_CONFIG_DIR": str(self.config)} | variables
        done = watched(
            program,
            self.report,
            *arguments,
            cwd=self.root,
            environ=surroundings,
            names=self.names,
            stand_ins=self.stand_ins,
            given=given,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def ask(self, url: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return self.run("--base-url", url, *arguments, "-m", "m", "-p", "hello", **variables)

    def settings_of_user(self, text: str) -> None:
        self.config.mkdir(parents=True)
        (self.config / "localllm.toml").write_text(text)

    def settings_of_project(self, text: str) -> None:
        (self.root / "localllm.toml").write_text(text)

    def stand_in(self, server: WireServer) -> None:
        self.stand_ins = {PRIVATE: urlsplit(server.url).port or 0}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("url", [f"http://{PUBLIC}:8080", f"https://{PUBLIC}:8443"])
def test_a_server_on_the_internet_is_not_dialled(world: World, url: str) -> None:
    refused = world.ask(url, "--offline")
    assert refused.returncode == 5, refused.stderr
    assert "E2041" in refused.stderr
    assert "it is not in your own network" in refused.stderr
    assert "--offline" in refused.stderr, "what ends it"
    assert world.left == []
    assert world.ask(url).returncode == 5
    assert world.left == [f"dial {urlsplit(url).netloc}"], "without the option it would have been"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_name_that_the_user_gave_is_looked_up_once_and_what_it_stands_for_judged(world: World, scheme: str) -> None:
    world.names = {"models.test": [PUBLIC]}
    refused = world.ask(f"{scheme}://models.test:8080", "--offline")
    assert refused.returncode == 5
    assert "it does not resolve to this machine or your own network" in " ".join(refused.stderr.split())
    assert world.left == ["look up models.test"]


def test_of_several_addresses_only_those_of_the_users_network_are_dialled(world: World) -> None:
    world.names = {"models.test": [PUBLIC, PRIVATE]}
    with WireServer([says("Here.")]) as server:
        world.stand_in(server)
        done = world.ask("http://models.test:8080", "--offline")
    assert done.stdout == "Here.\n", done.stderr
    assert world.left == ["look up models.test", f"dial {PRIVATE}:8080"]


@pytest.mark.parametrize("layer", ["user", "environment", "command line"])
def test_a_server_in_the_users_own_network_answers_where_the_user_has_named_it(world: World, layer: str) -> None:
    url, arguments, variables = f"http://{PRIVATE}:8080", ["--provider", "openai"], dict[str, str]()
    match layer:
        case "user":
            world.settings_of_user(f'[llm.openai]\nbase_url = "{url}"\n')
        case "environment":
            variables["LOCALLLM_LLM_OPENAI_BASE_URL"] = url
        case _:
            arguments = ["--base-url", url]
    with WireServer([says("Here.")]) as server:
        world.stand_in(server)
        done = world.run(*arguments, "--offline", "-m", "m", "-p", "hello", **variables)
    assert done.stdout == "Here.\n", done.stderr
    assert world.left == [f"dial {PRIVATE}:8080"]


def test_a_server_that_only_the_project_has_named_is_not_dialled(world: World) -> None:
    url = f"http://{PRIVATE}:8080"
    world.settings_of_project(f'[llm]\nprovider = "openai"\nmodel = "m"\n[llm.openai]\nbase_url = "{url}"\n')
    refused = world.run("--trust-project", "--offline", "-p", "hello")
    assert refused.returncode == 5
    assert "you have not named it yourself" in refused.stderr
    assert world.left == []
    world.run("--trust-project", "-p", "hello")
    assert world.left == [f"dial {PRIVATE}:8080"]


def test_another_port_of_a_server_the_user_has_named_is_not_dialled(world: World) -> None:
    world.settings_of_user(f'[llm.lmstudio]\nbase_url = "http://{PRIVATE}:1234"\n')
    url = f"http://{PRIVATE}:8080"
    world.settings_of_project(f'[llm]\nprovider = "openai"\nmodel = "m"\n[llm.openai]\nbase_url = "{url}"\n')
    assert "E2041" in world.run("--trust-project", "--offline", "-p", "hello").stderr
    assert world.left == []


def test_every_layer_can_set_it_and_a_project_only_so(world: World) -> None:
    url = f"http://{PUBLIC}:8080"
    world.ask(url, LOCALLLM_OFFLINE="true")
    assert world.left == []
    world.settings_of_project("offline = true\n")
    world.ask(url)
    assert world.left == [], "also where the project is not trusted"
    world.settings_of_user("offline = true\n")
    world.settings_of_project("offline = false\n")
    world.ask(url)
    assert world.left == [], "what would reach further waits for the user's trust"


def test_no_proxy_is_used(world: World) -> None:
    with WireServer([says("I pass on whatever I get.")]) as proxy:
        proxies = {"HTTP_PROXY": proxy.url, "http_proxy": proxy.url, "HTTPS_PROXY": proxy.url, "ALL_PROXY": proxy.url}
        for url in (f"http://{PUBLIC}:8080", f"https://{PUBLIC}"):
            assert "E2041" in world.ask(url, "--offline", **proxies).stderr
        assert proxy.asked == []
        world.ask(f"http://{PUBLIC}:8080", **proxies)
        assert proxy.asked, "without the option it is"


def test_a_search_for_servers_stays_here(world: World) -> None:
    done = world.run("--offline", "-p", "hello", LOCALLLM_ALSO_LOOK_AT=f"http://{PUBLIC}:8000, https://{PUBLIC}")
    assert done.returncode == 0, "the embedded engine answers"
    assert world.left == []


def test_the_web_is_neither_offered_nor_reached(world: World) -> None:
    world.settings_of_user(
        f'[web]\nenabled = true\nsearxng_url = "http://{PUBLIC}:8888"\ncache = "redis://{PUBLIC}:6379"\n'
    )
    fetch, search = ("fetch_page", {"url": "https://models.test/"}), ("web_search", {"query": "x"})
    with WireServer([calls(fetch), calls(search), says("No.")]) as server:
        world.ask(server.url, "--offline", "--yes")
    assert world.left == []
    first, *_, last = server.bodies()
    assert not {"fetch_page", "web_search", "searxng_search"} & {tool["function"]["name"] for tool in first["tools"]}
    results = [message["content"] for message in last["messages"] if message["role"] == "tool"]
    assert [result.partition(".")[0] for result in results] == [
        "There is no tool “fetch_page”",
        "There is no tool “web_search”",
    ]


def test_a_cache_of_searches_elsewhere_is_not_reached(world: World) -> None:
    world.settings_of_user(f'[web]\nenabled = true\nengines = ["serper"]\ncache = "redis://{PUBLIC}:6379"\n')
    done = world.run("--offline", "doctor", "--json")
    assert f"offline, {PUBLIC}:6379 is not reached" in done.stdout
    assert world.left == []


def test_a_fallback_that_is_here_answers(world: World) -> None:
    with WireServer([says("I am here.")]) as server:
        world.settings_of_user(f'[llm]\nfallback_providers = ["lmstudio"]\n[llm.lmstudio]\nbase_url = "{server.url}"\n')
        done = world.ask(f"http://{PUBLIC}:8080", "--offline")
    assert done.stdout == "I am here.\n", done.stderr
    assert world.left == []


def test_a_model_that_ollama_has_run_elsewhere_is_not_asked(world: World) -> None:
    with WireServer([says("From afar.")]) as server:
        refused = world.run(
            "--offline", "--provider", "ollama", "-m", "glm:cloud", "-p", "hello", OLLAMA_HOST=server.url
        )
        assert "E2042" in refused.stderr
        assert not any("/api/chat" in asked for asked in server.asked)


def test_commands_have_no_network_whatever_the_settings_say(world: World) -> None:
    world.settings_of_user('[safety]\nnetwork_hosts = ["127.0.0.1:9"]\n')
    online = json.loads(world.run("sandbox", "--probe", "--json").stdout)
    offline = json.loads(world.run("--offline", "sandbox", "--probe", "--json").stdout)
    assert online["network"] in ("hosts", "not possible")
    assert (offline["network"], offline["network_hosts"]) == ("off", [])


def test_the_doctor_says_that_it_is_on_and_what_is_reached(world: World) -> None:
    world.settings_of_user(f'offline = true\n[llm.openai]\nbase_url = "http://{PRIVATE}:8080"\n')
    found = {each["name"]: each for each in json.loads(world.run("doctor", "--json").stdout)["findings"]}
    assert f"{PRIVATE}:8080" in found["network"]["what"]
    assert "--offline" in found["network"]["fix"]


def test_the_chat_says_that_it_is_on(world: World) -> None:
    with WireServer([says("Here.")]) as server:
        begin = ("--base-url", server.url, "-m", "m")
        assert "Offline: only this machine is contacted." in world.run("--offline", *begin, given="/status\n").stdout
        assert "Offline" not in world.run(*begin, given="/status\n").stdout


CLIENTS = {
    "socket": "import socket; socket.create_connection(('{public}', 80))",
    "datagram": "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('{public}', 53))",
    "look-up": "import socket; socket.getaddrinfo('models.test', 80)",
    "old look-up": "import socket; socket.gethostbyname('models.test')",
    "asyncio": "import asyncio; asyncio.run(asyncio.open_connection('{public}', 80))",
    "urllib": "import urllib.request as u; u.build_opener(u.ProxyHandler({{}})).open('http://{public}/')",
    "httpx": "import httpx; httpx.get('http://{public}/', trust_env=False)",
    "httpx, asynchronously": (
        "import asyncio, httpx\n"
        "async def get():\n"
        "    async with httpx.AsyncClient(trust_env=False) as client: await client.get('https://{public}/')\n"
        "asyncio.run(get())"
    ),
    "a redirect": "import httpx; httpx.get('{here}/', trust_env=False, follow_redirects=True)",
    "another spelling": "import socket; socket.create_connection(('::ffff:{public}', 80))",
    "a private address nobody has named": "import socket; socket.create_connection(('{private}', 80))",
    "everybody nearby": (
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        "s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1); s.sendto(b'x', ('255.255.255.255', 9))"
    ),
    "DuckDuckGo": (
        "import asyncio\nfrom localllm.web.engines.duckduckgo import DuckDuckGo\n"
        "asyncio.run(DuckDuckGo(ask=lambda *_: open('{report}', 'w').write('asked')).search('x', 1))"
    ),
}
TRIED = """
import json, sys
from localllm.base.errors import WebSearchError
from localllm.base.offline import offline_error_in, switch_on
switch_on([])
for name, client in json.loads(sys.argv[1]).items():
    try:
        exec(client, {})
    except Exception as error:
        is_refused = isinstance(error, WebSearchError) or offline_error_in(error)
        print(f"{name}: {'refused' if is_refused else repr(error)}")
    else:
        print(f"{name}: went through")
"""


def test_whoever_connects_is_refused_below(world: World) -> None:
    redirect = Reply((b"",), 302, {"location": f"http://{PUBLIC}/"})
    with WireServer([], routes={"/": redirect}) as server:
        given = {"public": PUBLIC, "private": PRIVATE, "here": server.url, "report": str(world.report)}
        clients = {name: client.format(**given) for name, client in CLIENTS.items()}
        done = world.run(json.dumps(clients), program=TRIED)
        assert server.asked == ["GET /"], "the redirect was read, and not followed"
    assert done.stdout.splitlines() == [f"{name}: refused" for name in CLIENTS], done.stderr
    assert world.left == []


@pytest.mark.skipif(sys.platform == "win32", reason="no such sockets")
def test_what_stays_on_the_machine_goes_on_working(world: World) -> None:
    with WireServer([says("x")]) as server:
        port = urlsplit(server.url).port
        done = world.run(
            program=f"""
import asyncio, socket
from localllm.base.offline import switch_on
switch_on([])
socket.create_connection(("127.0.0.1", {port})).close()
socket.create_connection(("localhost", {port})).close()
ours, theirs = socket.socketpair()
ours.send(b"x")
listener = socket.socket(socket.AF_UNIX)
listener.bind("here.sock")
listener.listen()
socket.socket(socket.AF_UNIX).connect("here.sock")
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", receiver.getsockname())
async def talk(): (await asyncio.open_connection("localhost", {port}))[1].close()
asyncio.run(talk())
print("all")
"""
        )
    assert done.stdout == "all\n", done.stderr
    assert world.left == []


def test_without_a_sandbox_no_command_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    from localllm.base import offline
    from localllm.base.errors import SafetyViolationError
    from localllm.sandbox.runner import SandboxRunner

    monkeypatch.setattr(offline, "is_on", lambda: True)
    runner = SandboxRunner(tmp_path, accept_no_sandbox=True, levels=())
    with pytest.raises(SafetyViolationError) as caught:
        asyncio.run(runner.run("touch here", cwd=tmp_path, timeout=5))
    assert caught.value.code == "E9023"
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize(
    ("host", "option", "is_asked"),
    [(PRIVATE, ("--config", "config.json"), True), (PRIVATE, (), False), (PUBLIC, ("--config", "config.json"), False)],
)
def test_an_ensemble_asks_machines_of_the_own_network_that_the_user_has_named(
    tmp_path: Path, host: str, option: Sequence[str], is_asked: bool
) -> None:
    """Who names the file names the servers in it; one that only lies there reaches this machine alone."""
    report = tmp_path / "dials"
    report.write_text("")
    with OllamaServers() as servers:
        agent = servers.add(Play(answer="## Evaluation\nGood.\n\n## Final answer\n42"))
        dials = {"report": str(report), "names": {}, "stand_ins": {host: int(agent.url.rpartition(":")[2])}}
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
        world = ServeWorld(tmp_path / "user", more={"DIALS": json.dumps(dials), "PYTHONPATH": path})
        world.command = (sys.executable, "-c", f"from tests.support import dials; dials.watch()\n{MAIN}")
        url = f"http://{host}:11434"
        world.configure(configuration(url, url, max_retries=0))
        with world.serving(*option, before=("--offline",)) as serving:
            answered = serving.ask()
    assert answered.status_code == (200 if is_asked else 502)
    assert answered.json()["final_answer"] == ("42" if is_asked else "")
    assert set(report.read_text().splitlines()) == ({f"dial {host}:11434"} if is_asked else set())
    assert len(agent.chats) == (2 if is_asked else 0)
