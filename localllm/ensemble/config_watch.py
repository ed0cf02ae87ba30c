"""Watch the configuration file: a request keeps the configuration it started with; a change applies to later
requests."""

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
"""Seconds between polls. The file is read once two polls saw it unchanged, since editors write in several steps."""

PATIENCE = 2.0
"""Seconds to wait before an unreadable file (empty, missing, partial) is reported, since an editor may still be
writing."""

_log = logs.of("CONFIG")


class ConfigSource(Protocol):
    """A source of the current configuration."""

    @property
    def current(self) -> EnsembleConfig:
        """The current configuration; it is immutable."""
        ...


class FixedConfig:
    """A configuration without a file."""

    def __init__(self, config: EnsembleConfig) -> None:
        self.current = config


class ConfigChanged(NamedTuple):
    """A new configuration applies from now on."""

    before: EnsembleConfig
    config: EnsembleConfig


class ConfigRefused(NamedTuple):
    """The file is invalid; the previous configuration stays in use."""

    error: ConfigurationError


class ConfigRestored(NamedTuple):
    """The file, invalid before, has the configuration in use again."""


ConfigEvent = ConfigChanged | ConfigRefused | ConfigRestored

Signature = tuple[int, ...]
"""The identity, size and times of a file, which change with its content."""


class ConfigWatch:
    """The last valid configuration read from `file`.

    `follow` polls for changes; each is passed to `on_event` and logged, once.
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
            file: The configuration file.
            before: Called before each read.
            check: Raises ConfigurationError to reject a configuration.
            on_event: Called with the result of a change.
            patience: Seconds after which an invalid file is reported.
            clock: Returns the time in seconds.

        Raises ConfigurationError if the file is not usable.
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
        """The current configuration; it is immutable."""
        return self._current

    def listen(self, on_event: Callable[[ConfigEvent], None]) -> None:
        """Register another callback for the results of changes; it is called before the new configuration is used."""
        self._listeners.append(on_event)

    async def follow(self, seconds: float = SECONDS) -> None:
        """Poll the file every `seconds` until cancelled."""
        while True:
            await asyncio.sleep(seconds)
            signature = await asyncio.to_thread(_signature, self._file)  # a network file system may hang
            if self._is_to_be_read(signature):
                self._take(await asyncio.to_thread(self._outcome), signature)

    def look(self) -> None:
        """Poll the file once."""
        signature = _signature(self._file)
        if self._is_to_be_read(signature):
            self._take(self._outcome(), signature)

    def _is_to_be_read(self, signature: Signature) -> bool:
        """Whether the file differs from the last one read and is unchanged since the last poll."""
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
        """Report an error once, after `patience`: at first it may be an unfinished save."""
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
    """Return the signature of a file; empty if it is missing or cannot be read."""
    with suppress(OSError, ValueError):
        status = os.stat(file)  # noqa: PTH116 - what a link leads to counts
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    return ()
