"""What git's own files say: refs, logs, the index, loose objects and the index of a pack."""

import hashlib
import subprocess
import zlib
from pathlib import Path

import pytest

from localllm.safety.paths import ProjectRoot
from localllm.snapshots.blob_store import Contents, Programs
from localllm.snapshots.file_state import Known
from localllm.snapshots.project_scan import Sign
from localllm.snapshots.repository_objects import (
    PackIndex,
    has_checksum,
    id_in,
    ids_in,
    is_index,
    is_object,
    is_ref,
    is_whole_object,
    loose_name,
    packed_refs,
)
from localllm.snapshots.repository_restore import differs
from tests.support.each import each

ONE, TWO = "1" * 40, "2" * 40


def git(root: Path, *arguments: str) -> str:
    settings = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "gc.auto=0")
    done = subprocess.run(["git", *settings, *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with packed objects, a loose one, and an index."""
    root = tmp_path_factory.mktemp("repository")
    git(root, "init", "-q")
    for number in range(40):
        (root / f"f{number}").write_text(f"{number}\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    git(root, "gc", "-q")
    (root / "loose").write_text("loose\n")
    git(root, "add", "loose")
    return root


def test_the_index_of_a_pack_has_all_that_is_in_the_pack(root: Path) -> None:
    (file,) = (root / ".git/objects/pack").glob("*.idx")
    data = file.read_bytes()
    index = PackIndex(data)
    packed = set(git(root, "rev-list", "--objects", "--no-object-names", "HEAD").split())
    assert index.count == len(packed) == 42
    assert {name.hex() for name in index.names()} == packed
    assert all(map(index.has, packed))
    loose = git(root, "rev-parse", ":loose").strip()
    for name in (loose, "0" * 40, "f" * 40, *(f"{name[:-1]}{'0' if name[-1] != '0' else '1'}" for name in packed)):
        assert not index.has(name)
    assert index.checksum == file.with_suffix(".pack").read_bytes()[-20:]
    assert PackIndex(data[:-1] + b"?", 20).count == 42
    for broken in (data[:-1] + b"?", data[:900], b"\0" + data[1:], b""):
        with pytest.raises(ValueError, match="index of a pack"):
            PackIndex(broken)


@pytest.mark.parametrize(("size", "is_whole"), [(900_000, True), (2_000_000, False)])
def test_an_object_of_zeros_that_grows_a_thousandfold_counts_as_none(size: int, is_whole: bool) -> None:
    content = b"blob %d\0" % size + bytes(size)
    name = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    assert is_whole_object(name, zlib.compress(content)) == is_whole


def test_a_loose_object_and_an_index_are_known_to_be_whole(root: Path) -> None:
    name = git(root, "rev-parse", ":loose").strip()
    path = f"objects/{name[:2]}/{name[2:]}"
    data = (root / ".git" / path).read_bytes()
    assert loose_name(path) == name
    assert is_object(path)
    assert is_whole_object(name, data)
    for broken in (data[:-1], data[1:], b""):
        assert not is_whole_object(name, broken)
    assert not is_whole_object(ONE, data)
    index = (root / ".git/index").read_bytes()
    assert is_index(index)
    assert has_checksum(index)
    assert not is_index(index[:-1] + b"?")
    assert is_index(index[:-20] + b"\0" * 20)
    assert not is_index(b"DIRC")
    listed = {line.split()[1] for line in git(root, "ls-files", "-s").splitlines()}
    assert ids_in("index", index) == listed
    assert len(listed) == 41


@each(
    ("data", "is_one", "name"),
    [
        (f"{ONE}\n".encode(), True, ONE),
        (b"3" * 64, True, "3" * 64),
        (b"ref: refs/heads/main\n", True, ""),
        (b"1" * 39, False, ""),
        (b"1" * 41, False, ""),
        (b"evil", False, ""),
        (b"", False, ""),
    ],
)
def test_what_a_ref_names(data: bytes, is_one: bool, name: str) -> None:
    assert (is_ref(data), id_in(data)) == (is_one, name)
    assert ids_in("refs/heads/main", data) == ({name} - {""})


@each(
    ("data", "refs"),
    [
        (
            f"# pack-refs with: peeled\n{ONE} refs/heads/a\n{TWO} refs/tags/b\n^{ONE}\n",
            {"refs/heads/a": ONE, "refs/tags/b": TWO},
        ),
        (f"{ONE} refs/heads/a..b\n", None),
        (f"{ONE} refs/heads/a.lock\n", None),
        (f"{ONE} elsewhere\n", None),
        (f"{ONE} refs/heads/a\nevil\n", None),
        ("", None),
    ],
)
def test_what_packed_refs_name(data: str, refs: dict[str, str] | None) -> None:
    assert packed_refs(data.encode()) == refs
    assert ids_in("packed-refs", data.encode()) == set((refs or {}).values())


def test_what_a_log_names() -> None:
    log = f"{'0' * 40} {ONE} A <a@b> 1 +0000\tcommit\n{ONE} {TWO} A <a@b> 2 +0000\tmove\n"
    assert ids_in("x/logs/HEAD", log.encode()) == {ONE, TWO}
    assert ids_in("x/logs/HEAD", b"x" * 130 + f" {ONE}\n".encode()) == set()


def test_whether_a_file_is_still_as_it_was_kept(root: Path, tmp_path: Path) -> None:
    contents = Contents(tmp_path / "objects", Programs(tmp_path / "programs"))
    kept = contents.put([b"whole\n"])
    known = Known(Sign(1, 6, 1, 1, 0o644), f"{kept}:644", settled=True, ignored=False)
    project = ProjectRoot(root)
    for data, is_other in ((b"whole\n", False), (b"other\n", True), (b"whole\nmore", True), (b"", True)):
        (root / ".git" / "kept").write_bytes(data)
        assert differs(project, ".git/kept", known, contents) is is_other
    (root / ".git" / "kept").unlink()
    assert differs(project, ".git/kept", known, contents)
    contents.path(kept).unlink()
    with pytest.raises(FileNotFoundError):
        differs(project, ".git/kept", known, contents)
