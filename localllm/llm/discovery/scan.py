"""Scan the candidate addresses for model servers concurrently and recognise each by its answers."""

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from localllm.base.i18n import _
from localllm.base.jsontext import decode_json
from localllm.base.listening_users import is_of_another_person
from localllm.config.project_server import OWN_SERVERS_ONLY, usual_others
from localllm.config.schema import SECRET_VARIABLES, LLMSettings, ProviderName
from localllm.llm.addresses import PORTS, address_fault, api_root, is_loopback, server_root
from localllm.llm.discovery.http_get import Answer, StrangeAnswerError, get, get_with_library, knock
from localllm.llm.discovery.servers import (
    ENSEMBLE_OWNER,
    Candidate,
    Server,
    State,
    candidates,
    without_another_s,
)
from localllm.llm.http.plain_client import is_plain, is_proxied
from localllm.llm.overflow import short_reason
from localllm.llm.providers.base import ModelInfo
from localllm.llm.providers.lmstudio import parse_native_models
from localllm.llm.providers.ollama_models import list_info, parse_running, parse_tags
from localllm.llm.providers.openai_errors import BLANK, error_in
from localllm.llm.providers.openai_models import ModelEntry, parse_entries, told_by_props
from localllm.text.sanitising import clean

Ask = Callable[[str], Awaitable[Answer]]
"""Returns the response to GET of a path below the server's root: /v1/models, /api/tags, …"""

T = TypeVar("T")

_BEST_FIRST: tuple[State, ...] = ("ready", "empty", "locked", "silent", "foreign")
_TITLE = re.compile(rb"<title[^<>]*>(.*?)(?:</title|\Z)", re.IGNORECASE | re.DOTALL)
_LONGEST_TITLE = 60
_BEGINNING = 4_000  # bytes of a page searched for its title


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What was recognised at an address. `provider` is None if nothing was, the other fields are as in Server. For a
    locked server the caller, which knows the keys, fills in the detail."""

    state: State
    provider: ProviderName | None = None
    software: str = ""
    models: tuple[ModelInfo, ...] = ()
    detail: str = ""


LOCKED = Found(state="locked")


def _nothing(found: Found) -> None:
    del found


async def recognise(
    ask: Ask, expected: ProviderName, *, window: int = 0, note: Callable[[Found], None] = _nothing
) -> Found:
    """Recognise the server behind `ask`. The `expected` provider is tried first, then the others, since Ollama and LM
    Studio also list their models in OpenAI's form. `window`: tokens that would be requested from Ollama. `note` is
    called with what is known before the others are tried."""
    readers: dict[ProviderName, Callable[[Ask], Awaitable[Found | None]]] = {
        "ollama": partial(_as_ollama, window=window),
        "openai": _as_openai,
        "lmstudio": _as_lmstudio,
    }
    seen: list[Found] = []
    for name in sorted(readers, key=lambda name: name != expected):
        found = await readers[name](ask)
        if found and found.software:
            return found
        if found:
            note(found)
            seen.append(found)
    return min(seen, key=lambda found: _BEST_FIRST.index(found.state))


async def _as_ollama(ask: Ask, window: int) -> Found | None:
    """Recognise Ollama by its version and its model list; other web applications have only one of the two."""
    version = await ask("/api/version")
    if _wants_key(version):
        return LOCKED
    if not _decoded(version, lambda body: decode_json(body, _Version)):
        return None
    tags = await ask("/api/tags")
    if _wants_key(tags):
        return LOCKED
    if (offered := _decoded(tags, parse_tags)) is None:
        return None
    running = _decoded(await ask("/api/ps"), parse_running) or {}
    models = [list_info(entry, running, 0, window) for entry in offered if entry.answers]
    return _model_server("ollama", "Ollama", sorted(models, key=lambda info: not info.loaded))


async def _as_lmstudio(ask: Ask) -> Found | None:
    """Recognise LM Studio by its own model lists, which hold each model's type and state.
    The oldest versions have no such list but a distinctive error message."""
    own = await ask("/api/v0/models")
    if _wants_key(own):
        return LOCKED
    marks = _decoded(own, lambda body: decode_json(body, _NativeList))
    models = _decoded(own, parse_native_models)
    if marks and models is not None and (marks.data or marks.object == "list"):
        return _model_server("lmstudio", "LM Studio", models)
    its_words = b"Unexpected endpoint" in own.body
    if its_words or own.status == 404:  # versions that only have the newer list
        newer = await ask("/api/v1/models")
        models = _decoded(newer, parse_native_models)
        marks = _decoded(newer, lambda body: decode_json(body, _NewerList))
        if marks and models is not None and (marks.models or its_words):
            return _model_server("lmstudio", "LM Studio", models)
    if not its_words:
        return None
    entries = _listed(await ask("/v1/models"))
    return None if entries is None else _model_server("lmstudio", "LM Studio", [entry.info for entry in entries])


async def _as_openai(ask: Ask) -> Found:
    """Recognise a server that lists models in OpenAI's form; some are identified by their entries."""
    answer = await ask("/v1/models")
    if _wants_key(answer):
        return LOCKED
    if _is_loading(answer):
        return Found(state="silent", provider="openai", software="llama.cpp", detail=_("it is still loading its model"))
    entries = _listed(answer)
    if entries is None:
        return Found(state="foreign", detail=_appearance(answer))
    owners = {entry.owned_by for entry in entries}
    models = [entry.info for entry in entries]
    if ENSEMBLE_OWNER in owners:
        return Found(
            state="foreign",
            software="localllm",
            detail=_("it is localllm's own ensemble, which is used only when it is named (--provider openai)"),
        )
    if "llamacpp" in owners:
        return await _as_llama_cpp(ask, models)
    return _model_server("openai", "vLLM" if "vllm" in owners else "", models)


