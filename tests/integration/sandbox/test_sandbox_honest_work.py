"""What people do all day works in the sandbox."""

import asyncio
import shutil
import signal
import sys
from pathlib import Path
from shlex import quote

import pytest

from localllm.base.environment import base_interpreter
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
    assert (done.level,) == world.levels


async def test_programs_work(world: World) -> None:
    (world.project / "test_it.py").write_text("def test_it(tmp_path):\n    (tmp_path / 'x').write_text('y')\n")
    python = quote(sys.executable)
    done = await world.run(f"{python} -m pytest -q -p no:cacheprovider test_it.py; {python} -m pip --version")
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


TCP_SERVER = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b"hello"), daemon=True).start()
print(socket.create_connection(server.getsockname()).recv(9).decode())
"""
UNIX_SERVER = """
import os, socket, threading
server = socket.socket(socket.AF_UNIX)
server.bind(os.environ.get("AT", "app.sock"))
server.listen()
threading.Thread(target=lambda: server.accept()[0].sendall(b"hello"), daemon=True).start()
client = socket.socket(socket.AF_UNIX)
client.connect(server.getsockname())
print(client.recv(9).decode())
"""
WEB_SERVER = """
import http.server, threading, urllib.request
server = http.server.HTTPServer(("localhost", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen(f"http://localhost:{server.server_port}/program.py").status)
"""
POOL = """
import multiprocessing
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print(sum(pool.map(abs, [-1, 2, -3])))
"""
SHARED = """
from multiprocessing import shared_memory
made = shared_memory.SharedMemory(create=True, size=1000)
made.buf[:5] = b"hello"
other = shared_memory.SharedMemory(made.name)
print(bytes(other.buf[:5]).decode())
other.close(); made.close(); made.unlink()
"""
TERMINAL = """
import os, pty
pid, master = pty.fork()
if not pid:
    os.execvp("bash", ["bash", "-c", "[ -t 1 ] && echo a terminal"])
print(os.read(master, 100).decode().strip())
"""
ATTRIBUTES = """
import os
os.setxattr("program.py", "user.note", b"x")
print(os.getxattr("program.py", "user.note"))
"""


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        (TCP_SERVER, "hello"),
        (UNIX_SERVER, "hello"),
        (UNIX_SERVER.replace("app.sock", "/tmp/app.sock"), "hello"),
        (UNIX_SERVER.replace("app.sock", "\\0app"), "hello"),
        (WEB_SERVER, "200"),
        (POOL, "6"),
        (SHARED, "hello"),
        (TERMINAL, "a terminal"),
        (ATTRIBUTES, "b'x'"),
    ],
    ids=["tcp", "unix", "unix in /tmp", "abstract", "web", "pool", "shared memory", "terminal", "attributes"],
)
async def test_programs_with_servers_shared_memory_and_terminals(world: World, program: str, printed: str) -> None:
    """Under Landlock alone these fail: it cannot tell them from what reaches out."""
    done = await world.python(program)
    assert (done.stdout.strip() == printed) == (world.runner.level != "landlock"), done.stderr


async def test_a_server_is_started_twice_at_the_same_place(world: World) -> None:
    """What the first leaves behind is not taken for a socket of somebody else."""
    for _ in range(2):
        done = await world.python(f"import os\nif os.path.exists('app.sock'): os.unlink('app.sock')\n{UNIX_SERVER}")
        assert done.stdout == ("hello\n" if done.level != "landlock" else ""), done.stderr


BUILDER = """
import pathlib, zipfile
def build_wheel(folder, settings=None, metadata=None):
    with zipfile.ZipFile(pathlib.Path(folder, "mine-1-py3-none-any.whl"), "w") as wheel:
        wheel.write("mine.py")
        wheel.writestr("mine-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: mine\\nVersion: 1\\n")
        wheel.writestr("mine-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("mine-1.dist-info/RECORD", "")
    return "mine-1-py3-none-any.whl"
"""


async def test_a_package_is_installed_from_a_folder(world: World) -> None:
    package = world.project / "package"
    package.mkdir()
    (package / "mine.py").write_text("def say():\n    print('installed')\n")
    (package / "pyproject.toml").write_text("[build-system]\nrequires=[]\nbuild-backend='build'\nbackend-path=['.']\n")
    (package / "build.py").write_text(BUILDER)
    done = await world.run(
        f"{base_interpreter()} -m venv env && env/bin/pip install -q --no-index ./package;"
        f"env/bin/python -c 'import mine; mine.say()'",
        timeout=60,
    )
    assert done.stdout == "installed\n", done.stderr


async def test_folders_of_its_own_in_usual_places(world: World) -> None:
    done = await world.run("echo x > /tmp/a && echo y > /var/tmp/b && cat /tmp/a /var/tmp/b && ls -d ~ && touch ~/.z")
    assert done.stdout.startswith("x\ny\n") == (world.runner.level != "landlock")
    assert not Path("/var/tmp/b").exists()
    assert not (world.home / ".z").exists()


async def test_files_move_between_folders(repository: World) -> None:
    """Also where a folder holds something protected."""
    (repository.project / "a/.vscode").mkdir(parents=True)
    (repository.project / "a/.vscode/settings.json").write_text("{}")
    (repository.project / "a/file").write_text("x")
    done = await repository.python("import os; os.mkdir('b'); os.rename('a/file', 'b/file'); os.link('b/file', 'a/l')")
    assert (done.return_code, done.stderr) == (0, "")


async def test_a_commit_is_made_in_a_repository_with_hooks(repository: World) -> None:
    hook = repository.project / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)
    done = await repository.run("""
        echo x > file && git add file && git -c user.name=A -c user.email=a@b commit -qm one && git tag t &&
        git switch -qc branch && git stash -q; git gc -q && git log --format=%s &&
        git mv file moved && git status -s -uno
    """)
    assert (done.return_code, done.stdout) == (0, "one\nR  file -> moved\n"), done.stderr
    assert (repository.project / "hooked").exists()


async def test_a_signal_is_a_negative_return_code(world: World) -> None:
    assert (await world.run("kill -SEGV $$")).return_code == -signal.SIGSEGV


async def test_commands_run_side_by_side(world: World) -> None:
    done = await asyncio.gather(*(world.run(f"echo {number}; sleep 0.1") for number in range(6)))
    assert [one.stdout for one in done] == [f"{number}\n" for number in range(6)]


async def test_nothing_is_left_in_the_temporary_folder(world: World) -> None:
    done = await world.run("mkdir -p $TMPDIR/a/b; touch $TMPDIR/a/b/c; chmod -R 500 $TMPDIR/a; echo $TMPDIR")
    scratch = Path(done.stdout.strip()).parent
    for _ in range(200):
        if not scratch.exists():
            break
        await asyncio.sleep(0.02)
    assert not scratch.exists()


async def test_no_signal_is_ignored(world: World) -> None:
    """As after `nohup`: what ignores a signal hands that down to all it starts."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        done = await world.run("grep -E 'Sig(Ign|Blk)' /proc/self/status")
    finally:
        signal.signal(signal.SIGHUP, before)
    assert done.stdout.split() == ["SigBlk:", "0" * 16, "SigIgn:", "0" * 16]
