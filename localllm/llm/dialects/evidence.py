"""What an error or an answer tells of the dialect it came in."""

import re

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.patterns import late_pattern
from localllm.llm.dialects.base import DialectName

_OF_REQUESTS = frozenset({"llm_bad_request", "llm_server_failed", "llm_parameter_refused"})

_ABOUT_TOOLS = late_pattern(r"\btools?\b|tool.?c(?:all|hoice)|function.?call|jinja|chat.?template", re.IGNORECASE)
"""What servers speak of in refusing tools: vLLM without a parser for them ("auto" tool choice requires …), llama.cpp
without --jinja, a chat template that knows no tools."""

_ABOUT_SCHEMAS = late_pattern(r"grammar|schema|response.?format|structured|guided|\bformat\b", re.IGNORECASE)


def refuses(error: LLMConnectionError, dialect: DialectName) -> bool:
    """Whether `error` says that the server, or the model, cannot be spoken to in `dialect` at all."""
    if dialect == "native" and error.key == "llm_no_tools":
        return True
    if dialect == "text" or error.key not in _OF_REQUESTS:
        return False
    subject = _ABOUT_TOOLS if dialect == "native" else _ABOUT_SCHEMAS
    return subject.search(_words(error)) is not None


def refuses_schema(error: LLMConnectionError) -> bool:
    """Whether `error` says that the server, or the model, cannot be held to the schema of an answer."""
    return error.key in _OF_REQUESTS and _ABOUT_SCHEMAS.search(_words(error)) is not None


def is_readable(arguments: str) -> bool:
    """Whether arguments of a call are what they must be, a JSON object; nothing at all is none."""
    try:
        return not arguments.strip() or isinstance(msgspec.json.decode(arguments), dict)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False


def _words(error: LLMConnectionError) -> str:
    return f"{error.params.get('parameter', '')} {error.params.get('reason', '')}"
