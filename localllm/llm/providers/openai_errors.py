"""Interpret the failures of OpenAI-compatible servers, Azure and Ollama."""

import difflib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar, cast

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.events import Json
from localllm.base.jsontext import decode_json
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.http.messages import without_secrets
from localllm.llm.overflow import Overflow, read_overflow, short_reason


def filtered_in(error: dict[str, Json]) -> str:
    """Return the categories in a content filter error. Its fields are spelled with or without "_" and "s"."""
    inner: Any = error.get("innererror") or error.get("inner_error")
    match inner:
        case {"content_filter_result": results} | {"content_filter_results": results}:
            return filtered_categories(results)
        case _:
            return ""


def filtered_categories(results: Json) -> str:
    """Return the filtered categories with their severity: "violence (medium), jailbreak"."""
    if not isinstance(results, dict):
        return ""
    verdicts = cast("dict[str, Any]", results).items()
    return ", ".join(filter(None, (_category(name, verdict) for name, verdict in verdicts)))


def _category(name: str, verdict: Any) -> str:
    match verdict:
        case {"filtered": True, "severity": str(severity)}:
            return f"{name} ({severity})"
        case {"filtered": True}:
            return name
        case _:
            return ""


_DEFAULT_WAIT = 2.0

_LONGEST_TOLD = 7 * 86_400.0
"""Maximum retry delay in seconds: no quota period exceeds a week, so a longer one is a server error."""

BLANK = b" \t\r\n\xef\xbb\xbf"
"""White space, and the bytes of a UTF-8 byte order mark, which may precede a body."""

_BAD_CALL = late_pattern(
    r"failed to parse input|fail\w* to parse .{0,20}tool.?call|error parsing tool.?call"
    r"|output that does not match the expected",
    re.IGNORECASE,
)
"""Messages of llama.cpp, LM Studio and Ollama about their own model's output.
The rest of the message quotes the model, which may match any of the patterns below."""

_LOADING = late_pattern(
    r"loading (the )?model|(the )?model .{0,80}\bis (still |currently )?(being loaded|loading)", re.IGNORECASE
)
"""Only matched at the beginning of a message: later it is about a model that could not be loaded."""

_NO_MODEL = late_pattern(
    r"model_not_found|model.{0,80}(not found|does not exist|not exist|not loaded|is not available)|no models? loaded"
    r"|failed to load model|unknown model",
    re.IGNORECASE | re.DOTALL,
)
_NO_TOOLS = late_pattern(
    r"does not support (tools|tool|function)|function calling is not (enabled|supported)"
    r"|unsupported parameter: '?(tools|functions|tool_choice)",
    re.IGNORECASE,
)
_NO_THINKING = late_pattern(
    r"does not support thinking|think value .{0,60}not supported|thinking is not (enabled|supported)"
    r"|include_?thoughts is only enabled",
    re.IGNORECASE,
)
_NO_IMAGES = (
    r"(does|do)( not|n't) support (image|vision|visual|multi.?modal)|not a multi.?modal|at most \d+ image"
    r"|\b(image_url|image( input)?s?)\b (content )?((is|are) )?(not|only) supported|that support image"
    r"|missing data required for image|vision model not found|unknown variant .?image_url|provide the mmproj"
    r"|not compiled for multimodal|not configured with a mmproj"
)
"""Messages of llama.cpp without --mmproj, Ollama, LM Studio, OpenAI and Azure, vLLM, gateways.
Compiled on first use, like the next pattern: most sessions see no such error."""

_UNREADABLE_IMAGE = (
    r"failed to (load|decode|process) .{0,12}image|image: unknown format|cannot identify image|loaded image state"
    r"|(invalid|unsupported|could not process|unable to (process|decode)) (the )?(input )?image"
    r"|must be a base64 encoded image"
)
_PARAMETER = late_pattern(
    r"(?:unsupported (?:parameter|value)|unrecognized request argument supplied): ?'?(\w+)", re.IGNORECASE
)
_SIGNATURE = late_pattern(r"thought.?signature", re.IGNORECASE)
_DURATION = late_pattern(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)s)?(?:([\d.]+)ms)?")

_HALF = "truncated"
"""msgspec's message for a JSON text that ends too early."""

