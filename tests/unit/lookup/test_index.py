"""The index of a project: it follows the files, and can be deleted, broken or hostile."""

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from localllm.lookup import index as index_module
from localllm.lookup.index import ProjectIndex


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "cart.py").write_text('def add_item(item):\n    """Put a thing into the basket."""\n', "utf-8")
    (folder / "store.go").write_text(
        "package store\n\nfunc (s *Store) SaveOrder(o Order) error {\n\treturn nil\n}\n", "utf-8"
    )
    for file in folder.iterdir():
        os.utime(file, (1_700_000_000, 1_700_000_000))
    return folder


def names(root: Path, cache: Path | None, name: str, **more: tuple[str, ...]) -> list[tuple[str, int]]:
    with closing(ProjectIndex(root, cache, **more)) as index:
        index.refresh()
        return [(place.path, place.line) for place in index.named(name)]


def test_what_is_defined_is_found_by_name_and_by_words(root: Path) -> None:
    with closing(ProjectIndex(root, None)) as index:
        index.refresh()
        assert [(place.path, place.line) for place in index.named("add_item")] == [("cart.py", 1)]
        assert [(place.path, place.line) for place in index.named("saveorder")] == [("store.go", 3)]
        assert [words.place.name for words in index.best("basket", 5)] == ["add_item", "cart.py"]
        assert [words.place.name for words in index.best('"save order"', 5)] == ["SaveOrder", "store.go"]
        assert index.files_with(["SaveOrder"]) == ["store.go"]
        assert index.best("", 5) == []


def test_it_follows_the_files(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "index.sqlite"
    assert names(root, cache, "add_item") == [("cart.py", 1)]
    (root / "cart.py").write_text("\n\ndef add_item(item):\n    pass\n", "utf-8")
    (root / "more.py").write_text("def add_item(): ...\n", "utf-8")
    assert names(root, cache, "add_item") == [("cart.py", 3), ("more.py", 1)]
    (root / "cart.py").unlink()
    assert names(root, cache, "add_item") == [("more.py", 1)]
    with closing(ProjectIndex(root, cache)) as index:
        index.refresh()
        assert index.files_with(["add_item"]) == ["more.py"]
        assert index.best("basket", 5) == []


def test_size_and_name_tell_a_change_as_well(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "index.sqlite"
    assert names(root, cache, "add_item")
    with closing(ProjectIndex(root, cache)) as index:
        os.truncate(root / "cart.py", 0)
        os.utime(root / "cart.py", (1_700_000_000, 1_700_000_000))
        index.refresh()
        assert index.named("add_item") == []  # its size tells
        (root / "store.go").rename(root / "other.go")
        index.refresh()
        assert [place.path for place in index.named("SaveOrder")] == ["other.go"]


def test_what_is_left_out_or_closed_or_secret_is_not_read(root: Path) -> None:
    (root / ".env").write_text("ADD_ITEM=1\nadd_item=2\n", "utf-8")
    (root / "gone").mkdir()
    (root / "gone/x.py").write_text("def add_item(): ...\n", "utf-8")
    assert names(root, None, "add_item") == [("cart.py", 1), ("gone/x.py", 1)]
    assert names(root, None, "add_item", exclude=("gone/",)) == [("cart.py", 1)]
    assert names(root, None, "add_item", closed=("gone", "cart.py")) == []
    with closing(ProjectIndex(root, None)) as index:
        index.refresh()
        assert ".env" in index.paths()
        assert index.lines(".env") == []
    with closing(ProjectIndex(root, None, closed=("gone",))) as index:
        assert index.lines("gone/x.py") == []


@pytest.mark.parametrize("content", [b"", b"no database at all" * 100, None])
def test_a_cache_that_is_none_of_ours_is_made_anew(root: Path, tmp_path: Path, content: bytes | None) -> None:
    cache = tmp_path / "index.sqlite"
    if content is None:
        assert names(root, cache, "add_item")
        with closing(sqlite3.connect(cache)) as db, db:
            db.execute("CREATE TRIGGER t AFTER INSERT ON files BEGIN DELETE FROM places; END")
        (root / "new.py").write_text("x = 1\n", "utf-8")
    else:
        cache.write_bytes(content)
    assert names(root, cache, "add_item") == [("cart.py", 1)]
    db = sqlite3.connect(cache)
    assert not list(db.execute("SELECT * FROM sqlite_master WHERE type = 'trigger'"))
    db.close()


def test_a_link_in_place_of_the_cache_is_not_followed(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"")
    cache = tmp_path / "index.sqlite"
    cache.symlink_to(other)
    assert names(root, cache, "add_item") == [("cart.py", 1)]
    assert other.read_bytes() == b""


def test_hostile_files_cost_little(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "long.js").write_text("a(" * 150_000, "utf-8")
    (root / "spaces.py").write_text(" " * 300_000 + "\n" + "x" * 1_000, "utf-8")
    (root / "binary.py").write_bytes(b"\0def add_item(): ...")
    (root / "many.py").write_text("".join(f"def f{n}(): ...\n" for n in range(9_000)), "utf-8")
    (root / "large.py").write_bytes(b"def add_item(): ...\n" * 50_000)
    (root / "bad.py").write_bytes(b"def add_item(): ...\n# \xff\xfe\xff\n")
    monkeypatch.setattr(index_module, "_SECONDS", 60.0)
    with closing(ProjectIndex(root, None)) as index:
        index.refresh()
        assert len(index.units_in("many.py")) <= 2_000
        assert {place.path for place in index.named("add_item")} <= {"cart.py", "bad.py"}


def test_what_there_was_no_time_for_is_counted_and_comes_next(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "index.sqlite"
    with closing(ProjectIndex(root, cache)) as index:
        index.refresh(0.0)
        assert (index.left_out, index.paths()) == (2, [])
        index.refresh()
        assert (index.left_out, index.paths()) == (0, ["cart.py", "store.go"])


def test_of_files_that_hold_the_same_one_answers(root: Path) -> None:
    text = "".join(f"def twin_{number}(): ...\n" for number in range(100))
    for name in ("a.py", "b.py"):
        (root / name).write_text(text, "utf-8")
    assert names(root, None, "twin_7") == [("a.py", 8)]


def test_questions_asked_at_once_make_one_index(root: Path, tmp_path: Path) -> None:
    for number in range(30):
        (root / f"m{number}.py").write_text(f"def f{number}(): return {number}\n", "utf-8")
    for turn in range(3):
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(names, root, tmp_path / f"{turn}.sqlite", "f7") for _ in range(4)]
        assert [answer.result() for answer in asked] == [[("m7.py", 1)]] * 4


def test_an_index_that_another_program_writes_is_made_in_memory(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "_PATIENCE", 0.1)
    cache = tmp_path / "index.sqlite"
    with (
        closing(ProjectIndex(root, cache)) as opened_before,
        closing(sqlite3.connect(cache, isolation_level=None)) as other,
    ):
        other.execute("BEGIN EXCLUSIVE")
        opened_before.refresh()
        assert opened_before.named("add_item")
        assert names(root, cache, "add_item") == [("cart.py", 1)]
        other.execute("INSERT INTO files (path) VALUES ('x')")
        other.execute("COMMIT")
        assert cache.exists()
