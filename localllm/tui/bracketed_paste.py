"""The marks by which a terminal tells pasted text from typed keys."""

PASTE_ON, PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"
"""Enable and disable bracketed paste (DEC mode 2004)."""

PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"
"""The marks around a paste."""

PASTE_SECONDS = 2.0
"""Seconds without input after which the end mark of a paste may be missing: an Enter alone ends it then."""
