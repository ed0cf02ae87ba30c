"""What is going on while nothing is being written: waiting, thinking, a tool at work, and for how long."""

from collections.abc import Callable
from typing import Literal

from localllm.base.i18n import _, ngettext
from localllm.text.sanitising import clean, display_width, shorten, shorten_start
from localllm.tui.theme import Line

State = Literal["idle", "waiting", "thinking", "writing", "tool"]

_LAST_CHARACTERS = 400
_SILENCE_SECONDS = 2.0
"""After so long without a piece of the answer, it is said that it is being waited for."""


class Activity:
    """Keeps the time of a run and of its present part."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._state: State = "idle"
        self._run_began = 0.0
        self._began = 0.0
        self._tool = ""
        self._thought_size = 0
        self._thought_end = ""
        self._output: tuple[str, ...] = ()

    def start_run(self) -> None:
        """A run begins, and its time."""
        self._run_began = self._clock()
        self.wait()

    def wait(self) -> None:
        """The model has been asked and says nothing yet."""
        self._enter("waiting")

    def write(self) -> None:
        """A piece of the answer has come."""
        self._enter("writing")

    def run_tool(self, name: str) -> None:
        """A tool has been started."""
        self._tool = clean(name, keep_newlines=False)
        self._enter("tool")

    def show_output(self, lines: tuple[str, ...]) -> None:
        """A tool that runs has written these lines last."""
        self._output = lines

    def resume_tool(self) -> None:
        """A question about the tool has been answered; its time begins now."""
        if self._tool:
            self._enter("tool")

    def think(self, text: str) -> None:
        """A piece of what the model thinks has come."""
        if self._state != "thinking":
            self._enter("thinking")
            self._thought_size, self._thought_end = 0, ""
        self._thought_size += len(text)
        self._thought_end = (self._thought_end + text)[-_LAST_CHARACTERS:]

    def end_thinking(self) -> str:
        """One line for the thinking that has ended; nothing where there was none."""
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
        """Nothing is going on any more; the seconds since the run began."""
        self._state = "idle"
        return self._clock() - self._run_began

    def output(self, width: int, most: int) -> list[Line]:
        """At most `most` of the lines that the tool has written last, of at most `width` cells each."""
        shown = self._output[-most:] if self._state == "tool" and most > 0 else ()
        lines = (clean(line.expandtabs(8), keep_newlines=False) for line in shown)
        return [(("dim", shorten(f"  │ {line}", width)),) for line in lines]

    def line(self, width: int) -> Line:
        """One line of at most `width` cells; empty where there is nothing to say."""
        seconds = self._clock() - self._began
        time = duration(seconds)
        match self._state:
            case "idle":
                return ()
            case "writing" if seconds < _SILENCE_SECONDS:
                return ()
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
    """`0.4 s`, `12 s`, `2 min 05 s`, or the same in Japanese."""
    if seconds < 60:
        return _("{seconds} s", seconds=f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}")
    minutes, rest = divmod(int(seconds), 60)
    return _("{minutes} min {seconds:02d} s", minutes=minutes, seconds=rest)