_CLIENT_CLOSED = 499
"""Status of nginx and Ollama for a request whose client left. To a client still there, the answer was cut."""

T = TypeVar("T")


class ServerError(msgspec.Struct, frozen=True):
    """An error in the server's words."""

    message: str
    code: str = ""
    details: dict[str, Json] = {}
    """The error's other fields."""


def error_in(data: Any) -> ServerError | None:
    """Return the error in a decoded response of any form, or None."""
    match data:
        case [first, *_] if not isinstance(first, list):
            return error_in(first)
        case {"error": {"message": message, **rest}}:
            return ServerError(str(message), f"{rest.get('code') or ''} {rest.get('type') or ''}".strip(), rest)
        case {"error": str(error), "signin_url": str(url)}:
            return ServerError(f"{error}; sign in at {url}")
        case {"error": error} if error:
            return ServerError(error if isinstance(error, str) else msgspec.json.encode(error).decode())
        case {"message": str(message), **rest} if "choices" not in rest:
            return ServerError(message, f"{rest.get('code') or ''} {rest.get('type') or ''}".strip())
        case {"detail": detail} if detail:
            return ServerError(str(detail))
        case _:
            return None


class ErrorReader:
    """Creates LLMConnectionErrors from one server's failures. These may repeat the key: no error has any `secrets`."""

    secrets: Sequence[str] = ()

    def __init__(self, provider: str, url: str, key_variable: str) -> None:
        self._provider = provider
        self._url = url
        self._key_variable = key_variable or "OPENAI_API_KEY"

    def guard(self, parse: Callable[[], T], *, at_end: bool = False) -> T:
        """Return the result of `parse`.
        Invalid data raise llm_malformed, but JSON truncated `at_end` of an answer raises llm_cut."""
        try:
            return parse()
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            if at_end and _HALF in str(error):
                raise self.cut() from error
            raise self._make("llm_malformed", reason=short_reason(str(error)), retryable=True) from error

    def refuse_html(self, body: bytes) -> None:
        """Raise llm_malformed if `body`, of status 200, is a web page."""
        if body.lstrip(BLANK).startswith(b"<"):
            words = _without_tags(body.decode("utf-8", errors="replace"))
            raise self._make("llm_malformed", reason=short_reason(f"it is a web page (HTML): {self._hidden(words)}"))

    def of_status(self, status: int, headers: dict[str, str], body: bytes) -> LLMConnectionError:
        """Interpret a response with `status` ≥ 300. It is not retryable if the server says so in the header
        x-should-retry, as in OpenAI's clients: an ensemble has already retried its models."""
        error = self._of_status(status, headers, self._error_in(body))
        told = {name.lower(): value for name, value in headers.items()}.get("x-should-retry", "")
        error.retryable = error.retryable and told.strip().lower() != "false"
        return error

    def _of_status(self, status: int, headers: dict[str, str], error: ServerError) -> LLMConnectionError:
        reason = sentence(error.message)
        match status:
            case _ if status < 400:
                place = {name.lower(): value for name, value in headers.items()}.get("location", "nowhere")
                place = self._hidden(place)
                return self._make("llm_malformed", reason=short_reason(f"it redirects to {place} (HTTP {status})"))
            case 401 | 403:
                return self._make("llm_unauthorized", status=status, reason=reason, variable=self._key_variable)
            case 413:
                return self._overflow(reason, read_overflow(error.message, error.details) or Overflow())
            case 429 if self._is_spent(error):
                return self._make("llm_quota_spent", reason=reason)
            case 429:
                wait = self._wait(error, headers)
                return self._make(
                    "llm_rate_limited", reason=reason, seconds=wait or _DEFAULT_WAIT, retryable=True, retry_after=wait
                )
            case _ if known := self._of_words(error):
                return known
            case _ if status >= 500 or status in (408, _CLIENT_CLOSED):
                return self._make(
                    "llm_server_failed",
                    status=status,
                    reason=reason,
                    retryable=True,
                    retry_after=_retry_after(headers),
                )
            case _:
                return self._make("llm_bad_request", status=status, reason=reason)

    def of_stream(self, body: bytes) -> LLMConnectionError:
        """Interpret an error inside a response of status 200.
        Its field `should_retry` corresponds to the header x-should-retry."""
        error = self._error_in(body)
        meaning = self._of_stream(error)
        meaning.retryable = meaning.retryable and error.details.get("should_retry") is not False
        return meaning

    def _of_stream(self, error: ServerError) -> LLMConnectionError:
        if known := self._of_words(error):
            return known
        if "unexpected endpoint" in f"{error.code} {error.message}".lower():
            return self._make("llm_malformed", reason=short_reason(error.message))
        return self._make("llm_server_failed", status=200, reason=sentence(error.message), retryable=True)

    def _is_spent(self, error: ServerError) -> bool:
        """Return whether an error of status 429 cannot be resolved by a short wait."""
        return "insufficient_quota" in error.code

    def _wait(self, error: ServerError, headers: dict[str, str]) -> float | None:
        """Return the retry delay in seconds of an error of status 429, or None if not given."""
        wait = _retry_after(headers)
        return _tokens_reset(headers) if wait is None else wait

    def _of_words(self, error: ServerError) -> LLMConnectionError | None:
        """Interpret the error's message regardless of its status; None if it is not recognised."""
        said = f"{error.code} {error.message}"
        reason = sentence(error.message)
        if "content_filter" in error.code:
            return self.filtered(": ".join(filter(None, (filtered_in(error.details), error.message))))
        if _BAD_CALL.search(said):
            return self.bad_call(error.message)
        if overflow := read_overflow(said, error.details):
            return self._overflow(reason, overflow)
        if _LOADING.match(error.message):
            return self._make("llm_loading", reason=reason, retryable=True)
        if re.search(_NO_IMAGES, said, re.IGNORECASE):
            return self._make("llm_no_images", reason=reason)
        if re.search(_UNREADABLE_IMAGE, said, re.IGNORECASE):
            return self._make("llm_image_unreadable", reason=reason)
        if _NO_TOOLS.search(said):
            return self._make("llm_no_tools", model="", reason=reason, available="?")
        if _NO_THINKING.search(said):
            return self._make("llm_no_thinking", reason=reason)
        if _NO_MODEL.search(said):
            return self._make("llm_model_not_found", model="", reason=reason, available="?")
        if _SIGNATURE.search(said):
            return self.no_signature(error.message)
        if refused := _PARAMETER.search(said):
            return self._make("llm_parameter_refused", parameter=refused[1].lower(), reason=reason)
        return None

    def _overflow(self, reason: str, told: Overflow) -> LLMConnectionError:
        return self._make("llm_context_overflow", reason=reason, n_prompt_tokens=told.n_prompt_tokens, n_ctx=told.n_ctx)

    def filtered(self, why: str) -> LLMConnectionError:
        """Create the error for an answer or prompt blocked by the content filter; `why` may be empty."""
        return self._make("llm_filtered", reason=sentence(why))

    def no_signature(self, message: str) -> LLMConnectionError:
        """Create the error for an earlier tool call that was sent without its thought signature."""
        return self._make("llm_no_signature", reason=sentence(message))

    def bad_call(self, message: str) -> LLMConnectionError:
        """Create the error for a tool call the server could not parse."""
        return self._make("llm_bad_call", reason=sentence(message), retryable=True)

    def no_embeddings(self, reason: str) -> LLMConnectionError:
        """Create the error for a server or model without embeddings; `reason` is a sentence."""
        return self._make("llm_no_embeddings", model="", reason=reason, available="?")

    def text_too_long(self, reason: str, model: str) -> LLMConnectionError:
        """Create the error for a text too long for the embedding model; `reason` is a sentence."""
        return self._make("llm_text_too_long", model=model, reason=reason)

    def bad_vectors(self, model: str, why: str) -> LLMConnectionError:
        """Create the error for unusable embeddings of `model`."""
        return self._make("llm_bad_vectors", model=model, reason=sentence(why))

    def naming(self, error: LLMConnectionError, model: str, available: list[str]) -> LLMConnectionError:
        """Return `error` of `model` with the names of the suitable models, most similar first."""
        nearest = nearest_names(model, available, 8)
        reason = error.params["reason"]
        return self._make(error.key, model=model, reason=reason, available=", ".join(nearest) or "—")

    def cut(self) -> LLMConnectionError:
        """Create the error for a stream that ended before the answer had."""
        return self._make("llm_cut", reason="the stream ended without a finish", retryable=True)

    def garbled(self, error: LLMConnectionError) -> LLMConnectionError:
        """Return the error for `error`, an llm_malformed, in the middle of an answer."""
        return self._make("llm_garbled", reason=error.params.get("reason", ""), retryable=error.retryable)

    def endless(self, most: int) -> LLMConnectionError:
        """Create the error for an answer of more than `most` bytes."""
        return self._make("llm_endless", most=most)

    def idle(self, seconds: float) -> LLMConnectionError:
        """Create the error for a pause of `seconds` in the middle of an answer."""
        return self._make("llm_idle", seconds=seconds)

    def _error_in(self, body: bytes) -> ServerError:
        error = _read_body(body)
        return ServerError(self._hidden(error.message), self._hidden(error.code), error.details)

    def _hidden(self, text: str) -> str:
        return without_secrets(text, self.secrets)

    def _make(
        self, key: str, *, retryable: bool = False, retry_after: float | None = None, **params: object
    ) -> LLMConnectionError:
        params = {name: self._hidden(value) if isinstance(value, str) else value for name, value in params.items()}
        return LLMConnectionError(
            key, retryable=retryable, retry_after=retry_after, url=self._url, provider=self._provider, **params
        )


