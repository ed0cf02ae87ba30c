"""Recognise what lies hidden in the user's home, where programs keep keys and settings."""

import os
from pathlib import Path

from localllm.base.folded_names import folded
from localllm.base.i18n import N_

HIDDEN_LEFT_OUT = N_("What is hidden in your home was left out: name a hidden folder itself to have it read.")

NOT_HIDDEN = ("Library", "AppData", "Documents/PowerShell", "Documents/WindowsPowerShell", "snap")
"""What systems keep in the home under other names: keys, mail, profiles of browsers, and what they run at a login."""


def real_home() -> Path:
    """Return the home, its links resolved; the folder `~` of the current one if there is none."""
    return Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111 - pathlib raises if there is none


def is_in_home(root: Path) -> bool:
    """Return whether the folder `root` is the user's home, or holds it; False if there is none."""
    has_home = os.path.isabs(os.path.expanduser("~"))  # noqa: PTH111, PTH117 - as above
    return has_home and real_home().is_relative_to(os.path.realpath(root))


def is_hidden_in_home(path: str) -> bool:
    """Return whether a file is hidden in the user's home, `path` in full with links resolved, or among what systems
    keep there under other names: many of these are run, or believed, by programs."""
    home = folded(str(real_home())).rstrip("/")
    path = folded(path)
    return path.startswith(f"{home}/.") or any(f"{path}/".startswith(folded(f"{home}/{name}/")) for name in NOT_HIDDEN)


def hidden_patterns(folder: Path, top: Path) -> tuple[str, ...]:
    """Return what is hidden in a home that is or lies in `folder`, as patterns of .gitignore for the folder `top`
    around it."""
    if not is_in_home(folder):
        return ()
    below = real_home().relative_to(os.path.realpath(top)).as_posix()
    start = "" if below == "." else "/" + "".join(f"\\{one}" if one in r"\*?[" else one for one in below)
    return tuple(f"{start}/{name}" for name in (".*", *NOT_HIDDEN))
