"""The judges that listen: the user's own services, which no command may reach, and what a command opens to others."""

import os
import select
import socket
import threading
import time
from pathlib import Path
from typing import Any

from tests.attacks.oracle import Answer, Oracle


class Contacted(Oracle):
    """Somebody came to one of the user's services: TCP, UDP, ICMP, Unix and abstract sockets, vsock, netlink."""

    def start(self) -> None:
        self.heard: list[str] = []
        self.sockets: list[socket.socket] = []
        self.pipes: list[tuple[str, int]] = []
        self.quiet = threading.Event()
        w = self.world
        self._service("tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self._service("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self._service("tcp6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0))
        self._service("lan", socket.AF_INET, socket.SOCK_STREAM, (own_address(), 0))
        self._service("mptcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0), 262)
        self._service("vsock", 40, socket.SOCK_STREAM, (0xFFFFFFFF, 0xFFFFFFFF))
        self._service("netlink", socket.AF_NETLINK, socket.SOCK_DGRAM, (0, 0), 2)
        if os.geteuid() == 0:
            self._service("icmp", socket.AF_INET, socket.SOCK_RAW, None, socket.IPPROTO_ICMP)
        paths = {"agentsock": "runtime/agent.sock", "docker": "outside/docker.sock", "gram": "outside/gram.sock"}
        for name, relative in paths.items():
            kind = socket.SOCK_DGRAM if name == "gram" else socket.SOCK_STREAM
            self._service(name, socket.AF_UNIX, kind, str(w.base / relative))
        self._pipe("fifo", w.base / "outside/control")
        self._pipe("project_fifo", w.base / "project/control")
        self._service("abstract", socket.AF_UNIX, socket.SOCK_STREAM, "\0" + w.secrets["sock"])
        w.names["abstract"] = "^" + w.secrets["sock"]

    def _service(self, name: str, family: int, kind: int, address: Any, protocol: int = 0) -> None:
        try:
            s = socket.socket(family, kind, protocol)
            if name == "tcp":
                s.setsockopt(socket.IPPROTO_TCP, 23, 5)  # TCP_FASTOPEN
            if address is not None:
                s.bind(address)
            if kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
                s.listen(16)
        except OSError:
            self.world.names[name] = "0"
            return
        s.settimeout(0.2)
        match s.getsockname():
            case (int() as port, int()) if family == socket.AF_NETLINK:
                self.world.names[name] = str(port)
            case (host, int() as port, *_):
                self.world.names[name] = str(port)
                self.world.names[name + "_host"] = str(host)
            case _:
                self.world.names[name] = str(address)
        self.sockets.append(s)
        threading.Thread(target=self._serve, args=(name, s, kind), daemon=True).start()

    def _pipe(self, name: str, path: Path) -> None:
        """A named pipe somebody reads commands from; a read-only mount does not stop a writer."""
        os.mkfifo(path)
        self.world.names[name] = str(path)
        reader = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.pipes.append((name, reader))

    def _serve(self, name: str, s: socket.socket, kind: int) -> None:
        while not self.quiet.is_set():
            try:
                if kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
                    data = s.recv(4096)
                    if kind == socket.SOCK_DGRAM or self.world.mark[-12:].encode() in data:
                        self.heard.append(f"{name} got {len(data)} bytes")
                    continue
                peer, _ = s.accept()
                self.heard.append(f"{name} was reached")
                self._hand_over(name, peer)
            except TimeoutError:
                continue
            except OSError:
                return

    def _hand_over(self, name: str, peer: socket.socket) -> None:
        with peer, (self.world.base / "outside/secret.txt").open("rb") as file:
            peer.settimeout(0.5)
            try:
                if name == "agentsock":
                    socket.send_fds(peer, [b"here"], [file.fileno()])
                peer.recv(4096)
            except OSError:
                return

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        time.sleep(0.05)
        for name, reader in self.pipes:
            if select.select([reader], [], [], 0)[0]:
                self.heard.append(f"{name} got {len(os.read(reader, 4096))} bytes")
        return sorted(set(self.heard))

    def stop(self) -> None:
        self.quiet.set()
        for s in self.sockets:
            s.close()
        for _, reader in self.pipes:
            os.close(reader)


def own_address() -> str:
    """The address other machines know this one by, or loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))  # chooses a route, sends nothing
            return s.getsockname()[0]
        except OSError:
            return "127.0.0.1"


class Reachable(Oracle):
    """The host can talk to something the command opened (its port stands in project/port, or an abstract name)."""

    def start(self) -> None:
        self.reached: set[str] = set()

    def sample(self, agent: int) -> None:
        note = self.world.base / "project/port"
        if note.exists():
            self._try(socket.AF_INET, ("127.0.0.1", int(note.read_text())), "tcp")
        self._try(socket.AF_UNIX, "\0" + self.world.mark, "abstract")

    def _try(self, family: int, address: Any, name: str) -> None:
        with socket.socket(family, socket.SOCK_STREAM) as s:
            s.settimeout(0.5)
            try:
                s.connect(address)
                if self.world.mark.encode() in s.recv(200):
                    self.reached.add(f"reachable from outside by {name}")
            except OSError:
                return

    def verdict(self, answer: Answer, agent: int) -> list[str]:
        return sorted(self.reached)
