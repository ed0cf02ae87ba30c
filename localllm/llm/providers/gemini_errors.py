"""What the Gemini API's failures mean: google.rpc errors, with their particulars in a list of details."""

import re
from typing import Any, cast

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.llm.providers.openai_errors import BLANK, ErrorReader, ServerError, duration_seconds, error_in, sentence

_FIRST_FAILURE = 400
_RETRY_IN = re.compile(r"retry in ([\d.hms]+s)", re.IGNORECASE)
_NO_SCHEMA = re.compile(r"json mode is not (enabled|supported)", re.IGNORECASE)
_NO_IMAGES = re.compile(r"image input modality is not (enabled|supported)", re.IGNORECASE)
"""Both of models of other families, such as Gemma."""

_BAD_KEY = re.compile(r"API_KEY_INVALID|API key (not valid|not found|expired)", re.IGNORECASE)


class GeminiErrors(ErrorReader):
    """Makes LLMConnectionErrors of the failures of the Gemini API."""

    def of_stream(self, body: bytes) -> LLMConnectionError:
        """The meaning of an error inside an answer of status 200: it has the status it would have had before one."""
        error = error_in(msgspec.json.decode(body.strip(BLANK)))
        code = error.details.get("code") if error else None
        if isinstance(code, int) and code >= _FIRST_FAILURE:
            return self.of_status(code, {}, body)
        return super().of_stream(body)

    def _of_words(self, error: ServerError) -> LLMConnectionError | None:
        """As ever; but a bad key has status 400, and some models take no schema or no pictures."""
        reason = sentence(error.message)
        if _NO_SCHEMA.search(error.message):
            return self._make("llm_parameter_refused", parameter="responseJsonSchema", reason=reason)
        if _NO_IMAGES.search(error.message):
            return self._make("llm_no_images", reason=reason)
        reasons = [detail.get("reason", "") for detail in _details(error)]
        if _BAD_KEY.search(" ".join((error.message, *map(str, reasons)))):
            return self._make("llm_unauthorized", status=400, reason=reason, variable=self._key_variable)
        return super()._of_words(error)

    def _is_spent(self, error: ServerError) -> bool:
        """Whether it is the quota of a day: those of a minute pass."""
        violations = [found for detail in _details(error) for found in _dicts(detail.get("violations"))]
        return any("PerDay" in str(found.get("quotaId")) for found in violations)

    def _wait(self, error: ServerError, headers: dict[str, str]) -> float | None:
        """There is no header; the details say it, else the message."""
        delays = [str(detail["retryDelay"]) for detail in _details(error) if "retryDelay" in detail]
        told = _RETRY_IN.search(error.message)
        for delay in (*delays, told[1] if told else ""):
            if (seconds := duration_seconds(delay)) is not None:
                return seconds
        return super()._wait(error, headers)


def _details(error: ServerError) -> list[dict[str, Any]]:
    return _dicts(error.details.get("details"))


def _dicts(value: Any) -> list[dict[str, Any]]:
    """The objects in a list of JSON; none where it is no list."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]
