"""The program of a helper process, which runs one function, can be killed and ends with its parent.

Only the function's code is passed, from this program's memory: the files of the package may lie in the project, where a
command could have modified them.
"""

import marshal
import os
from types import FunctionType

from localllm.base.environment import base_interpreter

_BOOT = """
import marshal, os, signal, sys, types
code, parent, seconds = marshal.loads(bytes.fromhex(sys.argv[1]))
if sys.platform == "linux":
    try:
        import ctypes
    except ImportError:
        pass
    else:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:  # it has gone before that
        sys.exit()
if hasattr(signal, "alarm"):
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
types.FunctionType(code, {"__builtins__": __builtins__})()
"""


def command_line(serve: FunctionType, *arguments: str, seconds: int = 0) -> tuple[str, ...]:
    """Return the command line that runs `serve`, for the thread that starts it. `arguments` begin at sys.argv[2].

    Linux kills the process when that thread ends, and every POSIX system after `seconds`, unless 0, even within a
    single step of Python. Both are a safety net below the caller's own timeout.
    """
    boot = marshal.dumps((serve.__code__, os.getpid(), seconds)).hex()
    return (base_interpreter(), "-I", "-S", "-E", "-c", _BOOT, boot, *arguments)
