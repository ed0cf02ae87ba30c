"""Records of the knowledge base: collections, hits with their positions, and the results of an ingest."""

from collections.abc import Callable
from typing import Literal

import msgspec

from localllm.base.i18n import N_, Phrase

Home = Literal["user", "project", "server"]
"""Storage of a collection: the user's data folder, the state folder for one project alone, a Qdrant server."""

PlaceKind = Literal["lines", "page", "row", "heading"]


class Place(msgspec.Struct, frozen=True):
    """The position of a chunk in its file. Lines and rows count from 1 (a CSV header is none), `last` included; of a
    `heading` (docx, HTML) only the heading path is known. `sheet`: in a workbook of several sheets, the name of the one
    that has the row."""

    kind: PlaceKind = "lines"
    first: int = 0
    last: int = 0
    sheet: str = ""


class Embedder(msgspec.Struct, frozen=True):
    """The model that made the vectors of a collection."""

    name: str
    """`provider:model`, such as ollama:bge-m3."""
    dimension: int
    query_prefix: str = ""
    passage_prefix: str = ""
    scripts: dict[str, float] = {}
    """Trust in each script (latin, japanese), from 0 (none) to 1."""
    similar: dict[str, float] = {}
    """The cosine from which on two texts in that script are about the same."""
    unrelated: dict[str, float] = {}
    """The cosine of two unrelated texts; 0 if it was not measured."""


class Collection(msgspec.Struct, frozen=True, kw_only=True):
    """A collection as of its last ingest."""

    name: str
    home: Home
    description: str = ""
    """Its contents and when to search it; generated at ingest unless the user wrote one."""
    description_is_own: bool = False
    """The user wrote the description, so no ingest changes it."""
    chunks: int = 0
    files: int = 0
    skipped: int = 0
    """Files found and not ingested; `KnowledgeBase.files` has the reasons."""
    embedder: Embedder | None = None
    """None: searched by words alone (BM25)."""
    roots: tuple[str, ...] = ()
    """Absolute paths of the ingested files and folders."""
    optimized: int = 0
    """Number of chunks when the indexes were last built."""
    average_terms: float = 0.0
    """Mean number of terms per chunk, for BM25."""
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
    """A part of a file that is indexed separately."""

    text: str
    headings: tuple[str, ...] = ()
    """The headings above it, outermost first; in code, the names of the enclosing definitions."""
    place: Place = Place()


class Scores(msgspec.Struct, frozen=True):
    """The components of a hit's score."""

    total: float
    """The fused score, 0 to 1; comparable across collections."""
    bm25: float = 0.0
    dense: float | None = None
    """Cosine of query and chunk; None if the collection has no vectors or they were not used."""
    coverage: float = 0.0
    """Share of the query's terms in the chunk, weighted by rarity: 0 to 1."""
    rerank: float | None = None
    """The chat model's score, 0 to 1; None without reranking."""


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A relevant passage; neighbouring chunks are merged into one hit."""

    collection: str
    path: str
    """The absolute path of the file."""
    file: str
    """The display name: in the project the path from its root, else relative to the ingested folder, whose name is in
    front."""
    text: str
    headings: tuple[str, ...] = ()
    place: Place = Place()
    scores: Scores

    @property
    def titles(self) -> tuple[str, ...]:
        """The headings, without the sheet, which the reference has."""
        return self.headings[1:] if self.place.sheet else self.headings

    @property
    def reference(self) -> str:
        """The citation: docs/setup.md:10-24, manual.pdf p.3, faq.csv row 12, a.xlsx § May row 3, rules.docx § Leave."""
        match self.place:
            case Place("lines", first, last):
                return f"{self.file}:{first}" if first == last else f"{self.file}:{first}-{last}"
            case Place("page", first, last):
                return f"{self.file} p.{first}" if first == last else f"{self.file} p.{first}-{last}"
            case Place("row", first, last, sheet):
                file = f"{self.file} § {sheet}" if sheet else self.file
                return f"{file} row {first}" if first == last else f"{file} rows {first}-{last}"
            case _:
                return f"{self.file} § {self.headings[-1]}" if self.headings else self.file


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a search: the best hit first, or none."""

    hits: tuple[Hit, ...] = ()
    searched: tuple[str, ...] = ()
    """The names of the searched collections."""
    more: tuple[Hit, ...] = ()
    """Further passages that match; there may be more than these."""
    elsewhere: tuple[str, ...] = ()
    """If the named collection has no hits: other collections that have, best first."""
    nearest: tuple[Hit, ...] = ()
    """If there are no hits: passages below the threshold with some of the query's words. They need not be relevant:
    their positions may be shown, their text is no answer."""
    outdated: tuple[str, ...] = ()
    """Display names of files of the hits that have changed or are gone since they were ingested."""
    remarks: tuple[Phrase, ...] = ()
    """Notes for the user, such as that another embedding model is configured than the collection's."""


