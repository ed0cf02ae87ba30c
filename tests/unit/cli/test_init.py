"""`localllm init`, as a user would type it."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.base import i18n
from localllm.cli.main import run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LOCALLLM_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("LOCALLLM_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("LC_ALL", "C")
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield folder
    i18n.set_language("en")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


MADE = [".localllm", "LOCALLLM.md", "localllm.toml"]


def test_here(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init"]) == 0
    told = capsys.readouterr()
    assert told.out == "created  .localllm/\ncreated  localllm.toml\ncreated  LOCALLLM.md\n"
    assert "localllm doctor" in told.err
    assert names(folder) == MADE


def test_again(capsys: pytest.CaptureFixture[str]) -> None:
    run(["init"])
    capsys.readouterr()
    assert run(["init"]) == 0
    assert capsys.readouterr().out.count("already there, left as it is") == 3


def test_a_memory_without_an_analysis_is_given_one_and_a_refresh_brings_it_up_to_date(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "LOCALLLM.md").write_text("# Project Memory\n\n## TODO\n\n- [ ] one\n")
    (folder / "localllm.toml").write_text('[project]\nexclude_patterns = ["b.*"]\n')
    for name in ("a.py", "b.rb"):
        (folder / name).write_text("1\n")
    assert run(["init"]) == 0
    assert (
        "added                         LOCALLLM.md: Project DNA, Directory structure, Coding style\n"
        in capsys.readouterr().out
    )
    assert "- Language: Python (files: 1, lines: 1)\n" in (folder / "LOCALLLM.md").read_text()
    (folder / "c.py").write_text("1\n")
    assert run(["init", "--refresh"]) == 0
    assert "updated                       LOCALLLM.md: Project DNA\n" in capsys.readouterr().out
    assert "- Language: Python (files: 2, lines: 2)\n" in (folder / "LOCALLLM.md").read_text()


def test_what_a_rule_closes_is_not_analysed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "localllm.toml").write_text(
        '[safety]\ndeny = ["read_file(package.json)", "read_file(hid[1].rb)", "read_file(in ner/)"]\n'
    )
    (folder / "package.json").write_text('{"name": "it", "dependencies": {"secretlib": "1"}}')
    (folder / "in ner").mkdir()
    for name in ("a.py", "hid[1].rb", "in ner/c.go"):
        (folder / name).write_text("1\n")
    assert run(["init"]) == 0
    notes = (folder / "LOCALLLM.md").read_text()
    assert "Python" in notes
    assert not [word for word in ("secretlib", "Ruby", "Go", "inner", "hid") if word in notes]


def test_elsewhere(folder: Path) -> None:
    assert run(["init", "--work-dir", "new/one"]) == 0
    assert names(folder / "new" / "one") == sorted([*MADE, "cache", "debug_log", "history", "log", "task"])
    assert names(folder) == ["new"]


def test_in_japanese(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--lang", "ja", "init", "--services"]) == 0
    assert "作成  localllm.toml" in capsys.readouterr().out
    assert "## プロジェクトDNA" in (folder / "LOCALLLM.md").read_text()
    assert "# モデル名" in (folder / "localllm.toml").read_text()
    assert {"compose.yaml", "searxng"} <= set(names(folder))


def test_what_docker_would_read_and_was_there_before_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "--services"]) == 0
    assert "Read these first" not in capsys.readouterr().err
    (folder / "searxng/settings.yml").unlink()
    (folder / "compose.override.yml").touch()
    (folder / ".env").touch()
    assert run(["init", "--services"]) == 0
    said = capsys.readouterr().err.rpartition("Read these first")[2]
    assert "compose.yaml" in said
    assert "compose.override.yml, .env" in said
    assert "settings.yml" not in said


def test_clear_is_refused_where_nobody_can_be_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["init"])
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert run(["init", "--clear"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert names(folder) == MADE


def test_clear_with_yes_moves_also_settings_that_are_broken(folder: Path) -> None:
    (folder / "localllm.toml").write_text("[broken\n")
    assert run(["init", "--clear", "--yes"]) == 0
    old = [name for name in names(folder) if re.fullmatch(r"localllm\.toml\.old-\d{8}-\d{6}", name)]
    assert len(old) == 1
    assert (folder / old[0]).read_text() == "[broken\n"
    assert set(MADE) <= set(names(folder))


def test_something_in_the_way_is_an_error_of_usage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "file").touch()
    assert run(["init", "--work-dir", "file"]) == 2
    assert "E1018" in capsys.readouterr().err
