"""An object that a command has stored under another one's name is not believed; what git itself stores stays."""

import errno
import hashlib
import mmap
import os
import struct
import subprocess
import sys
import time
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from localllm.sandbox.protect import revert
from localllm.sandbox.protect.protected_paths import Entry
from localllm.sandbox.protect.repositories import stored_objects
from localllm.sandbox.protect.repositories.stored_objects import StoredObjects
from localllm.sandbox.protect.restore import Restorer
from localllm.sandbox.protect.revert import ProtectedFiles
from localllm.sandbox.scratch import remove_stale

NAMES = ("-c", "user.name=a", "-c", "user.email=a@b")
KINDS = {"commit": 1, "tree": 2, "blob": 3}


def git(root: Path, *arguments: str) -> str:
    """Run git at a fixed time: a commit's name, and so the folder that it shares with others, is always the same."""
    dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2025-01-01T00:00:00Z")
    environment = {**os.environ, **dates}
    done = subprocess.run(["git", *NAMES, *arguments], cwd=root, check=True, capture_output=True, env=environment)
    return done.stdout.decode().strip()


@pytest.fixture(params=["sha1", "sha256"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    root = (tmp_path / "project").resolve()
    git(tmp_path, "init", "-q", f"--object-format={request.param}", str(root))
    write(root, "README", "one")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    return root


@pytest.fixture
def files(root: Path, tmp_path: Path) -> ProtectedFiles:
    return ProtectedFiles(root, tmp_path / "quarantine", coarse=0)


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def object_file(root: Path, name: str) -> Path:
    oid = git(root, "rev-parse", f"HEAD:{name}")
    return root / ".git/objects" / oid[:2] / oid[2:]


def swap(first: Path, second: Path) -> None:
    contents = first.read_bytes(), second.read_bytes()
    for file, content in zip((second, first), contents, strict=True):
        file.chmod(0o600)
        file.write_bytes(content)


@pytest.mark.parametrize("is_old", [True, False])
def test_objects_that_have_changed_places_go(root: Path, files: ProtectedFiles, is_old: bool) -> None:
    if not is_old:
        files.begin()
    write(root, "ci/build.yml", "evil")
    write(root, "doc/example.yml", "harmless")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "two")
    if is_old:
        files.begin()
    objects = object_file(root, "ci"), object_file(root, "doc")
    swap(*objects)
    assert git(root, "ls-tree", "--name-only", "HEAD", "ci/") == "ci/example.yml"
    assert files.end() == tuple(sorted(str(one.relative_to(root)) for one in objects))
    with pytest.raises(subprocess.CalledProcessError):
        git(root, "ls-tree", "-r", "HEAD")


def test_one_that_is_moved_there_in_a_folder_goes_whatever_its_times(root: Path, files: ProtectedFiles) -> None:
    write(root, "other", "harmless")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "two")
    readme, other = object_file(root, "README"), object_file(root, "other")
    ready = root / "ready" / readme.name
    write(root, str(ready.relative_to(root)), "")
    ready.write_bytes(other.read_bytes())
    time.sleep(0.01)
    files.begin()
    readme.parent.rename(root / "away")
    ready.parent.rename(readme.parent)
    assert git(root, "show", "HEAD:README") == "harmless"
    assert files.end() == (str(readme.relative_to(root)),)


def test_what_is_no_object_at_all_goes(root: Path, files: ProtectedFiles) -> None:
    files.begin()
    for number, content in enumerate((b"", b"x", zlib.compress(b"blob 1\0a") + b"x", zlib.compress(b"blob 1\0a")[:-1])):
        file = root / f".git/objects/00/{number:038}"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
    assert len(files.end()) == 4


def shadow(root: Path, oid: str) -> None:
    """Add a newer pack with all objects, in which `oid` is an empty tree."""
    listed = git(root, "cat-file", "--batch-all-objects", "--batch-check").splitlines()
    pack, rows = b"PACK" + struct.pack(">II", 2, len(listed)), list[tuple[bytes, int, int]]()
    for one, kind, _ in map(str.split, listed):
        content = subprocess.run(["git", "cat-file", kind, one], cwd=root, check=True, capture_output=True).stdout
        content = b"" if one == oid else content
        size = len(content)
        head = [KINDS[kind] << 4 | size & 15]
        size >>= 4
        while size:
            head[-1] |= 0x80
            head.append(size & 0x7F)
            size >>= 7
        packed = bytes(head) + zlib.compress(content)
        rows.append((bytes.fromhex(one), zlib.crc32(packed), len(pack)))
        pack += packed
    rows.sort()
    total = hashlib.sha1(pack, usedforsecurity=False).digest()
    index = b"\xfftOc" + struct.pack(">I", 2)
    index += b"".join(struct.pack(">I", sum(row[0][0] <= first for row in rows)) for first in range(256))
    index += b"".join(row[0] for row in rows)
    index += b"".join(struct.pack(">I", row[at]) for at in (1, 2) for row in rows) + total
    name = root / f".git/objects/pack/pack-{total.hex()}"
    name.with_suffix(".pack").write_bytes(pack + total)
    name.with_suffix(".idx").write_bytes(index + hashlib.sha1(index, usedforsecurity=False).digest())
    newest = name.with_suffix(".pack").stat().st_mtime + 10
    os.utime(name.with_suffix(".pack"), (newest, newest))