async def _as_llama_cpp(ask: Ask, models: list[ModelInfo]) -> Found:
    """Return llama.cpp's models. It lists them without a key even if everything else requires one."""
    props = await ask("/props")
    if _wants_key(props):
        return LOCKED
    if len(models) == 1:
        models = [_decoded(props, lambda body: told_by_props(body, models[0])) or models[0]]
    return _model_server("openai", "llama.cpp", models)


def _model_server(provider: ProviderName, software: str, models: list[ModelInfo]) -> Found:
    state = "ready" if models else "empty"
    return Found(state=state, provider=provider, software=software, models=tuple(models))


def _wants_key(answer: Answer) -> bool:
    """Return whether a program requires a key; a web page with such a status does not count."""
    return answer.status in (401, 403) and not _is_html(answer)


def _is_loading(answer: Answer) -> bool:
    """Return whether llama.cpp reports that it is still loading its model."""
    error = _decoded(answer, lambda body: error_in(decode_json(body)), status=503)
    return error is not None and "loading" in error.message.lower()


def _is_html(answer: Answer) -> bool:
    return answer.body.lstrip(BLANK).startswith(b"<")


def _decoded(answer: Answer, parse: Callable[[bytes], T], *, status: int = 200) -> T | None:
    """Parse the response, or return None if it is of another kind."""
    if answer.status != status or not answer.whole:
        return None
    try:
        return parse(answer.body)
    except (ValueError, msgspec.DecodeError, RecursionError):
        return None


def _listed(answer: Answer) -> list[ModelEntry] | None:
    """Return the chat models of a response to /v1/models, or None if it is no such response.
    An empty list counts only if it is marked as a list, since other programs also use the key "data"."""
    marks = _decoded(answer, lambda body: decode_json(body, _List))
    return _decoded(answer, parse_entries) if marks and (marks.data or marks.object == "list") else None


def _appearance(answer: Answer) -> str:
    """Describe an unrecognised response for the user."""
    if not answer.whole:
        return _("an endless answer")
    if 300 <= answer.status < 400:
        return _(
            "it redirects to {place} (HTTP {status})",
            place=_ink(answer.headers.get("location", "?")),
            status=answer.status,
        )
    if not _is_html(answer):
        return _("something that is no model server (HTTP {status})", status=answer.status)
    title = _TITLE.search(answer.body[:_BEGINNING])
    name = _ink(title[1].decode("utf-8", errors="replace")) if title else ""
    return _("a web page (HTTP {status}) {title}", status=answer.status, title=f"“{name}”" if name else "").rstrip()


def _ink(text: str) -> str:
    return clean(short_reason(text)[:_LONGEST_TITLE], keep_newlines=False)


# The servers' JSON, reduced to the fields that identify them.


