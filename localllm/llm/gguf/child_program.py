"""The program of the child process: llama.cpp's HTTP server for one model file, from the wheel xllamacpp.

It is run by its path and imports nothing of this package. It reads one line of JSON from standard input: what to serve,
and the required key, which thus appears on no command line and in no environment. It writes the address to standard
output once the model is loaded; llama.cpp logs to standard error. The process ends with its parent: Linux enforces
that, and everywhere standard input closes with the parent, which is noticed once the model is loaded.
"""

import importlib
import json
import os
import signal
import sys
import threading
import time
from typing import Any

_PR_SET_PDEATHSIG = 1
_WARNINGS = 2
_SECONDS_TO_SPEAK = 0.5
"""Grace period for llama.cpp's log thread, which nothing joins."""

_KEPT_PROMPTS_MIB = 2_048
"""Memory llama.cpp may use to keep the prompts of conversations that others, such as a panel's, interrupt."""


def main() -> None:
    order: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    _end_with_parent(order["parent"])
    answer = os.dup(1)
    os.dup2(2, 1)
    xllamacpp: Any = importlib.import_module("xllamacpp")
    try:
        server = xllamacpp.Server(_parameters(xllamacpp, order))
    except RuntimeError as error:
        time.sleep(_SECONDS_TO_SPEAK)
        sys.exit(str(error))
    os.write(answer, json.dumps({"address": server.listening_address}).encode() + b"\n")
    os.close(answer)
    threading.Event().wait()


def _parameters(xllamacpp: Any, order: dict[str, Any]) -> Any:
    """Build llama.cpp's parameters. Its web page, tools and downloads are disabled."""
    wanted = xllamacpp.CommonParams()
    wanted.model.path = order["file"]
    wanted.model_alias = {order["name"]}
    wanted.n_parallel = order["parallel"]
    wanted.n_ctx = order["window"] * order["parallel"]
    wanted.n_gpu_layers = order["gpu_layers"]
    wanted.fit_params = order["gpu_layers"] < 0 and _has_gpu(xllamacpp)
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = order["threads"]
    wanted.api_keys = [order["api_key"]]
    wanted.hostnames, wanted.port = ["127.0.0.1"], 0
    wanted.use_jinja = wanted.endpoint_slots = wanted.offline = True
    wanted.ui = wanted.endpoint_props = wanted.warmup = wanted.ctx_shift = False
    wanted.cors_origins = ""
    wanted.cache_ram_mib = _KEPT_PROMPTS_MIB
    wanted.verbosity = _WARNINGS
    return wanted


def _has_gpu(xllamacpp: Any) -> bool:
    cpu = xllamacpp.ggml_backend_dev_type.GGML_BACKEND_DEVICE_TYPE_CPU
    return any(device["type"] != cpu for device in xllamacpp.get_device_info())


def _end_with_parent(parent: int) -> None:
    threading.Thread(target=_wait_for_end_of_input, daemon=True).start()
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no core dump, which would contain the conversation
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent exited before the signal was set up
        os._exit(0)


def _wait_for_end_of_input() -> None:
    while os.read(0, 4_096):  # not through sys.stdin: a thread blocked in it would prevent a clean exit
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
