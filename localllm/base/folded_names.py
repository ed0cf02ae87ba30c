"""Compare file names as file systems do that ignore case."""

from localllm.base.lazy_patterns import late_pattern

_IGNORED = late_pattern(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Unicode's Default_Ignorable_Code_Point: folders of ext4 that ignore case, and HFS+, pass over these in names."""


def folded(name: str) -> str:
    """Return a name or path in lower case, without characters that such a file system passes over."""
    lower = name.casefold()
    return lower if lower.isascii() else _IGNORED.sub("", lower)
