"""The settings as a listing for people and as JSON: every value, and who set it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec

from localllm.base.config.editing import write_value
from localllm.base.config.keys import Setting, all_settings, find_setting
from localllm.base.config.loading import Loaded, secret
from localllm.base.config.reading import Origin
from localllm.base.events import Json
from localllm.base.i18n import tr
from localllm.base.paths import SETTINGS_FILE, config_file
from localllm.text.cleaning import clean, display_width
from localllm.text.wrapping import wrap
from localllm.tools.guard.remembered import rules_file


def values_of(loaded: Loaded) -> dict[str, Json]:
    """Every setting by its key, aliases one by one, in the order of the schema. Of a secret, only whether it is set."""
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
    """What may be said of a secret; "" for a setting that is none."""
    if not setting.secret_variable:
        return ""
    state = "settings.secret_set" if secret(setting.key, os.environ) else "settings.secret_not_set"
    return tr(state, variable=setting.secret_variable)


def as_json(loaded: Loaded) -> str:
    """All of it as one JSON object: `settings` by key with value, layer and origin, `files`, `withheld`, `warnings`."""
    settings: dict[str, Json] = {}
    for key, value in values_of(loaded).items():
        origin = loaded.origins.get(key)
        settings[key] = {
            "value": value,
            "layer": origin.layer if origin else "default",
            "from": str(origin) if origin else "",
            "withheld": key in loaded.withheld,
        }
    files = {layer: str(file) for layer, file in loaded.files.items()}
    whole = {"settings": settings, "files": files, "withheld": loaded.withheld, "warnings": loaded.warnings}
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode()


def file_lines(project: Path) -> Iterator[str]:
    """The two settings files and the one with what answers have allowed, a line each."""
    files = {
        tr("settings.layer_user"): config_file(),
        tr("settings.layer_project"): project / SETTINGS_FILE,
        tr("settings.answers"): rules_file(),
    }
    column = max(display_width(layer) for layer in files) + 2
    for layer, file in files.items():
        missing = "" if os.path.lexists(file) else f" {tr('settings.file_missing')}"
        yield f"{layer}{' ' * (column - display_width(layer))}{_shown(str(file))}{missing}"


def listing(loaded: Loaded, project: Path, width: int) -> Iterator[str]:
    """All settings, a line each with its origin where that fits, grouped as in a file; no line is wider than `width`.

    A list too long for a line has an item on each, a long text is wrapped: nothing is left out.
    """
    values = values_of(loaded)
    for line in file_lines(project):
        yield from _comment(line, 0, width)
    heading = ""
    for setting in all_settings().values():
        table = setting.key if setting.table else setting.key.rpartition(".")[0]
        if table != heading:
            heading = table
            yield from ("", f"[{table}]")
        keys = [key for key in values if key.startswith(f"{table}.")] if setting.table else [setting.key]
        for key in keys:
            yield from _setting(loaded, key, key[len(table) + 1 :], values[key], width)
        if not keys:
            yield tr("settings.no_entries")


def _setting(loaded: Loaded, key: str, name: str, value: Json, width: int) -> Iterator[str]:
    if state := secret_state(find_setting(key, "")):
        yield from _comment(f"{name}: {state}", 0, width)
    else:
        yield from _with_origin(_pair(name, value, width), _origin(loaded.origins.get(key)), width)
    if key in loaded.withheld:
        yield from _comment(tr("settings.withheld_here"), 4, width)


def _comment(text: str, indent: int, width: int) -> Iterator[str]:
    for line in wrap(text, width - indent - 2):
        yield f"{' ' * indent}# {line}"


def _pair(name: str, value: Json, width: int) -> list[str]:
    """`name = value` as TOML, on several lines where it is too long for one."""
    whole = f"{_shown(name)} = {_shown(write_value(value))}"
    if display_width(whole) <= width or not isinstance(value, tuple):
        return _hang(whole, width)
    items = cast("tuple[str, ...]", value)
    rows = [row for item in items for row in _hang(f"    {_shown(write_value(item))},", width)]
    return [f"{name} = [", *rows, "]"]


def _shown(text: str) -> str:
    return clean(text, keep_newlines=False)


def _hang(line: str, width: int) -> list[str]:
    """The line, wrapped where it must be, its further lines indented."""
    if display_width(line) <= width:
        return [line]
    first, *rest = wrap(line, width - 8)
    return [first, *(f"        {part}" for part in rest)]


_ORIGIN_COLUMN = 44


def _with_origin(lines: list[str], origin: str, width: int) -> Iterator[str]:
    """The lines with the origin behind the last, or below it where there is no room."""
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
    """Who set a value: the layer, with the line of its file or the variable."""
    if origin is None:
        return tr("settings.layer_default")
    layer = tr(f"settings.layer_{origin.layer.replace(' ', '_')}")
    if origin.line:
        return f"{layer} {SETTINGS_FILE}:{origin.line}"
    return layer if origin.layer == "command line" else f"{layer} {origin.source}"
