"""Detect programs that would wait for a terminal, which commands do not have."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec

from localllm.base.i18n import N_, Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.safety.nested_commands import program_of
from localllm.safety.shell_flow import Flow
from localllm.safety.shell_parser import Script


class Waiting(msgspec.Struct, frozen=True):
    """A program of a line that would wait for a terminal, and the alternative."""

    program: str
    instead: Phrase


_Waits = Callable[[Sequence[str], Flow], bool]
"""Returns whether a program with these arguments waits."""


class _Program(msgspec.Struct, frozen=True):
    waits: _Waits
    instead: str


_QUITS = late_pattern(r"(?:\+|:)?(?:.*[|\s:])?(?:w?q(?:a|all)?|x(?:a|all)?|cq)!?\s*", re.DOTALL)
_ASKS_FOR_HUNKS = late_pattern(r"-[acfqvuks]*p|--patch|--interactive")
_NAMES_NO_COMMAND = late_pattern(r"-[Cc]|--git-dir|--work-tree|--namespace")


def _unless(*options: str, patterns: str = "(?!)") -> _Waits:
    """Build a check: the program waits unless it has one of the options, or redirected input."""

    def waits(arguments: Sequence[str], flow: Flow) -> bool:
        is_told = any(word.partition("=")[0] in options or re.fullmatch(patterns, word) for word in arguments)
        return not (flow.fed or is_told or {"--help", "--version"} & {*arguments})

    return waits


def _vi(arguments: Sequence[str], flow: Flow) -> bool:
    is_batch = any(re.fullmatch(r"-[vsu]*[eE]s?|--headless|-h", word) for word in arguments)
    commands = [word for before, word in pairwise(["", *arguments]) if before in ("-c", "--cmd") or word[:1] == "+"]
    quits = any(_QUITS.fullmatch(command) for command in commands)
    return not is_batch and not quits and _unless()(arguments, flow)


def _follows(arguments: Sequence[str], flow: Flow) -> bool:
    follows = any(re.fullmatch(r"-[a-eg-z\d]*+[fF].*|--follow.*|--retry", word) for word in arguments)
    ends = flow.drained or flow.apart or flow.limited or any(word.startswith("--pid") for word in arguments)
    return follows and not ends and not (flow.fed and not _operands(arguments))


def _operands(arguments: Sequence[str]) -> list[str]:
    return [word for word in arguments if word[:1] != "-"]


def _watches(arguments: Sequence[str], flow: Flow) -> bool:
    return bool(_operands(arguments)) and not flow.limited


def _edits_table(arguments: Sequence[str], flow: Flow) -> bool:
    return "-e" in arguments and not flow.sets & {"EDITOR", "VISUAL"}


def _asks_for_hunks(arguments: Sequence[str], flow: Flow) -> bool:
    verb, rest = _git(arguments)
    options = [word for before, word in pairwise(["", *rest]) if before not in ("-m", "--message")]
    asks = any(_ASKS_FOR_HUNKS.fullmatch(word) for word in options) or (verb == "add" and bool({"-i", "-e"} & {*rest}))
    return asks and verb in ("add", "checkout", "commit", "reset", "restore", "stash") and not flow.fed


def _rebases(arguments: Sequence[str], flow: Flow) -> bool:
    verb, rest = _git(arguments)
    is_set = flow.sets & {"GIT_SEQUENCE_EDITOR", "GIT_EDITOR"} or any(
        word.lower().startswith(("sequence.editor=", "core.editor=")) for word in arguments
    )
    return verb == "rebase" and bool({"-i", "--interactive", "--edit-todo"} & {*rest}) and not is_set


def _git(arguments: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return git's subcommand, and the arguments after it."""
    for at, (before, word) in enumerate(pairwise(["", *arguments])):
        if word[:1] != "-" and not _NAMES_NO_COMMAND.fullmatch(before):
            rest = arguments[at + 1 :]
            return word, rest[: rest.index("--")] if "--" in rest else rest
    return "", ()


_EDIT = N_("Change files with edit_file or write_file.")
_LIST = N_("Use a program that prints and ends: ps, ls, du.")

_PROGRAMS: dict[str, tuple[_Program, ...]] = {
    **dict.fromkeys(("vi", "vim", "nvim", "view", "vimdiff", "gvim"), (_Program(_vi, _EDIT),)),
    **dict.fromkeys(("nano", "pico", "joe", "jed", "micro", "mcedit", "kak", "hx"), (_Program(_unless(), _EDIT),)),
    "emacs": (_Program(_unless("--batch", "-batch", "--script", "-script", "--daemon"), _EDIT),),
    "emacsclient": (_Program(_unless("-e", "--eval", "-n", "--no-wait"), _EDIT),),
    "top": (_Program(_unless("-h", "-v", patterns=r"-[a-zA-Z]*b.*|-l.*"), N_("Use top -b -n 1, or ps.")),),
    **dict.fromkeys(("htop", "btop", "atop", "glances", "nmon"), (_Program(_unless("-V"), _LIST),)),
    "iotop": (_Program(_unless("-b", "--batch"), _LIST),),
    **dict.fromkeys(("mc", "ranger", "nnn", "lf", "ncdu", "tig", "lazygit"), (_Program(_unless("-o", "-0"), _LIST),)),
    "watch": (_Program(_watches, N_("Run what it would repeat, once.")),),
    "tail": (_Program(_follows, N_("It would never end: read what is there with tail -n.")),),
    "crontab": (_Program(_edits_table, N_("Pipe the new table into crontab -.")),),
    **dict.fromkeys(("visudo", "vipw"), (_Program(_unless("-c"), _EDIT),)),
    "git": (
        _Program(_asks_for_hunks, N_("Name whole files, or apply a patch with git apply --cached.")),
        _Program(_rebases, N_("Set GIT_SEQUENCE_EDITOR to a command that edits the list, such as sed -i.")),
    ),
}
"""Pagers are not included: without a terminal they print and exit."""

_ENDLESS = frozenset({"tail", "watch"})
"""Programs that may continue in the background."""


def waiting(script: Script, *, background: bool = False) -> Waiting | None:
    """Return the first program of a line that would wait for a terminal, or for ever; None if none does."""
    for command in script.commands:
        name = program_of(command.words[0])
        if command.flow is None or command.words[0].computed or (background and name in _ENDLESS):
            continue
        arguments = [word.text for word in command.words[1:]]
        for program in _PROGRAMS.get(name, ()):
            if program.waits(arguments, command.flow):
                shown = f"git {_git(arguments)[0]} {_option(arguments)}".strip() if name == "git" else name
                return Waiting(shown, Phrase(program.instead))
    return None


def _option(arguments: Sequence[str]) -> str:
    """Return the option that makes git interactive."""
    known = {"-i", "-e", "--edit-todo"}
    return next((word for word in arguments if word in known or _ASKS_FOR_HUNKS.fullmatch(word)), "")
