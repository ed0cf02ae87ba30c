"""Search documents in the user's own folders: their texts, ranked by BM25."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import NamedTuple, Protocol

from localllm.base.directory_walk import walk
from localllm.base.errors import ResearchUsageError
from localllm.base.hidden_in_home import HIDDEN_LEFT_OUT, hidden_patterns, is_in_home
from localllm.base.i18n import N_
from localllm.base.named_paths import follow
from localllm.base.regular_files import read_linkless
from localllm.documents.notebooks import notebook_text
from localllm.documents.pdf import PdfError
from localllm.research.records import Remark
from localllm.research.remark_texts import remark
from localllm.text.bm25 import Bm25
from localllm.text.sanitising import clean
from localllm.text.tokenising import terms
from localllm.web.extraction import NoTextError, extract
from localllm.web.fetching import Page

_MEDIA_TYPES = {
    ".md": "text/plain",
    ".txt": "text/plain",
    ".html": "text/html",
    ".htm": "text/html",
    ".pdf": "application/pdf",
    ".ipynb": "application/json",
}
_LIKE_COLLECTIONS = (".docx", ".xlsx", ".xlsm", ".csv", ".tsv")
"""Files that are read as those of a collection are."""
_NOT_READ = frozenset(".doc .xls .xlsb .ppt .pptx .odt .ods .odp .rtf .epub .eml .msg .pages".split())
_LARGEST = 5_000_000  # bytes
_LARGEST_PACKED = 30_000_000
_PACKED = (".pdf", ".docx", ".xlsx", ".xlsm")
_MOST = 2_000
"""Documents per run."""
_MOST_NAMED = 5
"""Documents that could not be read whose names are given."""
_LONGEST = 1_000_000
"""Characters of a document; a book fits, as for a web page."""
_LONGEST_TOGETHER = 30_000_000
"""Characters of all documents: they are in memory, with an index several times as large."""


class LocalDocument(NamedTuple):
    """A document of a folder and its text."""

    path: Path
    title: str
    text: str


class Documents(Protocol):
    """A searchable set of documents."""

    @property
    def remarks(self) -> list[Remark]:
        """Notes for the reader of the report."""
        ...

    async def search(self, query: str, limit: int) -> list[LocalDocument]:
        """Return the best matching documents, best first."""
        ...


class JoinedDocuments:
    """Documents from several sources, interleaved by rank."""

    def __init__(self, places: Sequence[Documents]) -> None:
        self._places = places

    @property
    def remarks(self) -> list[Remark]:
        """The remarks of all sources."""
        return [said for place in self._places for said in place.remarks]

    async def search(self, query: str, limit: int) -> list[LocalDocument]:
        """Return the best matches of each source without duplicates."""
        found = [await place.search(query, limit) for place in self._places]
        in_turn = [document for row in zip_longest(*found) for document in row if document is not None]
        return list({str(document.path): document for document in in_turn}.values())[:limit]


def none_closed() -> Callable[[str], bool]:
    """Return a check that denies no file."""
    return lambda _path: False


class LocalDocuments:
    """The documents in `folders`, without those a rule denies: `closed` returns the check of an absolute path. Read on
    the first search. Raises ResearchUsageError at once for an unreadable folder, and for a link in the `project` that
    leads out of it."""

    def __init__(
        self,
        folders: Sequence[Path],
        project: Path | None = None,
        closed: Callable[[], Callable[[str], bool]] = none_closed,
    ) -> None:
        self._closed_now = closed
        self._folders = [_real(folder.expanduser(), project) for folder in folders]
        self._documents: dict[str, LocalDocument] = {}
        self._index: Bm25 | None = None
        self._closed = 0
        self._not_read: Counter[str] = Counter()
        self.remarks: list[Remark] = []
        for folder in self._folders:
            try:
                next(folder.iterdir(), None)
            except OSError as error:
                reason = error.strerror or str(error)
                raise ResearchUsageError("research_docs", folder=folder, reason=reason) from error

    async def search(self, query: str, limit: int) -> list[LocalDocument]:
        """Return the best matching documents, best first."""
        if self._index is None:
            await self._read_all()
        index = self._index or Bm25()
        return [self._documents[name] for name, _score in index.best(terms(query), limit)]

    async def _read_all(self) -> None:
        unread: list[str] = []
        files = await asyncio.to_thread(lambda: list(islice(self._files(), _MOST + 1)))
        room, is_full = _LONGEST_TOGETHER, len(files) > _MOST
        for folder, path in files[:_MOST]:
            try:
                document = await read_document(folder, path)
            except (OSError, NoTextError, PdfError, ValueError):
                unread.append(clean(Path(path).name, keep_newlines=False))
                continue
            room -= len(document.text)
            if is_full := is_full or room < 0:
                break
            self._documents[str(document.path)] = document
        if is_full:
            said = N_("Only the first {most:,} documents of the folders were searched.")
            self.remarks.append(remark(said, most=len(self._documents) + len(unread)))
        if self._closed:
            text = N_(
                "One document was left out: a rule forbids reading it.",
                "{count} documents were left out: rules forbid reading them.",
            )
            self.remarks.append(remark(text, count=self._closed))
        if any(map(is_in_home, self._folders)):
            self.remarks.append(remark(HIDDEN_LEFT_OUT))
        if unread:
            names = ", ".join(unread[:_MOST_NAMED]) + (" …" if len(unread) > _MOST_NAMED else "")
            text = N_("One document could not be read: {names}.", "{count} documents could not be read: {names}.")
            self.remarks.append(remark(text, count=len(unread), names=names))
        if self._not_read:
            kinds = ", ".join(f"{kind} {count}" for kind, count in self._not_read.most_common(_MOST_NAMED))
            kinds += ", …" if len(self._not_read) > _MOST_NAMED else ""
            text = N_(
                "One document of a kind that is not read was left out ({kinds}).",
                "{count} documents of kinds that are not read were left out ({kinds}).",
            )
            self.remarks.append(remark(text, count=self._not_read.total(), kinds=kinds))
        every = self._documents.items()
        self._index = await asyncio.to_thread(
            lambda: Bm25({name: terms(f"{one.title}\n{one.text}") for name, one in every})
        )

    def _files(self) -> Iterator[tuple[Path, str]]:
        """Yield each document's folder and its path in it."""
        is_closed = self._closed_now()
        for folder in self._folders:
            for entry in walk(folder, exclude=hidden_patterns(folder, folder)):
                most = _largest(entry.path)
                if not most and not entry.is_dir and (kind := Path(entry.path).suffix.lower()) in _NOT_READ:
                    self._not_read[kind] += 1
                if most and not entry.is_dir and not entry.is_link and 0 < entry.size <= most:
                    if is_closed(str(folder / entry.path)):
                        self._closed += 1
                    else:
                        yield folder, entry.path


