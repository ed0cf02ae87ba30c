"""A real terminal to look at: a program in tmux, its keyboard and its screen."""

import contextlib
import os
import shutil
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

TMUX = shutil.which("tmux")
PATIENCE_SECONDS = 10.0


class Tmux:
    """One program in one pane. `folder` is for tmux's socket, `name`; its path must be short (a Unix socket's is)."""

    def __init__(
        self,
        folder: Path,
        command: Sequence[str],
        *,
        environ: Mapping[str, str],
        columns: int = 80,
        rows: int = 24,
        name: str = "tmux",
    ) -> None:
        self._socket = folder / name
        settings = [item for name, value in environ.items() for item in ("-e", f"{name}={value}")]
        size = ["-x", str(columns), "-y", str(rows)]
        # What remains after the program shows its exit code. Ctrl+C is for the program alone, not for the shell.
        script = 'trap : INT; stty > before; "$0" "$@"; code=$?; stty > after; echo "[left with $code]"; exec sleep 60'
        self._tmux("new-session", "-d", *size, *settings, "-c", str(folder), "sh", "-c", script, *command)

    def type(self, text: str) -> None:
        """Type characters as they are."""
        self._tmux("send-keys", "-l", "--", text)

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names: Enter, C-c, Escape, …"""
        self._tmux("send-keys", *keys)

    def paste(self, text: str) -> None:
        """Paste, marked as such where the program has asked for that."""
        self._tmux("set-buffer", "-b", "clip", text)
        self._tmux("paste-buffer", "-p", "-b", "clip")

    def say(self, text: str) -> None:
        """Type a line and send it."""
        self.type(text)
        self.press("Enter")

    def screen(self, *, history: bool = False, colours: bool = False) -> str:
        """What is to be seen; with `history`, also what has scrolled away."""
        options = ["-p", *(["-S", "-"] if history else []), *(["-e"] if colours else [])]
        return self._tmux("capture-pane", *options)

    def wait(self, *texts: str, gone: str = "", last: str = "", history: bool = False) -> str:
        """The screen, once all of `texts` are on it, `gone` is not, and its last line with anything is `last`."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            screen = self.screen(history=history)
            shown = all(text in screen for text in texts) and not (gone and gone in screen)
            if shown and screen.rstrip().endswith(f"\n{last}" if last else ""):
                return screen
            assert time.monotonic() < deadline, f"waited for {texts} and {last!r} without {gone!r}, saw:\n{screen}"
            time.sleep(0.03)

    def clipboard(self) -> str:
        """What a program has copied last."""
        return self._tmux("show-buffer")

    def resize(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def wait_until_edited(self) -> None:
        """Wait until a plain question has taken what was typed before it, and a line can be typed."""
        fd = os.open(self._tmux("display-message", "-p", "#{pane_tty}").strip(), os.O_RDONLY | os.O_NOCTTY)
        deadline = time.monotonic() + PATIENCE_SECONDS
        try:
            while termios.tcgetattr(fd)[0] & termios.ICRNL:
                assert time.monotonic() < deadline, f"it never asked:\n{self.screen()}"
                time.sleep(0.01)
        finally:
            os.close(fd)

    def close(self) -> None:
        """End it, and wait until its processes have gone, which may be writing to the folder yet."""
        session = int(self._tmux("display-message", "-p", "#{pane_pid}"))
        self._tmux("kill-server")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while _has_processes(session) and time.monotonic() < deadline:
            time.sleep(0.01)

    def _tmux(self, *arguments: str) -> str:
        command = [TMUX or "tmux", "-S", str(self._socket), "-f", "/dev/null", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS).stdout


def _has_processes(session: int) -> bool:
    """Whether a process of that session lives; the leader of a pane's is its first process."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(int(process.name)) == session:
                return True
    return False
