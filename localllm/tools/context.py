"""What a tool may use: the project, and the guards around it. A tool knows no model and no terminal."""

from pathlib import Path

import msgspec

from localllm.base.config.schema import Settings
from localllm.sandbox.runner import CommandRunner
from localllm.tools.guard.paths import ProjectRoot


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """`output_limit` is how many characters of output the model is given at most; `overflow_folder` keeps the rest."""

    root: ProjectRoot
    settings: Settings
    runner: CommandRunner
    output_limit: int
    overflow_folder: Path
