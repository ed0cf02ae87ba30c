"""Cache the model's notes on pages for a week, for other runs on the same question."""

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
"""Roles whose answers depend only on their request, not on other evidence or the date."""


class NoteCache:
    """A cache of answers in `folder`, which several processes may share. After an error it is disabled for the run."""

    def __init__(self, folder: Path) -> None:
        self._kept: DiskCache | None = DiskCache(folder / FILE, SECONDS)

    async def get(self, key: str) -> StoredAnswer | None:
        """Return the cached answer for `key`, with no tokens, since it costs none now."""
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
        """Cache an answer."""
        if self._kept is None:
            return
        try:
            await asyncio.to_thread(self._kept.put, key, msgspec.json.encode(answer))
        except CacheError:
            self._kept = None
