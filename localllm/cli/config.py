"""`localllm config`: look at the settings, and change them without opening an editor."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from localllm.base.config.editing import set_value, unset, write_value
from localllm.base.config.keys import all_settings, all_tables, find_setting, unknown_key
from localllm.base.config.loading import Loaded, left_out_notice, load
from localllm.base.config.trusted import Answers
from localllm.base.errors import ConfigurationError
from localllm.base.i18n import Phrase, set_language, tr
from localllm.base.paths import SETTINGS_FILE, config_file, find_project
from localllm.cli.config_listing import as_json, file_lines, listing, values_of
from localllm.text.cleaning import clean
from localllm.ui.screen import Screen
from localllm.ui.theme import choose_theme
from localllm.ui.trust import setting_lines

Choice = Literal["user", "project"] | None
Command = TypeVar("Command", bound=Callable[..., Any])


@click.group()
def config() -> None:
    """Look at the settings and change them.

    They come from your own file, then the project's localllm.toml, then LOCALLLM_… variables, then the command line;
    the later wins. Keys are written with dots, such as llm.model or commands.aliases.NAME.
    """


def _choose_file(command: Command) -> Command:
    """The options that say which file is meant; the parameter is called `choice`."""
    user = click.option("--user", "choice", flag_value="user", help="Your own file, for all projects.")
    project = click.option("--project", "choice", flag_value="project", help="The localllm.toml of this project.")
    return user(project(command))


@config.command()
@click.argument("key")
@click.pass_context
def get(context: click.Context, key: str) -> None:
    """Print the value KEY has now, or all values below it."""
    values = values_of(_load(context))
    if key in values:
        value = values[key]
        click.echo(_for_screen(value if isinstance(value, str) else write_value(value)))
        return
    if key not in all_tables() and not (key in all_settings() and all_settings()[key].table):
        raise unknown_key(key, Phrase("settings.command_line"))
    for name, value in values.items():
        if name.startswith(f"{key}."):
            secret = bool(find_setting(name, "").secret_variable)
            click.echo(_for_screen(f"# {name}: {value}" if secret else f"{name} = {write_value(value)}"))


@config.command("set", context_settings={"ignore_unknown_options": True})
@_choose_file
@click.argument("key")
@click.argument("values", nargs=-1, required=True, type=click.UNPROCESSED, metavar="VALUE...")
@click.pass_context
def set_(context: click.Context, choice: Choice, key: str, values: tuple[str, ...]) -> None:
    """Set KEY to VALUE; the rest of the file stays as it is.

    Without an option that is the project's localllm.toml if there is one, else your own file. A list is written as
    several values, as a,b or as ["a", "b"].
    """
    setting = find_setting(key, Phrase("settings.command_line"))
    file = _target(choice)
    set_value(file, key, (", " if isinstance(setting.default, tuple) else " ").join(values))
    _say(tr("settings.was_set", key=key, file=file))
    _say_what_counts(context, key, file)


@config.command("unset")
@_choose_file
@click.argument("key")
@click.pass_context
def unset_(context: click.Context, choice: Choice, key: str) -> None:
    """Take KEY out of the file, so that what lies below it counts again."""
    file = _target(choice)
    if unset(file, key):
        _say(tr("settings.was_unset", key=key, file=file))
        _say_what_counts(context, key, file)
    else:
        _say(tr("settings.not_in", key=key, file=file))


@config.command()
@click.option("--json", "json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def show(context: click.Context, json: bool) -> None:
    """Print every setting, its value, and who set it."""
    loaded = _load(context)
    for warning in loaded.warnings:
        _say(warning)
    width = max(40, shutil.get_terminal_size().columns)
    click.echo(as_json(loaded) if json else "\n".join(listing(loaded, _project(), width)))


@config.command()
@_choose_file
def path(choice: Choice) -> None:
    """Print where the settings files are."""
    click.echo(_target(choice) if choice else "\n".join(file_lines(_project())))


@config.command()
@click.pass_context
def trust(context: click.Context) -> None:
    """Believe the project's localllm.toml as it is now.

    Shows what of it was ignored so far. When the file changes, that is asked again.
    """
    loaded = _load(context)
    if loaded.left_out:  # as it will be once it is believed
        raise loaded.left_out[0]
    waiting = loaded.held_back
    if waiting is None:
        _say(tr("trust.nothing"))
        return
    screen = Screen(sys.stderr, choose_theme(sys.stderr))
    screen.print_lines(setting_lines(waiting.file, waiting.values, screen.width))
    Answers.of_user().remember(_project(), waiting.digest, believed=True)
    _say(tr("trust.believed"))


@config.command()
@click.pass_context
def untrust(context: click.Context) -> None:
    """Forget what was answered about believing this project's localllm.toml."""
    forgotten = Answers.of_user().forget(_project())
    _load(context)  # for its language
    _say(tr("trust.forgotten" if forgotten else "trust.nothing_to_forget"))


def _load(context: click.Context) -> Loaded:
    """The settings as a run here would have them; from now on the language is theirs."""
    options = context.find_root().params
    loaded = load(_project(), environ=os.environ, trusted=bool(options.get("trust_project")))
    set_language(options.get("lang") or loaded.settings.ui.language)
    return loaded


def _project() -> Path:
    return find_project(Path.cwd())


def _target(choice: Choice) -> Path:
    """The file to change: the one chosen, else the project's where there is one, else the user's.

    ConfigurationError config_unwritable where the project's is a link: it may have come with the project, and lead to
    any file.
    """
    project = _project() / SETTINGS_FILE
    if choice != "user" and project.is_symlink():
        raise ConfigurationError("config_unwritable", file=project, reason=Phrase("paths.link"))
    if choice == "project" or (choice is None and os.path.lexists(project)):
        return project
    return config_file()


def _for_screen(text: str) -> str:
    """As it is for a program, harmless for a terminal."""
    return clean(text) if sys.stdout.isatty() else text


def _say(text: str) -> None:
    click.echo(clean(text), err=True)


def _say_what_counts(context: click.Context, key: str, file: Path) -> None:
    """Tell the user if what was just changed is not what holds."""
    loaded = _load(context)
    origin = loaded.origins.get(key)
    for error in loaded.left_out:
        _say(left_out_notice(error))
    if key in loaded.withheld:
        _say(tr("settings.set_but_withheld"))
    elif origin and origin.source != str(file):
        _say(tr("settings.set_but_overridden", origin=origin))
