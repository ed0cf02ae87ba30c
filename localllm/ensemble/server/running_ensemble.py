"""Assemble and run the server: the ensemble, its app, the page and the request log."""

import gc
import socket
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fastapi import FastAPI

from localllm.base.memo import Memo
from localllm.ensemble.answer_checks import AnswerChecks
from localllm.ensemble.config_watch import ConfigSource
from localllm.ensemble.ensemble import ModelEnsemble
from localllm.ensemble.request_log import RequestLog
from localllm.ensemble.server.app import create_app
from localllm.ensemble.server.options import ServerOptions
from localllm.ensemble.server.page import page_routes
from localllm.ensemble.server.uvicorn_server import EnsembleServer

_NEW_OBJECTS = 5_000
"""Allocations between two garbage collections of cycles; Python's 700 are reached by two requests."""

_REMEMBERED = 1 / 16
"""Share of the message cache that the chat uses: here only the workers of one run are sent the same messages."""


class RunningEnsemble:
    """Serve the ensemble of `source` until it is stopped.

    Args:
        source: The configuration.
        environ: The environment with the keys of model servers.
        root: The folder to which paths of model files are relative.
        checks: Checks answers; closed at the end.
        options: Limits, token, hosts and origins.
        log: Where finished runs are logged; None for no log. Closed at the end.
    """

    def __init__(
        self,
        source: ConfigSource,
        environ: Mapping[str, str],
        root: Path,
        checks: AnswerChecks,
        options: ServerOptions,
        log: RequestLog | None,
    ) -> None:
        self._ensemble = ModelEnsemble(source, environ, checks, root)
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
        """Serve requests on a listening socket. `on_start` is called when serving begins."""
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
        """Stop accepting requests and let active ones finish; a second call cancels them."""
        self._process.force_exit = self._process.should_exit
        self._process.should_exit = True


class _Process(EnsembleServer):
    """The server without signal handlers: the command line handles signals."""

    def __init__(self, app: FastAPI, options: ServerOptions) -> None:
        super().__init__(app, options)
        self.on_start: Callable[[], object] = lambda: None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            gc.collect()
            gc.freeze()  # exclude loaded objects: scanning them repeatedly took a tenth of the time
            gc.set_threshold(_NEW_OBJECTS, 20, 20)
            self.on_start()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
