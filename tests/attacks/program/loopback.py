"""A server on loopback that stands for the web (as a proxy), for model servers and for whoever waits for secrets."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Request(NamedTuple):
    """What came to the server. `target`: the path, or the whole address where it was asked as a proxy."""

    method: str
    target: str
    headers: str
    body: str

    @property
    def text(self) -> str:
        """All of it, to search in."""
        return f"{self.method} {self.target}\n{self.headers}\n{self.body}"


CHUNK = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}]}


class Loopback(ThreadingHTTPServer):
    """Keeps every request. Serves `pages` by address; to others it is a model server that says "Done."."""

    daemon_threads = True

    def __init__(self, pages: dict[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages = pages
        self.requests: list[Request] = []
        self.swallowed = 0
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        del request, client_address  # whoever hangs up is no matter of ours


class _Handler(BaseHTTPRequestHandler):
    server: Loopback

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        del format, args

    def _keep(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length).decode("utf-8", "replace") if length else ""
        self.server.requests.append(Request(self.command, self.path, str(self.headers), body))

    def _answer(self, status: int, kind: str, body: str, **headers: str) -> None:
        data = body.encode()
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_CONNECT(self) -> None:
        self._keep()
        self._answer(502, "text/plain", "no tunnels")

    def do_GET(self) -> None:
        self._keep()
        page = self.server.pages.get(self.path)
        if page is None and "://" not in self.path and "models" in self.path:
            self._answer(200, "application/json", json.dumps({"object": "list", "data": [{"id": "m"}]}))
        elif page is None:
            self._answer(404, "text/plain", "nothing here")
        elif page.startswith("-> "):
            self._answer(302, "text/plain", "", location=page.removeprefix("-> "))
        else:
            self._answer(200, "text/html" if page.startswith("<") else "text/plain", page)

    def do_POST(self) -> None:
        self._keep()
        if self.path.startswith("/flood/"):
            return self._flood()
        return self._answer(200, "text/event-stream", f"data: {json.dumps(CHUNK)}\n\ndata: [DONE]\n\n")

    def _flood(self) -> None:
        """One call of a tool whose arguments go on and on: 200 MB of them, or until nobody listens any more."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        function = {"name": "read_file", "arguments": "x" * 100_000}
        call = {"index": 0, "id": "c", "type": "function", "function": function}
        piece = f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'tool_calls': [call]}}]})}\n\n".encode()
        while self.server.swallowed < 200_000_000:
            try:
                self.wfile.write(piece)
            except OSError:
                return
            self.server.swallowed += len(piece)
