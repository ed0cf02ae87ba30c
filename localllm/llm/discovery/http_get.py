"""HTTP GET with a bounded body, for probing servers."""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.llm.addresses import hosts_to_try
from localllm.llm.http.messages import (
    ConnectError,
    CutError,
    GarbledError,
    NotHttpError,
    Read,
    UnwritableError,
)
from localllm.llm.http.plain_client import PlainHttp
from localllm.llm.http.transport import HttpFailure, HttpRequest, HttpTransport

MOST_BYTES = 4 * 1024 * 1024
"""Maximum bytes read of a body. The model list of a gateway with a thousand models is about 1 MB."""


class Answer(msgspec.Struct, frozen=True):
    """An HTTP response with header names in lower case. `whole` is false if the body was truncated at MOST_BYTES."""

    status: int
    headers: dict[str, str]
    body: bytes
    whole: bool = True


class StrangeAnswerError(Exception):
    """The server does not speak HTTP; the message is the beginning of its answer, empty if there was none."""


class _Target(NamedTuple):
    host: str
    port: int
    path: str


async def knock(url: str) -> str:
    """Return the host that accepts connections for `url`. Raises OSError."""
    target = _target(url)
    refusal: OSError | None = None
    for host in hosts_to_try(target.host):
        try:
            _, writer = await asyncio.open_connection(host, target.port)
        except OSError as error:
            refusal = refusal or error
        else:
            writer.transport.abort()
            return host
    raise refusal or OSError(url)


async def get(url: str, headers: Mapping[str, str], *, host: str) -> Answer:
    """Send GET `url` to `host` over a plain connection, without following redirects.

    Raises StrangeAnswerError, OSError. There is no timeout: the caller cancels.
    """
    parts, http = urlsplit(url), PlainHttp()
    at = f"http://{f'[{host}]' if ':' in host else host}:{_target(url).port}{parts.path}"
    try:
        response = await http.send(HttpRequest("GET", at, {"host": parts.netloc, **headers}), None)
        try:
            body = await _gather(response.read)
            return Answer(response.status, response.headers, body[:MOST_BYTES], whole=len(body) <= MOST_BYTES)
        finally:
            await response.aclose()
    except ConnectError as error:
        raise OSError(str(error)) from error
    except NotHttpError as error:
        raise StrangeAnswerError(error.said) from error
    except (CutError, GarbledError, UnwritableError) as error:
        raise StrangeAnswerError from error
    finally:
        await http.aclose()


async def get_with_library(url: str, headers: Mapping[str, str], *, seconds: float) -> Answer:
    """Like `get`, but through httpx, for TLS and proxies. `seconds` is the connect timeout."""
    transport = HttpTransport("", url, seconds)
    try:
        async with transport.stream(HttpRequest("GET", url, dict(headers))) as body:
            gathered = await _gather(body.read)
            return Answer(200, {}, gathered[:MOST_BYTES], whole=len(gathered) <= MOST_BYTES)
    except HttpFailure as failure:
        return Answer(failure.status, failure.headers, failure.body)
    except LLMConnectionError as error:
        if error.key == "llm_refused":
            raise OSError(str(error.params["reason"])) from error
        raise StrangeAnswerError(str(error.params.get("reason", ""))) from error
    finally:
        await transport.aclose()


def _target(url: str) -> _Target:
    parts = urlsplit(url)
    usual = 443 if parts.scheme == "https" else 80
    return _Target(parts.hostname or "", usual if parts.port is None else parts.port, parts.path or "/")


async def _gather(read: Read) -> bytes:
    """Read the body, stopping once it exceeds MOST_BYTES."""
    body = bytearray()
    while len(body) <= MOST_BYTES and (piece := await read()) is not None:
        body += piece
    return bytes(body)
