"""`localllm config`: show and change the settings."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from localllm.base.errors import ConfigurationError
from localllm.base.events import Json
from localllm.base.i18n import N_, Phrase, _, set_language
from localllm.base.paths import SETTINGS_FILE, config_file, find_project
from localllm.config.editor import set_value, unset, write_value
from localllm.config.keys import all_settings, all_tables, find_setting, unknown_key
from localllm.config.loader import Loaded, left_out_notice, load
from localllm.config.trust import Answers
from localllm.text.sanitising import clean, json_report
from localllm.tui.dialogs.trust import setting_lines
from localllm.tui.render.screen import Screen
from localllm.tui.render.setting_lines import effect_notes, file_lines, listing, values_of
from localllm.tui.theme import choose_theme


def as_json(loaded: Loaded) -> str:
    """Format everything as a JSON object: `settings` by key with value, layer and origin, `files`, `withheld`,
    `warnings`."""
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
    return json_report(whole)


Choice = Literal["user", "project"] | None
Command = TypeVar("Command", bound=Callable[..., Any])


@click.group()
def config() -> None:
    """Show and change the settings.

    They come from your own file, then the project's localllm.toml, then LOCALLLM_… variables, then the command line;
    later ones win. Keys are written with dots, such as llm.model or commands.aliases.NAME.
    """


def _choose_file(command: Command) -> Command:
    """Add the options that select the file; the parameter is called `choice`."""
    user = click.option("--user", "choice", flag_value="user", help="Your own file, for all projects.")
    project = click.option("--project", "choice", flag_value="project", help="The localllm.toml of this project.")
    return user(project(command))


def _keys(_context: click.Context, _argument: click.Parameter, incomplete: str) -> list[str]:
    return [key for key in all_settings() if key.startswith(incomplete)]


@config.command()
@click.argument("key", shell_complete=_keys)
@click.pass_context
def get(context: click.Context, key: str) -> None:
    """Print the current value of KEY, or of all keys below it."""
    _print_values(context, key)


def _print_values(context: click.Context, key: str) -> None:
    values = values_of(_load(context))
    if key in values:
        value = values[key]
        click.echo(_for_screen(value if isinstance(value, str) else write_value(value)))
        return
    if key not in all_tables() and not (key in all_settings() and all_settings()[key].table):
        raise unknown_key(key, Phrase("command line"))
    for name, value in values.items():
        if name.startswith(f"{key}."):
            secret = bool(find_setting(name, "").secret_variable)
            click.echo(_for_screen(f"# {name}: {value}" if secret else f"{name} = {write_value(value)}"))


@config.command("set", context_settings={"ignore_unknown_options": True})
@_choose_file
@click.argument("key", shell_complete=_keys)
@click.argument("values", nargs=-1, required=True, type=click.UNPROCESSED, metavar="VALUE...")
@click.pass_context
def set_(context: click.Context, choice: Choice, key: str, values: tuple[str, ...]) -> None:
    """Set KEY to VALUE; the rest of the file stays as it is.

    Without an option, this writes to the project's localllm.toml if there is one, otherwise to your own file. A list is
    written as several values, as a,b or as ["a", "b"].
    """
    setting = find_setting(key, Phrase("command line"))
    file = _target(choice)
    set_value(file, key, (", " if isinstance(setting.default, tuple) else " ").join(values))
    _say(_("{key} is set in {file}.", key=key, file=file))
    _say_what_counts(context, key, file)


@config.command("unset")
@_choose_file
@click.argument("key", shell_complete=_keys)
@click.pass_context
def unset_(context: click.Context, choice: Choice, key: str) -> None:
    """Remove KEY from the file, so that the value it overrides takes effect again."""
    file = _target(choice)
    if unset(file, key):
        _say(_("{key} was removed from {file}.", key=key, file=file))
        _say_what_counts(context, key, file)
    else:
        _say(_("{key} is not in {file}.", key=key, file=file))


@config.command()
@click.argument("key", required=False, shell_complete=_keys)
@click.option("--json", "json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def show(context: click.Context, key: str | None, json: bool) -> None:
    """Print every setting, its value and where it was set.

    With KEY, only that value is printed, as get does.
    """
    if key is not None:
        _print_values(context, key)
        return
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
    """Trust the project's localllm.toml as it is now.

    Shows those of its settings that need your trust. If the file changes, you are asked again.
    """
    loaded = _load(context)
    if loaded.left_out:  # as if it were trusted
        raise loaded.left_out[0]
    waiting = loaded.held_back
    if waiting is None:
        _say(_("Nothing in this project's localllm.toml needs your trust."))
        return
    screen = Screen(sys.stderr, choose_theme(sys.stderr))
    screen.print_lines(setting_lines(waiting.file, waiting.values, screen.width))
    Answers.of_user().remember(_project(), waiting.digest, believed=True)
    _say(_("Trusted until the file changes; localllm config untrust revokes it."))


@config.command()
@click.pass_context
def untrust(context: click.Context) -> None:
    """Forget your answers about trusting this project's localllm.toml."""
    forgotten = Answers.of_user().forget(_project())
    _load(context)  # to set the language
    _say(
        _(
            N_("Your answers about this project are forgotten: the chat will ask again.")
            if forgotten
            else N_("There are no answers about this project.")
        )
    )


def _load(context: click.Context) -> Loaded:
    """Load the settings as for a run here, and switch to their language."""
    options = context.find_root().params
    loaded = load(_project(), environ=os.environ, trusted=bool(options.get("trust_project")))
    set_language(options.get("lang") or loaded.settings.ui.language)
    return loaded


def _project() -> Path:
    return find_project(Path.cwd())


def _target(choice: Choice) -> Path:
    """Return the file to change: the chosen one, else the project's if it exists, else the user's.

    Raises ConfigurationError config_unwritable if the project's is a link: it may have come with the project, and lead
    to any file.
    """
    project = _project() / SETTINGS_FILE
    if choice != "user" and project.is_symlink():
        raise ConfigurationError("config_unwritable", file=project, reason=Phrase("It is a symbolic link"))
    if choice == "project" or (choice is None and os.path.lexists(project)):
        return project
    return config_file()


def _for_screen(text: str) -> str:
    """Return a text unchanged for a program, with control characters removed for a terminal."""
    return clean(text) if sys.stdout.isatty() else text


def _say(text: str) -> None:
    click.echo(clean(text), err=True)


def _say_what_counts(context: click.Context, key: str, file: Path) -> None:
    """Notify the user if the changed value is overridden."""
    loaded = _load(context)
    for note in (*map(left_out_notice, loaded.left_out), *effect_notes(loaded, key, file)):
        _say(note)
