"""Translate the command line's help and usage errors into Japanese."""

import gettext as system_gettext
import inspect

import click

from localllm.base.i18n import DOMAIN, LOCALE, N_, gettext
from localllm.base.lazy_patterns import late_pattern
from localllm.text.sanitising import display_width
from localllm.text.wrapping import wrap

CLICK_TEXTS = (
    N_("Usage:"),
    N_("Options"),
    N_("Commands"),
    N_("Positional arguments"),
    N_("Show this message and exit."),
    N_("Show the version and exit."),
    N_("Error: {message}"),
    N_("Try '{command} {option}' for help."),
    N_("No such option {name!r}."),
    N_("No such command {name!r}."),
    N_("Did you mean {possibility}?", "(Did you mean one of: {possibilities}?)"),
    N_("Missing command."),
    N_("Missing argument"),
    N_("Missing option"),
    N_("default: {default}"),
    N_("required"),
    N_("Option {name!r} requires an argument.", "Option {name!r} requires {nargs} arguments."),
    N_("Option {name!r} does not take a value."),
    N_("Got unexpected extra argument ({args})", "Got unexpected extra arguments ({args})"),
    N_("Invalid value: {message}"),
    N_("Invalid value for {param_hint}: {message}"),
    N_("{value!r} is not {choice}.", "{value!r} is not one of {choices}."),
    N_("{value!r} is not a valid {number_type}."),
    N_("{value} is not in the range {range}."),
    N_("Choose from:\n\t{choices}"),
    N_("Shell completion is not supported for Bash versions older than 4.4."),
    N_("Couldn't detect Bash version, shell completion is not supported."),
)
"""click's own texts that this program shows; click looks them up with gettext."""

_BROKEN_JAPANESE = late_pattern(r"(?<=[\u3000-\u9fff\uff00-\uffef])\n(?=[\u3000-\u9fff\uff00-\uffef])")
"""A line end between two characters without a space between them."""

_COLUMNS = 76
_SUMMARY_COLUMNS = 66
_OPTION_COLUMNS = 46
_RANGE_COLUMNS = 14


def translate_click() -> None:
    """Make click look up its texts in this program's catalogue."""
    system_gettext.bindtextdomain(DOMAIN, str(LOCALE))
    system_gettext.textdomain(DOMAIN)


def translate(command: click.Command, *, in_one_line: bool = False) -> None:
    """Translate the help of a command, its options and its subcommands; `in_one_line`: as completions show it."""
    if command.help:
        text = gettext(inspect.cleandoc(command.help))
        summary = text.partition("\n")[0]
        command.help = _laid_out(text, _COLUMNS)
        command.short_help = summary if in_one_line else _laid_out(summary, _SUMMARY_COLUMNS)
    for option in command.params:
        if isinstance(option, click.Option) and option.help:
            text = gettext(option.help)
            option.help = text if in_one_line else _with_room(_laid_out(text, _OPTION_COLUMNS), option)
    if isinstance(command, click.Group):
        for each in command.commands.values():
            translate(each, in_one_line=in_one_line)


def _with_room(text: str, option: click.Option) -> str:
    """Return the help of an option, with a line break if click's note of the range does not fit after it."""
    is_ranged = isinstance(option.type, click.IntRange | click.FloatRange)
    last = text.rpartition("\n")[2]
    return f"{text}\n" if is_ranged and display_width(last) > _OPTION_COLUMNS - _RANGE_COLUMNS else text


def _laid_out(text: str, columns: int) -> str:
    r"""Wrap lines by display width, which click does not know; click leaves the text after \b unchanged."""
    paragraphs = [" ".join(_BROKEN_JAPANESE.sub("", each).split("\n")) for each in text.split("\n\n")]
    return "\n\n".join("\b\n" + "\n".join(wrap(each, columns)) for each in paragraphs)
