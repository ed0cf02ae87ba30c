"""What the model noted of pages, kept for a week: other runs with the same question need not have them read again."""

import asyncio
from pathlib import Path

import msgspec

from localllm.base.errors import CacheError
from localllm.base.jsontext import decode_json
from localllm.research.run_store import StoredAnswer
from localllm.web.search_cache import DiskCache

FILE = "notes.sqlite"
SECONDS = 7 * 86_400.0

ROLES_KEPT = frozenset({"reader", "market_reader"})
"""Roles whose answers depend on their request alone: no other evidence, and not the day."""


class NoteCache:
    """Keeps answers in `folder`, which several programs may share. A cache that fails is left alone for the run."""

    def __init__(self, folder: Path) -> None:
        self._kept: DiskCache | None = DiskCache(folder / FILE, SECONDS)

    async def get(self, key: str) -> StoredAnswer | None:
        """The answer that is kept for `key`, without its tokens: it costs none now."""
        if self._kept is None:
            return None
        try:
            data = await asyncio.to_thread(self._kept.get, key)
            if data is not None:
                return msgspec.structs.replace(decode_json(data, StoredAnswer), tokens=0)
        except CacheError:
            self._kept = None
        except msgspec.DecodeError:
            return None
        return None

    async def put(self, key: str, answer: StoredAnswer) -> None:
        """Keep an answer."""
        if self._kept is None:
            return
        try:
            await asyncio.to_thread(self._kept.put, key, msgspec.json.encode(answer))
        except CacheError:
            self._kept = None
