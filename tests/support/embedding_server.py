"""A model server on the loopback whose vectors mean something: texts about the same have nearly the same vector.

It speaks OpenAI's form. What is about the same says the table `MEANINGS` and the pairs the abilities are probed with;
all other words have vectors of their own.
"""

import json
import math
from functools import cache
from http.server import BaseHTTPRequestHandler
from random import Random
from typing import Any, ClassVar

from localllm.rag.language_probe import PAIRS
from localllm.text.tokenising import terms
from tests.support.loopback import LoopbackServer

MODEL = "text-embedding-loopback"
MEANINGS = (
    ("vacation", "annual leave", "holiday entitlement"),
    ("refund", "money back", "返金", "払い戻し"),
    ("password", "パスワード", "credentials"),
)
DIMENSION = 32


class EmbeddingServer(LoopbackServer):
    """`longest`: characters of a text it reads; `most`: texts of a request; `broken`: it answers no more."""

    def __init__(
        self, model: str = MODEL, *, dimension: int = DIMENSION, longest: int = 100_000, most: int = 64
    ) -> None:
        super().__init__(_Handler)
        self.model = model
        self.dimension = dimension
        self.longest = longest
        self.most = most
        self.broken = False
        self.asked: list[list[str]] = []

    def vector(self, text: str) -> list[float]:
        """The vector of a text: the sum of those of its meaning, ten times, and of its words."""
        parts = [(10.0, f"meaning {number}") for number, words in enumerate(_meanings()) if _has(text, words)]
        parts += [(1.0, word) for word in terms(text)]
        total = [0.0] * self.dimension
        for weight, name in parts or [(1.0, "nothing")]:
            total = [value + weight * part for value, part in zip(total, _direction(name, self.dimension), strict=True)]
        length = math.sqrt(sum(value * value for value in total))
        return [value / length for value in total]


@cache
def _direction(name: str, dimension: int) -> tuple[float, ...]:
    random = Random(name)
    return tuple(random.gauss(0, 1) for _ in range(dimension))


def _meanings() -> list[tuple[str, ...]]:
    return [*MEANINGS, *(pair for pairs in PAIRS.values() for pair in pairs)]


def _has(text: str, words: tuple[str, ...]) -> bool:
    return any(word.lower() in text.lower() for word in words)


class _Handler(BaseHTTPRequestHandler):
    owner: ClassVar[Any]
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._send(200, {"object": "list", "data": [{"id": self.owner.model}]})

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
        self.owner.asked.append(texts)
        if self.owner.broken:
            self._send(500, {"error": {"message": "out of order"}})
        elif len(texts) > self.owner.most or any(len(text) > self.owner.longest for text in texts):
            self._send(400, {"error": {"message": "This model's maximum input length is exceeded"}})
        else:
            items = [{"embedding": self.owner.vector(text), "index": at} for at, text in enumerate(texts)]
            self._send(200, {"object": "list", "data": items})

    def _send(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
