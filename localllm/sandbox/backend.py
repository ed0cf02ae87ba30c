"""How strongly commands are held."""

import sys
from typing import Literal

Level = Literal["namespaces", "bubblewrap", "landlock", "seatbelt"]
"""namespaces: a machine of the command's own, made by ourselves; bubblewrap: made by that program; landlock: this
machine, with rules on files and system calls; seatbelt: the same on macOS."""

LEVELS: tuple[Level, ...] = ("seatbelt",) if sys.platform == "darwin" else ("namespaces", "bubblewrap", "landlock")
"""Those of this system, the best first."""

SandboxLevel = Level | Literal["none"]
"""The level in force, as proved by an active probe on this machine; "none" holds nothing."""

Network = Literal["off", "hosts", "not possible", "all"]
"""What of the network commands reach: nothing; the user's list of hosts; nothing, although there is a list, as the
level cannot tell hosts apart; everything, as nothing holds them."""
