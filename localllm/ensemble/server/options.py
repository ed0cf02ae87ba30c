"""What a server may do, and for whom."""

import msgspec


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the server guards itself.

    `host`: the address it is bound to, which decides the host names it goes by. `token`: what every request has to
    bring; empty for none. `allowed_hosts`: further host names it goes by. `allowed_origins`: sites whose pages may use
    it, such as https://chat.example.org. `max_body`: bytes of a request. `max_runs`: requests that are worked on at
    once; `run_seconds`: for each of them, 0 for as long as its agents take. `body_seconds`: for the whole body of a
    request to arrive; `head_seconds`: for its head. `write_seconds`: for a client to take what it is sent.
    `keep_alive_seconds`: of silence in a stream after which a comment is sent. `stop_seconds`: for which a server that
    stops lets requests finish.
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
