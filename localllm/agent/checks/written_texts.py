"""Remarks on what an edit has written into a file, at the end of its result: text in the wrong language."""

import asyncio
from collections.abc import Sequence

from localllm.agent.middleware import RunState
from localllm.agent.system_prompt import remark
from localllm.llm.messages import AssistantMessage
from localllm.safety.path_names import shown
from localllm.tools.results import ToolResult
from localllm.tools.tool_system import ToolSystem

_EDITORS = frozenset({"edit_file", "write_file", "create_file", "apply_patch"})
_LONGEST = 200_000
"""Characters of a diff that is looked at."""


class WrittenTexts:
    """Looks at the text that the calls of one answer have written, and makes each remark once a run."""

    def __init__(self, tools: ToolSystem) -> None:
        self._tools = tools
        self.begin()

    def begin(self) -> None:
        """Start a new run."""
        self._position = self._tools.changes.position
        self._edited: list[str] = []
        self._told: set[str] = set()
        self._has_wanted = False

    def note(self, results: Sequence[ToolResult]) -> None:
        """Record the files that an answer's calls have edited."""
        self._edited = [path for one in results if one.call.name in _EDITORS for path in one.changes]

    async def remark(self, state: RunState) -> str:
        """Return a remark for the model on the newest edits; "" if there is nothing to say."""
        edited, self._edited = self._edited, []
        position, self._position = self._position, self._tools.changes.position
        return await asyncio.to_thread(self._of_language, state, edited, position) if edited else ""

    def _of_language(self, state: RunState, edited: Sequence[str], position: int) -> str:
        if "language" in self._told:
            return ""
        from localllm.agent.phrases import written_language as written  # most runs end without a change

        wanted = written.wanted_language(state.goal)
        for path, added in self._added(edited, position).items():
            self._has_wanted = self._has_wanted or bool(wanted and written.has_language(path, added, wanted))
            is_open = wanted is not None and not self._has_wanted
            if is_open or not all(map(str.isascii, added)):
                given = _given_before(state)
                wrong = written.wrong_language(path, added, state.goal, given, wanted if is_open else None)
                if wrong:
                    self._told.add("language")
                    return remark("wrong_language", path=shown(path), **wrong._asdict())
        return ""

    def _added(self, edited: Sequence[str], position: int) -> dict[str, list[str]]:
        """Return the lines that the edits have added to each file, without those that were only moved."""
        added: dict[str, list[str]] = {}
        for one in self._tools.changes.diffs_since(position):
            if one.path in edited and len(one.diff) <= _LONGEST:
                lines = [line for line in one.diff.splitlines() if not line.startswith(("+++", "---"))]
                removed = {line[1:].strip() for line in lines if line.startswith("-")}
                new = (line[1:] for line in lines if line.startswith("+"))
                added[one.path] = [line for line in new if line.strip() and line.strip() not in removed]
        return added


def _given_before(state: RunState) -> list[str]:
    """Return the texts that the model was given before its newest answer, without its own."""
    messages = state.history.messages
    newest = max((at for at, one in enumerate(messages) if isinstance(one, AssistantMessage)), default=len(messages))
    return [one.text for one in messages[:newest] if not isinstance(one, AssistantMessage)]
