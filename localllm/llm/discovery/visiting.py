"""A look at one address: knock, ask, say who is there."""

import os
import time
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from localllm.base.config.schema import SECRET_VARIABLES, LLMSettings
from localllm.base.i18n import tr
from localllm.llm.addresses import address_fault, api_root, is_loopback, server_root
from localllm.llm.discovery.asking import Answer, StrangeAnswerError, get, get_with_library, knock
from localllm.llm.discovery.candidates import Candidate
from localllm.llm.discovery.recognising import Found, recognise
from localllm.llm.discovery.servers import Server, State
from localllm.llm.plain_http import is_plain, is_proxied
from localllm.llm.reasons import short_reason
from localllm.text.cleaning import clean

_SECONDS_TO_CONNECT = 2.0


class Visit:
    """One address being looked at. What it has learned stands when its time is up."""

    def __init__(self, candidate: Candidate, settings: LLMSettings, environ: Mapping[str, str]) -> None:
        self._candidate = candidate
        self._environ = environ
        self._window = settings.context_window
        self._began = time.monotonic()
        self._host = ""
        self._key_variable = ""
        self._key_was_refused = False

    @property
    def is_far(self) -> bool:
        """Whether it is another machine, which the user has named."""
        url = self._candidate.base_url
        return self._candidate.set_by_user and not address_fault(url) and not is_loopback(url)

    async def look(self) -> Server:
        """Who is there. Raises nothing."""
        if fault := address_fault(self._candidate.base_url):
            return self._server("absent", _in_a_line(fault))
        try:
            root = server_root(self._candidate.base_url)
            if not is_proxied(root, self._environ):
                self._host = await knock(root)
            return self._recognised(await recognise(self._ask, self._candidate.provider, window=self._window))
        except StrangeAnswerError as error:
            return self._server("foreign", _strange(str(error)))
        except OSError as error:
            return self._server("absent", _reason(error))

    def unfinished(self, seconds: float) -> Server:
        """What can be said when its `seconds` are over."""
        if self._host:
            return self._server("silent", tr("found.silent", seconds=seconds))
        return self._server("absent", tr("found.unreachable", seconds=seconds))

    async def _ask(self, path: str) -> Answer:
        """The answer to GET of `path`; with a key, once one has been asked for and if it may be sent."""
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
        """The key in `variable`, empty where there is none that a header can carry."""
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
        )

    def _about_the_key(self) -> str:
        """What a locked server lacks."""
        allowed = self._candidate.key_variables
        own = SECRET_VARIABLES[f"llm.{self._candidate.provider}.api_key"]
        tried = next(filter(self._key, allowed), "")
        set_variable = next((name for name in (*allowed, own) if self._environ.get(name, "").strip()), "")
        if tried:
            return tr("found.key_refused", variable=tried)
        if set_variable and not self._key(set_variable):
            return tr("found.key_unusable", variable=set_variable)
        if allowed:
            return tr("found.key_missing", variable=allowed[0])
        how = {"variable": own, "provider": self._candidate.provider, "url": self._candidate.base_url}
        return tr("found.key_withheld", **how) if set_variable else tr("found.key_needs_both", **how)


def _url(base_url: str, path: str) -> str:
    """Where `path` is. What begins with /v1 is below the root of the OpenAI-compatible interface, wherever a gateway
    has put that."""
    root, compatible = server_root(base_url), api_root(base_url)
    if not path.startswith("/v1/") or compatible.startswith(f"{root}/api/"):
        return root + path
    return compatible + path.removeprefix("/v1")


def _with_host(base_url: str, host: str) -> str:
    """The address as it was written; with the host that answers where that is not what localhost means everywhere."""
    if host != "::1" or "://" not in base_url:
        return base_url
    parts = urlsplit(base_url)
    port = "" if parts.port is None else f":{parts.port}"
    return parts._replace(netloc=f"[::1]{port}").geturl()


def _strange(said: str) -> str:
    words = _in_a_line(said)[:80]
    return tr("found.not_http", said=words) if words else tr("found.closes")


def _reason(error: OSError) -> str:
    """Why nobody could be reached, in the system's words."""
    if isinstance(error, ConnectionRefusedError):
        return tr("found.refused")
    return _in_a_line(os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error))


def _in_a_line(text: str) -> str:
    return clean(short_reason(text), keep_newlines=False)
