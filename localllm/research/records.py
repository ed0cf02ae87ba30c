"""The records of a research run: sources, evidence, draft, claims, verdicts, and the state that contains them.

Ids are assigned in order of appearance and never reused: sources S1, S2 …, evidence E1, E2 …, sentences T1 …, claims C1
….
"""

from typing import Literal

import msgspec

from localllm.base.events import Json

Stage = Literal["normalise", "queries", "search", "process", "draft", "validate", "control", "finalise"]
STAGES: tuple[Stage, ...] = ("normalise", "queries", "search", "process", "draft", "validate", "control", "finalise")
"""The stages in order; from `control` a run continues with `search` or `finalise`."""

Purpose = Literal["viewpoint", "more_sources", "primary_source", "counter_evidence", "second_source", "gap"]


class Remark(msgspec.Struct, frozen=True):
    """A message for the user, stored as English template with parameters and translated when shown."""

    text: str
    params: dict[str, Json] = {}
    plural: str = ""
    """The plural form; `params["count"]` selects it."""


class Brief(msgspec.Struct, frozen=True):
    """The analysed question: its text, the points an answer must cover, its entities and time."""

    question: str
    language: str
    """Of the report: "ja" or "en"."""
    needs: tuple[str, ...] = ()
    """The points an answer must cover, a line each."""
    entities: tuple[str, ...] = ()
    period: str = ""


class Query(msgspec.Struct, frozen=True):
    """A query as sent (masked), its purpose, and its round (0: before the first draft)."""

    text: str
    purpose: Purpose = "viewpoint"
    round: int = 0
    claim: str = ""
    """The claim to settle; empty for none."""
    local: bool = False
    """It may contain content of the user's documents: only these are searched with it."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A page or a local document. Its full text is in the run's store under `text_hash`."""

    id: str
    url: str
    """The unmasked address; for a local document its path."""
    title: str = ""
    site: str = ""
    """The host, which decides independence; for a local document its path."""
    local: bool = False
    snippet: str = ""
    """The description in the search result."""
    queries: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    round: int = 0
    state: Literal["found", "read", "failed"] = "found"
    problem: Remark | None = None
    """Why it could not be read."""
    accessed: str = ""
    """When it was read: ISO 8601 with the time zone."""
    text_hash: str = ""
    characters: int = 0
    copy_of: str = ""
    """The id of a source with nearly the same text; both count once."""


class Evidence(msgspec.Struct, frozen=True):
    """Whole sentences of a source's stored text: `text` is that text at start:end, never a model's wording."""

    id: str
    source: str
    start: int
    end: int
    text: str
    round: int = 0


class Sentence(msgspec.Struct, frozen=True):
    """A sentence of the draft, without citation marks, and the evidence it cites."""

    id: str
    text: str
    evidence: tuple[str, ...] = ()
    frozen: bool = False
    """All its claims are supported, so it is not changed any more."""
    begins: Literal["", "paragraph", "item"] = ""
    """Whether a paragraph or a list item starts with it."""


class Section(msgspec.Struct, frozen=True):
    """A section of the report."""

    heading: str
    evidence: tuple[str, ...] = ()
    """The evidence it may cite."""
    sentences: tuple[Sentence, ...] = ()


Label = Literal["supported", "partial", "contradicted", "not_found", "not_verified"]


class Verdict(msgspec.Struct, frozen=True):
    """The verdict on a claim. `supported` requires a model's answer whose quote was found in the evidence."""

    label: Label
    by: Literal["mechanics", "model"]
    reason: Remark | None = None
    quote: str = ""
    """The page's own words that decide it."""
    evidence: str = ""
    """The evidence with the quote; it must be among the citations of the claim's sentence."""


class Claim(msgspec.Struct, frozen=True):
    """An atomic statement of a sentence, checked separately."""

    id: str
    sentence: str
    text: str
    evidence: tuple[str, ...] = ()
    verdict: Verdict | None = None
    entity: str = ""
    attribute: str = ""
    period: str = ""
    taken_from: str = ""
    """The sentence when it was split; if the sentence changes, it is split and judged again."""


