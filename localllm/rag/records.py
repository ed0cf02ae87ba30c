"""What the knowledge base hands out: collections, hits with their place, what an ingest did with each file."""

from collections.abc import Callable
from typing import Literal

import msgspec

from localllm.base.i18n import N_, Phrase

Home = Literal["user", "project", "server"]
"""Where a collection is kept: the user's data folder, his state folder for one project alone, a Qdrant server."""

PlaceKind = Literal["lines", "page", "row", "heading"]


class Place(msgspec.Struct, frozen=True):
    """Where in its file a chunk stands. Lines and rows count from 1 (the row of a CSV's head is none), `last` included;
    of a `heading` (docx, HTML) nothing but the title path is known."""

    kind: PlaceKind = "lines"
    first: int = 0
    last: int = 0


class Embedder(msgspec.Struct, frozen=True):
    """The model that made the vectors of a collection."""

    name: str
    """`provider:model`, such as ollama:bge-m3."""
    dimension: int
    query_prefix: str = ""
    passage_prefix: str = ""
    scripts: dict[str, float] = {}
    """How far it is to be trusted in a script (latin, japanese), from 0 (not at all) to 1."""
    similar: dict[str, float] = {}
    """The cosine from which on two texts in that script are about the same."""
    unrelated: dict[str, float] = {}
    """The cosine of two texts that have nothing to do with each other; 0 where it is not recorded."""


class Collection(msgspec.Struct, frozen=True, kw_only=True):
    """A collection as it was after its last ingest."""

    name: str
    home: Home
    description: str = ""
    """What it holds and when to search it; made by rule at ingest unless somebody has written one."""
    description_is_own: bool = False
    """Somebody has written it: no ingest changes it."""
    chunks: int = 0
    files: int = 0
    skipped: int = 0
    """Files that were found and not taken in; `KnowledgeBase.files` has the reasons."""
    embedder: Embedder | None = None
    """None: found by words alone (BM25)."""
    roots: tuple[str, ...] = ()
    """Absolute paths of what was ingested."""
    optimized: int = 0
    """Chunks there were when its indexes were built last."""
    average_terms: float = 0.0
    """Terms of a chunk in the mean, as BM25 counts with."""
    chunk_tokens: int = 0
    overlap: int = 0
    tokenizer: int = 0
    """`tokenising.VERSION` at the ingest."""
    chunker: int = 0
    schema: int = 0
    created: str = ""
    """ISO 8601 with the time zone, as `updated`."""
    updated: str = ""


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a file that is found by itself."""

    text: str
    headings: tuple[str, ...] = ()
    """The titles it stands under, the outermost first; of code the names of what it is in."""
    place: Place = Place()


class Scores(msgspec.Struct, frozen=True):
    """The parts of a hit's score."""

    total: float
    """Of the fused ranking, 0 to 1; of one collection's hits comparable with another's."""
    bm25: float = 0.0
    dense: float | None = None
    """Cosine of query and chunk; None where the collection has no vectors, or they were not used."""
    coverage: float = 0.0
    """How much of the query, its terms weighted by rarity, stands in the chunk: 0 to 1."""
    rerank: float | None = None
    """What the chat model gave it, 0 to 1; None where it was not asked."""


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A passage that answers a query; neighbouring chunks are one hit."""

    collection: str
    path: str
    """The absolute path of the file."""
    file: str
    """Its name for people and models: relative to the folder that was ingested, that folder's name in front."""
    text: str
    headings: tuple[str, ...] = ()
    place: Place = Place()
    scores: Scores

    @property
    def reference(self) -> str:
        """How it is cited: docs/setup.md:10-24, manual.pdf p.3, faq.csv row 12, rules.docx § Leave."""
        match self.place:
            case Place("lines", first, last):
                return f"{self.file}:{first}" if first == last else f"{self.file}:{first}-{last}"
            case Place("page", first, last):
                return f"{self.file} p.{first}" if first == last else f"{self.file} p.{first}-{last}"
            case Place("row", first, last):
                return f"{self.file} row {first}" if first == last else f"{self.file} rows {first}-{last}"
            case _:
                return f"{self.file} § {self.headings[-1]}" if self.headings else self.file


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a query: the best hit first, or none."""

    hits: tuple[Hit, ...] = ()
    searched: tuple[str, ...] = ()
    """The names of the collections that were searched."""
    elsewhere: tuple[str, ...] = ()
    """Where the collection that was named has nothing: others that have hits, the best first."""
    nearest: tuple[Hit, ...] = ()
    """Where nothing was found: passages below the floor that have some of the query's words. They need not be about it:
    where they are may be said, what they say is no answer."""
    remarks: tuple[Phrase, ...] = ()
    """What the user should know of the search, such as that another embedding model is set than the collection's."""


