"""Recognize shims: programs of version managers that run whatever the folder they are started in names."""

import os
import re
import sys
from functools import cache

_FOLDER = "shims"  # of asdf, mise, pyenv, rbenv, nodenv, goenv, jenv, proto, vfox
_MANAGERS = "mise rtx asdf pyenv rbenv nodenv goenv jenv volta vfox proto aqua hermit direnv devbox rustup"
_PROGRAMS = frozenset({*_MANAGERS.split(), "volta-shim", "proto-shim", "aqua-proxy"})
"""What the links lead to that such managers put beside other programs. They act by the name they are called by."""

_HARD_LINKED = "rustup"  # its `cargo`, `rustfmt` and so on were hard links once
_MOST_READ = 4096


def is_shim_folder(folder: str) -> bool:
    """Return whether a folder holds shims. Those of Scoop, on Windows, always run the same program."""
    around, name = os.path.split(os.path.normpath(folder))
    if sys.platform == "win32" and os.path.basename(around).casefold() == "scoop":  # noqa: PTH119 - a string
        return False
    return name.casefold() == _FOLDER


def is_shim(program: str) -> bool:
    """Return whether a program is a shim, or leads to one."""
    real = os.path.realpath(program)
    name = os.path.basename(real)  # noqa: PTH119 - a string
    if name.removesuffix(".exe") in _PROGRAMS and name != os.path.basename(program):  # noqa: PTH119
        return True
    folders = dict.fromkeys(map(os.path.dirname, (os.path.abspath(program), real)))  # noqa: PTH100 - strings
    return any(is_shim_folder(folder) or _is_the_same(real, folder) for folder in folders) or _is_script_of_one(real)


def _is_the_same(program: str, folder: str) -> bool:
    manager = os.path.join(folder, _HARD_LINKED)  # noqa: PTH118 - strings
    try:
        return os.path.basename(program) != _HARD_LINKED and os.path.samefile(program, manager)  # noqa: PTH119, PTH121
    except OSError:
        return False


def _is_script_of_one(program: str) -> bool:
    if not os.path.isfile(program):  # noqa: PTH113 - a string; to open a pipe would wait for a writer
        return False
    try:
        with open(program, "rb") as file:  # noqa: PTH123 - a string
            head = file.read(_MOST_READ)
    except OSError:
        return False
    return head.startswith(b"#!") and _calls_of_managers().search(head) is not None


@cache
def _calls_of_managers() -> re.Pattern[bytes]:
    """Return the pattern of a call, in a script, of a manager that finds the program."""
    names = "|".join(_MANAGERS.split())
    call = rf"(?:^|[\s/\"'])(?:{names})[\"']?(?:[ \t]+-[-\w=]{{1,40}}){{0,4}}[ \t]+(?:exec|x|run|tool-stub)\b"
    return re.compile(call.encode())
