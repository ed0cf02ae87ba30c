"""A program that trusts files of a project; see `protected_names`."""

import msgspec


class Believer(msgspec.Struct, frozen=True):
    """A program, the event at which it trusts files of a project, and their names.

    Names are paths below the project or any folder in it; a folder stands for everything below it. One `*` in the last
    component stands for anything, and `.*` before it for any hidden folder, in which the file lies directly.
    """

    program: str
    when: str
    names: tuple[str, ...]
