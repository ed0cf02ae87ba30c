"""What a research run works on: sources, evidence, the draft, claims and verdicts, and the one state that holds them.

Ids are given at first sight and never used again: sources S1, S2 …, evidence E1, E2 …, sentences T1 …, claims C1 ….
"""

from typing import Literal

import msgspec

from localllm.base.events import Json

Stage = Literal["normalise", "queries", "search", "process", "draft", "validate", "control", "finalise"]
STAGES: tuple[Stage, ...] = ("normalise", "queries", "search", "process", "draft", "validate", "control", "finalise")
"""The stages in the order they are run; from `control` a run goes back to `search` or on to `finalise`."""

Purpose = Literal["viewpoint", "more_sources", "primary_source", "counter_evidence", "second_source", "gap"]


class Remark(msgspec.Struct, frozen=True):
    """A sentence for the user, kept as its English template and parameters and translated when it is shown."""

    text: str
    params: dict[str, Json] = {}
    plural: str = ""
    """The form for several; `params["count"]` decides."""


class Brief(msgspec.Struct, frozen=True):
    """What is asked: the question as it was typed, the parts an answer has to have, whom and when it is about."""

    question: str
    language: str
    """Of the report: "ja" or "en"."""
    needs: tuple[str, ...] = ()
    """What would count as an answer, a line each."""
    entities: tuple[str, ...] = ()
    period: str = ""


class Query(msgspec.Struct, frozen=True):
    """A query as it left this machine (masked), why it was made, and in which round (0: before the first draft)."""

    text: str
    purpose: Purpose = "viewpoint"
    round: int = 0
    claim: str = ""
    """The claim it is to settle; empty where it is about none."""
    local: bool = False
    """It may tell what a document of the user's own says: only these are searched with it."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A page or a local document. Its whole text is in the run's store under `text_hash`."""

    id: str
    url: str
    """Where it was found, never masked; for a local document its path."""
    title: str = ""
    site: str = ""
    """The host, by which sources count as independent; for a local document its path."""
    local: bool = False
    snippet: str = ""
    """What the search said of it."""
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
    """Whole sentences of a source's stored text: `text` is that text at start:end, never a model's words."""

    id: str
    source: str
    start: int
    end: int
    text: str
    round: int = 0


class Sentence(msgspec.Struct, frozen=True):
    """A sentence of the draft, without marks of citation, and the evidence it cites."""

    id: str
    text: str
    evidence: tuple[str, ...] = ()
    frozen: bool = False
    """All its claims are supported: nothing changes it any more."""
    begins: Literal["", "paragraph", "item"] = ""
    """Whether a paragraph or an item of a list begins with it."""


class Section(msgspec.Struct, frozen=True):
    """A section of the report."""

    heading: str
    evidence: tuple[str, ...] = ()
    """What it may cite."""
    sentences: tuple[Sentence, ...] = ()


Label = Literal["supported", "partial", "contradicted", "not_found", "not_verified"]


class Verdict(msgspec.Struct, frozen=True):
    """What became of a claim. Only a model's answer whose quote was found again makes it `supported`."""

    label: Label
    by: Literal["mechanics", "model"]
    reason: Remark | None = None
    quote: str = ""
    """The page's own words that decide it."""
    evidence: str = ""
    """Where that quote is; it must be among what the claim's sentence cites."""


class Claim(msgspec.Struct, frozen=True):
    """One thing that a sentence says, checked by itself."""

    id: str
    sentence: str
    text: str
    evidence: tuple[str, ...] = ()
    verdict: Verdict | None = None
    entity: str = ""
    attribute: str = ""
    period: str = ""
    taken_from: str = ""
    """The sentence as it was then: one that reads otherwise now is taken apart and judged anew."""


class Side(msgspec.Struct, frozen=True):
    """What some sources say in a disagreement."""

    statement: str
    evidence: tuple[str, ...]
    sources: int = 1
    """Independent ones: copies count once."""


class Disagreement(msgspec.Struct, frozen=True):
    """Sources that say different things of the same."""

    about: str
    sides: tuple[Side, ...]


class LedgerEntry(msgspec.Struct, frozen=True):
    """Something the next round has to settle."""

    kind: Literal["not_found", "contradicted", "single_source", "gap"]
    subject: str
    """The claim's text, or the part of the question that has no answer."""
    claim: str = ""
    tried: int = 0
    """Rounds in which it was searched for."""


class Unsupported(msgspec.Struct, frozen=True):
    """A claim of the draft that was taken out, since what it cites does not support it."""

    text: str
    label: Label
    reason: Remark | None = None
    evidence: tuple[str, ...] = ()


class Patch(msgspec.Struct, frozen=True):
    """A change of one sentence; `after` is empty where it was taken out, `before` where it is new."""

    round: int
    sentence: str
    before: str
    after: str
    reason: Remark


class Numbers(msgspec.Struct):
    """What a run has cost so far."""

    loops: int = 0
    requests: int = 0
    tokens: int = 0
    searches: int = 0
    cache_hits: int = 0
    pages: int = 0
    claims_checked: int = 0
    claims_dropped: int = 0
    """Claims that did not stand and are not in the report any more, whether put right or taken out."""
    quotes_dropped: int = 0
    """Quotes of the model that are not in the page, or differ from it."""
    sentences_dropped: int = 0
    """Sentences of the model that cited no evidence there is."""
    citations_dropped: int = 0
    """Citations of the model of evidence there is not."""
    seconds: float = 0.0
    model_seconds: float = 0.0
    """Of `seconds`, those in which the model was waited for."""


class ResearchState(msgspec.Struct, kw_only=True):
    """Everything a run knows; saved after each stage, so that it can go on from there."""

    id: str
    """YYYY-NNNN."""
    question: str
    today: str
    """The date the run began, ISO 8601; every prompt of it says the same."""
    language: str = "en"
    """Of the report."""
    task: str = ""
    """The id of the task it was run for; empty where it was for none."""
    started: str = ""
    finished: str = ""
    """When the run began and when its report was made: ISO 8601 with the time zone."""
    options: dict[str, Json] = {}
    """How it is done, as ResearchOptions has it; the same when it is taken up again."""
    model: str = ""
    """The model that worked on it last."""
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
    """What the reader of the report should know of how it came about, shown under "Limits"."""
    partial: bool = False
    barren_rounds: int = 0
    """Rounds in a row without a new independent source."""
    given: dict[str, int] = {}
    """The last number given of each kind of id."""
    numbers: Numbers = msgspec.field(default_factory=Numbers)

    def new_id(self, kind: Literal["S", "E", "T", "C"]) -> str:
        """Give the next id of a kind."""
        self.given[kind] = self.given.get(kind, 0) + 1
        return f"{kind}{self.given[kind]}"

    def source(self, name: str) -> Source:
        """The source with this id. Raises KeyError."""
        return {one.id: one for one in self.sources}[name]

    def evidence_named(self, name: str) -> Evidence:
        """The evidence with this id. Raises KeyError."""
        return {one.id: one for one in self.evidence}[name]
