"""What a session tells its model of the collections of documents: those it begins with, and those made meanwhile."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from localllm.agent.history import History
from localllm.base import logs
from localllm.base.errors import KnowledgeBaseError
from localllm.llm.model_profiles import Profile
from localllm.rag import guide

if TYPE_CHECKING:
    from localllm.rag.knowledge_base import KnowledgeBase
    from localllm.rag.records import Collection


class SessionCollections:
    """The collections of one session. `before`: the conversation that is gone on with; whether its model was told of
    collections stays as it was, for the tools and the system prompt must be the same bytes again."""

    def __init__(self, knowledge: "KnowledgeBase | None", before: History | None = None) -> None:
        self.knowledge = knowledge
        self.are_offered = knowledge is not None
        if before is not None and before.is_answered:
            self.are_offered = guide.HEAD in before.messages[0].text
        self._told: set[str] | None = None
        self._failure = ""

    def guide(self, profile: Profile) -> str:
        """The routing guidance, for the system prompt; "" where there is nothing to tell of. Reads small files, or asks
        a server."""
        collections = self._all()
        self._told = {one.name for one in collections}
        if not self.are_offered or profile.name == "embedded":
            return ""
        return guide.guide(collections, brief=profile.brief)

    def take_news(self) -> str:
        """What the model should know of collections made since it was told of them; "" for nothing."""
        if not self.are_offered:
            return ""
        collections = self._all()
        known, self._told = self._told, {one.name for one in collections}
        if known is None:  # an earlier session was gone on with
            return ""
        new = [one for one in collections if one.name not in known]
        return guide.announcement(new) if new else ""

    def take_failure(self) -> str:
        """Why the collections could not be told of, once; "" where they were."""
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
