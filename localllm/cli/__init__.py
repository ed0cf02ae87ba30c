"""The command line."""

import gc
import sys

from localllm import __version__


def main() -> None:
    """The program's entry. `--version` is answered at once, before anything else is loaded."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"localllm {__version__}")  # noqa: T201 - this is the answer
        return
    from localllm.base.environment import search_no_project

    search_no_project()
    from localllm.cli.fast_start import open_chat  # the first line of a chat comes before everything heavy

    opening = open_chat(sys.argv[1:])
    try:
        gc.disable()  # nothing that is loaded here is ever garbage, and looking for it takes 10 ms
        from localllm.cli.main import run  # everything heavy is behind this line

        gc.freeze()
        gc.enable()
        code = run(sys.argv[1:], opening)
    except KeyboardInterrupt:  # while it was being loaded
        code = 130
    finally:
        if opening is not None:
            opening.close()
    gc.freeze()  # the process ends: nothing of it has to be looked through for garbage once more
    sys.exit(code)
