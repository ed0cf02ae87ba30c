"""What of this machine decides how a model is run on it."""

import os
from pathlib import Path

import pytest

from localllm.llm.gguf.model_file import lacks_avx2, physical_cores

pytestmark = pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="asks Linux")


def test_no_more_threads_than_processors_that_may_be_used() -> None:
    allowed = os.sched_getaffinity(0)
    assert 1 <= physical_cores() <= len(allowed)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert physical_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_the_processor_is_asked() -> None:
    if os.uname().machine == "x86_64":
        flags = Path("/proc/cpuinfo").read_text("utf-8").split()
        assert lacks_avx2() == ("avx2" not in flags)
    else:
        assert not lacks_avx2()
