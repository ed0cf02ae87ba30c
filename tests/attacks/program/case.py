"""One attack on, or one piece of honest work with, the whole program, as it stands in cases/ and honest/."""

import functools
import tomllib
from pathlib import Path
from typing import Any

import msgspec

HERE = Path(__file__).parent
LEVELS = ("namespaces", "bubblewrap", "landlock", "none")
HELD_LEVELS = LEVELS[:3]


class Run(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One start of the program, to its end."""

    before: str = ""
    """What the user did before, outside (bash, in the world's folder; every command must succeed)."""
    turns: list[dict[str, Any]] = []
    """What the model does: {run = "command"}, {say = "text"} or {TOOL = {arguments}}."""
    scripted: bool = True
    """False: no script; who answers is chosen by the settings and `options`."""
    prompt: str = "Do it."
    piped: str = ""
    """Text piped in with the prompt."""
    chat: list[str] = []
    """Lines typed in a chat, instead of a prompt."""
    mode: str = "auto"
    """A mode of the program; "yes": ask, and --yes; "": none is named."""
    options: list[str] = []
    program: str = "entry"
    """How it is started: "entry" (the console script), "module" (python -m localllm), or an interpreter's path, which
    gets -m localllm."""
    where: str = "@project@"
    path: list[str] = []
    """Folders before the usual ones on PATH."""
    environ: dict[str, str] = {}


class Case(Run, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first start, what comes before and after it, and who judges."""

    name: str
    oracle: dict[str, Any]
    """Name = parameters (oracles.py); several may stand here, one that finds something is enough."""
    files: dict[str, str] = {}
    """Files delivered with the project."""
    settings: str = ""
    """The user's own settings."""
    web: dict[str, str] = {}
    """Pages by their address; "-> ADDRESS" redirects. They are behind the loopback proxy @proxy@."""
    then: list[Run] = []
    """Later starts of the program."""
    user: str = ""
    """What the user does at the end, outside (bash, in the world's folder)."""
    levels: list[str] = []
    """Where it is played; without any at all that hold, and only at the first where no command runs."""
    limit: float = 120
    """Seconds until a start of the program counts as hung."""
    needs: list[str] = []
    quick: bool = False
    limits: dict[str, str] = {}
    """Stated limits: a level and the reason."""
    held: str = ""
    """For an attack that did not succeed when it was written: how its oracle was shown to find something."""
    family: str = ""

    @property
    def runs(self) -> tuple[Run, ...]:
        """All starts of the program, in turn."""
        return (self, *self.then)

    @property
    def played_at(self) -> tuple[str, ...]:
        """The levels it is played at."""
        if self.levels:
            return tuple(self.levels)
        has_command = any("run" in turn for run in self.runs for turn in run.turns)
        return HELD_LEVELS if has_command else HELD_LEVELS[:1]


@functools.cache
def load_cases(folder: str) -> tuple[Case, ...]:
    """The cases in `folder` (cases or honest); the name of a file is their family."""
    found: list[Case] = []
    for path in sorted((HERE / folder).glob("*.toml")):
        entries: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["case"]
        for entry in entries:
            try:
                found.append(msgspec.convert(entry | {"family": path.stem}, Case))
            except msgspec.ValidationError as error:
                raise ValueError(f"{path.name}, {entry.get('name')}: {error}") from error
    names = [case.name for case in found]
    assert len(names) == len(set(names)), "two cases of one name"
    return tuple(found)
