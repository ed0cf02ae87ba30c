"""Compare what a run writes with what it was to write: its language, and the numbers and parts of the texts that it is
made of.

A remark on a file stands at the end of the result of the edit, one on the answer is a finding.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from localllm.agent.checks.findings import Finding
from localllm.agent.middleware import RunState
from localllm.agent.plan_mode import is_told_to_plan
from localllm.agent.system_prompt import remark
from localllm.base.directory_walk import ProjectListing
from localllm.base.i18n import Phrase
from localllm.llm.messages import AssistantMessage, SystemMessage
from localllm.safety.path_names import shown, some_of
from localllm.tools.results import ToolResult
from localllm.tools.tool_system import ToolSystem

_EDITORS = frozenset({"edit_file", "write_file", "create_file", "apply_patch"})
_READ = (
    ".md",
    ".markdown",
    ".txt",
    ".rst",
    ".adoc",
    ".csv",
    ".tsv",
    ".json",
    ".yaml",
    ".yml",
    ".html",
    ".htm",
    ".xml",
    ".tex",
    ".pdf",
    ".docx",
    ".xlsx",
    ".eml",
    ".log",
)
"""Endings of files that hold texts, not code."""
_LONGEST = 200_000
"""Characters of a diff that is looked at."""
_MOST_MISSING = 4
"""Parts that are named."""


class WrittenTexts:
    """Looks at the text that the calls of one answer have written, and makes each remark once a run. This began at the
    `position` of the changes."""

    def __init__(self, tools: ToolSystem, position: int) -> None:
        self._tools = tools
        self._position = position
        self._edited: list[str] = []
        self._told: set[str] = set()
        self._has_wanted = False
        self._sources: dict[str, str] = {}
        """The texts of the files that were read in full, as they were before the run changed them."""
        self._is_partial = False
        """Whether a file was read in part."""
        self._strange: dict[str, list[str]] = {}
        """The numbers in each written file that are in none of these."""
        self._unknown: dict[str, list[str]] = {}
        """The names in each document that the project lacks, of which the model was told."""
        self._has_written = False
        self._created: list[str] = []
        """The files that were written as a whole."""
        self._changed: list[str] = []
        self._own_remarks: set[str] = set()

    def note(self, results: Sequence[ToolResult]) -> None:
        """Record the files that an answer's calls have edited."""
        self._edited = [path for one in results if one.call.name in _EDITORS for path in one.changes]
        self._has_written = self._has_written or any(one.changes for one in results)
        for one in results:
            self._changed += [path for path in one.changes if path not in self._changed]
            if one.call.name in ("write_file", "create_file"):
                self._created += [path for path in one.changes if path not in self._created]
            if one.success and one.call.name == "read_file":
                self._note_read(str(one.arguments.get("file_path") or ""), one.payload)

    def _note_read(self, path: str, payload: dict[str, Any]) -> None:
        if path in self._changed:
            return
        facts: dict[str, Any] = payload.get("metadata") or {}
        content, total = payload.get("content"), facts.get("total_lines")
        if facts.get("start_line") == 1 and facts.get("end_line") == total and isinstance(content, str):
            self._sources.setdefault(path, content)
        else:
            self._is_partial = True

    async def remark(self, state: RunState) -> str:
        """Return a remark for the model on the newest edits; "" if there is nothing to say."""
        edited, self._edited = self._edited, []
        position, self._position = self._position, self._tools.changes.position
        return await asyncio.to_thread(self._of_edits, state, edited, position) if edited else ""

    def _of_edits(self, state: RunState, edited: Sequence[str], position: int) -> str:
        said = (
            self._of_language(state, edited, position),
            self._of_numbers(state, edited, position),
            self._of_names(state, edited, position),
        )
        return "\n".join(filter(None, said))

    def _of_numbers(self, state: RunState, edited: Sequence[str], position: int) -> str:
        """Return that an edit wrote numbers that the texts which it renders do not have."""
        if not self._sources or self._is_partial:
            return ""
        from localllm.agent.checks import source_numbers as numbers  # most edits follow no reading of texts

        if not (kind := numbers.rendering(state.goal)):
            return ""
        given = _given_before(state)
        for path, added in self._added(edited, position).items():
            if path in self._strange or not _are_texts([path, *self._sources]):
                continue
            if found := numbers.strange_numbers("\n".join(added), self._sources, kind, state.goal, given):
                self._strange[path] = found
                told = {"path": shown(path), "numbers": ", ".join(found), "sources": some_of(list(self._sources))}
                return remark("strange_numbers", **told)
        return ""

    def _of_names(self, state: RunState, edited: Sequence[str], position: int) -> str:
        """Return that an edit of a document names what the project lacks, once for each file."""
        paths = [path for path in edited if path.lower().endswith(".md") and path not in self._unknown]
        if not paths:
            return ""
        for path, added in self._added(paths, position).items():
            new = "\n".join(added)
            if found := [one for one in self._unknown_names(path, state.goal) if one in new]:
                self._unknown[path] = found
                return remark("not_in_project", path=shown(path), names=", ".join(map(shown, found)))
        return ""

    def _unknown_names(self, path: str, request: str) -> list[str]:
        from localllm.agent.checks import named_in_documents as names  # most edits are of code

        text = self._tools.readable_text(path) if names.is_about_project(path, request) else None
        try:
            listing = ProjectListing(self._tools.root)
            return names.unknown_names(path, text, listing, self._tools.readable_text, request) if text else []
        except OSError:
            return []

    async def findings(self, state: RunState, text: str) -> list[Finding]:
        """Return the numbers of an answer that the texts which it renders do not have, those and the names that a file
        still has of which the model was told, and the parts that a translation lacks."""
        if not (self._sources or self._unknown) or is_told_to_plan(state.history):
            return []
        return await asyncio.to_thread(lambda: [*self._each(state, text)])

    def _each(self, state: RunState, text: str) -> Iterator[Finding]:
        for path, told in self._unknown.items():
            if left := [one for one in self._unknown_names(path, state.goal) if one in told]:
                names = ", ".join(map(shown, left))
                reason = Phrase("{path} names what the project does not have: {names}", path=shown(path), names=names)
                yield Finding(None, reason, contradicts=False)
        if self._sources:
            yield from self._of_parts(state, text)
            yield from self._of_answer(state, text)

    def _of_parts(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield what a translation that was written lacks of the file that was read in full."""
        if not self._changed:
            return
        from localllm.agent.checks import translated_parts as parts

        if not parts.is_of_whole(state.goal) or parts.says_left_out(text):
            return
        made = parts.translations(self._changed, self._created, self._sources, state.goal)
        for path, source in made.items():
            written = self._tools.readable_text(path)
            if written and (missing := parts.missing_parts(self._sources[source], written, path)):
                told = {"path": shown(path), "source": shown(source)}
                names = ", ".join(one.name for one in missing[:_MOST_MISSING])
                reason = Phrase("{path} lacks parts of {source}: {names}", **told, names=names)
                more = [f"{len(missing) - _MOST_MISSING} more"] if len(missing) > _MOST_MISSING else []
                said = "; ".join([*map(str, missing[:_MOST_MISSING]), *more])
                yield Finding("parts_missing", reason, contradicts=False, params={**told, "parts": said})

    def _of_answer(self, state: RunState, text: str) -> list[Finding]:
        if self._is_partial:
            return []
        from localllm.agent.checks import source_numbers as numbers

        found: list[Finding] = []
        for path, strange in self._strange.items():
            written = self._tools.readable_text(path) or ""
            if left := [one for one in strange if one in written]:
                reason = Phrase(
                    "{quantity} is in {path}, but not in {sources}",
                    quantity=", ".join(left),
                    path=shown(path),
                    sources=some_of(list(self._sources)),
                )
                found.append(Finding(None, reason, contradicts=False))
        kind = numbers.rendering(state.goal)
        if kind == "extract" and len(self._created) == 1:
            path = self._created[0]
            if wrong := numbers.miscounted(text, self._tools.readable_text(path) or ""):
                said, items = wrong
                reason = Phrase(
                    "the answer says {said}, but {path} has {count}", said=said, path=shown(path), count=items
                )
                counted = {"said": said, "path": shown(path), "count": str(items)}
                found.append(Finding("miscounted", reason, contradicts=False, params=counted))
        kind = "extract" if kind == "translation" and self._has_written else kind
        if not _are_texts(self._sources) or not kind:
            return found
        read = [one.text for one in state.history.messages if not isinstance(one, AssistantMessage | SystemMessage)]
        read = [one for one in read if one not in self._own_remarks]
        strange = numbers.strange_numbers(text, self._sources, kind, state.goal, read)
        if strange:
            said, sources = ", ".join(strange), some_of(list(self._sources))
            reason = Phrase("{quantity} is not in {reference}", quantity=said, reference=sources)
            told = {"numbers": said, "sources": sources}
            self._own_remarks.add(remark("strange_answer", **told))
            found.append(Finding("strange_answer", reason, contradicts=False, params=told))
        return found

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


def _are_texts(paths: Iterable[str]) -> bool:
    return all(PurePosixPath(path).suffix.lower() in _READ for path in paths)


def _given_before(state: RunState) -> list[str]:
    """Return the texts that the model was given before its newest answer, without its own."""
    messages = state.history.messages
    newest = max((at for at, one in enumerate(messages) if isinstance(one, AssistantMessage)), default=len(messages))
    return [one.text for one in messages[:newest] if not isinstance(one, AssistantMessage)]
