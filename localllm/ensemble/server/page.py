"""The page at "/": static files, with headers that forbid external resources and inline scripts."""

import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

FOLDER = Path(__file__).parents[1] / "page"
INDEX = "index.html"

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
HEADERS = {
    "content-security-policy": _POLICY,
    "cache-control": "no-cache",  # revalidated each time, so that a new version applies at once
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def page_routes() -> list[Route]:
    """Create a route for each file: the page at "/", the others below "/page/". The files are read once, now."""
    routes = [Route("/", _endpoint(FOLDER / INDEX), methods=["GET"], include_in_schema=False)]
    for file in sorted(FOLDER.iterdir()):
        if file.suffix in _TYPES and file.name != INDEX:
            routes.append(Route(f"/page/{file.name}", _endpoint(file), methods=["GET"], include_in_schema=False))
    return routes


def _endpoint(file: Path) -> Callable[[Request], Awaitable[Response]]:
    content = file.read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
    headers = {**HEADERS, "etag": tag, "content-type": _TYPES[file.suffix]}

    async def answer(request: Request) -> Response:
        if _has(request.headers.get("if-none-match", ""), tag):
            return Response(status_code=304, headers={**HEADERS, "etag": tag})
        return Response(content, headers=headers)

    return answer


def _has(tags: str, tag: str) -> bool:
    """Whether an If-None-Match header contains the tag, weak or strong."""
    return any(one.strip().removeprefix("W/") in (tag, "*") for one in tags.split(","))
