"""Recognise file systems of this machine's own: their changes go through its kernel, and their times are its clock's.

Linux only; elsewhere none is recognised.
"""

import os
import struct
import sys
from pathlib import Path

_LOCAL = frozenset(
    {0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0x2FC12FC1, 0xF2F52010, 0xCA451A4E, 0x794C7630}
)  # linux/magic.h: ext, xfs, btrfs, tmpfs, zfs, f2fs, bcachefs, overlay


def is_local(path: Path) -> bool:
    """Return whether the path is on a file system that is not changed behind the kernel's back."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        import ctypes
    except ImportError:  # a Python that was built without it
        return False
    facts = ctypes.create_string_buffer(256)  # struct statfs begins with the type, a long
    if ctypes.CDLL(None).statfs(os.fsencode(path), facts) != 0:
        return False
    (kind,) = struct.unpack_from("@l", facts)
    return kind & 0xFFFFFFFF in _LOCAL


def has_exact_times(folder: Path) -> bool:
    """Return whether the time of a change (ctime) there is that of this machine's clock, to some milliseconds. Older
    ext file systems keep whole seconds."""
    try:
        return folder.lstat().st_ctime_ns % 1_000_000_000 != 0 and is_local(folder)
    except OSError:
        return False