_MOST_COMPARED, _LONGEST_NAME = 2_000, 200

_MOST_OF_PAGE = 20_000  # characters read of an HTML error page


def _read_body(body: bytes) -> ServerError:
    try:
        data = decode_json(body)
        return error_in(data) or ServerError(body.decode("utf-8", errors="replace") if data else "")
    except (msgspec.DecodeError, RecursionError):  # nesting that is shallow enough to decode can be too deep to convert
        return ServerError(_without_tags(body.decode("utf-8", errors="replace")))


def _without_tags(text: str) -> str:
    """Return the text of an HTML error page."""
    text = text[:_MOST_OF_PAGE]
    return " ".join(re.sub(r"<(script|style).{0,9999}?</\1>|<[^<>]*>", " ", text, flags=re.DOTALL).split())


def _retry_after(headers: dict[str, str]) -> float | None:
    """Return the requested retry delay in seconds: retry-after-ms, else retry-after (seconds or an HTTP date)."""
    lowered = {name.lower(): value for name, value in headers.items()}
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(lowered[name]) * scale
        except (KeyError, ValueError):
            continue
        if not math.isnan(seconds):
            return _within_reason(seconds)
    if date := lowered.get("retry-after"):
        return _seconds_until(date)
    return None


def _tokens_reset(headers: dict[str, str]) -> float | None:
    """Return the seconds until the token limit resets: Azure sends a number, OpenAI e.g. 6m0.5s or 20ms."""
    text = {name.lower(): value for name, value in headers.items()}.get("x-ratelimit-reset-tokens", "").strip()
    try:
        return max(0.0, float(text))
    except ValueError:
        return duration_seconds(text)


def duration_seconds(text: str) -> float | None:
    """Parse a duration such as 0.5s, 1m30s or 20ms into seconds; None if it is invalid."""
    found = _DURATION.fullmatch(text)
    if not found or not any(found.groups()):
        return None
    try:
        hours, minutes, seconds, thousandths = (float(number or 0) for number in found.groups())
    except ValueError:
        return None
    return hours * 3600 + minutes * 60 + seconds + thousandths / 1000


def _seconds_until(http_date: str) -> float | None:
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        return _within_reason((parsedate_to_datetime(http_date) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _within_reason(seconds: float) -> float:
    return min(max(0.0, seconds), _LONGEST_TOLD)


def nearest_names(wanted: str, offered: Iterable[str], most: int) -> list[str]:
    """Return the model names most similar to `wanted`, from the first ones of a huge list, without overlong ones."""
    names = islice((name for name in offered if len(name) <= _LONGEST_NAME), _MOST_COMPARED)
    return difflib.get_close_matches(wanted, list(names), n=most, cutoff=0)


def sentence(text: str) -> str:
    """Format the server's message as a sentence; empty if there is none."""
    short = short_reason(text)
    return short if short.endswith(("!", "?", "。")) or not short else f"{short}."
