"""llama.cpp's real server started for embeddings, in a process of its own. As a program: FILE [POOLING]."""

import importlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def serving_embeddings(file: Path, pooling: str = "MEAN") -> Iterator[str]:
    """The address of a server that makes embeddings, with the pooling the model names where `pooling` is empty."""
    command = [sys.executable, __file__, str(file), pooling]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def main(file: str, pooling: str) -> None:
    xllamacpp: Any = importlib.import_module("xllamacpp")
    wanted = xllamacpp.CommonParams()
    wanted.model.path = file
    wanted.model_alias = {"tiny"}
    wanted.n_ctx, wanted.n_parallel = 1_024, 1
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = 1
    wanted.hostnames, wanted.port = ["127.0.0.1"], 0
    wanted.embedding = wanted.use_jinja = wanted.offline = True
    wanted.ui = wanted.warmup = False
    if pooling:
        wanted.pooling_type = getattr(xllamacpp.llama_pooling_type, f"LLAMA_POOLING_TYPE_{pooling}")
    server = xllamacpp.Server(wanted)
    print(server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
