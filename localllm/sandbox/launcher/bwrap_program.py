"""Find the program bwrap. Apart from `bubblewrap`, so that the assistant loads nothing that runs in the launcher."""

import os

PROGRAMS = ("/usr/bin/bwrap", "/usr/local/bin/bwrap")
"""Not looked up in the user's PATH, which may lead into the project."""


def find_bwrap() -> str:
    """Return the path of bwrap; "" if it is not installed, or others than root could have changed it."""
    return next((path for path in PROGRAMS if _is_the_systems(path)), "")


def _is_the_systems(path: str) -> bool:
    try:
        about = os.stat(path)
    except OSError:
        return False
    return about.st_uid == 0 and not about.st_mode & 0o022 and os.access(path, os.X_OK)
