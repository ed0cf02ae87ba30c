"""A real Redis on loopback."""

import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def redis_server(folder: Path, port: int = 0, *options: str) -> Generator[str]:
    """A Redis of its own, at its address; it keeps nothing unless `options` say so."""
    port = port or free_port()
    command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder), "--save", ""]
    server = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not is_there(port):
            assert server.poll() is None, "redis-server has ended"
            time.sleep(0.01)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.kill()
        server.wait()


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_there(port: int) -> bool:
    """Whether somebody listens at a port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
