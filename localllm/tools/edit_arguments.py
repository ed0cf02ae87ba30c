"""The argument types of edit_file, separate so that its implementation can be imported on demand."""

import msgspec


class Replacement(msgspec.Struct, frozen=True):
    """A passage and its replacement."""

    old_string: str
    new_string: str
