"""How an error's text is written down."""

Text = tuple[str, str, str]
"""What, why, and the fix, in one language; the last two may be empty."""

Entries = dict[str, tuple[str, Text, Text]]
"""Key → (public code, English, Japanese)."""
