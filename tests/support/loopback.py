"""An HTTP server on loopback, in a thread of this process, and a port behind which nothing answers."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # of more than five that come at once, others were asked to try again after a second


class LoopbackServer:
    """Serves between `__enter__` and `__exit__`; each `handler` has it as its `owner`."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        # a body is sent after its head, and would wait 40 ms for an acknowledgement of that
        more = {"owner": self, "disable_nagle_algorithm": True}
        self._server = _Server(("127.0.0.1", 0), type("Handler", (handler,), more))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def silent_port(port: int = 0) -> Iterator[int]:
    """A port, this one or any, whose connections nobody takes and nobody refuses, as that of a machine that is switched
    off."""
    with closing(socket.socket()) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(0)
        port = listening.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        yield port
        for each in waiting:
            each.close()
