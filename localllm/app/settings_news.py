"""Notify the user of settings files changed while the program runs."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from localllm.base.i18n import _
from localllm.base.paths import SETTINGS_FILE, config_file

Stamp = tuple[int, int]


class SettingsNews:
    """Compare the settings files with their state at start-up. They are read only then: tools, sandbox and servers are
    configured by them."""

    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        self._files = (config_file(environ), root / SETTINGS_FILE)
        self._known = _stamps(self._files)

    def take(self) -> list[str]:
        """Return a notice with the files changed since the last call; empty for none."""
        before, self._known = self._known, _stamps(self._files)
        changed = [str(file) for file in self._files if before[file] != self._known[file]]
        if not changed:
            return []
        text = _(
            "{files} changed. The change takes effect at the next start (localllm --continue resumes this session).",
            files=", ".join(changed),
        )
        return [text]


def _stamps(files: Iterable[Path]) -> dict[Path, Stamp | None]:
    """Return the version stamp of each file; None if it cannot be read or is missing."""
    return {file: _stamp(file) for file in files}


def _stamp(file: Path) -> Stamp | None:
    try:
        facts = file.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size
