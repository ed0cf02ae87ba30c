"""The server as it runs: the ensemble, its app, the page and the request log, put together."""

import gc
import socket
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fastapi import FastAPI

from localllm.base.memo import Memo
from localllm.ensemble.config_watch import ConfigSource
from localllm.ensemble.ensemble import ModelEnsemble
from localllm.ensemble.request_log import RequestLog
from localllm.ensemble.server.app import create_app
from localllm.ensemble.server.options import ServerOptions
from localllm.ensemble.server.page import page_routes
from localllm.ensemble.server.uvicorn_server import EnsembleServer

_NEW_OBJECTS = 5_000
"""Between two looks for cycles of objects that nobody needs any more; Python's own 700 are two of a request."""

_REMEMBERED = 1 / 16
"""Of the messages that a chat sends again and again: here only the workers of one run are sent the same."""


class RunningEnsemble:
    """Serves the ensemble of `source` until it is stopped.

    Args:
        source: The configuration that holds now.
        environ: The environment with the keys of model servers.
        root: The folder to which paths of model files are relative.
        options: Bounds, token, hosts and origins.
        log: Where finished runs are logged; None keeps none. It is closed at the end.
    """

    def __init__(
        self,
        source: ConfigSource,
        environ: Mapping[str, str],
        root: Path,
        options: ServerOptions,
        log: RequestLog | None,
    ) -> None:
        self._ensemble = ModelEnsemble(source, environ, root)
        self._log = log
        app = create_app(
            self._ensemble,
            lambda: source.current,
            options=options,
            report=self._ensemble.report,
            on_finished=log.add if log else None,
            pages=page_routes(),
        )
        self._process = _Process(app, options)

    async def serve(self, listening: socket.socket, on_start: Callable[[], object]) -> None:
        """Answer requests at a socket that listens. `on_start` is called once that begins."""
        self._process.on_start = on_start
        Memo.share = _REMEMBERED
        try:
            await self._process.serve(sockets=[listening])
        finally:
            Memo.share = 1.0
            await self._ensemble.aclose()
            if self._log is not None:
                self._log.close()

    def stop(self) -> None:
        """Take no more requests and let those finish that are worked on; called again, end these as well."""
        self._process.force_exit = self._process.should_exit
        self._process.should_exit = True


class _Process(EnsembleServer):
    """The process that serves, but for signals: the command line hears them."""

    def __init__(self, app: FastAPI, options: ServerOptions) -> None:
        super().__init__(app, options)
        self.on_start: Callable[[], object] = lambda: None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            gc.collect()
            gc.freeze()  # what is loaded stays: looking through it again and again took a tenth of the time
            gc.set_threshold(_NEW_OBJECTS, 20, 20)
            self.on_start()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
