"""Tell when a folder was made: another one at its path is younger."""

import os
import sys
from pathlib import Path

_AT_FDCWD, _STATX_BTIME = -100, 0x800
_SIZE, _MASK_AT, _SECONDS_AT, _NANOSECONDS_AT = 256, 0, 80, 88  # of struct statx


def birth_time(path: Path) -> str:
    """Return when the file or folder was made; "" if its file system does not know."""
    try:
        if sys.platform == "linux":
            return _by_statx(os.fsencode(path))
        about = os.stat(path)  # noqa: PTH116 - of any platform
        if sys.platform == "win32":
            return str(about.st_ctime_ns)
        return str(getattr(about, "st_birthtime", ""))
    except (OSError, AttributeError, ValueError):
        return ""


def _by_statx(name: bytes) -> str:
    """Ask the C library, as Python does not; AttributeError if it is too old."""
    import ctypes  # few projects have rules of their own

    given = ctypes.create_string_buffer(_SIZE)
    if ctypes.CDLL(None).statx(_AT_FDCWD, ctypes.c_char_p(name), 0, _STATX_BTIME, given):
        return ""

    def number(at: int, size: int) -> int:
        return int.from_bytes(given.raw[at : at + size], sys.byteorder)

    seconds = number(_SECONDS_AT, 8)
    return f"{seconds}.{number(_NANOSECONDS_AT, 4):09}" if number(_MASK_AT, 4) & _STATX_BTIME and seconds else ""