def test_an_index_of_a_pack_is_made_as_the_pack_is(root: Path, files: ProtectedFiles) -> None:
    files.begin()
    write(root, "ci/build.yml", "evil")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "two")
    git(root, "repack", "-adq")
    if len(git(root, "rev-parse", "HEAD")) == 64:
        (index,) = (root / ".git/objects/pack").glob("*.idx")
        good = index.read_bytes()
        spoil(index)
    else:
        shadow(root, git(root, "rev-parse", "HEAD:ci"))
        assert git(root, "ls-tree", "-r", "--name-only", "HEAD") == "README"
        index, good = max((root / ".git/objects/pack").glob("*.idx"), key=lambda one: one.stat().st_ctime_ns), b""
    assert files.end() == (str(index.relative_to(root)),)
    assert git(root, "ls-tree", "-r", "--name-only", "HEAD").split() == ["README", "ci/build.yml"]
    assert not good or index.read_bytes() == good
    git(root, "fsck", "--strict")
    files.begin()
    assert files.end() == ()


def spoil(index: Path) -> None:
    content = bytearray(index.read_bytes())
    content[-70] ^= 1
    index.chmod(0o600)
    index.write_bytes(content)


def test_the_index_of_a_broken_pack_goes(root: Path, files: ProtectedFiles) -> None:
    files.begin()
    git(root, "repack", "-adq")
    (pack,) = (root / ".git/objects/pack").glob("*.pack")
    pack.chmod(0o600)
    pack.write_bytes(pack.read_bytes()[:-1] + b"x")
    assert files.end() == (str(pack.with_suffix(".idx").relative_to(root)),)


@pytest.mark.parametrize("kind", ["idx", "pack"])
def test_a_pack_of_before_that_was_changed_is_read_by_git(root: Path, files: ProtectedFiles, kind: str) -> None:
    git(root, "repack", "-adq")
    (index,) = (root / ".git/objects/pack").glob("*.idx")
    good = index.read_bytes()
    time.sleep(0.01)
    files.begin()
    spoil(index.with_suffix(f".{kind}"))
    assert files.end() == (str(index.relative_to(root)),)
    assert not files.is_overlooked
    assert index.exists() == (kind == "idx")
    assert kind == "pack" or index.read_bytes() == good


