"""The servers behind an ensemble's agents: schedule their requests and report their models."""

import asyncio
import errno
from collections import Counter
from collections.abc import Sequence

import msgspec

from localllm.base.errors import EnsembleError, LLMConnectionError, LocalLLMError
from localllm.base.i18n import Phrase
from localllm.llm.providers.base import ModelInfo

NOT_THERE = frozenset({"llm_refused", "llm_unreachable", "llm_offline", "llm_not_own_network"})
"""Errors of a server that could not be connected to."""

REST_SECONDS = 12.0
"""Back-off after a connection timeout, which every question would otherwise wait for again. No machine boots so fast
that the delay would be noticed."""

_SILENT = frozenset({errno.EHOSTUNREACH, getattr(errno, "EHOSTDOWN", errno.EHOSTUNREACH)})


class Host:
    """A server at `address` with at most `limit` different models at once; 0 for no limit.

    A server whose memory holds fewer models than requested unloads one to load another with every request. Requests for
    an active model are admitted at once; while others wait, a model queues behind them for its next turn, together with
    all requests for it by then.
    """

    def __init__(self, address: str, limit: int = 0) -> None:
        self.address = address
        self._limit = limit
        self._active: Counter[str] = Counter()
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []
        self._rests_until = 0.0

    @property
    def limit(self) -> int:
        """Different models requested at once; 0 for no limit."""
        return self._limit

    @limit.setter
    def limit(self, limit: int) -> None:
        self._limit = limit
        self._admit()

    @property
    def active(self) -> dict[str, int]:
        """Active requests by model."""
        return dict(self._active)

    @property
    def waiting(self) -> int:
        """Number of queued requests."""
        return len(self._waiting)

    @property
    def is_doubtful(self) -> bool:
        """Whether the last connection timed out."""
        return self._rests_until > 0

    def note_failure(self, error: LLMConnectionError) -> None:
        """Record a failed request: back off after a connection timeout. A refused connection shows that the machine
        runs, where a server may start at any moment."""
        if error.key in NOT_THERE and _is_silence(error):
            self._rests_until = asyncio.get_running_loop().time() + REST_SECONDS

    def note_connection(self) -> None:
        """Record a successful connection."""
        self._rests_until = 0.0

    def refuse_rest(self, url: str) -> None:
        """Raise EnsembleError for the server at `url` during the back-off."""
        if self._rests_until and (left := self._rests_until - asyncio.get_running_loop().time()) > 0:
            ago = REST_SECONDS - left
            reason = Phrase(
                "It accepted no connection {ago:.0f} s ago, and is not tried again for {left:.0f} s", ago=ago, left=left
            )
            raise EnsembleError("ensemble_unreachable", url=url, reason=reason)

    async def enter(self, model: str) -> None:
        """Wait until a request for `model` is admitted; release with `leave`."""
        if not self._waiting and self._has_room(model):
            self._active[model] += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((model, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave(model)
            else:
                self._waiting = [each for each in self._waiting if each[1] is not turn]
                self._admit()
            raise

    def leave(self, model: str) -> None:
        """Release a request for `model`."""
        self._active[model] -= 1
        if not self._active[model]:
            del self._active[model]
        self._admit()

    def _has_room(self, model: str) -> bool:
        return not self._limit or model in self._active or len(self._active) < self._limit

    def _admit(self) -> None:
        """Admit the longest waiting request, and all others for the same model."""
        while self._waiting and self._has_room(model := self._waiting[0][0]):
            for name, turn in self._waiting:
                if name == model and not turn.done():
                    self._active[model] += 1
                    turn.set_result(None)
            self._waiting = [each for each in self._waiting if each[0] != model]


def _is_silence(error: BaseException | None) -> bool:
    """Whether a connection failed without any response, as with a machine that is switched off."""
    while error is not None:
        if isinstance(error, TimeoutError) or (isinstance(error, OSError) and error.errno in _SILENT):
            return True
        error = error.__cause__ or error.__context__
    return False


class ServedModel(msgspec.Struct, frozen=True):
    """A model an agent uses. `window`: its context window in tokens; 0 if unknown. `is_loaded` and `is_there` (the
    server lists it) are None if unknown."""

    name: str
    window: int = 0
    max_window: int = 0
    is_loaded: bool | None = None
    is_there: bool | None = None


class HostReport(msgspec.Struct, frozen=True):
    """The state of a host. `agents`: the names of its agents, several if they share it; `error`: why it has no report;
    `limit`, `waiting`: see Host."""

    address: str
    agents: tuple[str, ...]
    models: tuple[ServedModel, ...]
    limit: int = 0
    waiting: int = 0
    error: LocalLLMError | None = None


def served(model: str, window: int, listed: Sequence[ModelInfo]) -> ServedModel:
    """Describe a model as its server lists it; `window` is the one its requests have, 0 if not known yet."""
    names = (model, f"{model}:latest")
    found = next((info for info in listed if info.id in names), None)
    if found is None:
        return ServedModel(model, window, is_there=False if listed else None)
    served_with = found.context_window if found.loaded else window or found.context_window
    return ServedModel(model, served_with, found.max_context_window, found.loaded, is_there=True)
