"""Why the child process died."""

import signal

import pytest

from localllm.llm.gguf.child_process import died

UNKNOWN = """\
0.00.009.763 E llama_model_load: error loading model: unknown model architecture: 'newest'
0.00.009.779 E llama_model_load_from_file_impl: failed to load model
0.00.009.805 E srv    load_model: failed to load model, 'm.gguf'
0.00.010.221 E srv          init: exiting due to model loading error
Failed to init server, please check the input params."""

NO_MEMORY = """\
0.28.840.462 W llama_context: n_ctx_seq (200000000) > n_ctx_train (32768) -- possible training context overflow
0.46.556.647 E ggml_aligned_malloc: insufficient memory (attempted to allocate 48828.12 MB)
0.47.602.429 E llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache"""

NO_LIBRARY = """\
Traceback (most recent call last):
  File "child_program.py", line 26, in main
ImportError: libgomp.so.1: cannot open shared object file: No such file or directory"""

WARNING = "0.28.840.462 W llama_context: n_ctx_seq (200000000) > n_ctx_train (32768)"
OTHER = (
    "0.10.000.000 E srv  send_error: task 3\n0.28.840.462 E cmn  common_init_: no such thing\nFailed to init server."
)


@pytest.mark.parametrize(
    ("said", "status", "why", "fix"),
    [
        (UNKNOWN, 1, "unknown model architecture: 'newest'.", "--upgrade xllamacpp"),
        (NO_MEMORY, 1, "insufficient memory (attempted to allocate 48828.12 MB).", "llm.context_window"),
        (NO_LIBRARY, 1, "ImportError: libgomp.so.1: cannot open", "another file"),
        (OTHER, 1, "common_init_: no such thing.", "another file"),
        (WARNING, -signal.SIGKILL, "memory ran out", "llm.context_window"),
        ("", -signal.SIGKILL, "memory ran out", "llm.context_window"),
        ("", -signal.SIGSEGV, "status -11", "another file"),
    ],
)
def test_the_line_that_names_the_cause_is_told(said: str, status: int, why: str, fix: str) -> None:
    error = died("gguf_unloadable", "m.gguf", status, said.splitlines())
    assert error.key == "gguf_unloadable"
    assert why in error.why
    assert fix in error.fix


def test_an_instruction_the_processor_does_not_have() -> None:
    assert died("gguf_unloadable", "m.gguf", -signal.SIGILL, []).key == "gguf_no_avx2"
