"""That a helper process ends whatever becomes of the program that started it."""

import signal
import subprocess
import sys

import pytest

from localllm.base.helper_program import command_line

STARTS_ONE = (
    "import subprocess; from tests.unit.base.test_helper_program import *; subprocess.run(command_line(run_away))"
)


def run_away() -> None:
    import re

    print("begun", flush=True)
    re.search("(a|a)*b", "a" * 60)


def say_arguments() -> None:
    import sys

    print(sys.argv[2:])


def test_it_is_given_its_arguments() -> None:
    done = subprocess.run(command_line(say_arguments, "one", "two"), capture_output=True, text=True, check=True)
    assert done.stdout == "['one', 'two']\n"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it ends when its time is up")
def test_it_ends_with_a_program_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", STARTS_ONE], stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        assert parent.stdout.readline() == b"begun\n"
        parent.kill()
        assert parent.communicate(timeout=30)[0] == b""  # the end of its output, which the helper process shares


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no alarm")
def test_it_ends_when_its_time_is_up() -> None:
    done = subprocess.run(command_line(run_away, seconds=1), stdout=subprocess.DEVNULL, timeout=30, check=False)
    assert done.returncode == -signal.SIGALRM
