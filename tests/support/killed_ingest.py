"""An ingest that kills itself: `python -m tests.support.killed_ingest DATA FOLDER WHEN STEP`.

WHEN is `before` or `after` a call of the shard (an upsert, a deletion, a flush) or of the manifest, `child` to kill the
helper process there, or `never`; STEP counts these calls from 1. If it comes to its end it prints how many there were,
and how many files it took in.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from localllm.base.errors import KnowledgeBaseError
from localllm.config.rag_settings import RagSettings
from localllm.config.schema import Settings
from localllm.rag import ingest, manifest
from localllm.rag.knowledge_base import KnowledgeBase
from localllm.rag.shard import Shard

NAME = "docs"


def knowledge_base(data: Path) -> KnowledgeBase:
    settings = Settings(rag=RagSettings(embedding_provider="none"))
    return KnowledgeBase(settings, data, {"LOCALLLM_DATA_DIR": str(data)})


class _Steps:
    count = 0


def _killing(method: Callable[..., Any], when: str, step: int) -> Callable[..., Any]:
    def called(self: Any, *arguments: Any) -> Any:
        _Steps.count += 1
        due = _Steps.count == step
        if due and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        if due and when == "child" and isinstance(self, Shard):
            self._process.kill()
        result = method(self, *arguments)
        if due and when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return called


def main(data: str, folder: str, when: str, step: str) -> None:
    vars(ingest)["_CHECKPOINT"] = 20
    vars(ingest)["_BATCH"] = 16
    for kind, names in (
        (Shard, ("upsert", "delete", "flush")),
        (manifest.Manifest, ("begin", "finish")),
    ):
        for name in names:
            setattr(kind, name, _killing(getattr(kind, name), when, int(step)))

    async def run() -> int:
        async with knowledge_base(Path(data)) as knowledge:
            return (await knowledge.ingest([Path(folder)], NAME)).indexed

    try:
        indexed = asyncio.run(run())
    except KnowledgeBaseError as error:
        print(error.key)
    else:
        print(_Steps.count, indexed)


if __name__ == "__main__":
    main(*sys.argv[1:])
