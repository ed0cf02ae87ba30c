"""What edit_file is asked to do: known to the tool from the start, and to what does it only once it is needed."""

import msgspec


class Replacement(msgspec.Struct, frozen=True):
    """One passage and what stands there afterwards."""

    old_string: str
    new_string: str