def test_a_pack_that_would_get_what_it_has_is_not_read_by_git(
    root: Path, files: ProtectedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git sets its times then."""
    git(root, "repack", "-adq")
    (pack,) = (root / ".git/objects/pack").glob("*.pack")
    for _ in range(2):
        os.utime(pack, (1, 1))
        time.sleep(0.01)
        files.begin()
        (root / "README").touch()
        git(root, "add", "--renormalize", "README")
        assert pack.stat().st_mtime > 1
        with monkeypatch.context() as patched:
            patched.setattr(stored_objects, "find_program", no_program)
            assert files.end() == ()
        assert not files.is_overlooked


def test_what_git_stores_stays(root: Path, files: ProtectedFiles) -> None:
    for version in ("1", "2"):
        files.begin()
        for number in range(40):
            write(root, f"src/{version}-{number}", "x" * number * 10_000)
        git(root, "add", ".")
        git(root, "commit", "-q", "-m", version)
        git(root, "tag", "-m", "x", f"v{version}")
        assert files.end() == ()
        files.begin()
        git(root, "-c", f"pack.indexVersion={version}", "repack", "-dq")
        git(root, "clone", "-q", ".", f"copy{version}")
        git(root, "clone", "-q", "--bare", ".", f"bare{version}")
        assert files.end() == ()
        assert not files.is_overlooked
    git(root, "fsck", "--strict")


def test_the_index_of_a_clone_whose_settings_go_stays(root: Path, files: ProtectedFiles, tmp_path: Path) -> None:
    git(root, "repack", "-adq")
    git(tmp_path, "clone", "-q", "--no-local", str(root), "away")
    files.begin()
    git(root, "clone", "-q", str(tmp_path / "away"), "copy")
    assert files.end() == ("copy/.git/config",)


def no_program(*_: object, **_more: object) -> None:
    """There is no git."""


def test_what_cannot_be_read_in_time_stays_and_is_said(
    root: Path, files: ProtectedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.begin()
    git(root, "repack", "-adq")
    (pack,) = (root / ".git/objects/pack").glob("*.pack")
    monkeypatch.setattr(stored_objects, "find_program", no_program)
    assert files.end() == ()
    assert files.is_overlooked
    assert pack.with_suffix(".idx").exists()
    time.sleep(0.01)
    files.begin()
    assert files.end() == ()
    assert not files.is_overlooked


def test_what_could_not_be_read_in_time_is_found_after_a_later_command(
    root: Path, files: ProtectedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.begin()
    write(root, "docs/a", "first one")
    write(root, "docs/b", "other one")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "two")
    both = [object_file(root, f"docs/{name}") for name in "ab"]
    swap(*both)
    monkeypatch.setattr(stored_objects, "_is_sound", no_program)
    assert files.end() == ()
    monkeypatch.undo()
    time.sleep(0.01)
    files.begin()
    assert sorted(files.end()) == sorted(str(file.relative_to(root)) for file in both)


def test_what_another_command_may_still_change_by_a_mapping_is_read_again(root: Path, files: ProtectedFiles) -> None:
    files.begin()
    files.begin()  # in the background
    write(root, "docs/a", "first one")
    write(root, "docs/b", "other one")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "two")
    stored = [object_file(root, f"docs/{name}") for name in "ab"]
    for file in stored:
        file.chmod(0o600)
    with ExitStack() as stack:
        opened = [stack.enter_context(file.open("r+b")) for file in stored]
        maps = [stack.enter_context(mmap.mmap(file.fileno(), 0)) for file in opened]
        contents = [bytes(one) for one in maps]
        assert len(contents[0]) == len(contents[1])
        for one, content in zip(maps, contents, strict=True):
            one[:] = content  # its pages are dirty now: later writes change no times
        assert files.end() == ()
        for one, content in zip(maps, contents[::-1], strict=True):
            one[:] = content
    assert sorted(files.end()) == sorted(str(file.relative_to(root)) for file in stored)


def test_what_another_command_is_copying_stays(root: Path, files: ProtectedFiles) -> None:
    git(root, "repack", "-adq")
    write(root, "docs/a", "x" * 1000)
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "two")
    pack = next((root / ".git/objects/pack").glob("*.pack"))
    whole = [object_file(root, "docs/a"), object_file(root, "docs"), pack, pack.with_suffix(".idx")]
    contents = {file: file.read_bytes() for file in whole}
    for file in whole:
        file.unlink()
    files.begin()
    files.begin()  # in the background
    for file, content in contents.items():
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content if file.suffix == ".idx" else content[:-4])
    assert files.end() == ()
    assert not files.is_overlooked
    for file, content in contents.items():
        file.write_bytes(content)
    assert files.end() == ()
    git(root, "fsck", "--strict")


def test_what_is_left_incomplete_goes(root: Path, files: ProtectedFiles) -> None:
    git(root, "repack", "-adq")
    pack = next((root / ".git/objects/pack").glob("*.pack"))
    time.sleep(0.01)
    files.begin()
    files.begin()  # in the background
    pack.chmod(0o600)
    pack.write_bytes(pack.read_bytes()[:-4])
    assert files.end() == ()
    assert files.end() == (str(pack.with_suffix(".idx").relative_to(root)),)


def test_protected_files_are_back_before_objects_are_read(
    root: Path, files: ProtectedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook, tasks = root / ".git/hooks/pre-commit", root / ".vscode/tasks.json"
    seen: list[bool] = []
    wrong = StoredObjects.wrong

    def slow(*given: Any, **more: Any) -> dict[str, Entry]:
        seen.append(hook.exists() or tasks.exists())
        return wrong(*given, **more)

    monkeypatch.setattr(StoredObjects, "wrong", slow)
    files.begin()
    for file in (hook, tasks):
        write(root, str(file.relative_to(root)), "#!/bin/sh")
    assert files.end() == (".git/hooks/pre-commit", ".vscode/tasks.json")
    assert seen == [False]


def test_what_cannot_be_put_back_keeps_no_object_from_being_read(
    root: Path, files: ProtectedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: Any) -> None:
        raise PermissionError(errno.EPERM, "no")

    files.begin()
    write(root, ".vscode/tasks.json", "{}")
    write(root, "docs/a", "first one")
    write(root, "docs/b", "other one")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "two")
    swap(object_file(root, "docs/a"), object_file(root, "docs/b"))
    found: list[str] = []
    wrong = StoredObjects.wrong

    def noted(*given: Any, **more: Any) -> dict[str, Entry]:
        found.extend(there := wrong(*given, **more))
        return there

    monkeypatch.setattr(StoredObjects, "wrong", noted)
    monkeypatch.setattr(Restorer, "remove", fail)
    with pytest.raises(OSError, match="tasks"):
        files.end()
    assert len(found) == 2


def test_a_pack_whose_objects_take_much_memory_is_not_read(
    root: Path, files: ProtectedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revert, "_TIME_AFTER", 600.0)
    most = stored_objects._MOST_ADDRESSES  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(stored_objects, "_MOST_ADDRESSES", 100_000)
    files.begin()
    (root / "large").write_bytes(bytes(100_000_000))
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "two")
    git(root, "repack", "-adq")
    assert files.end() == ()
    assert files.is_overlooked
    monkeypatch.setattr(stored_objects, "_MOST_ADDRESSES", most)
    files.begin()
    assert files.end() == ()
    assert not files.is_overlooked


def test_git_reads_packs_away_from_the_project(
    root: Path, files: ProtectedFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command could put a link in the place of the folder that git writes to."""
    (root / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(root / "tmp"))
    program = tmp_path / "git"
    program.write_text(f'#!/bin/sh\npwd > {tmp_path}/place\nexec git "$@"\n')
    program.chmod(0o700)

    def found(*_given: object) -> str:
        return str(program)

    monkeypatch.setattr(stored_objects, "find_program", found)
    files.begin()
    git(root, "repack", "-adq")
    assert files.end() == ()
    assert not Path((tmp_path / "place").read_text().strip()).is_relative_to(root)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (127, "git: error while loading shared libraries: libpcre2-8.so.0: cannot open shared object file"),
        (126, "No version is set for command git"),
        (129, "usage: git index-pack"),
        (128, "fatal: cannot open packfile '/dev/fd/7': No such file or directory"),
        (128, "fatal: cannot pread pack file: Input/output error"),
    ],
)
def test_a_pack_stays_where_git_cannot_be_run(
    root: Path, files: ProtectedFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, said: str
) -> None:
    program = tmp_path / "git"
    program.write_text(f'#!/bin/sh\necho "{said}" >&2\nexit {status}\n')
    program.chmod(0o700)

    def found(*_given: object) -> str:
        return str(program)

    monkeypatch.setattr(stored_objects, "find_program", found)
    files.begin()
    git(root, "repack", "-adq")
    assert files.end() == ()
    assert files.is_overlooked