def _real(folder: Path, project: Path | None) -> Path:
    if project is None:
        return folder.resolve()
    try:
        followed = follow(folder, project)
    except OSError as error:  # circular links
        raise ResearchUsageError("research_docs", folder=folder, reason=error.strerror or str(error)) from error
    if followed.leads_out:
        raise ResearchUsageError("research_link_out", folder=folder, target=followed.real)
    return followed.real


def _largest(path: str) -> int:
    """Return the size limit of a document of this name in bytes; 0 for another file type."""
    kind = Path(path).suffix.lower()
    if kind not in _MEDIA_TYPES and kind not in _LIKE_COLLECTIONS:
        return 0
    return _LARGEST_PACKED if kind in _PACKED else _LARGEST


async def read_document(folder: Path, path: str) -> LocalDocument:
    """Read the document at a path below a folder, without following a link or waiting for a pipe put in its place.
    Raises OSError, NoTextError, PdfError, ValueError."""
    file = folder / path
    data = await asyncio.to_thread(read_linkless, file, _largest(path))
    kind = file.suffix.lower()
    if kind == ".ipynb":
        title, text = "", await asyncio.to_thread(notebook_text, data)
    elif kind in _LIKE_COLLECTIONS:
        from localllm.rag.file_blocks import SkippedError, read_blocks  # few folders hold such files

        try:
            blocks = await read_blocks(file, data)
        except SkippedError as error:
            raise NoTextError from error
        title, text = "", "\n\n".join(block.text for block in blocks)
    else:
        page = Page(url=str(file), media_type=_MEDIA_TYPES.get(kind, "text/plain"), charset="", data=data)
        extracted = await extract(page)
        title, text = extracted.title, extracted.text
    text = clean(text)[:_LONGEST]
    if not text.strip():
        raise NoTextError
    return LocalDocument(file, clean(title or _heading(text) or file.name, keep_newlines=False), text)


def _heading(text: str) -> str:
    """Return the first heading of a Markdown document; "" for none."""
    first = text.lstrip().partition("\n")[0]
    return first.lstrip("# ").strip()[:200] if first.startswith("#") else ""
