"""What people do all day works in the sandbox."""

import asyncio
import shutil
import signal
import sys
from pathlib import Path

import pytest

from tests.support.sandbox_world import World

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("echo 日本語の出力 🎌", "日本語の出力 🎌\n"),
        ("printf 'b\\na\\n' | sort | head -1", "a\n"),
        ("cat <<'END'\nhere $HOME\nEND", "here $HOME\n"),
        ("(sleep 0.1; echo later) & echo now; wait", "now\nlater\n"),
        ("diff <(echo a) <(echo a) && echo same", "same\n"),
        ("echo x > /dev/null; echo y > /dev/stderr; cat /dev/null; echo z", "z\n"),
        ("f=$(mktemp) && echo in > $f && cat $f", "in\n"),
        ("mkdir ~/made && echo x > ~/.cache && ls ~", "made\n"),
        ("head -c 4 /dev/urandom | wc -c", "4\n"),
        ("read -r line || echo no input", "no input\n"),
        ("mkdir -p a/b && echo x > a/b/c && mv a d && ln d/b/c e && rm -r d && cat e", "x\n"),
        ("touch x && chmod 755 x && [ -x x ] && touch -d 2020-01-01 x && stat -c %Y x", "1577836800\n"),
        ("python3 -c 'print(sum(range(10)))'", "45\n"),
        (
            'python3 -c \'import subprocess; print(subprocess.run(["echo", "inner"], capture_output=True).stdout)\'',
            "b'inner\\n'\n",
        ),
        ("python3 -c 'import asyncio; asyncio.run(asyncio.sleep(0)); print(1)'", "1\n"),
        ("python3 -c 'import threading; t = threading.Thread(target=print, args=(2,)); t.start(); t.join()'", "2\n"),
        ("timeout 5 echo ended", "ended\n"),
        ("trap 'echo trapped' USR1; kill -USR1 $$; sleep 5 & kill $!; wait $!; echo $?", "trapped\n143\n"),
        ("ulimit -c; umask > /dev/null; cd /; pwd; cd /usr && ls -d bin", "0\n/\nbin\n"),
        ("exit 42", ""),
    ],
)
async def test_honest_work_is_done(world: World, command: str, printed: str) -> None:
    done = await world.run(command)
    assert done.stdout == printed, done.stderr
    assert done.return_code == (42 if "exit" in command else 0)
    assert done.level == "landlock"


async def test_programs_work(world: World) -> None:
    (world.project / "test_it.py").write_text("def test_it(tmp_path):\n    (tmp_path / 'x').write_text('y')\n")
    done = await world.run(
        f"{sys.executable} -m pytest -q -p no:cacheprovider test_it.py; {sys.executable} -m pip --version"
    )
    assert "1 passed" in done.stdout
    assert "pip" in done.stdout.splitlines()[-1]


async def test_git_works(repository: World) -> None:
    (repository.project / "file").write_text("one\n")
    done = await repository.run("""
        git -c user.name=A -c user.email=a@b commit -qm 'first' --allow-empty --no-verify
        git add file && git status --short file && git diff --cached --stat
    """)
    assert done.return_code == 0, done.stderr
    assert "A  file" in done.stdout
    assert "1 insertion" in done.stdout


@pytest.mark.skipif(not shutil.which("gcc"), reason="no compiler here")
async def test_a_compiler_works(world: World) -> None:
    (world.project / "a.c").write_text('#include <stdio.h>\nint main(void) { puts("compiled"); return 0; }\n')
    done = await world.run("gcc -pipe a.c -o a && ./a && gcc a.c -c -o a.o && ls a.o")
    assert done.stdout == "compiled\na.o\n", done.stderr


async def test_a_signal_is_a_negative_return_code(world: World) -> None:
    assert (await world.run("kill -SEGV $$")).return_code == -signal.SIGSEGV


async def test_commands_run_side_by_side(world: World) -> None:
    done = await asyncio.gather(*(world.run(f"echo {number}; sleep 0.1") for number in range(6)))
    assert [one.stdout for one in done] == [f"{number}\n" for number in range(6)]


async def test_nothing_is_left_in_the_temporary_folder(world: World) -> None:
    done = await world.run("mkdir -p $TMPDIR/a/b; touch $TMPDIR/a/b/c; chmod -R 500 $TMPDIR/a; echo $TMPDIR")
    assert not Path(done.stdout.strip()).parent.exists()
