"""Settings that change while the program runs: in a file, or by the user's own /config."""

from collections.abc import Mapping
from pathlib import Path

from localllm.base.errors import ConfigurationError
from localllm.base.i18n import _
from localllm.base.paths import SETTINGS_FILE, config_file
from localllm.config.loader import Loaded, load
from localllm.config.saved_values import differing, with_saved

Stamp = tuple[int, int]


class SettingsNews:
    """Compare the settings files with their state at start-up. They are read only then: tools, sandbox and servers are
    configured by them."""

    def __init__(self, root: Path, environ: Mapping[str, str], loaded: Loaded) -> None:
        """`loaded` are the settings in force."""
        self._root = root
        self._environ = environ
        self._files = (config_file(environ), root / SETTINGS_FILE)
        self._stamps = self._stamped()
        self._known = self._start = loaded

    def take(self) -> list[str]:
        """Return a notice with the files changed since the last call, if they set anything else; empty for none."""
        before, self._stamps = self._stamps, self._stamped()
        changed = [str(file) for file in self._files if before[file] != self._stamps[file]]
        if not changed or not self._says_otherwise():
            return []
        text = _(
            "{files} changed. The change takes effect at the next start (localllm --continue resumes this session).",
            files=", ".join(changed),
        )
        return [text]

    def _says_otherwise(self) -> bool:
        """Return whether the files set anything that they did not set before; a comment does not."""
        try:
            saved = load(self._root, environ=self._environ)
        except ConfigurationError:
            return True
        before, self._known = self._known, saved
        is_same = before.withheld == saved.withheld and before.left_out == saved.left_out
        return not is_same or bool(differing(before, saved, self._start))

    def applied(self, config: Loaded, key: str) -> Loaded | None:
        """Return the settings in force with the user's own value of `key`, as saved; None if they stay as they are,
        and `take` tells of the change. Raises ConfigurationError if the files cannot be read."""
        saved = load(self._root, environ=self._environ)
        if (loaded := with_saved(config, saved, key)) is not None:
            self._known, self._stamps = saved, self._stamped()
        return loaded

    def _stamped(self) -> dict[Path, Stamp | None]:
        """Return the version stamp of each file; None if it cannot be read or is missing."""
        return {file: _stamp(file) for file in self._files}


def _stamp(file: Path) -> Stamp | None:
    try:
        facts = file.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size
