"""The system prompt and the project context that a session begins with."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import date
from functools import cache
from itertools import accumulate
from pathlib import Path

import msgspec

from localllm.base import logs
from localllm.base.errors import LocalLLMError
from localllm.base.i18n import _
from localllm.base.lazy_patterns import late_pattern
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
    """Return the system prompt of a profile: role and rules.
    The same for every session, so that servers can cache it."""
    return (Path(__file__).parent / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


@cache
def _remarks() -> dict[str, str]:
    return msgspec.toml.decode((Path(__file__).parent / "prompts" / "remarks.toml").read_bytes(), type=dict[str, str])


def remark(name: str, **params: object) -> str:
    """Return a remark for the model during a run: the text of this name in prompts/remarks.toml, formatted."""
    return _remarks()[name].format(**params).strip()


def situation(root: Path, today: date, *, here: str = "", is_attended: bool = True) -> str:
    """Return what differs between sessions: where and when, and whether the user can answer questions.
    It is appended to the first user message. `here`: the user's folder in the project, empty for its root."""
    names = sorted(
        f"{entry.name}/" if entry.is_dir() else entry.name
        for entry in root.iterdir()
        if entry.name not in _PASSED_OVER and _is_text(entry.name)
    )
    ends = list(accumulate(len(name.encode()) + 1 for name in names))
    count = bisect_right(ends, _ROOM_FOR_NAMES)
    shown = " ".join(names[:count]) + (f" … ({len(names)} in all)" if count < len(names) else "")
    alone = "" if is_attended else ". Nobody can answer questions."
    place = f". The user is in {here}/" if here and _is_text(here) else ""
    return f"[Project {root.name}, {today.isoformat()}. Top level: {shown or 'empty'}{place}{alone}]"


_DATED = late_pattern(r"^\[(?:Project [^\n]{1,255}, |Today is )(\d{4}-\d\d-\d\d)\.", re.MULTILINE)


def date_note(today: date) -> str:
    """Return what the model is told when the day has changed since `situation`."""
    return f"[Today is {today.isoformat()}.]"


def told_date(newest_first: Iterable[str]) -> str:
    """Return the newest date that the model was told in one of these messages; "" if none."""
    return next((found[-1] for text in newest_first if (found := _DATED.findall(text))), "")


def _is_text(name: str) -> bool:
    """Return whether a name has no control characters; any blank may be in it, as the ideographic one."""
    return all(character.isprintable() or unicodedata.category(character) == "Zs" for character in name)


_ABOUT = "Kept in {file} from earlier work. Background, no request:"


class Briefing:
    """Reads the project's instructions and notes on each call. `here`: the folder in the project, by default its root.
    `instructions` are the ones last used. `closed`: paths in the project that rules close to reading. `session_id`: the
    session to be told."""

    def __init__(
        self,
        root: Path,
        memory: ProjectMemory,
        here: Path | None = None,
        closed: Sequence[str] = (),
        *,
        session_id: str = "",
    ) -> None:
        self._session_id = session_id
        self._root = root
        self._here = here or root
        self._closed = closed
        self._memory = memory
        self._failure = ""
        self._conflict = 0
        self.instructions: Sequence[Instructions] = ()

    def for_system(self, profile: Profile) -> str:
        """Return what is appended to the system prompt, possibly ""."""
        self.instructions = self.look(profile)
        return told(self.instructions)

    def look(self, profile: Profile) -> Sequence[Instructions]:
        """Return the current instruction files."""
        return read_instructions(self._root, profile.instructions, self._here, self._closed)

    def notes(self, profile: Profile) -> str:
        """Return the remembered notes, possibly "". An unusable file is skipped: see `take_failure`."""
        try:
            searchable = profile.tools is None or "recall" in profile.tools
            about = _ABOUT.format(file=self._memory.name)
            room = profile.notes - len(framed("project-notes", about, "").encode())
            digest = self._memory.digest(room, searchable=searchable, session_id=self._session_id)
            self._note_conflict()
        except LocalLLMError as error:
            if self._failure != str(error):
                logs.of("MEMORY").warning("%s", error)
            self._failure = str(error)
            return ""
        return framed("project-notes", about, digest) if digest else ""

    def _note_conflict(self) -> None:
        """Report, once per conflict, that two versions of the notes are read as one."""
        line = self._memory.conflict
        if line and not self._conflict:
            self._failure = _(
                "{file} has an unresolved git conflict from line {line:,} on; both sides are read. Resolve "
                "it in an editor.",
                file=self._memory.name,
                line=line,
            )
        self._conflict = line

    def take_failure(self) -> str:
        """Return once why the notes were skipped or incomplete; "" if they were not."""
        failure, self._failure = self._failure, ""
        return failure
