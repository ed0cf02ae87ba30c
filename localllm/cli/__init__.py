"""The command line."""

import gc
import os
import sys

from localllm import __version__


def main() -> None:
    """The program's entry. `--version` is answered at once, before anything else is loaded."""
    _open_standard_streams()
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


def _open_standard_streams() -> None:
    """Lead the standard streams that this was started without nowhere: no file that is opened later may take their
    place."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - open as long as the program
