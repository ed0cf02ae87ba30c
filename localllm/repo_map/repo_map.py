"""RepoMap: the files and definitions of a repository that matter most for a request."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from localllm.repo_map.request import Part, RepoMapText

if TYPE_CHECKING:
    from localllm.repo_map.rendering import Drawing

_SECONDS = 20.0


class RepoMap:
    """The map of one project. Nothing is read, and no drawing code loaded, before the first `draw`.

    `draw` takes seconds for a large new project: call it in a thread. One drawing at a time; a second waits.
    """

    def __init__(
        self, root: Path, cache: Path | None = None, exclude: Sequence[str] = (), *, seconds: float = _SECONDS
    ) -> None:
        """Create it. `cache`: the file that keeps parse results between runs. `seconds`: the parsing time of a
        drawing; the remaining files follow in the next."""
        self.root = root
        self._cache = cache
        self._exclude = exclude
        self._seconds = seconds
        self._lock = threading.Lock()
        self._drawing: Drawing | None = None

    def rank(self, path: str) -> float:
        """Return the importance of a file in the last drawing, from 0 to 1 (the highest); 0 before the first.

        It is the square root of its PageRank relative to the highest: the ranks decrease so steeply that all but a
        few files would be near 0.
        """
        return self._drawing.ranks.get(path, 0.0) if self._drawing else 0.0

    def draw(
        self,
        room: int,
        *,
        words: str = "",
        files: Sequence[str] = (),
        under: str = "",
        closed: Sequence[str] = (),
        measure: Callable[[str], int] = len,
        stop: threading.Event | None = None,
    ) -> RepoMapText:
        """Draw the map within `room` characters, or other units that `measure` counts.

        `words` and `files`: the topic of the conversation; related files come first. `under`: only the files in
        this folder (relative, with `/`) are shown; those outside still vote, and so do
        those at or below the paths `closed`, which are never shown. `stop`, once set, ends the parsing.
        Raises ConfigurationError project_folder_unusable if the project cannot be read.
        """
        with self._lock:
            drawing = self._ready()
            return drawing.draw(room, words, files, Part(under.strip("/"), closed), measure, stop or threading.Event())

    async def draw_lines(self, lines: int, *, words: str = "") -> RepoMapText:
        """Call `draw` with a limit of lines, in a thread."""
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self.draw, lines, words=words, measure=_count_lines, stop=stop)
        finally:
            stop.set()

    def _ready(self) -> "Drawing":
        if self._drawing is None:
            from localllm.repo_map.rendering import Drawing  # most sessions draw none

            self._drawing = Drawing(self.root, self._cache, self._exclude, self._seconds)
        return self._drawing


def _count_lines(text: str) -> int:
    return text.count("\n") + 1
