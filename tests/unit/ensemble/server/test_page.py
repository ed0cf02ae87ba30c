"""The page's files are served with a strict policy, need no token, and name no other host."""

import re
from pathlib import Path

import httpx
import pytest

from localllm.ensemble.server.options import ServerOptions
from localllm.ensemble.server.page import FOLDER, page_routes
from tests.support.ensemble_server import ServerInThread, scripted

FILES = sorted(FOLDER.iterdir())


@pytest.fixture(scope="module")
def server() -> ServerInThread:  # type: ignore[misc]
    with scripted(
        options=ServerOptions(token="a-token-of-some-length", stop_seconds=0.1), pages=page_routes()
    ) as running:
        yield running  # type: ignore[misc]


def path_of(file: Path) -> str:
    return "/" if file.name == "index.html" else f"/page/{file.name}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_each_file_is_served_without_a_token_under_a_strict_policy(server: ServerInThread, file: Path) -> None:
    answer = httpx.get(server.url + path_of(file), trust_env=False, verify=False)
    assert answer.status_code == 200
    assert answer.content == file.read_bytes()
    kinds = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    assert answer.headers["content-type"].split(";")[0] == kinds[file.suffix]
    policy = dict(part.strip().partition(" ")[::2] for part in answer.headers["content-security-policy"].split(";"))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "connect-src": "'self'",
        "img-src": "'self' data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-frame-options"] == "DENY"
    assert "access-control-allow-origin" not in answer.headers


def test_what_the_browser_has_already_is_not_sent_again(server: ServerInThread) -> None:
    first = httpx.get(f"{server.url}/page/app.js", trust_env=False, verify=False)
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "no-cache"
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = httpx.get(f"{server.url}/page/app.js", headers={"if-none-match": known}, trust_env=False, verify=False)
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert "content-security-policy" in again.headers
    other = httpx.get(f"{server.url}/page/app.js", headers={"if-none-match": '"other"'}, trust_env=False, verify=False)
    assert other.status_code == 200
    assert httpx.get(f"{server.url}/page/style.css", trust_env=False, verify=False).headers["etag"] != tag


def test_head_has_the_headers_alone(server: ServerInThread) -> None:
    answer = httpx.head(server.url, trust_env=False, verify=False)
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["content-length"]) == (FOLDER / "index.html").stat().st_size


@pytest.mark.parametrize(
    "path", ["/page/", "/page/none.js", "/page/../page.py", "/page/%2e%2e/server/page.py", "/index.html"]
)
def test_nothing_else_is_served(server: ServerInThread, path: str) -> None:
    assert httpx.get(server.url + path, trust_env=False, verify=False).status_code in (401, 404)
    headers = {"authorization": "Bearer a-token-of-some-length"}
    assert httpx.get(server.url + path, headers=headers, trust_env=False, verify=False).status_code == 404


def test_the_page_is_not_for_other_sites(server: ServerInThread) -> None:
    assert httpx.get(server.url, headers={"host": "evil.example"}, trust_env=False, verify=False).status_code == 403
    assert httpx.post(server.url, trust_env=False, verify=False).status_code == 405


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_file_names_another_host(file: Path) -> None:
    """But for the name SVG has, which nobody asks for."""
    text = file.read_text().replace("http://www.w3.org/2000/svg", "")
    assert re.findall(r"(?:https?:)?//[a-z0-9-]+(?:\.[a-z0-9-]+)+", text) == []
    assert not re.search(r"@import|url\(", text)


def test_nothing_is_inline_and_no_markup_is_parsed() -> None:
    index = (FOLDER / "index.html").read_text()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|javascript:", index)
    scripts = "\n".join(file.read_text() for file in FILES if file.suffix == ".js")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|ContextualFragment", scripts
    )
    assert not re.search(r"\beval\b|new Function", scripts)


def test_all_the_page_loads_is_served() -> None:
    served = {route.path for route in page_routes()}
    index = (FOLDER / "index.html").read_text()
    assert {f"/{name}" for name in re.findall(r'(?:src|href)="(page/[^"]+)"', index)} <= served
    for file in FILES:
        for name in re.findall(r'from "\./([^"]+)"', file.read_text()):
            assert f"/page/{name}" in served
