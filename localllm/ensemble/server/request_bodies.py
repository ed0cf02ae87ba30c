"""Read and validate JSON requests, with precise errors."""

import json
import re
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request

from localllm.base.i18n import Phrase
from localllm.base.jsontext import decode_json
from localllm.base.lazy_patterns import late_pattern
from localllm.ensemble.records import StrategyName
from localllm.ensemble.server.limits import header, read_body
from localllm.ensemble.server.options import ServerOptions
from localllm.ensemble.server.refusals import RefusalError

T = TypeVar("T")

VISIBLE = "[^\\x00-\\x20\\x7f-\\xa0\\u00ad\\u1680\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u3000\\ufeff]"
"""A visible character (no white space or control), as a pattern for both JSON Schema and Python."""

CONVERSATION_ID = "^[A-Za-z0-9._:-]{0,128}$(?!\\n)"

Text = Annotated[str, Meta(extra_json_schema={"pattern": VISIBLE})]
"""A text that is not blank."""

_VISIBLE = late_pattern(VISIBLE)
_BOM = b"\xef\xbb\xbf"
_MOST_REASON = 300  # characters
_JSON_TYPE = late_pattern(r"\s*(?:application|text)/(?:[\w.+-]+\+)?json\s*(?:;.*)?", re.IGNORECASE | re.DOTALL)


class GenerateRequest(Struct, frozen=True, kw_only=True):
    """A question for the ensemble."""

    prompt: Annotated[Text, Meta(description="The question.", examples=["Why is the sky blue?"])]
    conversation_id: Annotated[
        Annotated[str, Meta(pattern=CONVERSATION_ID)] | None,
        Meta(
            description="Makes the question a turn of this conversation, a new one where it is not known; "
            "an empty text begins one under an id of the server's. `runtime` has the id.",
            examples=["trip-to-paris"],
        ),
    ] = None
    strategy: Annotated[
        StrategyName | None,
        Meta(description="How the answers become one, in place of the configured strategy.", examples=["review"]),
    ] = None


async def read_request(request: Request, kind: type[T], options: ServerOptions, *, status: int = 422) -> T:
    """Read and decode the body of a request. Raises RefusalError: 400 for invalid JSON, `status` for a schema
    violation."""
    content_type = header(request.scope, b"content-type")
    if content_type and not _JSON_TYPE.fullmatch(content_type):
        raise RefusalError("api_no_json_type", status=415, given=content_type[:_MOST_REASON])
    body = (await read_body(request.scope, request.receive, options)).removeprefix(_BOM)
    try:
        return decode_json(body, kind)
    except msgspec.ValidationError as error:
        reason = _fault_in(error, kind)
        raise RefusalError("api_bad_request", status=status, reason=reason, param=_place(error)) from error
    except msgspec.DecodeError as error:
        raise RefusalError("api_bad_json", status=400, reason=_fault_of(body, error)) from error


def is_blank(text: str) -> bool:
    """Whether a text has no visible character."""
    return _VISIBLE.search(text) is None


def _reason(error: Exception) -> str:
    return str(error).rstrip(".")[:_MOST_REASON]


def _fault_in(error: msgspec.ValidationError, kind: type[Any]) -> str | Phrase:
    """Explain why a body is not of this kind; for a field with few possible values, with those."""
    hint = get_type_hints(kind).get(_place(error) or "")
    values = [str(value) for one in (hint, *get_args(hint)) if get_origin(one) is Literal for value in get_args(one)]
    reason = _reason(error)
    return Phrase("{reason}; it must be one of {values}", reason=reason, values=", ".join(values)) if values else reason


def _place(error: msgspec.ValidationError) -> str | None:
    """Return the path of the faulty field: `messages[0].content`."""
    found = re.search(r" - at `\$\.(.+)`$", str(error))
    return found[1] if found else None


def _fault_of(body: bytes, error: Exception) -> str | Phrase:
    """Explain why the JSON is not usable; msgspec has no message for lone surrogates."""
    if not body.strip():
        return Phrase("It is empty")
    try:
        json.loads(body)
    except UnicodeDecodeError:
        return Phrase("It is not UTF-8")
    except RecursionError:
        return Phrase("It is nested too deeply")
    except ValueError:
        return _reason(error)
    return Phrase("It has half of a surrogate pair (\\ud800 to \\udfff), which is no character")
