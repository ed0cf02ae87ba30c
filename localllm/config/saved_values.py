"""Settings in force compared with those that the files hold now."""

from typing import Any, cast

import msgspec

from localllm.config.keys import all_settings, path_of
from localllm.config.loader import Loaded

_AT_ONCE = ("ui.", "web.", "market.", "research.", "commands.aliases.")
"""What the user's /config applies to an open chat. All else configures tools, sandbox, servers and limits."""

_FIXED = frozenset({"research.work_dir"})
"""Of these, what is in use since the start: the log is written there."""


def differing(config: Loaded, saved: Loaded, start: Loaded | None = None) -> list[str]:
    """Return the keys with another value in `saved`, read from the files, than in `config`. Not those that the command
    line has set (at the `start`), or that await trust."""
    keys: list[str] = []
    for key, setting in all_settings().items():
        old, new = _value(config.settings, key), _value(saved.settings, key)
        if setting.table:
            keys += [f"{key}.{name}" for name in (old | new) if old.get(name) != new.get(name)]
        elif old != new:
            keys.append(key)
    given = {key for key, origin in (start or config).origins.items() if origin.layer == "command line"}
    return [key for key in keys if key not in given.union(saved.withheld)]


def with_saved(config: Loaded, saved: Loaded, key: str) -> Loaded | None:
    """Return the settings in force with the user's own value of `key`. None if that takes effect at the next start, or
    another layer takes precedence."""
    origin, before = saved.origins.get(key), config.origins.get(key)
    is_own = origin is not None and origin.layer == "user" and (before is None or before.layer == "user")
    if not (is_own and key.startswith(_AT_ONCE)) or key in _FIXED:
        return None
    return msgspec.structs.replace(
        config,
        settings=_replaced(config.settings, path_of(key), _value(saved.settings, key)),
        alone=config.alone and _replaced(config.alone, path_of(key), _value(saved.settings, key)),
        origins={**config.origins, key: origin},
        withheld=tuple(name for name in config.withheld if name != key),
        files=saved.files,
    )


def _value(section: Any, key: str) -> Any:
    for name in path_of(key):
        section = cast("Any", section)[name] if isinstance(section, dict) else getattr(section, name)
    return section


def _replaced(section: Any, path: tuple[str, ...], value: object) -> Any:
    """Return the settings `section` with another value at `path`."""
    name, *rest = path
    if isinstance(section, dict):
        return {**cast("dict[str, object]", section), name: value}
    inner = _replaced(getattr(section, name), tuple(rest), value) if rest else value
    return msgspec.structs.replace(section, **{name: inner})