class _Version(msgspec.Struct):
    version: str


class _Entry(msgspec.Struct):
    id: str


class _List(msgspec.Struct):
    data: list[_Entry] | None = None
    object: str | None = None


class _NativeEntry(msgspec.Struct):
    type: str
    state: str


class _NativeList(msgspec.Struct):
    data: list[_NativeEntry]
    object: str | None = None


class _NewerEntry(msgspec.Struct):
    type: str
    key: str
    loaded_instances: list[object]


class _NewerList(msgspec.Struct):
    models: list[_NewerEntry]


_SECONDS_TO_CONNECT = 2.0


class Visit:
    """The probe of one address. What it has found by its timeout is kept."""

    def __init__(self, candidate: Candidate, settings: LLMSettings, environ: Mapping[str, str]) -> None:
        self._candidate = candidate
        self._environ = environ
        self._window = settings.context_window
        self._began = time.monotonic()
        self._host = ""
        self._seen: Found | None = None
        """What the server has shown itself to be, if it could still turn out to be another program."""
        self._key_variable = ""
        self._key_was_refused = False

    @property
    def is_far(self) -> bool:
        """Whether the address is another machine, set by the user."""
        url = self._candidate.base_url
        return self._candidate.set_by_user and not address_fault(url) and not is_loopback(url)

    async def look(self) -> Server:
        """Probe the address and return what was found. Raises nothing."""
        if fault := address_fault(self._candidate.base_url):
            return self._server("absent", _in_a_line(fault))
        try:
            root = server_root(self._candidate.base_url)
            if not is_proxied(root, self._environ):
                self._host = await knock(root)
            return self._recognised(
                await recognise(self._ask, self._candidate.provider, window=self._window, note=self._note)
            )
        except StrangeAnswerError as error:
            return self._server("foreign", _strange(str(error)))
        except OSError as error:
            return self._server("absent", _reason(error))

    def _note(self, found: Found) -> None:
        if found.state == "ready":
            self._seen = found

    def unfinished(self, seconds: float) -> Server:
        """Return what is known when the timeout of `seconds` has passed."""
        if self._seen:
            return self._recognised(self._seen)
        if self._host:
            return self._server("silent", _("no complete answer in {seconds:g} s", seconds=seconds))
        return self._server("absent", _("no connection in {seconds:g} s", seconds=seconds))

    async def _ask(self, path: str) -> Answer:
        """Send GET `path`, with a key once the server requires one and sending it is permitted."""
        answer = await self._get(path, self._key_variable)
        if answer.status not in (401, 403) or self._key_variable or self._key_was_refused:
            return answer
        for variable in filter(self._key, self._candidate.key_variables):
            opened = await self._get(path, variable)
            if opened.status not in (401, 403):
                self._key_variable = variable
                return opened
            self._key_was_refused = True
        return answer

    async def _get(self, path: str, key_variable: str) -> Answer:
        url = _url(self._candidate.base_url, path)
        headers = {"accept": "application/json", "user-agent": "localllm"}
        if key_variable:
            headers["authorization"] = f"Bearer {self._key(key_variable)}"
        if is_plain(url, self._environ):
            return await get(url, headers, host=self._host)
        return await get_with_library(url, headers, seconds=_SECONDS_TO_CONNECT)

    def _key(self, variable: str) -> str:
        """Return the key in `variable`, empty if there is none or a header cannot carry it."""
        key = self._environ.get(variable, "").strip()
        return key if key.isascii() and key.isprintable() else ""

    def _recognised(self, found: Found) -> Server:
        server = self._server(found.state, self._about_the_key() if found.state == "locked" else found.detail)
        return msgspec.structs.replace(
            server,
            base_url=server_root(server.base_url) if found.provider in ("ollama", "lmstudio") else server.base_url,
            provider=found.provider or server.provider,
            software=found.software,
            models=found.models,
            key_variable=self._key_variable,
        )

    def _server(self, state: State, detail: str) -> Server:
        return Server(
            base_url=_with_host(self._candidate.base_url, self._host),
            provider=self._candidate.provider,
            state=state,
            seconds=time.monotonic() - self._began,
            detail=detail,
            set_by_user=self._candidate.set_by_user,
            is_of_another=state not in ("absent", "foreign") and _is_of_another(self._candidate.base_url, self._host),
        )

    def _about_the_key(self) -> str:
        """Explain which key a locked server requires."""
        allowed = self._candidate.key_variables
        own = SECRET_VARIABLES[f"llm.{self._candidate.provider}.api_key"]
        tried = next(filter(self._key, allowed), "")
        set_variable = next((name for name in (*allowed, own) if self._environ.get(name, "").strip()), "")
        if tried:
            return _("the one in {variable} was refused", variable=tried)
        if set_variable and not self._key(set_variable):
            return _("the one in {variable} holds characters that cannot be sent", variable=set_variable)
        if allowed:
            return _("put it into the environment variable {variable}", variable=allowed[0])
        how = {"variable": own, "provider": self._candidate.provider, "url": self._candidate.base_url}
        return (
            _("the one in {variable} is sent there only with --provider {provider} --base-url {url}", **how)
            if set_variable
            else _(
                "put it into the environment variable {variable}, and use --provider {provider} --base-url {url}", **how
            )
        )