SkipReason = Literal[
    "empty",
    "binary",
    "encoding",
    "large",
    "unreadable",
    "closed",
    "name",
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
    "workbook_broken",
    "workbook_slow",
    "workbook_old",
    "workbook_locked",
    "no_text_column",
    "bad_table",
]

_REASONS: dict[str, str] = {
    "empty": N_("there is no text in it"),
    "binary": N_("it is not text"),
    "encoding": N_("its encoding is not recognised"),
    "large": N_("it is too large ({detail})"),
    "unreadable": N_("it cannot be read ({detail})"),
    "closed": N_("a rule forbids reading it (safety.deny)"),
    "name": N_("its name is not UTF-8"),
    "changing": N_("it kept changing while it was read"),
    "pdf_missing": N_("the package pypdf is not installed (pip install 'localllm[rag]')"),
    "pdf_encrypted": N_("it is password-protected"),
    "pdf_broken": N_("the PDF is broken"),
    "pdf_slow": N_("the PDF takes too long to read"),
    "pdf_pictures": N_("its pages are pictures (a scan); recognise its text first, such as with ocrmypdf"),
    "pdf_garbled": N_("its text comes out garbled; recognise it anew, such as with ocrmypdf --force-ocr"),
    "pdf_pages": N_("it has too many pages ({detail})"),
    "docx_missing": N_("the package mammoth is not installed (pip install 'localllm[rag]')"),
    "docx_broken": N_("the Word file is broken"),
    "docx_slow": N_("the Word file takes too long to read"),
    "workbook_broken": N_("the Excel file is broken"),
    "workbook_slow": N_("there is too much in the Excel file to be read"),
    "workbook_old": N_("the Excel file has an old or binary format; save it as .xlsx"),
    "workbook_locked": N_("it is password-protected"),
    "no_text_column": N_("no column of it holds text"),
    "bad_table": N_("it cannot be read as a table ({detail})"),
}


class FileRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a collection: indexed with its number of chunks, or skipped with a reason."""

    path: str
    file: str
    hash: str = ""
    chunks: int = 0
    reason: SkipReason | None = None
    detail: str = ""

    @property
    def why(self) -> Phrase | None:
        """The reason it was skipped, as a phrase in lower case; None if it was not."""
        return Phrase(_REASONS[self.reason], detail=self.detail) if self.reason else None


EventKind = Literal["listed", "indexed", "unchanged", "skipped", "removed", "waiting", "resumed", "optimizing"]


class IngestEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of an ingest: `listed` gives the number of files, then comes one event per file; `waiting` names the
    holder of the collection in `detail`, `resumed` means an interrupted ingest is continued, `optimizing` that all
    files are done and the indexes of a large collection are built."""

    kind: EventKind
    file: str = ""
    done: int = 0
    """Files processed, this one included."""
    total: int = 0
    chunks: int = 0
    """Chunks of this file."""
    record: FileRecord | None = None
    detail: str = ""


OnEvent = Callable[[IngestEvent], None]


class IngestReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an ingest."""

    collection: Collection
    indexed: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    """Chunks written, without those of unchanged files."""
    contents: str = ""
    """Titles and words of the collection, for a model that writes the description; "" if the description stays."""
    skipped: tuple[FileRecord, ...] = ()
    remarks: tuple[Phrase, ...] = ()
    """Such as that there is no embedding model, and how to get one."""
