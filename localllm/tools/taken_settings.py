"""Find settings of docker compose and aider that a command put into a `.env`: from there they take more than values."""

import re
from collections.abc import Callable, Iterable, Iterator

from localllm.base.lazy_patterns import late_pattern
from localllm.snapshots.change_log import Change

_LARGEST = 1_000_000  # bytes of a `.env` that are looked at
_SETTING = late_pattern(
    r"^\s{0,99}(?:export[ \t]{1,9})?(COMPOSE_(?:FILE|ENV_FILES|PROFILES)|AIDER_[A-Z_]{1,50})[ \t]{0,9}[=:].{0,999}",
    re.MULTILINE,
)


def taken_settings(changes: Iterable[Change], content: Callable[[str], bytes]) -> Iterator[tuple[str, str]]:
    """Yield the file and the name of each such setting that is new or changed. `content` returns that of a file's
    state; OSError if it is not kept."""
    for change in changes:
        if re.match(r"\.env(?:\.|$)", change.path.rpartition("/")[2]):
            try:
                before, after = (_text(content(state)) for state in (change.before, change.after))
            except OSError:
                continue
            known = {match[0] for match in _SETTING.finditer(before)}
            new = [match[1] for match in _SETTING.finditer(after) if match[0] not in known]
            yield from ((change.path, name) for name in dict.fromkeys(new))


def _text(data: bytes) -> str:
    return data[:_LARGEST].decode("utf-8-sig", "replace")
