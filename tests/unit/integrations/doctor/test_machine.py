"""Sandbox, git, ripgrep and terminal."""

import subprocess
import sys

import pytest

from localllm.base.i18n import set_language
from localllm.config.loader import Loaded
from localllm.config.schema import SafetySettings, Settings
from localllm.integrations.doctor.inputs import Finding, Screen
from localllm.integrations.doctor.machine import git, journal, program, ripgrep, sandbox, terminal
from localllm.safety.journal import Journal, JournalEntry
from tests.support.doctor_world import Sandbox, only, surroundings

NOWHERE = {"PATH": "/nowhere", "HOME": "/nowhere"}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no sandbox to fix")
@pytest.mark.parametrize(
    ("kernel", "fix"),
    [("5.10.0-28-amd64", "Linux 6.12 or newer"), ("6.8.0", "Linux 6.12 or newer"), ("6.12.1", "lsm="), ("odd", "lsm=")],
)
def test_an_old_kernel(tmp_path, kernel: str, fix: str) -> None:
    here = surroundings(tmp_path, kernel=kernel, sandbox=Sandbox("none", "Landlock has version 0, 6 is needed"))
    (finding,) = sandbox(here)
    assert finding.status == "warning"
    assert "Landlock has version 0" in finding.what
    assert kernel in finding.what
    assert fix in finding.fix


def test_a_sandbox(tmp_path) -> None:
    assert [finding.status for finding in sandbox(surroundings(tmp_path))] == ["ok"]


def test_a_sandbox_that_could_be_better(tmp_path) -> None:
    held = Sandbox("landlock", failed_levels={"namespaces": "Operation not permitted", "bubblewrap": "not there"})
    (finding,) = sandbox(surroundings(tmp_path, sandbox=held))
    assert finding.status == "note"
    assert "namespaces: Operation not permitted; bubblewrap: not there" in finding.what
    assert "bubblewrap" in finding.fix


def test_hosts_that_cannot_be_told_apart(tmp_path) -> None:
    loaded = Loaded(settings=Settings(safety=SafetySettings(network_hosts=("pypi.org",))))
    assert [one.name for one in sandbox(surroundings(tmp_path, loaded=loaded))] == ["sandbox"]
    _, finding = sandbox(surroundings(tmp_path, loaded=loaded, sandbox=Sandbox("landlock")))
    assert (finding.name, finding.status) == ("network", "note")
    assert "safety.network_hosts has no effect" in finding.what


def test_the_journal(tmp_path) -> None:
    here = surroundings(tmp_path)
    assert list(journal(here)) == []
    file = here.state / "journal.jsonl"
    for name in ("one", "two"):
        Journal(file, "s").write(JournalEntry(tool=name, arguments="", outcome="ok"))
    (finding,) = journal(here)
    assert (finding.status, "2 entries" in finding.what) == ("ok", True)
    file.write_text(file.read_text().replace("one", "eno"))
    (finding,) = journal(here)
    assert (finding.status, "line 2" in finding.what) == ("warning", True)


def test_git_is_missing(tmp_path) -> None:
    (finding,) = git(surroundings(tmp_path, environ=NOWHERE))
    assert finding.status == "note"
    assert "/undo works without" in finding.what
    assert "apt install git" in finding.fix


def test_not_a_repository(tmp_path) -> None:
    (finding,) = git(surroundings(tmp_path))
    assert finding.status == "note"
    assert "not a git repository" in finding.what
    assert "git init" in finding.fix


def test_a_repository_with_and_without_a_name(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = surroundings(tmp_path)
    subprocess.run(["git", "init", "-q", here.project], check=True)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    subprocess.run(["git", "-C", here.project, "config", "user.useConfigOnly", "true"], check=True)
    found, nameless = git(here)
    assert found.status == "ok"
    assert (nameless.status, "user.email" in nameless.fix) == ("note", True)
    subprocess.run(["git", "-C", here.project, "config", "user.name", "N"], check=True)
    subprocess.run(["git", "-C", here.project, "config", "user.email", "n@example.com"], check=True)
    assert [finding.status for finding in git(here)] == ["ok"]


@pytest.mark.parametrize(("check", "name"), [(git, "git"), (ripgrep, "rg")])
def test_a_program_in_another_repository_is_named_as_not_used(tmp_path, check, name: str) -> None:
    program = tmp_path / "tools/bin" / name
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "tools/.git").mkdir()
    (tmp_path / "project").mkdir()
    (found,) = check(surroundings(tmp_path / "project", environ={"PATH": str(program.parent)}))
    assert (found.status, f"{program} is not used" in found.what) == ("note", True)


def test_ripgrep(tmp_path) -> None:
    (missing,) = ripgrep(surroundings(tmp_path, environ=NOWHERE))
    assert (missing.status, "install ripgrep" in missing.fix) == ("note", True)
    program = tmp_path / "bin" / "rg"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (there,) = ripgrep(surroundings(tmp_path, environ={"PATH": str(program.parent), "HOME": "/nowhere"}))
    assert there.status == "ok"


def look(tmp_path, **facts: object) -> list[Finding]:
    screen = Screen(**{"is_terminal": True, "kind": "xterm", **facts})
    return list(terminal(surroundings(tmp_path, screen=screen)))


@pytest.mark.parametrize(
    ("facts", "status", "words"),
    [
        ({}, "ok", "80 × 24"),
        ({"colours": False}, "ok", "NO_COLOR"),
        ({"is_terminal": False}, "note", "terminal"),
        ({"kind": "dumb"}, "note", "TERM=dumb"),
        ({"encoding": "iso8859-1", "is_terminal": False}, "warning", "iso8859-1"),
        ({"columns": 30, "kind": "dumb"}, "warning", "30 × 24"),
    ],
)
def test_the_terminal(tmp_path, facts: dict[str, object], status: str, words: str) -> None:
    first, *_ = look(tmp_path, **facts)
    assert first.status == status
    assert words in first.what


def test_the_linux_console_shows_no_japanese(tmp_path) -> None:
    assert [finding.status for finding in look(tmp_path, kind="linux")] == ["ok"]
    set_language("ja")
    try:
        first, _ = look(tmp_path, kind="linux")
    finally:
        set_language("en")
    assert first.status == "warning"
    assert "--lang en" in first.fix


def test_the_program_says_what_it_is(tmp_path) -> None:
    finding = only(list(program(surroundings(tmp_path))), "program")
    assert f"Python {sys.version_info.major}.{sys.version_info.minor}" in finding.what
