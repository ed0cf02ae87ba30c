"""The system prompt and the project's context that a session begins with."""

from bisect import bisect_right
from collections.abc import Sequence
from datetime import date
from functools import cache
from itertools import accumulate
from pathlib import Path

import msgspec

from localllm.base import logs
from localllm.base.errors import LocalLLMError
from localllm.base.i18n import _
from localllm.llm.messages import framed
from localllm.llm.model_profiles import Profile
from localllm.memory.project_memory import ProjectMemory
from localllm.project.instructions import Instructions, read_instructions, told

_ROOM_FOR_NAMES = 100  # bytes
_PASSED_OVER = {
    ".git",
    ".localllm",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".venv",
    "__pycache__",
    "node_modules",
}


@cache
def system_prompt(name: str = "system") -> str:
    """Who the assistant is and how it works; `name` is that of a profile's prompt. The same for every session, so that
    servers can reuse it."""
    return (Path(__file__).parent / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


@cache
def _remarks() -> dict[str, str]:
    return msgspec.toml.decode((Path(__file__).parent / "prompts" / "remarks.toml").read_bytes(), type=dict[str, str])


def remark(name: str, **params: object) -> str:
    """What the model is told in the middle of a run: the text of this name in prompts/remarks.toml, filled in."""
    return _remarks()[name].format(**params).strip()


def situation(root: Path, today: date, *, here: str = "", is_attended: bool = True) -> str:
    """What changes from session to session: where and when, and whether anybody could answer a question. Goes to the
    end of the first user message. `here`: the folder in the project where the user stands, empty for its own."""
    names = sorted(
        f"{entry.name}/" if entry.is_dir() else entry.name
        for entry in root.iterdir()
        if entry.name not in _PASSED_OVER and entry.name.isprintable()
    )
    ends = list(accumulate(len(name.encode()) + 1 for name in names))
    count = bisect_right(ends, _ROOM_FOR_NAMES)
    shown = " ".join(names[:count]) + (f" … ({len(names)} in all)" if count < len(names) else "")
    alone = "" if is_attended else ". Nobody can answer questions."
    place = f". The user is in {here}/" if here and here.isprintable() else ""
    return f"[Project {root.name}, {today.isoformat()}. Top level: {shown or 'empty'}{place}{alone}]"


_ABOUT = "Kept in {file} from earlier work. Background, no request:"


class Briefing:
    """Reads the files anew whenever it is asked: those for who stands in the folder `here` of the project (its own
    unless given). `instructions` are those that were told last. `closed`: paths in the project that rules close to
    reading."""

    def __init__(self, root: Path, memory: ProjectMemory, here: Path | None = None, closed: Sequence[str] = ()) -> None:
        self._root = root
        self._here = here or root
        self._closed = closed
        self._memory = memory
        self._failure = ""
        self._conflict = 0
        self.instructions: Sequence[Instructions] = ()

    def for_system(self, profile: Profile) -> str:
        """What goes behind the system prompt, "" where there is nothing."""
        self.instructions = self.look(profile)
        return told(self.instructions)

    def look(self, profile: Profile) -> Sequence[Instructions]:
        """The files as they would be told now."""
        return read_instructions(self._root, profile.instructions, self._here, self._closed)

    def notes(self, profile: Profile) -> str:
        """What is remembered, "" where nothing is. A file that cannot be used is left out: see `take_failure`."""
        try:
            searchable = profile.tools is None or "recall" in profile.tools
            about = _ABOUT.format(file=self._memory.name)
            room = profile.notes - len(framed("project-notes", about, "").encode())
            digest = self._memory.digest(room, searchable=searchable)
            self._note_conflict()
        except LocalLLMError as error:
            if self._failure != str(error):
                logs.of("MEMORY").warning("%s", error)
            self._failure = str(error)
            return ""
        return framed("project-notes", about, digest) if digest else ""

    def _note_conflict(self) -> None:
        """Let it be said, once for each that comes up, that two versions of what is remembered are told as one."""
        line = self._memory.conflict
        if line and not self._conflict:
            self._failure = _(
                "{file} has an unsettled git conflict from line {line:,} on; both sides are read. "
                "Settle it in an editor.",
                file=self._memory.name,
                line=line,
            )
        self._conflict = line

    def take_failure(self) -> str:
        """Why what is remembered was not told, or not as it should be, once; "" where it was."""
        failure, self._failure = self._failure, ""
        return failure
