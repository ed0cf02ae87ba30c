"""Announce the collections of documents to a session's model: existing ones at the start, new ones later."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from localllm.agent.history import History
from localllm.base import logs
from localllm.base.errors import KnowledgeBaseError
from localllm.llm.model_profiles import Profile

if TYPE_CHECKING:
    from localllm.rag.knowledge_base import KnowledgeBase
    from localllm.rag.records import Collection


class SessionCollections:
    """The collections of one session. `before`: the resumed conversation; whether its model is offered collections is
    unchanged, since tools and system prompt must stay byte-identical."""

    def __init__(self, knowledge: "KnowledgeBase | None", before: History | None = None) -> None:
        self.knowledge = knowledge
        self.are_offered = knowledge is not None
        if before is not None and before.is_answered:
            from localllm.rag import guide  # most sessions have no collections

            self.are_offered = guide.HEAD in before.messages[0].text
        self._told: set[str] | None = None
        self._failure = ""

    def guide(self, profile: Profile) -> str:
        """Return the guidance for the system prompt; "" without collections. Reads small files, or calls a server."""
        collections = self._all()
        self._told = {one.name for one in collections}
        if not (self.are_offered and collections) or profile.name == "embedded":
            return ""
        from localllm.rag import guide

        return guide.guide(collections, brief=profile.brief)

    def take_news(self) -> str:
        """Return an announcement of collections created since; "" for none."""
        if not self.are_offered:
            return ""
        collections = self._all()
        known, self._told = self._told, {one.name for one in collections}
        if known is None:  # a resumed session
            return ""
        new = [one for one in collections if one.name not in known]
        if not new:
            return ""
        from localllm.rag import guide

        return guide.announcement(new)

    def take_failure(self) -> str:
        """Return why the collections could not be listed, once; otherwise ""."""
        failure, self._failure = self._failure, ""
        return failure

    def _all(self) -> "Sequence[Collection]":
        if self.knowledge is None:
            return ()
        try:
            return self.knowledge.collections()
        except KnowledgeBaseError as error:
            logs.of("RAG").warning("%s", error)
            self._failure = str(error)
            return ()
