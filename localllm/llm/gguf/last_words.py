"""Why the child process died: made out of how it ended and of what llama.cpp had said."""

import re
import signal
from collections.abc import Sequence

from localllm.base.errors import LLMConnectionError
from localllm.base.i18n import Phrase
from localllm.llm.reasons import short_reason

_ERROR = re.compile(r"^[\d.]+ E (?:[a-z]+ +)?(?P<said>.+)")
"""A line of llama.cpp's log that tells of an error: the time, the level, sometimes a part of the program."""

_TELLING = re.compile(
    r"error loading model: (?P<cause>.+)|(?P<memory>(insufficient memory|failed to allocate|out of memory).*)"
    r"|(?P<python>(?-i:\w*(Error|Exception)): .+)",
    re.IGNORECASE,
)
_ILLEGAL_INSTRUCTION = (-getattr(signal, "SIGILL", 4), 0xC000001D)
"""How a process ends that met an instruction its processor does not have: on POSIX, on Windows."""

_KILLED = -getattr(signal, "SIGKILL", 9)


def died(key: str, file: str, status: int, lines: Sequence[str]) -> LLMConnectionError:
    """The error `key` for a child that ended with `status` after it had said `lines`."""
    if status in _ILLEGAL_INSTRUCTION:
        return LLMConnectionError("gguf_no_avx2")
    reason = cause(lines)
    if status == _KILLED and not reason:
        return LLMConnectionError(key, file=file, reason=Phrase("gguf.killed"), advice=Phrase("gguf.mend_memory"))
    said = reason or _last_error(lines) or Phrase("gguf.ended", status=status)
    return LLMConnectionError(key, file=file, reason=said, advice=_advice(reason))


def cause(lines: Sequence[str]) -> str:
    """What was wrong, as the first line puts it that names a cause; empty where none does."""
    for line in lines:
        if found := _TELLING.search(line):
            return short_reason(next(filter(None, found.group("cause", "memory", "python"))))
    return ""


def _last_error(lines: Sequence[str]) -> str:
    """The last error llama.cpp told of, but not that it leaves on its account."""
    said = [found["said"] for line in lines if (found := _ERROR.match(line)) and "exiting" not in line]
    return short_reason(said[-1]) if said else ""


def _advice(reason: str) -> Phrase:
    match reason.lower():
        case text if "memory" in text or "allocate" in text:
            return Phrase("gguf.mend_memory")
        case text if "unknown model architecture" in text or "unknown pre-tokenizer" in text:
            return Phrase("gguf.mend_architecture")
        case text if "corrupted" in text or "file bounds" in text or "split" in text:
            return Phrase("gguf.mend_file")
        case _:
            return Phrase("gguf.mend_other")
