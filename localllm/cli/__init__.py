"""The command line."""

import gc
import os
import sys

from localllm import __version__


def main() -> None:
    """Run the program. `--version` is answered at once, before anything else is imported."""
    _open_standard_streams()
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"localllm {__version__}")  # noqa: T201 - this is the answer
        return
    opening = None
    try:
        from localllm.base.environment import search_no_project

        search_no_project()
        from localllm.cli.fast_start import open_chat  # the first line of a chat is shown before heavy imports

        opening = open_chat(sys.argv[1:])
        gc.disable()  # nothing loaded here is garbage, and collections would take 10 ms
        from localllm.cli.main import run  # all heavy imports are behind this line

        gc.freeze()
        gc.enable()
        code = run(sys.argv[1:], opening)
    except KeyboardInterrupt:  # during the imports
        code = 130
    finally:
        if opening is not None:
            opening.close()
    import signal  # --version does without

    signal.signal(signal.SIGINT, _leave)
    gc.freeze()  # the process ends: no final collection
    sys.exit(code)


def _leave(number: int, _: object) -> None:
    """End at once where Ctrl+C comes again, while Python waits for threads at its end; it would print a traceback."""
    os._exit(128 + number)


def _open_standard_streams() -> None:
    """Redirect missing standard streams to the null device, so that no file opened later takes their descriptors."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - open as long as the program
