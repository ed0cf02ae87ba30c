"""Search knowledge base collections for a run: the documents with matching passages, as whole texts."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from localllm.base.i18n import N_
from localllm.rag.file_blocks import SkippedError, read_blocks, read_content
from localllm.rag.knowledge_base import KnowledgeBase
from localllm.rag.records import Hit
from localllm.research.local_documents import LocalDocument
from localllm.research.records import Remark
from localllm.research.remark_texts import remark
from localllm.text.sanitising import clean

_LONGEST = 1_000_000
"""Characters of a document, as of a web page."""


class CollectionDocuments:
    """The documents of these collections. Raises KnowledgeBaseUsageError at once for a missing one."""

    def __init__(self, knowledge: KnowledgeBase, names: Sequence[str]) -> None:
        self._knowledge = knowledge
        self._names = [knowledge.collection(name).name for name in names]
        self._read: dict[str, LocalDocument | None] = {}
        self.remarks: list[Remark] = []

    async def search(self, query: str, limit: int) -> list[LocalDocument]:
        """Return the documents with the best matching passages, best first. Raises KnowledgeBaseError."""
        found = [hit for name in self._names for hit in (await self._knowledge.search(query, name, limit)).hits]
        ranked = sorted(found, key=lambda hit: -hit.scores.total)
        best = {hit.path: hit for hit in reversed(ranked)}
        chosen = sorted(best.values(), key=lambda hit: -hit.scores.total)[:limit]
        documents = [await self._document(hit) for hit in chosen]
        return [document for document in documents if document is not None]

    async def _document(self, hit: Hit) -> LocalDocument | None:
        """Load the current document of a hit; None, with a remark, if it cannot be read any more."""
        if hit.path not in self._read:
            self._read[hit.path] = await self._load(hit)
        return self._read[hit.path]

    async def _load(self, hit: Hit) -> LocalDocument | None:
        path = Path(hit.path)
        try:
            if not await asyncio.to_thread(self._knowledge.may_read, hit):
                raise SkippedError("unreadable")  # noqa: TRY301 - the same as a file that is gone
            content = await asyncio.to_thread(read_content, path)
            blocks = await read_blocks(path, content.data)
        except SkippedError:
            self.remarks.append(remark(N_("{file} of a collection could not be read."), file=hit.file))
            return None
        text = clean("\n\n".join(block.text for block in blocks))[:_LONGEST]
        return LocalDocument(path, clean(hit.file, keep_newlines=False), text)
