"""The folders Python looks for modules in, without those of the project.

Before anything else is imported, and the first line of a chat shown: imports nothing but what Python has loaded anyway.
"""

import os
import sys

_MARKS = (".git", "localllm.toml")


def search_no_project() -> None:
    """Take out of `sys.path` what is relative, or lies in the project one stands in but in no environment of Python's.

    `python -m` puts the working folder there, and so may PYTHONPATH.
    """
    try:
        here = os.path.realpath(os.getcwd())  # noqa: PTH109 - pathlib's functions are not loaded yet
    except OSError:  # the folder is gone: the program will say so
        return
    root = _project(here)
    kept = [os.path.realpath(place) for place in (sys.prefix, sys.base_prefix)]

    def is_safe(entry: str) -> bool:
        real = os.path.realpath(entry)
        if not os.path.isabs(entry) or real == here:  # noqa: PTH117 - as above
            return False
        return not _is_within(real, root) or any(_is_within(real, place) for place in kept if _is_within(place, root))

    sys.path[:] = [entry for entry in sys.path if is_safe(entry)]


def _project(here: str) -> str:
    """The nearest folder upwards that is marked as a project; a home, and what is above it, is none."""
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 - as above
    folder = here
    while not _is_within(home, folder):
        if any(os.path.lexists(f"{folder}/{mark}") for mark in _MARKS):
            return folder
        folder = os.path.dirname(folder)  # noqa: PTH120 - as above
    return here if not _is_within(home, here) else f"{here}/{_MARKS[0]}"


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