class Side(msgspec.Struct, frozen=True):
    """A position of some sources in a disagreement."""

    statement: str
    evidence: tuple[str, ...]
    sources: int = 1
    """Independent ones: copies count once."""


class Disagreement(msgspec.Struct, frozen=True):
    """Sources that contradict each other."""

    about: str
    sides: tuple[Side, ...]


class LedgerEntry(msgspec.Struct, frozen=True):
    """A point the next round must settle."""

    kind: Literal["not_found", "contradicted", "single_source", "gap"]
    subject: str
    """The claim's text, or the unanswered part of the question."""
    claim: str = ""
    tried: int = 0
    """Rounds in which it was searched for."""


class Unsupported(msgspec.Struct, frozen=True):
    """A claim removed from the draft because its citations do not support it."""

    text: str
    label: Label
    reason: Remark | None = None
    evidence: tuple[str, ...] = ()


class Patch(msgspec.Struct, frozen=True):
    """A change of one sentence; `after` is empty for a removed one, `before` for a new one."""

    round: int
    sentence: str
    before: str
    after: str
    reason: Remark


class Numbers(msgspec.Struct):
    """The cost of a run so far."""

    loops: int = 0
    requests: int = 0
    tokens: int = 0
    searches: int = 0
    cache_hits: int = 0
    pages: int = 0
    claims_checked: int = 0
    claims_dropped: int = 0
    """Failed claims no longer in the report, whether corrected or removed."""
    quotes_dropped: int = 0
    """The model's quotes that are not in the page, or differ from it."""
    sentences_dropped: int = 0
    """The model's sentences that cited no existing evidence."""
    citations_dropped: int = 0
    """The model's citations of unknown evidence."""
    seconds: float = 0.0
    model_seconds: float = 0.0
    """The part of `seconds` spent waiting for the model."""


class ResearchState(msgspec.Struct, kw_only=True):
    """The complete state of a run; saved after each stage, so that the run can be resumed."""

    id: str
    """YYYY-NNNN."""
    question: str
    today: str
    """The start date of the run, ISO 8601, the same in all its prompts."""
    language: str = "en"
    """Of the report."""
    task: str = ""
    """The id of its task; empty for none."""
    started: str = ""
    finished: str = ""
    """Start of the run and completion of its report: ISO 8601 with the time zone."""
    options: dict[str, Json] = {}
    """Its options, as in ResearchOptions; unchanged when it is resumed."""
    model: str = ""
    """The model used last."""
    next: Stage | Literal["done"] = "normalise"
    round: int = 0
    brief: Brief | None = None
    queries: list[Query] = []
    sources: list[Source] = []
    evidence: list[Evidence] = []
    title: str = ""
    sections: list[Section] = []
    claims: list[Claim] = []
    disagreements: list[Disagreement] = []
    ledger: list[LedgerEntry] = []
    unanswered: list[str] = []
    """Parts of the question that the report does not answer."""
    unsupported: list[Unsupported] = []
    patches: list[Patch] = []
    remarks: list[Remark] = []
    """Notes for the reader on how the report was made, shown under "Limits"."""
    partial: bool = False
    barren_rounds: int = 0
    """Consecutive rounds without a new independent source."""
    given: dict[str, int] = {}
    """The last number assigned for each kind of id."""
    numbers: Numbers = msgspec.field(default_factory=Numbers)

    def new_id(self, kind: Literal["S", "E", "T", "C"]) -> str:
        """Assign the next id of a kind."""
        self.given[kind] = self.given.get(kind, 0) + 1
        return f"{kind}{self.given[kind]}"

    def source(self, name: str) -> Source:
        """Return the source with this id. Raises KeyError."""
        return {one.id: one for one in self.sources}[name]

    def evidence_named(self, name: str) -> Evidence:
        """Return the evidence with this id. Raises KeyError."""
        return {one.id: one for one in self.evidence}[name]
