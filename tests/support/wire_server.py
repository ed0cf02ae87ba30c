"""A model server on loopback that answers with the bytes it is given, and keeps what it was sent."""

import json
import socket
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from tests.support.loopback import LoopbackServer

_SECONDS_TO_READ = 0.05
"""Some systems throw away what was not read when a reset comes; a test of what came before it has to have that."""

FIXTURES = Path(__file__).parents[1] / "fixtures" / "wire"


@dataclass(frozen=True)
class Reply:
    """An answer: its body in pieces, each sent when `gate` (if any) lets it; `cut` resets the connection after them."""

    pieces: tuple[bytes, ...]
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    cut: bool = False
    hold_before: int = -1
    """The piece before which the server waits until it is released; -1 for none."""
    hold_head: bool = False
    """Wait before anything at all is sent."""
    unfinished: bool = False
    """Close the connection politely, but without the last chunk that says the body is whole."""


HANG_UP = Reply((), status=0)
"""No answer at all: the connection is closed, as when a server drops one it had kept alive."""


def cassette(name: str) -> Reply:
    """An answer of tests/fixtures/wire: `lmstudio/chat_stream_tools`, `llamacpp/chat_stream_usage`, …

    A file `.http` holds the bytes that were sent; `.json` holds the content, and its `prov` says where that is from:
    an abridged recording (abr), documentation (doc), the server's source (src), an issue (iss), or not known (unv).
    """
    if (file := FIXTURES / f"{name}.json").exists():
        data = json.loads(file.read_text(encoding="utf-8"))
        body = data["body"]
        pieces = data["chunks"] or [body if isinstance(body, str) else json.dumps(body)]
        return Reply(tuple(p.encode() for p in pieces), data["status"], data["headers"], bool(data["cut"]))
    raw = (FIXTURES / f"{name}.http").read_bytes()
    answer = raw.split(b" s) -----\n", 1)[1]
    head, _, body = answer.replace(b"\r\n", b"\n").partition(b"\n\n")
    status_line, *header_lines = head.decode().split("\n")
    headers = {
        name.lower(): value
        for name, _, value in (line.partition(": ") for line in header_lines)
        if name.lower() == "content-type"
    }
    return Reply((body,), int(status_line.split()[1]), headers)


def sse(*events: dict[str, Any] | str) -> tuple[bytes, ...]:
    """Events as the pieces of a stream."""
    return tuple(
        f"data: {event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)}\n\n".encode()
        for event in events
    )


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """One chunk of a chat stream."""
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def says(text: str, *, finish: str = "stop") -> Reply:
    """An answer in three pieces of text."""
    third = max(1, len(text) // 3)
    parts = [text[:third], text[third : 2 * third], text[2 * third :]]
    usage = {
        "choices": [],
        "usage": {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}},
    }
    return Reply(sse(delta(role="assistant"), *(delta(content=part) for part in parts), delta(finish), usage, "[DONE]"))


def calls(*named: tuple[str, dict[str, Any] | str], text: str = "") -> Reply:
    """An answer that calls tools."""
    events = [delta(content=text)] if text else []
    for index, (name, arguments) in enumerate(named):
        written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        call = {"index": index, "id": f"c{index}", "type": "function", "function": {"name": name, "arguments": ""}}
        events += [delta(tool_calls=[call])]
        events += [
            delta(tool_calls=[{"index": index, "function": {"arguments": written[start : start + 9]}}])
            for start in range(0, len(written), 9)
        ]
    return Reply(sse(*events, delta("tool_calls"), "[DONE]"))


def fails(status: int, message: str = "no", headers: dict[str, str] | None = None) -> Reply:
    """An HTTP error in OpenAI's form."""
    body = json.dumps({"error": {"message": message}}).encode()
    return Reply((body,), status, {"content-type": "application/json"} | (headers or {}))


class WireServer(LoopbackServer):
    """Answers each chat request with the next of `replies`, and the last one again when they run out.

    The list of models is asked for: each of `list_replies` once, then the names in `models`. Before all that, a path in
    `routes` always gets its reply, and is no chat request. `asked` has every request's method and path.
    """

    def __init__(
        self,
        replies: Sequence[Reply],
        models: Sequence[str] = ("m",),
        list_replies: Sequence[Reply] = (),
        routes: Mapping[str, Reply] | None = None,
    ) -> None:
        super().__init__(_Handler)
        self.routes = dict(routes or {})
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.replies = list(replies)
        self.list_replies = list(list_replies)
        self.connections = 0
        self.models = models
        self.requests: list[bytes] = []
        self.released = threading.Event()
        self.disconnected = threading.Event()
        self._lock = threading.Lock()

    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request) for request in self.requests]

    def __exit__(self, *_: object) -> None:
        self.released.set()
        super().__exit__()

    def next_reply(self, body: bytes) -> Reply:
        with self._lock:
            self.requests.append(body)
            return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    owner: WireServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        self.owner.connections += 1
        super().setup()

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self._routed():
            return
        if self.owner.list_replies:
            self._send(self.owner.list_replies.pop(0))
            return
        data = json.dumps({"object": "list", "data": [{"id": name} for name in self.owner.models]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self._routed():
            return
        try:
            self._send(self.owner.next_reply(body))
        except (BrokenPipeError, ConnectionResetError):
            self.owner.disconnected.set()
            self.close_connection = True

    def _routed(self) -> bool:
        """Whether the path has a reply of its own, which is sent."""
        self.owner.asked.append(f"{self.command} {self.path}")
        self.owner.headers.append({name.lower(): value for name, value in self.headers.items()})
        if reply := self.owner.routes.get(self.path):
            self._send(reply)
        return reply is not None

    def _send(self, reply: Reply) -> None:
        if reply is HANG_UP:
            self.close_connection = True
            return
        if reply.hold_head:
            self._hold()
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for number, piece in enumerate(reply.pieces):
            if number == reply.hold_before:
                self._hold()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        if reply.cut:
            if reply.pieces:
                time.sleep(_SECONDS_TO_READ)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return
        if reply.unfinished:
            self.close_connection = True
            return
        self.wfile.write(b"0\r\n\r\n")

    def _hold(self) -> None:
        """Wait until released, or until the client has gone."""
        self.connection.setblocking(False)
        while not self.owner.released.wait(0.01):
            with suppress(BlockingIOError):
                if self.connection.recv(1) == b"":
                    raise BrokenPipeError
        self.connection.setblocking(True)
