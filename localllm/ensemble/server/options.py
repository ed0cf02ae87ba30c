"""The options of a server: limits and access."""

import msgspec


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The limits and access options of a server.

    `host`: the address it is bound to, which decides its host names. `token`: required of every request; empty for
    none. `allowed_hosts`: additional host names. `allowed_origins`: sites whose pages may use it, such as
    https://chat.example.org. `max_body`: bytes of a request. `max_runs`: concurrent requests; `run_seconds`: time limit
    of each, 0 for none. `body_seconds`: timeout for receiving the whole body; `head_seconds`: for its head.
    `write_seconds`: timeout for a client to read what it is sent. `keep_alive_seconds`: silence in a stream after which
    a comment is sent. `stop_seconds`: time for active requests to finish when the server stops.
    """

    host: str = "127.0.0.1"
    token: str = ""
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    max_body: int = 4_000_000
    max_runs: int = 32
    run_seconds: float = 0.0
    body_seconds: float = 30.0
    head_seconds: float = 10.0
    idle_seconds: float = 20.0
    write_seconds: float = 60.0
    keep_alive_seconds: float = 15.0
    stop_seconds: float = 30.0
