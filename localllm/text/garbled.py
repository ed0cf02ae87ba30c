"""Detect garbled text, as extracted from a PDF whose fonts lack a character map."""

import re
import unicodedata

_CID = re.compile(r"\(cid:\d+\)|/[gGcC](?:id)?\d{1,5}\b")
_SAMPLE = 20_000
_MOST = 0.1
"""Share of unusual characters from which a text is garbled."""
_NOT_WRITTEN = frozenset({"Co", "Cn", "Cc", "Cs"})
"""Unicode categories: private use, unassigned, controls, surrogates."""


def is_garbled(text: str) -> bool:
    """Return whether much of the text is no writing in any language."""
    sample = text[:_SAMPLE]
    glyphs = sum(len(found) for found in _CID.findall(sample))
    strange = sum(
        character == "\ufffd" or (unicodedata.category(character) in _NOT_WRITTEN and character not in "\t\n\r\f")
        for character in sample
    )
    written = sum(not character.isspace() for character in sample)
    return written > 0 and (glyphs + strange) / written >= _MOST