def _is_of_another(base_url: str, host: str) -> bool:
    """Return whether another person's program answers at the address, for which `host` accepted the connection."""
    parts = urlsplit(server_root(base_url))
    return bool(host) and is_loopback(base_url) and is_of_another_person(host, parts.port or PORTS[parts.scheme])


def _url(base_url: str, path: str) -> str:
    """Return the URL of `path`.
    Paths below /v1 are resolved against the OpenAI-compatible root, wherever a gateway has put that."""
    root, compatible = server_root(base_url), api_root(base_url)
    if not path.startswith("/v1/") or compatible.startswith(f"{root}/api/"):
        return root + path
    return compatible + path.removeprefix("/v1")


def _with_host(base_url: str, host: str) -> str:
    """Return the address as written, but with [::1] where only IPv6 loopback answers."""
    if host != "::1" or "://" not in base_url:
        return base_url
    parts = urlsplit(base_url)
    port = "" if parts.port is None else f":{parts.port}"
    return parts._replace(netloc=f"[::1]{port}").geturl()


def _strange(said: str) -> str:
    words = _in_a_line(said)[:80]
    return (
        _("something that does not speak HTTP: {said}", said=words)
        if words
        else _("it closes the connection without an answer")
    )


def _reason(error: OSError) -> str:
    """Explain why the connection failed, in the system's words."""
    if isinstance(error, ConnectionRefusedError):
        return _("nothing is running there")
    return _in_a_line(os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error))


def _in_a_line(text: str) -> str:
    return clean(short_reason(text), keep_newlines=False)


SECONDS = 0.3
"""Timeout for servers on this machine: they answer within a few milliseconds, or are busy."""

SECONDS_FAR = 2.0
"""Timeout for an address set by the user on another machine, which may be asleep or behind a VPN."""

_LAST_PART = 0.25


async def discover(
    settings: LLMSettings,
    environ: Mapping[str, str],
    *,
    also: Iterable[str] | None = None,
    within: float = SECONDS,
    within_far: float = SECONDS_FAR,
) -> list[Server]:
    """Probe every candidate address concurrently and return the servers in order of preference: those set by the user,
    then LM Studio, Ollama, other servers, and `also` (`usual_others` if None).

    Takes at most `within` seconds, or `within_far` if the user has set an address on another machine. Raises nothing. A
    key from the environment is sent only to an address the user has set, and only if that requires one.
    """
    others = usual_others(environ) if also is None else also
    visits = [Visit(candidate, settings, environ) for candidate in candidates(settings, environ, others)]
    limits = [within_far if visit.is_far else within for visit in visits]
    found = await asyncio.gather(*map(_limited, visits, limits))
    return without_another_s(found) if environ.get(OWN_SERVERS_ONLY) else list(found)


async def _limited(visit: Visit, seconds: float) -> Server:
    """Return what `visit` finds within `seconds`.

    The time is split in two waits: if this program was busy throughout the first, as during start-up, responses that
    have arrived meanwhile are still read in the second.
    """
    work = asyncio.create_task(visit.look())
    try:
        for part in (1 - _LAST_PART, _LAST_PART):
            await asyncio.wait((work,), timeout=seconds * part)
            if work.done():
                return work.result()
        return visit.unfinished(seconds)
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
