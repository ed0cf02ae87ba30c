"""Log each run from a background thread, so that no request waits for the disk.

Logged are the prompt, every answer, the reviewer's reply and what statistics need; of an aborted run, what had arrived.
The client, headers and previous turns, which have entries of their own, are not logged. Texts are truncated to
MOST_CHARACTERS. The server's own secrets, keys of known formats and passwords in addresses are masked.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

from localllm.base import logs
from localllm.base.errors import LocalLLMError, RequestLogError
from localllm.base.jsontext import encode_json
from localllm.ensemble.log_database import (
    LogDatabase,
    LoggedAnswer,
    LoggedRun,
    LogLimits,
    Outcome,
    is_corrupt,
    put_aside,
)
from localllm.ensemble.records import EnsembleResult, Question, WorkerAnswer
from localllm.text.secret_masking import MASK, masked_keys

MOST_CHARACTERS = 200_000
"""Characters of each logged text; longer ones keep their beginning."""

_GATHERED = 0.1  # seconds to collect runs before writing
_REST = 30.0  # seconds after a failure before a retry
_LAST = 5.0  # timeout in seconds for pending writes on close
_MOST_WAITING = 1_000  # runs
_MOST_CHARACTERS_WAITING = 50_000_000
_AT_ONCE = 100  # runs in one transaction
_LEAST_SECRET = 6  # characters; shorter ones would mask ordinary words


class _Finished(NamedTuple):
    question: Question
    result: EnsembleResult
    at: float


def _log_warning(error: LocalLLMError) -> None:
    logs.of("ENSEMBLE").warning("%s %s", error.code, error.english)


class RequestLog:
    """Write finished runs to the database; must be closed.

    Args:
        file: The database; created with its folder if missing.
        secrets: Texts to mask: keys of model servers, the server's own token.
        limits: Retention limits.
        on_failure: Called from the writer thread with each kind of error, once until it is resolved. The failed
            runs are lost; writing is retried with later runs after a pause.
        clock: Returns the time.
    """

    def __init__(
        self,
        file: Path,
        *,
        secrets: Collection[str] = (),
        limits: LogLimits | None = None,
        on_failure: Callable[[LocalLLMError], None] = _log_warning,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.file = file
        self._secrets: tuple[str, ...] = ()
        self.keep_out(secrets)
        self._limits = limits
        self._on_failure = on_failure
        self._clock = clock
        self._waiting: deque[_Finished] = deque()
        self._characters = 0
        self._changed = threading.Condition()
        self._is_closing = threading.Event()
        self._said: set[str] = set()
        self._rests_until = 0.0
        self._database: LogDatabase | None = None
        self._thread = threading.Thread(target=self._write_all, name="request-log", daemon=True)
        self._thread.start()

    def add(self, question: Question, result: EnsembleResult) -> None:
        """Queue a finished run for logging. Neither blocks nor fails."""
        size = _size(question, result)
        with self._changed:
            count = len(self._waiting)
            if count < _MOST_WAITING and self._characters + size <= _MOST_CHARACTERS_WAITING:
                self._waiting.append(_Finished(question, result, self._clock()))
                self._characters += size
                self._changed.notify()
                return
        self._say(RequestLogError("request_log_behind", file=self.file, count=count))

    def keep_out(self, secrets: Collection[str]) -> None:
        """Mask these texts as well from now on, including in queued runs."""
        known = {*self._secrets, *(one for one in secrets if len(one) >= _LEAST_SECRET)}
        self._secrets = tuple(sorted(known, key=len, reverse=True))  # replaced, not modified: the thread reads it

    def close(self) -> None:
        """Write the queued runs, within a timeout."""
        self._is_closing.set()
        with self._changed:
            self._changed.notify()
        self._thread.join(_LAST)

    def _write_all(self) -> None:
        """The writer thread: open the file at once, so that an error is known from the start, then write."""
        self._try(lambda: self._write([]))
        while batch := self._next_batch():
            self._try(lambda batch=batch: self._write(batch))
        if self._database is not None:
            self._database.close()

    def _next_batch(self) -> list[_Finished]:
        """Wait for runs, collected for a moment into a batch; empty at the end."""
        with self._changed:
            while not self._waiting and not self._is_closing.is_set():
                self._changed.wait()
        self._is_closing.wait(_GATHERED)
        with self._changed:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), _AT_ONCE))]
            self._characters -= sum(_size(one.question, one.result) for one in batch)
        return batch

    def _try(self, work: Callable[[], None]) -> None:
        if time.monotonic() < self._rests_until:
            return
        try:
            work()
        except RequestLogError as error:
            self._say(error)
            self._rests_until = time.monotonic() + _REST
            if self._database is not None:
                self._database.close()
                self._database = None
        else:
            self._said.clear()

    def _open(self) -> LogDatabase:
        if self._database is not None and not self._database.is_in_place:  # deleted or renamed by another server
            self._database.close()
            self._database = None
        if self._database is None:
            try:
                self._database = LogDatabase(self.file, self._limits, clock=self._clock)
            except RequestLogError as error:
                self._database = self._begun_anew(error)
        return self._database

    def _write(self, batch: list[_Finished]) -> None:
        runs = [self._logged(one) for one in batch]
        try:
            self._open().add(runs)
        except RequestLogError as error:
            self._database = self._begun_anew(error)
            self._database.add(runs)

    def _begun_anew(self, error: RequestLogError) -> LogDatabase:
        """Replace a damaged file by a new one. Raises any other error."""
        if not is_corrupt(error.__cause__):
            raise error
        if self._database is not None:
            self._database.close()
        if aside := put_aside(self.file):
            self._say(RequestLogError("request_log_put_aside", file=self.file, aside=aside))
        return LogDatabase(self.file, self._limits, clock=self._clock)

    def _say(self, error: RequestLogError) -> None:
        if error.key not in self._said:
            self._said.add(error.key)
            self._on_failure(error)

    def _logged(self, finished: _Finished) -> LoggedRun:
        question, result, at = finished
        texts = {
            "prompt": question.prompt,
            "final_answer": result.final_answer,
            "review_comment": result.review_comment,
        }
        failure = result.reviewer_error
        runtime = self._masked(encode_json(result.runtime).decode())
        return LoggedRun(
            run_id=result.run_id,
            at=at,
            outcome=_outcome(result),
            strategy=str(result.runtime.get("strategy", "review")),
            reviewer=str(result.runtime.get("reviewer", "")),
            seconds=result.seconds,
            **{name: self._kept(text) for name, text in texts.items()},
            answers=tuple(self._answer(worker, one) for worker, one in enumerate(result.answers)),
            best=_best(result),
            turns=len(question.history),
            prompt_tokens=_count(result.usage.prompt_tokens),
            completion_tokens=_count(result.usage.completion_tokens),
            error_code=failure.code if failure else "",
            error=self._masked(str(failure)) if failure else "",
            characters={name: len(text) for name, text in texts.items() if len(text) > MOST_CHARACTERS},
            runtime=runtime if len(runtime) <= MOST_CHARACTERS else "{}",
        )

    def _answer(self, worker: int, answer: WorkerAnswer) -> LoggedAnswer:
        return LoggedAnswer(
            worker=worker,
            agent=self._masked(answer.agent),
            model=self._masked(answer.model),
            text=self._kept(answer.text),
            characters=len(answer.text),
            seconds=answer.seconds,
            is_cancelled=answer.is_cancelled,
            error_code=answer.error.code if answer.error else "",
            error=self._masked(str(answer.error)) if answer.error else "",
            prompt_tokens=_count(answer.usage.prompt_tokens) if answer.usage else 0,
            completion_tokens=_count(answer.usage.completion_tokens) if answer.usage else 0,
        )

    def _kept(self, text: str) -> str:
        """Mask and truncate a text; truncation comes last, so that no part of a secret is left."""
        return self._masked(text[: MOST_CHARACTERS + 1_000])[:MOST_CHARACTERS]

    def _masked(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        text = masked_keys(text)
        return text if text.isascii() else text.encode("utf-8", "replace").decode()  # lone surrogates


def _size(question: Question, result: EnsembleResult) -> int:
    return len(question.prompt) + len(result.final_answer) + sum(len(one.text) for one in result.answers)


def _count(tokens: int) -> int:
    """Clamp a number from a server to what the database can store."""
    return max(0, min(tokens, 1 << 53))


def _outcome(result: EnsembleResult) -> Outcome:
    if result.is_broken_off:
        return "broken_off"
    if result.all_failed:
        return "all_failed"
    return "reviewer_failed" if result.reviewer_error else "answered"


def _best(result: EnsembleResult) -> int | None:
    """Return the index of the best answer, which the run gives by name or index."""
    match result.runtime.get("best"):
        case str(name):
            return next((place for place, one in enumerate(result.answers) if one.agent == name), None)
        case bool():
            return None
        case int(place):
            return place
        case _:
            return None
