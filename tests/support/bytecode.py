"""A bytecode cache of their own for the programs that benchmarks start."""

import atexit
import shutil
import tempfile
from collections.abc import MutableMapping


def with_own_bytecode(environ: MutableMapping[str, str]) -> None:
    """Where `environ` forbids bytecode, allow it in a folder of this process, which goes with it.

    Else every program that is started would compile all it imports anew.
    """
    if environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        folder = tempfile.mkdtemp(prefix="localllm-bytecode-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        environ["PYTHONPYCACHEPREFIX"] = folder
