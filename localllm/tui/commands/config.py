"""/config: show, explain and set the settings."""

import asyncio
import os
from collections.abc import Collection, Iterable

from localllm.base.errors import ConfigurationError
from localllm.base.i18n import N_, _, gettext, set_language
from localllm.base.paths import config_file
from localllm.config.keys import all_settings, all_tables, find_setting, meaning, unknown_key
from localllm.text.wrapping import wrap
from localllm.tui.commands.context import ChatContext
from localllm.tui.commands.registry import Outcome, SlashCall, slash
from localllm.tui.render.report import notice_lines, wrapped

_COMMAND = "/config"


def _keys(_chat: ChatContext) -> Iterable[str]:
    return all_settings()


def _values(_chat: ChatContext, key: str) -> Iterable[str]:
    from localllm.config.values import words_of

    setting = all_settings().get(key)
    return words_of(setting) if setting else ()


@slash(
    "config",
    usage=N_("[key [value]]"),
    choices=_keys,
    further=_values,
    forms=N_(
        "/config | what differs from the defaults, and where it was set\n"
        "/config llm.max_tokens | the value of one, and what it means\n"
        "/config ui.theme dark | set it in your own file"
    ),
)
async def config(call: SlashCall) -> Outcome:
    """Show the settings that differ from the defaults; explain or set one."""
    key, *value = call.arguments.split(None, 1) or [""]
    if value:
        await _set(call, key, _unquoted(value[0].strip()))
    elif key:
        _explain(call, key)
    else:
        _list(call)


def _list(call: SlashCall) -> None:
    from localllm.tui.render.setting_lines import changed_settings

    screen = call.screen
    rows = list(changed_settings(call.chat.config, screen.width - 2)) or [_("Every setting is at its default.")]
    rows += _from_next_start(call)
    screen.print_lines((("", f"  {row}"),) for row in rows)
    hint = _("/config KEY explains one, /config KEY VALUE sets it in {file}.", file=config_file())
    all_of_them = _("localllm config show lists all of them.")
    screen.print_lines(wrapped("  ", f"{hint}\n{all_of_them}", "dim", screen.width))


def _explain(call: SlashCall, key: str) -> None:
    """Show the value of `key` with its meaning, or the values of all settings below it."""
    from localllm.config.editor import write_value
    from localllm.config.values import describe
    from localllm.tui.render.setting_lines import lines_of_setting, values_of

    screen, loaded = call.screen, call.chat.config
    setting = None if key in all_tables() else find_setting(key, _COMMAND)
    values = values_of(loaded)
    names = [name for name in values if name == key or name.startswith(f"{key}.")]
    if not names and key not in all_settings():
        raise unknown_key(key, _COMMAND)
    for name in names:
        rows = lines_of_setting(loaded, name, name, values[name], screen.width - 2)
        screen.print_lines((("", f"  {row}"),) for row in rows)
    screen.print_lines((("", f"  {row}"),) for row in _from_next_start(call, names))
    if setting is None or key not in all_settings():
        return
    screen.print_lines(wrapped("  ", gettext(meaning(setting)), "", screen.width))
    if not setting.secret_variable:
        kind = _("{kind}; default: {default}", kind=describe(setting), default=write_value(setting.default))
        screen.print_lines(wrapped("  ", kind, "dim", screen.width))


def _from_next_start(call: SlashCall, names: Collection[str] | None = None) -> list[str]:
    """Return the lines of the settings (of those in `names`) that the files change from the next start on."""
    from localllm.config.loader import load
    from localllm.config.saved_values import differing
    from localllm.tui.render.setting_lines import lines_of_setting, values_of

    try:
        saved = load(call.chat.root, environ=os.environ)
    except ConfigurationError as error:
        return [f"# {line}" for line in wrap(str(error), call.screen.width - 4)]
    values, width = values_of(saved), call.screen.width - 4
    rows: list[str] = []
    for key in differing(call.chat.config, saved):
        if names is None or key in names:
            value = values.get(key)
            found = [f"{key}: -"] if value is None else lines_of_setting(saved, key, key, value, width)
            rows += [f"  {row}" for row in found]
    return [_("From the next start:"), *rows] if rows else []


async def _set(call: SlashCall, key: str, value: str) -> None:
    from localllm.config.editor import set_value
    from localllm.config.loader import load
    from localllm.tui.render.setting_lines import effect_notes

    screen, file = call.screen, config_file()
    await asyncio.to_thread(set_value, file, key, value, _COMMAND)
    screen.print_lines(wrapped("  ", _("{key} is set in {file}.", key=key, file=file), "", screen.width))
    if _can_be_shown(call, key) and call.chat.apply_setting(key):
        before = call.commands.conflict_notices()
        _show_at_once(call, key)
        conflicts = [text for text in call.commands.conflict_notices() if text not in before]
        for text in conflicts:
            screen.print_lines(notice_lines(text, "warning", screen.width))
        if not conflicts:
            screen.print_lines(wrapped("  ", _("It is in effect now."), "", screen.width))
    news = call.chat.settings_news()
    for note in effect_notes(load(call.chat.root, environ=os.environ), key, file):
        screen.print_lines(notice_lines(note, "warning", screen.width))
    for note in news:
        screen.print_lines(notice_lines(note, "info", screen.width))


def _can_be_shown(call: SlashCall, key: str) -> bool:
    """Return whether the user interface can use the saved value of `key` at once: a screen stays plain, or coloured,
    as what is written already would not fit."""
    from localllm.config.loader import load

    return key != "ui.theme" or call.screen.can_be(load(call.chat.root, environ=os.environ).settings.ui.theme)


def _show_at_once(call: SlashCall, key: str) -> None:
    """Use an applied setting of the user interface."""
    match key:
        case "ui.language":
            set_language(call.chat.settings.ui.language)
        case "ui.theme":
            call.screen.change_theme(call.chat.settings.ui.theme)
        case _ if key.startswith("commands.aliases."):
            call.commands.change_aliases(call.chat.settings.commands.aliases, call.chat.config.project_aliases)
        case _:
            pass


def _unquoted(value: str) -> str:
    """Remove the quotes around the whole value, which the shell would have removed."""
    quote = value[:1]
    is_quoted = len(value) > 1 and quote in ("'", '"') and value.find(quote, 1) == len(value) - 1
    return value[1:-1] if is_quoted else value
