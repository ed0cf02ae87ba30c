"""Documents in folders of the user's own, searched like the web: the text of each, ranked by BM25."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from localllm.base.directory_walk import walk
from localllm.base.errors import ResearchUsageError
from localllm.base.i18n import N_
from localllm.documents.notebooks import notebook_text
from localllm.documents.pdf import PdfError
from localllm.research.records import Remark
from localllm.research.role_protocol import remark
from localllm.text.bm25 import Bm25
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
_LARGEST = 5_000_000  # bytes
_LARGEST_PDF = 30_000_000
_MOST = 2_000
"""Documents of a run."""


class LocalDocument(NamedTuple):
    """A document of a folder and its text."""

    path: Path
    title: str
    text: str


class LocalDocuments:
    """The documents in `folders`. They are read when they are first searched. Raises ResearchUsageError at once for a
    folder that cannot be read."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [folder.expanduser().absolute() for folder in folders]
        self._documents: dict[str, LocalDocument] = {}
        self._index: Bm25 | None = None
        self.remarks: list[Remark] = []
        for folder in self._folders:
            try:
                next(folder.iterdir(), None)
            except OSError as error:
                reason = error.strerror or str(error)
                raise ResearchUsageError("research_docs", folder=folder, reason=reason) from error

    async def search(self, query: str, limit: int) -> list[LocalDocument]:
        """The documents that fit the query best, best first."""
        if self._index is None:
            await self._read_all()
        index = self._index or Bm25()
        return [self._documents[name] for name, _score in index.best(terms(query), limit)]

    async def _read_all(self) -> None:
        unread: list[str] = []
        files = list(self._files())
        if len(files) > _MOST:
            said = remark(N_("Only the first {most:,} documents of the folders were searched."), most=_MOST)
            self.remarks.append(said)
        for path in files[:_MOST]:
            try:
                document = await read_document(path)
            except (OSError, NoTextError, PdfError, ValueError):
                unread.append(path.name)
                continue
            self._documents[str(path)] = document
        if unread:
            names = ", ".join(unread[:5])
            text = N_("One document could not be read: {names}.", "{count} documents could not be read: {names} …")
            self.remarks.append(remark(text, count=len(unread), names=names))
        every = self._documents.items()
        self._index = await asyncio.to_thread(
            lambda: Bm25({name: terms(f"{one.title}\n{one.text}") for name, one in every})
        )

    def _files(self) -> Iterator[Path]:
        for folder in self._folders:
            for entry in walk(folder, exclude=()):
                path = folder / entry.path
                kind = path.suffix.lower()
                most = _LARGEST_PDF if kind == ".pdf" else _LARGEST
                if kind in _MEDIA_TYPES and not entry.is_dir and not entry.is_link and 0 < entry.size <= most:
                    yield path


async def read_document(path: Path) -> LocalDocument:
    """The text of a document. Raises OSError, NoTextError, PdfError, ValueError."""
    data = await asyncio.to_thread(path.read_bytes)
    kind = path.suffix.lower()
    if kind == ".ipynb":
        title, text = "", notebook_text(data)
    else:
        page = Page(url=str(path), media_type=_MEDIA_TYPES.get(kind, "text/plain"), charset="", data=data)
        extracted = await extract(page)
        title, text = extracted.title, extracted.text
    if not text.strip():
        raise NoTextError
    return LocalDocument(path, title or _heading(text) or path.name, text)


def _heading(text: str) -> str:
    """What a Markdown document calls itself."""
    first = text.lstrip().partition("\n")[0]
    return first.lstrip("# ").strip()[:200] if first.startswith("#") else ""
