"""The records of a project's files: what is taken in, what is parsed again, what is kept."""

import os
import threading
from pathlib import Path

from localllm.repo_map.index import LARGEST_FILE, Refreshed, RepoIndex

LONG_AGO = 1_000_000_000


def put(path: Path, text: str | bytes, *, settled: bool = True) -> Path:
    """A file whose times can be trusted, as far as they can be set."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    if settled:
        os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def refresh(index: RepoIndex, seconds: float = 60.0) -> Refreshed:
    return index.refresh(seconds, threading.Event())


def names(index: RepoIndex, path: str) -> list[str]:
    return [definition.name for definition in index.files[path].definitions]


def test_only_source_files_that_can_be_read_have_definitions(tmp_path: Path) -> None:
    put(tmp_path / ".gitignore", "build/\n")
    put(tmp_path / "a.py", "def f():\n    def inner(): ...\n\nclass C:\n    def m(self): ...\n")
    put(tmp_path / "build/x.py", "def g(): ...\n")
    put(tmp_path / "vendor/x.py", "def g(): ...\n")
    put(tmp_path / "notes.md", "# Notes\n")
    put(tmp_path / "binary.c", b"\0\1\2" * 100)
    put(tmp_path / "cyrillic.py", "def f(): ...  # Привет, как дела\n".encode("cp1251"))
    put(tmp_path / "minified.js", "function f(){};" * 1_000)
    put(tmp_path / "huge.py", "x = 1\n" * (LARGEST_FILE // 6 + 1))
    put(tmp_path / "tangle.py", "(" * 20_000 + "\n" * 2_000)
    (tmp_path / "link.py").symlink_to("a.py")
    index = RepoIndex(tmp_path, None, ["vendor"])
    refresh(index)
    assert names(index, "a.py") == ["f", "C", "m"]
    assert {path for path, record in index.files.items() if record.language} == {"a.py"}
    assert set(index.files) == {"a.py", "binary.c", "cyrillic.py", "minified.js", "huge.py", "tangle.py"}


def test_a_name_that_is_not_utf_8_is_looked_at_again_at_each_start(tmp_path: Path) -> None:
    cache = tmp_path / "map"
    put(tmp_path / "a.py", "def f(): ...\n")
    put(tmp_path / os.fsdecode(b"caf\xe9.py"), "def g(): ...\n")
    index, name = RepoIndex(tmp_path, cache), os.fsdecode(b"caf\xe9.py")
    refresh(index)
    assert (names(index, "a.py"), names(index, name)) == (["f"], ["g"])
    again = RepoIndex(tmp_path, cache)
    refresh(again)
    assert names(again, name) == ["g"]


def test_another_encoding_is_understood(tmp_path: Path) -> None:
    put(tmp_path / "a.py", "def 挨拶する():\n    return 'こんにちは'\n".encode("cp932"))
    index = RepoIndex(tmp_path, None)
    refresh(index)
    assert names(index, "a.py") == ["挨拶する"]


def test_only_what_changed_is_parsed_again(tmp_path: Path) -> None:
    put(tmp_path / "a.py", "def f(): ...\n")
    put(tmp_path / "b.py", "def g(): ...\n")
    cache = tmp_path / ".localllm" / "map"
    cache.parent.mkdir()
    index = RepoIndex(tmp_path, cache)
    assert refresh(index).parsed == 2
    assert refresh(index) == Refreshed()
    put(tmp_path / "a.py", "def other(): ...\n")
    (tmp_path / "b.py").unlink()
    put(tmp_path / "c.py", "def h(): ...\n")
    assert refresh(index).parsed == 2
    assert names(index, "a.py") == ["other"]
    assert "b.py" not in index.files
    of_new_process = RepoIndex(tmp_path, cache)
    assert refresh(of_new_process) == Refreshed(parsed=0, changed=True)
    assert of_new_process.files.keys() == {"a.py", "c.py"}


def test_a_change_that_keeps_size_and_time_is_seen(tmp_path: Path) -> None:
    put(tmp_path / "a.py", "def one(): ...\n")
    index = RepoIndex(tmp_path, None)
    refresh(index)
    put(tmp_path / "a.py", "def two(): ...\n")
    assert refresh(index).parsed == 1
    assert names(index, "a.py") == ["two"]


def test_a_broken_cache_is_made_anew(tmp_path: Path) -> None:
    put(tmp_path / "a.py", "def f(): ...\n")
    cache = put(tmp_path / ".localllm/map", b"\x93\x01\xffnonsense")
    index = RepoIndex(tmp_path, cache)
    assert refresh(index).parsed == 1
    assert refresh(RepoIndex(tmp_path, cache)).parsed == 0


def test_a_cache_that_cannot_be_written_costs_time_alone(tmp_path: Path) -> None:
    put(tmp_path / "a.py", "def f(): ...\n")
    index = RepoIndex(tmp_path, tmp_path / "missing" / "map")
    assert refresh(index).parsed == 1
    assert names(index, "a.py") == ["f"]


def test_what_there_is_no_time_for_comes_next(tmp_path: Path) -> None:
    for number in range(5):
        put(tmp_path / f"a{number}.py", "def f(): ...\n")
    index = RepoIndex(tmp_path, None)
    assert refresh(index, seconds=-1) == Refreshed(parsed=0, changed=False, left_out=5)
    stopped = threading.Event()
    stopped.set()
    assert index.refresh(60.0, stopped).left_out == 5
    assert refresh(index) == Refreshed(parsed=5, changed=True, left_out=0)


def test_a_cache_that_is_a_link_is_neither_read_nor_written_through(tmp_path: Path) -> None:
    put(tmp_path / "project" / "a.py", "def f(): ...\n")
    cache = tmp_path / "project" / "cache"
    cache.symlink_to("/dev/zero")
    refresh(RepoIndex(tmp_path / "project", cache))
    assert not cache.is_symlink()
    theirs = put(tmp_path / "profile", "mine\n")
    cache.unlink()
    cache.symlink_to(theirs)
    refresh(RepoIndex(tmp_path / "project", cache))
    assert theirs.read_text() == "mine\n"
    assert cache.is_file()
