"""The configuration that holds now: a request takes it once; what is saved meanwhile holds for those after it."""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from localllm.base import logs
from localllm.base.errors import ConfigurationError
from localllm.ensemble.config import EnsembleConfig
from localllm.ensemble.config_file import parse_config, read_config_text

SECONDS = 0.25
"""Between two looks at the file. It is read when two of them saw it the same: editors write in several steps."""

PATIENCE = 2.0
"""Seconds for which what cannot be read is taken for a step of an editor's (an empty file, no file, a half)."""

_log = logs.of("CONFIG")


class ConfigSource(Protocol):
    """Whatever holds the configuration."""

    @property
    def current(self) -> EnsembleConfig:
        """The configuration now, whole; it never changes itself."""
        ...


class FixedConfig:
    """A configuration without a file."""

    def __init__(self, config: EnsembleConfig) -> None:
        self.current = config


class ConfigChanged(NamedTuple):
    """Another configuration holds from now on."""

    before: EnsembleConfig
    config: EnsembleConfig


class ConfigRefused(NamedTuple):
    """The file says what cannot be used; the configuration read before stays in use."""

    error: ConfigurationError


class ConfigRestored(NamedTuple):
    """The file, which could not be used, says again what has held all the while."""


ConfigEvent = ConfigChanged | ConfigRefused | ConfigRestored

Signature = tuple[int, ...]
"""What of a file changes with its content: which file it is, its size and its times."""


class ConfigWatch:
    """The configuration in `file`, as it was when it was last whole and right.

    `follow` looks for changes; each is told to `on_event` and logged, once.
    """

    def __init__(
        self,
        file: Path,
        *,
        before: Callable[[], None] = lambda: None,
        check: Callable[[EnsembleConfig], None] = lambda config: None,
        on_event: Callable[[ConfigEvent], None] = lambda event: None,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read the file.

        Args:
            file: Where it is.
            before: Called before each time it is read.
            check: Raises ConfigurationError for a configuration that is not to be used.
            on_event: Called with what becomes of a change.
            patience: Seconds after which a file that cannot be used is said to be so.
            clock: Tells the time in seconds.

        Raises ConfigurationError where it cannot be used.
        """
        self._file = file
        self._before = before
        self._check = check
        self._listeners = [on_event]
        self._patience = patience
        self._clock = clock
        self._seen = self._read = _signature(file)
        self._text = self._read_text()
        self._current = self._parsed(self._text)
        self._unusable_since: float | None = None
        self._refused = ""

    @property
    def current(self) -> EnsembleConfig:
        """The configuration now, whole; it never changes itself."""
        return self._current

    def listen(self, on_event: Callable[[ConfigEvent], None]) -> None:
        """Have somebody else, too, called with what becomes of a change, before a question is asked by it."""
        self._listeners.append(on_event)

    async def follow(self, seconds: float = SECONDS) -> None:
        """Look at the file every so many seconds, until this is cancelled."""
        while True:
            await asyncio.sleep(seconds)
            signature = await asyncio.to_thread(_signature, self._file)  # a network's file system may not answer
            if self._is_to_be_read(signature):
                self._take(await asyncio.to_thread(self._outcome), signature)

    def look(self) -> None:
        """Look at the file once."""
        signature = _signature(self._file)
        if self._is_to_be_read(signature):
            self._take(self._outcome(), signature)

    def _is_to_be_read(self, signature: Signature) -> bool:
        """Whether the file is another than the one that was last read, and at rest since the last look."""
        is_at_rest = signature == self._seen
        self._seen = signature
        return is_at_rest and signature != self._read

    def _outcome(self) -> tuple[str, EnsembleConfig] | ConfigurationError:
        try:
            text = self._read_text()
            return text, self._current if text == self._text else self._parsed(text)
        except ConfigurationError as error:
            return error

    def _read_text(self) -> str:
        self._before()
        return read_config_text(self._file)

    def _parsed(self, text: str) -> EnsembleConfig:
        config = parse_config(text, self._file)
        self._check(config)
        return config

    def _take(self, outcome: tuple[str, EnsembleConfig] | ConfigurationError, signature: Signature) -> None:
        if isinstance(outcome, ConfigurationError):
            self._refuse(outcome, signature)
            return
        text, config = outcome
        before, self._current = self._current, config
        self._text, self._read = text, signature
        was_refused, self._refused, self._unusable_since = bool(self._refused), "", None
        if config != before:
            names = ", ".join(agent.name for agent in config.worker_agents)
            _log.info("%s has changed: %s reviews; workers: %s", self._file, config.reviewer_agent.name, names)
            self._tell(ConfigChanged(before, config))
        elif was_refused:
            _log.info("%s can be used again, and says what has held all the while", self._file)
            self._tell(ConfigRestored())

    def _refuse(self, error: ConfigurationError, signature: Signature) -> None:
        """Say what is wrong, once; at first it may be a step of an editor's."""
        now = self._clock()
        if self._unusable_since is None:
            self._unusable_since = now
        if now - self._unusable_since < self._patience:
            return
        self._read = signature
        if error.english != self._refused:
            self._refused = error.english
            _log.warning("%s %s The configuration read before stays in use.", error.code, error.english)
            self._tell(ConfigRefused(error))

    def _tell(self, event: ConfigEvent) -> None:
        for on_event in self._listeners:
            on_event(event)


def _signature(file: Path) -> Signature:
    """Empty for a file that is not there, or cannot be looked at."""
    with suppress(OSError, ValueError):
        status = os.stat(file)  # noqa: PTH116 - what a link leads to counts
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    return ()