SkipReason = Literal[
    "empty",
    "binary",
    "encoding",
    "large",
    "unreadable",
    "closed",
    "changing",
    "pdf_missing",
    "pdf_encrypted",
    "pdf_broken",
    "pdf_slow",
    "pdf_pictures",
    "pdf_garbled",
    "pdf_pages",
    "docx_missing",
    "docx_broken",
    "docx_slow",
    "no_text_column",
    "bad_table",
]

_REASONS: dict[str, str] = {
    "empty": N_("there is no text in it"),
    "binary": N_("it is no text"),
    "encoding": N_("it is in an encoding that is not known"),
    "large": N_("it is too large ({detail})"),
    "unreadable": N_("it cannot be read ({detail})"),
    "closed": N_("a rule closes it to reading (safety.deny)"),
    "changing": N_("it was changed again and again while it was read"),
    "pdf_missing": N_("the package pypdf is not installed (pip install 'localllm[rag]')"),
    "pdf_encrypted": N_("it is locked with a password"),
    "pdf_broken": N_("the PDF is broken"),
    "pdf_slow": N_("the PDF takes too long to read"),
    "pdf_pictures": N_("its pages are pictures (a scan); recognise its text first, such as with ocrmypdf"),
    "pdf_garbled": N_("its text comes out garbled; recognise it anew, such as with ocrmypdf --force-ocr"),
    "pdf_pages": N_("it has too many pages ({detail})"),
    "docx_missing": N_("the package mammoth is not installed (pip install 'localllm[rag]')"),
    "docx_broken": N_("the Word file is broken"),
    "docx_slow": N_("the Word file takes too long to read"),
    "no_text_column": N_("no column of it holds text"),
    "bad_table": N_("it cannot be read as a table ({detail})"),
}


class FileRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A file a collection knows: indexed with so many chunks, or skipped for a reason."""

    path: str
    file: str
    hash: str = ""
    chunks: int = 0
    reason: SkipReason | None = None
    detail: str = ""

    @property
    def why(self) -> Phrase | None:
        """Why it was skipped, as a sentence without a capital letter; None where it was not."""
        return Phrase(_REASONS[self.reason], detail=self.detail) if self.reason else None


EventKind = Literal["listed", "indexed", "unchanged", "skipped", "removed", "waiting", "resumed", "optimizing"]


class IngestEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of an ingest: with `listed` the number of files is known, then comes one event for each; `waiting` says
    in `detail` who has the collection, `resumed` that an ingest that was broken off is gone on with, `optimizing` that
    all files are done and the indexes of a large collection are built."""

    kind: EventKind
    file: str = ""
    done: int = 0
    """Files that are dealt with, this one included."""
    total: int = 0
    chunks: int = 0
    """Of this file."""
    record: FileRecord | None = None
    detail: str = ""


OnEvent = Callable[[IngestEvent], None]


class IngestReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an ingest did."""

    collection: Collection
    indexed: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    """Chunks that were written; those of unchanged files are not counted."""
    contents: str = ""
    """Titles and words of these, for a model that is to describe the collection; "" where its description stays."""
    skipped: tuple[FileRecord, ...] = ()
    remarks: tuple[Phrase, ...] = ()
    """Such as that there is no embedding model, and how to get one."""
