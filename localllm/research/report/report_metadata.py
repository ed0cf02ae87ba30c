"""The statistics of a run: write and read the `.meta.yaml` beside a report.

Each line is a key with a JSON value; since YAML contains JSON, any YAML parser can read it.
"""

from pathlib import Path
from typing import Literal

import msgspec

from localllm.base.errors import LocalLLMError, ResearchError
from localllm.base.events import Json
from localllm.base.i18n import Phrase
from localllm.base.jsontext import encode_json
from localllm.base.regular_files import read_regular
from localllm.research.records import ResearchState

_LARGEST = 1_000_000  # bytes of a file


class ReportMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata of a run in the history."""

    task_id: str
    """The id of its task, else its own."""
    status: Literal["success", "failed"]
    start_at: str
    finish_at: str
    """ISO 8601 with the time zone."""
    duration: float
    """Seconds of work, over all sessions."""
    model: str
    loops: int
    """Rounds of checking."""
    sources: int
    """Pages and documents read."""
    error: str | None = None
    """Why it failed; it can be resumed."""
    run_id: str
    title: str = ""
    question: str = ""
    language: str = ""
    partial: bool = False
    queries: int = 0
    sources_cited: int = 0
    claims_checked: int = 0
    claims_dropped: int = 0
    sentences_dropped: int = 0
    citations_dropped: int = 0
    quotes_dropped: int = 0
    unanswered: int = 0
    disagreements: int = 0
    requests: int = 0
    tokens: int = 0
    searches: int = 0
    cache_hits: int = 0
    pages: int = 0
    seconds: float = 0.0
    model_seconds: float = 0.0
    """The part of `seconds` spent waiting for the model."""


def metadata_of(state: ResearchState, *, cited: int = 0, error: LocalLLMError | None = None) -> ReportMetadata:
    """Extract the metadata of a state."""
    numbers = state.numbers
    seconds = round(numbers.seconds, 3)
    return ReportMetadata(
        task_id=state.task or state.id,
        status="failed" if error else "success",
        start_at=state.started,
        finish_at=state.finished,
        duration=seconds,
        model=state.model,
        loops=numbers.loops,
        sources=sum(source.state == "read" for source in state.sources),
        error=f"{error.code}: {error.what}" if error else None,
        run_id=state.id,
        title=state.title,
        question=state.question,
        language=state.language,
        partial=state.partial,
        queries=len(state.queries),
        sources_cited=cited,
        claims_checked=numbers.claims_checked,
        claims_dropped=numbers.claims_dropped,
        sentences_dropped=numbers.sentences_dropped,
        citations_dropped=numbers.citations_dropped,
        quotes_dropped=numbers.quotes_dropped,
        unanswered=len(state.unanswered),
        disagreements=len(state.disagreements),
        requests=numbers.requests,
        tokens=numbers.tokens,
        searches=numbers.searches,
        cache_hits=numbers.cache_hits,
        pages=numbers.pages,
        seconds=seconds,
        model_seconds=round(numbers.model_seconds, 3),
    )


def to_yaml(metadata: ReportMetadata) -> str:
    """Serialise the metadata as YAML, a line per field."""
    values: dict[str, Json] = msgspec.to_builtins(metadata)
    return "".join(f"{name}: {_scalar(value)}\n" for name, value in values.items())


def read_metadata(file: Path) -> ReportMetadata:
    """Read the metadata of a file. Invalid lines and unknown keys are skipped.

    Raises ResearchError (research_damaged) if it is unreadable or a required field is missing.
    """
    run = file.name.removeprefix("report-").removesuffix(".meta.yaml")
    try:
        lines = read_regular(file, _LARGEST).decode().splitlines()
        values = dict(_read_line(line) for line in lines if ": " in line and not line.lstrip().startswith("#"))
        return msgspec.convert(values, ReportMetadata)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ResearchError("research_damaged", id=run, file=file, reason=reason) from error
    except UnicodeDecodeError as error:
        raise ResearchError("research_damaged", id=run, file=file, reason=Phrase("It is not UTF-8")) from error
    except msgspec.ValidationError as error:
        raise ResearchError("research_damaged", id=run, file=file, reason=str(error)) from error


def _read_line(line: str) -> tuple[str, Json]:
    """Parse a key and its value; an unquoted value is a text."""
    name, _, written = line.partition(": ")
    try:
        value: Json = msgspec.json.decode(written)
    except msgspec.DecodeError:
        value = written.strip().strip("'")
    return name.strip(), value


def _scalar(value: Json) -> str:
    """Serialise to JSON that is also YAML: line and paragraph separators and control characters are escaped."""
    text = encode_json(value).decode()
    return "".join(f"\\u{ord(one):04x}" if _is_unprintable(one) else one for one in text)


def _is_unprintable(sign: str) -> bool:
    code = ord(sign)
    return 0x7F <= code < 0xA0 or code in (0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF) or 0xD800 <= code < 0xE000
