"""An agent that answers only from the collections of documents, with every reference checked."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import cast

import msgspec

from localllm.agent.checks.cited_passages import unfound
from localllm.agent.checks.completion_checks import unverified
from localllm.agent.checks.grounded_answers import GroundedAnswers
from localllm.agent.history import History
from localllm.agent.react_agent import ReActAgent
from localllm.agent.system_prompt import system_prompt
from localllm.base.errors import KnowledgeBaseError
from localllm.base.events import AgentEvent, Json, MessageCompleted, Notice, RunFinished, ToolFinished
from localllm.base.i18n import _, ngettext
from localllm.config.schema import AgentSettings
from localllm.context.budget import output_limit
from localllm.llm.client import LLMClient
from localllm.rag.citations import Checked, check_citations, uncited_sentences
from localllm.rag.guide import guide
from localllm.rag.knowledge_base import KnowledgeBase
from localllm.rag.records import Hit
from localllm.sessions.entries import Entry, Kept
from localllm.sessions.ipo_log import IpoLog
from localllm.tools.builtin import KNOWLEDGE_TOOLS
from localllm.tools.frames import framed
from localllm.tools.knowledge import more_note, outdated_note, passages_text, search_rag_knowledge_base
from localllm.tools.tool_system import ToolSystem


class ToolUse(msgspec.Struct, frozen=True):
    """A tool call of a turn: the tool, whether it succeeded, and the fields of its answer."""

    name: str
    success: bool
    payload: dict[str, Json]


class KnowledgeChat:
    """One conversation over the collections of `knowledge`. `tools`: those of a session, of which only the two
    collection tools are used, behind the same guards. Construction reads small files, or calls a server."""

    def __init__(
        self,
        client: LLMClient,
        tools: ToolSystem,
        knowledge: KnowledgeBase,
        *,
        settings: AgentSettings,
        ipo: IpoLog | None = None,
    ) -> None:
        self._client = client
        self._knowledge = knowledge
        self._tools = tools.part("", KNOWLEDGE_TOOLS, output_limit=output_limit(client), knowledge=knowledge)
        self._ipo = ipo
        self._hits: list[Hit] = []
        self._outdated: dict[str, None] = {}
        """Files found that were changed or deleted since the ingest."""
        self.tools_used: list[ToolUse] = []
        """The calls of this turn, or the last one."""
        history = History(_instruction(knowledge))
        self._agent = ReActAgent(
            client,
            self._tools,
            settings=settings,
            middleware=[GroundedAnswers(search_rag_knowledge_base.name, self._search)],
            history=history,
            shows_pieces=False,
        )
        if ipo is not None:
            ipo.message(history.messages[0])
            history.listen(self._keep)

    async def run(self, question: str) -> AsyncGenerator[AgentEvent]:
        """Stream the events of a turn; the last is RunFinished with the checked answer. A failed turn leaves the
        conversation unchanged. Raises LocalLLMError if the IPO log cannot be written."""
        await self._client.get_ready()
        self._tools.limit_output(output_limit(self._client))
        self.tools_used = []
        found_before, answer = len(self._hits), ""
        async with aclosing(self._agent.run(question)) as events:
            async for event in events:
                if isinstance(event, ToolFinished):
                    self._note(event)
                match event:
                    case RunFinished():
                        yield self._checked(event, has_found=len(self._hits) > found_before)
                    case MessageCompleted(text=answer):
                        yield event
                    case Notice() if event in self._of_references(answer):
                        pass  # what is still in the last answer is named at the end
                    case _:
                        yield event

    def interrupt(self) -> None:
        """Interrupt the current turn."""
        self._agent.interrupt()

    async def run_agent_turn(self, user_input: str, return_tool_info: bool = False) -> str | tuple[str, list[ToolUse]]:
        """Return the answer to an input, or the reason why there is none; with `return_tool_info` also the calls."""
        answer = ""
        async for event in self.run(user_input):
            if isinstance(event, RunFinished):
                answer = event.answer or event.error
        return (answer, self.tools_used) if return_tool_info else answer

    async def _search(self, question: str) -> str:
        """Search for a question in the model's place, and return the passages for it; "" if there are none."""
        try:
            found = await self._knowledge.search(question)
        except KnowledgeBaseError:  # a question without a word, or a collection that cannot be read
            return ""
        self._take(found.hits, found.outdated)
        passages = passages_text(found.hits, output_limit(self._client))
        notes = more_note(found) + outdated_note(found)
        return framed("document_passages", passages) + notes if found.hits else ""

    def _note(self, event: ToolFinished) -> None:
        self.tools_used.append(ToolUse(event.name, event.success, event.payload))
        hits = msgspec.convert(event.payload.get("results") or [], list[Hit])
        metadata = cast("dict[str, list[str]]", event.payload.get("metadata") or {})
        self._take(hits, metadata.get("outdated") or [])

    def _take(self, hits: Sequence[Hit], outdated: Sequence[str]) -> None:
        self._hits += hits
        self._outdated = {name: None for name in self._outdated if all(hit.file != name for hit in hits)}
        self._outdated |= dict.fromkeys(outdated)

    def _of_references(self, answer: str) -> list[Notice]:
        """Return the notices of the agent that the model is asked to correct references in its answer."""
        return [unverified(unfound(reference)) for reference in check_citations(answer, self._hits).removed]

    def _checked(self, finished: RunFinished, *, has_found: bool) -> RunFinished:
        if self._ipo is not None and finished.status != "done":
            self._ipo.failure(finished.error or finished.status)
        checked = check_citations(finished.answer, self._hits)
        uncited = uncited_sentences(checked.text, self._hits)
        remarks = _remarks(finished, checked, uncited, has_found=has_found)
        if outdated := [name for name in self._outdated if any(hit.file == name for hit in checked.cited)]:
            remarks.append(_("changed or deleted since the ingest: {files}", files=", ".join(outdated)))
        removed = {str(unfound(reference)) for reference in checked.removed}  # named in the remarks
        unverified = (*(one for one in finished.unverified if one not in removed), *remarks)
        return msgspec.structs.replace(finished, answer=checked.text, unverified=unverified)

    def _keep(self, entry: Entry) -> None:
        if self._ipo is not None and isinstance(entry, Kept):
            self._ipo.message(entry.message)


def _instruction(knowledge: KnowledgeBase) -> str:
    """Build the system prompt, with the list of collections."""
    return "\n\n".join(filter(None, (system_prompt("knowledge"), guide(knowledge.collections()))))


def _remarks(finished: RunFinished, checked: Checked, uncited: tuple[int, int], *, has_found: bool) -> list[str]:
    """Return notes for the user on an answer."""
    names = "; ".join(checked.removed)
    lines = (
        [
            ngettext(
                "{count} reference matched no passage found and was removed: {names}",
                "{count} references matched no passage found and were removed: {names}",
                len(checked.removed),
                names=names,
            )
        ]
        if checked.removed
        else []
    )
    if finished.status == "done" and not checked.cited:
        lines.append(
            _("the answer cites no passage")
            if has_found
            else _("nothing was found: the answer is not based on the collections")
        )
    elif finished.status == "done" and uncited[0]:
        lines.append(_("sentences without a reference: {count} of {total}", count=uncited[0], total=uncited[1]))
    return lines
