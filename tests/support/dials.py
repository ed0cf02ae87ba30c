"""A process from which nothing is sent: each connection that would leave this machine is written down and fails.

`watched(report)` begins the program text of such a process. What is refused before a connection is made (by
`localllm.base.offline`) is not in the report. `names` are host names and the address each stands for; what is sent to
an address in `stand_ins` goes to a port of this machine; `given` is standard input.
"""

import errno
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

PUBLIC = "192.0.2.1"
"""An address that belongs to nobody (TEST-NET-1, RFC 5737)."""

PRIVATE = "192.168.77.7"


def watched(
    program: str,
    report: Path,
    *arguments: str,
    cwd: Path,
    environ: Mapping[str, str],
    names: Mapping[str, Sequence[str]] = {},
    stand_ins: Mapping[str, int] = {},
    given: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run a program text of Python so; the lines of the report are `dial HOST:PORT` and `look up NAME`."""
    report.write_text("")
    told = {"DIALS": json.dumps({"report": str(report), "names": dict(names), "stand_ins": dict(stand_ins)})}
    return subprocess.run(
        [sys.executable, "-c", f"from tests.support import dials; dials.watch()\n{program}", *arguments],
        cwd=cwd,
        env={**environ, **told, "PYTHONPATH": str(ROOT)},
        input=given,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def watch() -> None:
    """Watch this process, as the variable DIALS says."""
    given = json.loads(os.environ["DIALS"])
    report, names, stand_ins = Path(given["report"]), given["names"], given["stand_ins"]
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def note(line: str) -> None:
        with report.open("a") as file:
            file.write(f"{line}\n")

    def watched_connect(self: socket.socket, address: Any) -> None:
        sys.audit("socket.connect", self, address)
        if self.family == socket.AF_UNIX or ip_address(address[0]).is_loopback:
            return connect(self, address)
        note(f"dial {address[0]}:{address[1]}")
        if (port := stand_ins.get(address[0])) is not None:
            return connect(self, ("127.0.0.1", port))
        raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))

    def watched_look_up(host: Any, port: Any, *arguments: Any, **options: Any) -> list[Any]:
        name = host.decode() if isinstance(host, bytes) else host
        if name in (None, "localhost") or is_literal(name):
            return look_up(host, port, *arguments, **options)
        sys.audit("socket.getaddrinfo", host, port, 0, 0, 0)
        note(f"look up {name}")
        if name not in names:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return [found for address in names[name] for found in look_up(address, port, *arguments, **options)]

    setattr(socket.socket, "connect", watched_connect)  # noqa: B010 - a method of C is not assigned to
    socket.__dict__["getaddrinfo"] = watched_look_up


def is_literal(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