READING = """
import subprocess, sys
from pathlib import Path
from localllm.sandbox.protect.revert import ProtectedFiles
files = ProtectedFiles(Path(sys.argv[1]), None, coarse=0)
files.begin()
subprocess.run(["git", "repack", "-adq"], cwd=sys.argv[1], check=True)
Path(sys.argv[2]).chmod(0o700)
files.end()
"""


def test_a_kill_while_git_reads_a_pack_leaves_nothing_for_good(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, base = tmp_path / "bin/git", tmp_path / "base"
    write(tmp_path, "bin/git", f"#!/bin/sh\ntouch '{tmp_path}/is-read'\nkill -9 $PPID\n")
    base.mkdir()
    monkeypatch.setenv("TMPDIR", str(base))
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    assert subprocess.run([sys.executable, "-c", READING, root, program], check=False).returncode == -9
    assert (tmp_path / "is-read").exists()
    assert list(base.iterdir())
    remove_stale(0.0)
    assert not list(base.iterdir())


@pytest.mark.parametrize("is_beside", [True, False])
def test_what_takes_long_takes_no_longer_than_a_look_while_another_command_runs(
    files: ProtectedFiles, monkeypatch: pytest.MonkeyPatch, is_beside: bool
) -> None:
    given: list[float] = []

    def noted(_self: StoredObjects, _folders: object, _since: int, seconds: float, **_more: Any) -> dict[str, Entry]:
        given.append(seconds)
        return {}

    monkeypatch.setattr(StoredObjects, "wrong", noted)
    files.begin()
    if is_beside:
        files.begin()
    now = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + 600)  # it has run for ten minutes
    files.end()
    assert given == [3.0 if is_beside else 20.0]


KILLED = """
import os, signal, sys
from pathlib import Path
from localllm.sandbox.protect.revert import ProtectedFiles
root, quarantine, aside, place = map(Path, sys.argv[1:])
ProtectedFiles(root, quarantine, coarse=0).begin()
aside.rename(place)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_objects_that_were_moved_there_before_a_kill_go(root: Path, tmp_path: Path) -> None:
    write(root, "docs/a", "first one")
    write(root, "docs/b", "other one")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "two")
    first, second = object_file(root, "docs/a"), object_file(root, "docs/b")
    aside = root / ".git/objects/prepared"
    first.parent.rename(aside)
    swap(aside / first.name, second)
    time.sleep(0.05)
    killed = [sys.executable, "-c", KILLED, root, tmp_path / "quarantine", aside, first.parent]
    assert subprocess.run(killed, check=False).returncode == -9
    assert str(first.relative_to(root)) in ProtectedFiles(root, tmp_path / "quarantine", coarse=0).recover()
