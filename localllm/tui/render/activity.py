"""The activity indicator: waiting, thinking or running a tool, with the elapsed time."""

from collections.abc import Callable
from typing import Literal

from localllm.base.i18n import N_, _, ngettext
from localllm.text.sanitising import clean, display_width, shorten, shorten_start
from localllm.tui.theme import Line

State = Literal["idle", "waiting", "thinking", "writing", "tool"]

_LAST_CHARACTERS = 400
_SILENCE_SECONDS = 2.0
"""Seconds without a piece of the answer after which waiting is shown."""


class Activity:
    """Track the time of a run and of its current phase."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._state: State = "idle"
        self._run_began = 0.0
        self._began = 0.0
        self._tool = ""
        self._asked = ""
        self._thought_size = 0
        self._thought_end = ""
        self._output: tuple[str, ...] = ()

    def start_run(self) -> None:
        """Start a run and its clock."""
        self._run_began = self._clock()
        self.wait()

    def wait(self, asked: str = "") -> None:
        """The model was called and has not answered yet; or that of another, `asked`."""
        self._asked = asked
        self._enter("waiting")

    def write(self) -> None:
        """A piece of the answer has arrived."""
        self._enter("writing")

    def run_tool(self, name: str) -> None:
        """A tool was started."""
        self._tool = clean(name, keep_newlines=False)
        self._enter("tool")

    def show_output(self, lines: tuple[str, ...]) -> None:
        """Set the latest output lines of a running tool."""
        self._output = lines

    def resume_tool(self) -> None:
        """Restart the tool's clock after a question about it."""
        if self._tool:
            self._enter("tool")

    def think(self, text: str) -> None:
        """A piece of reasoning has arrived."""
        if self._state != "thinking":
            self._enter("thinking")
            self._thought_size, self._thought_end = 0, ""
        self._thought_size += len(text)
        self._thought_end = (self._thought_end + text)[-_LAST_CHARACTERS:]

    def end_thinking(self) -> str:
        """Return a line on the finished reasoning; empty if there was none."""
        if self._state != "thinking":
            return ""
        seconds = self._clock() - self._began
        self.stop()
        return ngettext(
            "thought for {time} ({size} character)",
            "thought for {time} ({size} characters)",
            self._thought_size,
            time=duration(seconds),
            size=f"{self._thought_size:,}",
        )

    def stop(self) -> float:
        """Stop; return the seconds since the run began."""
        self._state = "idle"
        return self._clock() - self._run_began

    def output(self, width: int, most: int) -> list[Line]:
        """Return at most `most` of the tool's latest output lines, of at most `width` cells each."""
        shown = self._output[-most:] if self._state == "tool" and most > 0 else ()
        lines = (clean(line.expandtabs(8), keep_newlines=False) for line in shown)
        return [(("dim", shorten(f"  │ {line}", width)),) for line in lines]

    def line(self, width: int) -> Line:
        """Return one line of at most `width` cells; empty if idle."""
        seconds = self._clock() - self._began
        time = duration(seconds)
        match self._state:
            case "idle":
                return ()
            case "writing" if seconds < _SILENCE_SECONDS:
                return ()
            case "waiting" if self._asked:
                key = N_("asking: {members}, {time} (Ctrl+C stops)")
                return (("dim", shorten("  " + _(key, members=self._asked, time=time), width)),)
            case "waiting" | "writing":
                return (("dim", shorten("  " + _("waiting for the model, {time} (Ctrl+C stops)", time=time), width)),)
            case "tool":
                return (
                    (
                        "dim",
                        shorten(
                            "  " + _("{name} is running, {time} (Ctrl+C stops)", name=self._tool, time=time), width
                        ),
                    ),
                )
            case "thinking":
                head = "  " + ngettext(
                    "thinking, {time}, {size} character:",
                    "thinking, {time}, {size} characters:",
                    self._thought_size,
                    time=time,
                    size=f"{self._thought_size:,}",
                )
                words = " ".join(clean(self._thought_end).split())
                room = max(0, width - display_width(head) - 1)
                return (("dim", shorten(f"{head} {shorten_start(words, room)}", width)),)

    def _enter(self, state: State) -> None:
        self._state = state
        self._output = ()
        self._began = self._clock()


def duration(seconds: float) -> str:
    """Format seconds: `0.4 s`, `12 s`, `2 min 05 s`, or the same in Japanese."""
    if seconds < 60:
        return _("{seconds} s", seconds=f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}")
    minutes, rest = divmod(int(seconds), 60)
    return _("{minutes} min {seconds:02d} s", minutes=minutes, seconds=rest)
