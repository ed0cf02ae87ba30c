"""Format settings as lines: each with its value and its origin."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from localllm.base.events import Json
from localllm.base.i18n import N_, _
from localllm.base.paths import SETTINGS_FILE, config_file
from localllm.config.editor import write_value
from localllm.config.keys import Setting, all_settings, find_setting
from localllm.config.loader import Loaded, secret
from localllm.config.reader import Origin
from localllm.safety.saved_rules import rules_file
from localllm.text.sanitising import clean, display_width
from localllm.text.wrapping import wrap

_LAYERS = {
    "default": N_("default"),
    "user": N_("user"),
    "project": N_("project"),
    "environment": N_("environment"),
    "command_line": N_("command line"),
}


def values_of(loaded: Loaded) -> dict[str, Json]:
    """Return every setting by key, aliases individually, in the order of the schema. For a secret, only whether it is
    set."""
    values: dict[str, Json] = {}
    for setting in all_settings().values():
        value: Any = loaded.settings
        for name in setting.key.split("."):
            value = getattr(value, name)
        if setting.table:
            values |= {f"{setting.key}.{name}": text for name, text in value.items()}
        else:
            values[setting.key] = secret_state(setting) or value
    return values


def secret_state(setting: Setting) -> str:
    """Return whether a secret is set; "" for a setting that is no secret."""
    if not setting.secret_variable:
        return ""
    state = N_("set (from {variable})") if secret(setting.key, os.environ) else N_("not set (it comes from {variable})")
    return _(state, variable=setting.secret_variable)


def file_lines(project: Path) -> Iterator[str]:
    """List the two settings files and the file of permissions, a line each."""
    files = {
        _("user"): config_file(),
        _("project"): project / SETTINGS_FILE,
        _("answers"): rules_file(),
    }
    column = max(display_width(layer) for layer in files) + 2
    for layer, file in files.items():
        missing = "" if os.path.lexists(file) else f" {_('(not there)')}"
        yield f"{layer}{' ' * (column - display_width(layer))}{_shown(str(file))}{missing}"


def listing(loaded: Loaded, project: Path, width: int) -> Iterator[str]:
    """List all settings, a line each with its origin if it fits, grouped as in a file; no line is wider than `width`.

    A list too long for a line has one item per line, a long text is wrapped; nothing is truncated.
    """
    values = values_of(loaded)
    for line in file_lines(project):
        yield from _comment(line, 0, width)
    heading = ""
    for setting in all_settings().values():
        table = setting.key if setting.table else setting.key.rpartition(".")[0]
        if table != heading:
            heading = table
            yield from ("", f"[{table}]") if table else ()
        keys = [key for key in values if key.startswith(f"{table}.")] if setting.table else [setting.key]
        for key in keys:
            yield from lines_of_setting(loaded, key, key.removeprefix(f"{table}."), values[key], width)
        if not keys:
            yield _("# none")


def changed_settings(loaded: Loaded, width: int) -> Iterator[str]:
    """List what differs from the defaults or is withheld, as `listing` does, with whole keys."""
    for key, value in values_of(loaded).items():
        setting = find_setting(key, "")
        is_set = bool(secret(key, os.environ)) if setting.secret_variable else value != setting.default
        if is_set or key in loaded.withheld:
            yield from lines_of_setting(loaded, key, key, value, width)


def effect_notes(loaded: Loaded, key: str, file: Path) -> Iterator[str]:
    """Explain why `key`, which was changed in `file`, may have no effect in these settings, loaded after the change."""
    origin = loaded.origins.get(key)
    if key in loaded.withheld and loaded.files.get("project") == file:
        yield _("It has no effect until you trust the project (localllm config trust); for your own file add --user.")
    elif origin and origin.source != str(file):
        yield _("It has no effect: {origin} sets it too, and takes precedence.", origin=origin)


def lines_of_setting(loaded: Loaded, key: str, name: str, value: Json, width: int) -> Iterator[str]:
    """Format one setting, called `name`, with its origin; below it, whether another value is withheld."""
    if state := secret_state(find_setting(key, "")):
        yield from _comment(f"{name}: {state}", 0, width)
    else:
        yield from _with_origin(_pair(name, value, width), _origin(loaded.origins.get(key)), width)
    if key in loaded.withheld:
        yield from _comment(
            _(
                "withheld: localllm.toml sets another value, which takes effect once you trust it (localllm "
                "config trust)"
            ),
            4,
            width,
        )


def _comment(text: str, indent: int, width: int) -> Iterator[str]:
    for line in wrap(text, width - indent - 2):
        yield f"{' ' * indent}# {line}"


def _pair(name: str, value: Json, width: int) -> list[str]:
    """Format `name = value` as TOML, on several lines if it is too long for one."""
    whole = f"{_shown(name)} = {_shown(write_value(value))}"
    if display_width(whole) <= width or not isinstance(value, tuple):
        return _hang(whole, width)
    items = cast("tuple[str, ...]", value)
    rows = [row for item in items for row in _hang(f"    {_shown(write_value(item))},", width)]
    return [f"{name} = [", *rows, "]"]


def _shown(text: str) -> str:
    return clean(text, keep_newlines=False)


def _hang(line: str, width: int) -> list[str]:
    """Wrap a line if needed, with a hanging indent."""
    if display_width(line) <= width:
        return [line]
    first, *rest = wrap(line, width - 8)
    return [first, *(f"        {part}" for part in rest)]


_ORIGIN_COLUMN = 44


def _with_origin(lines: list[str], origin: str, width: int) -> Iterator[str]:
    """Append the origin to the last line, or put it below if it does not fit."""
    *before, last = lines
    yield from before
    room = width - display_width(f"{last}# {origin}")
    if room >= 2:
        gap = max(2, min(room, _ORIGIN_COLUMN - display_width(last)))
        yield f"{last}{' ' * gap}# {origin}"
    else:
        yield last
        yield from _comment(origin, 4, width)


def _origin(origin: Origin | None) -> str:
    """Describe the origin of a value: the layer, with the line of its file or the variable."""
    if origin is None:
        return _("default")
    layer = _(_LAYERS[origin.layer.replace(" ", "_")])
    if origin.line:
        return f"{layer} {SETTINGS_FILE}:{origin.line}"
    return layer if origin.layer == "command line" else f"{layer} {origin.source}"
