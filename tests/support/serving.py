"""`localllm serve` as a user starts it: a real process, its standard error read while it runs."""

import json
import queue
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import httpx

from tests.support.program import PATIENCE, Program

_URL = re.compile(r"http://[\w.:\[\]]+:\d+")
NOWHERE = "http://127.0.0.1:9"
"""An address at which nobody answers."""


class ServeWorld(Program):
    """A user whose usual places for model servers are empty. The server keeps its files in the user's home."""

    def __init__(self, folder: Path, language: str = "C.UTF-8", more: Mapping[str, str] | None = None) -> None:
        super().__init__(folder, language, {"LOCALLLM_ALSO_LOOK_AT": NOWHERE, **(more or {})})
        self.settle()

    def settle(self, ollama: str = NOWHERE) -> None:
        """Write settings in which Ollama is at an address, and nobody else anywhere."""
        self.write_settings(
            f'[llm.ollama]\nbase_url = "{ollama}"\n[llm.openai]\nbase_url = "{NOWHERE}"\n'
            f'[llm.lmstudio]\nbase_url = "{NOWHERE}"\n'
        )

    def configure(self, data: Any, name: str = "config.json") -> Path:
        """Write a configuration; a text is written as it is."""
        file = self.project / name
        file.write_text(data if isinstance(data, str) else json.dumps(data, indent=2), encoding="utf-8")
        return file

    @contextmanager
    def serving(self, *arguments: str, before: Sequence[str] = ()) -> "Iterator[Serving]":
        """A server that takes requests. It is ended where it has not been."""
        process = self.begin(*before, "serve", "--port", "0", *arguments)
        serving = Serving(process)
        try:
            serving.wait_until_started()
            yield serving
        finally:
            serving.close()


class Serving:
    """A server that runs. `said` is what it has written on standard error, in lines."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self.said: list[str] = []
        self.url = ""
        self.printed = ""
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._readers = [
            threading.Thread(target=self._read, args=(process.stderr,), daemon=True),
            threading.Thread(target=self._gather, args=(process.stdout,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def wait_until_started(self) -> None:
        """Wait for its address."""
        found = _URL.search(self.wait_for("http://"))
        assert found, self.said
        self.url = found[0]
        self.wait_for("Ctrl+C")

    def wait_for(self, text: str) -> str:
        """The next line with this text."""
        while True:
            line = self._lines.get(timeout=PATIENCE)
            assert line is not None, f"ended without {text!r}: {self.said}"
            if text in line:
                return line

    def ask(self, prompt: str = "What is it?", **headers: str) -> httpx.Response:
        """The answer of POST /generate."""
        return httpx.post(f"{self.url}/generate", json={"prompt": prompt}, headers=headers, timeout=PATIENCE)

    def signal(self, number: int = signal.SIGINT) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def end(self) -> int:
        """Wait for the end; the exit code."""
        code = self.process.wait(timeout=PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        return code

    def close(self) -> None:
        """End it, whatever it does."""
        if self.process.poll() is None:
            self.process.kill()
        self.end()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self.said.append(line.rstrip("\n"))
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def _gather(self, stream: IO[str]) -> None:
        self.printed = stream.read()


def configuration(reviewer: str, *workers: str, **settings: Any) -> dict[str, Any]:
    """A configuration with a reviewer and workers at these addresses."""
    return {
        "reviewer_agent": {"name": "R", "api_url": reviewer, "model": "qwen3:8b"},
        "worker_agents": [
            {"name": f"W{number}", "api_url": url, "model": "qwen3:8b"} for number, url in enumerate(workers)
        ],
        "system_settings": settings,
    }
