"""Folders that nobody can write to, not even root: mounted so for one program."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_MOUNT = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && cd "$0" && exec "$@"'


def read_only(
    folder: Path, command: Sequence[str | Path], environ: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """What became of a command that was run in `folder`, which was read-only for it."""
    here = Path(__file__).parents[2]
    environ = {**(environ or os.environ), "PYTHONPATH": str(here), "PYTHONDONTWRITEBYTECODE": "1"}
    whole = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", _MOUNT, folder, *command]
    return subprocess.run(whole, capture_output=True, text=True, check=False, env=environ, timeout=60)
