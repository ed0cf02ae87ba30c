"""A real searx (Debian's python3-searx) on the loopback, whose engines search a loopback site."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

from tests.support.loopback import LoopbackServer

PYTHON = "/usr/bin/python3"
PACKAGE = Path("/usr/lib/python3/dist-packages/searx")

SETTINGS = """\
use_default_settings: false
general: {{debug: false, instance_name: test}}
brand: {{issue_url: "", docs_url: "", public_instances: "", wiki_url: ""}}
search: {{safe_search: 0, autocomplete: "", default_lang: "", formats: [html, json]}}
server: {{port: {port}, bind_address: 127.0.0.1, secret_key: "0123456789abcdef", base_url: false, image_proxy: false,
  http_protocol_version: "1.0", method: GET}}
ui: {{static_path: "{folder}/static", templates_path: "{folder}/templates", default_theme: oscar, default_locale: "",
  results_on_new_tab: false, theme_args: {{oscar_style: logicodev}}}}
outgoing: {{request_timeout: {seconds}, pool_connections: 10, pool_maxsize: 10, enable_http: true}}
plugins: {{}}
checker: {{scheduling: false}}
engines:
{engines}
locales: {{en: English, ja: Japanese}}
doi_resolvers: {{none: "http://127.0.0.1/"}}
default_doi_resolver: none
"""

ENGINE = (
    '- {{name: {name}, engine: json_engine, shortcut: {name}, categories: "{category}", enable_http: true,'
    ' paging: true, first_page_num: 1, search_url: "{url}?q={{query}}&page={{pageno}}", results_query: results,'
    " url_query: url, title_query: title, content_query: content}}"
)


class _Index(BaseHTTPRequestHandler):
    """Two results a page, about what is searched for."""

    owner: "SearchedSite"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        wanted = parse_qs(parts.query)
        self.owner.asked.append((parts.path, wanted["q"][0], wanted["page"][0]))
        first = 2 * int(wanted["page"][0]) - 1
        results = [
            {"url": f"https://{number}.example{parts.path}", "title": f"{wanted['q'][0]} {number}", "content": "words"}
            for number in (first, first + 1)
        ]
        body = json.dumps({"results": results}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        """Nothing is printed."""


class SearchedSite(LoopbackServer):
    """What the engines of searx ask; `asked` has path, query and page of each request."""

    def __init__(self) -> None:
        super().__init__(_Index)
        self.asked: list[tuple[str, str, str]] = []


@contextmanager
def searx(folder: Path, port: int, engines: dict[str, tuple[str, str]], *, seconds: float = 5.0) -> Iterator[str]:
    """A searx with these engines (address and category by name), at its address."""
    lines = [ENGINE.format(name=name, url=url, category=category) for name, (url, category) in engines.items()]
    text = SETTINGS.format(port=port, folder=folder, seconds=seconds, engines="\n".join(lines))
    (folder / "settings.yml").write_text(text)
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "SEARX_SETTINGS_PATH": str(folder / "settings.yml")}
    with served(folder, port, environ) as url:
        yield url


@contextmanager
def served(folder: Path, port: int, environ: Mapping[str, str]) -> Iterator[str]:
    """A searx that reads its settings as `environ` says, whose themes are in `folder`, at its address."""
    for name in ("static", "templates"):
        (folder / name / "themes" / "oscar").mkdir(parents=True)
        (folder / name / "oscar").mkdir(parents=True)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [PYTHON, "-m", "searx.webapp"],
            env={**environ},
            cwd=folder,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        _wait(process, port, folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        with suppress(ProcessLookupError):  # it has ended by itself, which is told already
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    """Wait until it answers."""
    while True:
        assert process.poll() is None, log.read_text()[-2_000:]
        try:
            with urlopen(f"http://127.0.0.1:{port}/config", timeout=5):
                return
        except OSError:
            time.sleep(0.05)


def is_installed() -> bool:
    """Whether there is one on this machine."""
    return PACKAGE.exists() and shutil.which(PYTHON) is not None
