"""The command line."""

import sys

from localllm import __version__


def main() -> None:
    """The program's entry. `--version` is answered at once, before anything else is loaded."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"localllm {__version__}")  # noqa: T201 - this is the answer
        return
    from localllm.cli.main import run  # everything else is behind this line

    sys.exit(run(sys.argv[1:]))
