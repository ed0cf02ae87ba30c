"""A project that is the user's home."""

from pathlib import Path

import pytest

from localllm.app.start_notices import place_notices
from localllm.base.paths import open_storage
from localllm.config.schema import SafetySettings
from localllm.safety.home_folder import guard_home
from localllm.safety.paths import ProjectRoot
from localllm.safety.policy import Policy
from localllm.safety.rules import closed_to_reading, guarded_from_reading
from localllm.tools.builtin import all_tools


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "people" / "me"
    for name in (
        ".ssh/id",
        ".netrc",
        "Library/Mail/1",
        "snap/firefox/common/.mozilla/logins.json",
        "notes/a.txt",
        ".local/state/localllm/key",
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x")
    monkeypatch.setenv("HOME", str(home))
    for name in ("LOCALLLM_STATE_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return home


def decision(root: Path, path: str, tool: str = "read_file") -> str:
    project = ProjectRoot(root)
    found = next(one for one in all_tools() if one.name == tool)
    policy = Policy(guard_home(SafetySettings(mode="auto"), root))
    return policy.judge(found, {found.paths[0]: path}, project.relative).decision


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".ssh/id", "ask"),
        (".netrc", "ask"),
        ("Library/Mail/1", "ask"),
        ("snap/firefox/common/.mozilla/logins.json", "ask"),
        ("notes/a.txt", "allow"),
        (".local/state/localllm/key", "deny"),
    ],
)
def test_hidden_files_are_asked_about(home: Path, path: str, expected: str) -> None:
    assert decision(home, path) == expected
    assert decision(home.parent, f"me/{path}") == expected


def test_each_write_is_asked_about(home: Path) -> None:
    for tool in ("write_file", "edit_file", "create_file"):
        assert decision(home, "conda/profile.sh", tool) == "ask"
        assert decision(home / "notes", "a.txt", tool) == "allow"


def test_searches_pass_over_them(home: Path) -> None:
    safety, root = guard_home(SafetySettings(), home), ProjectRoot(home)
    assert guarded_from_reading(safety, root.relative) == [".local", ".netrc", ".ssh", "Library", "snap"]
    assert closed_to_reading(safety, root.relative) == [".cache/localllm", ".local/state/localllm"]


def test_a_project_in_the_home_has_no_such_rules(home: Path) -> None:
    settings = SafetySettings()
    assert guard_home(settings, home / "notes") is settings
    assert place_notices(home / "notes", open_storage(home / "notes")) == []


@pytest.mark.parametrize("root", [".local", ".local/state"])
def test_own_data_is_closed_in_a_project_around_it(home: Path, root: str) -> None:
    assert decision(home / root, str(home / ".local/state/localllm/key")) == "deny"
    assert decision(home / root, str(home / root / "x")) == "allow"


def test_processes_are_closed_where_the_project_is_everything(home: Path) -> None:
    assert decision(Path("/"), "/proc/self/environ") == "deny"
    assert decision(Path("/"), str(home / "notes/a.txt")) == "allow"


def test_the_start_says_so(home: Path) -> None:
    assert "holds your home" in place_notices(home, open_storage(home))[0]


@pytest.mark.parametrize(
    "name", ["Library/LaunchAgents/x.plist", "Documents/PowerShell/profile.ps1", "snap/code/x.conf", ".profile"]
)
def test_what_systems_run_there_is_not_written(home: Path, name: str) -> None:
    assert ProjectRoot(home).is_protected(name)
    assert not ProjectRoot(home / "notes").is_protected(name.lstrip("."))


def test_hidden_files_are_found_among_any_number_of_others(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localllm.safety.home_folder._MOST_ENTRIES", 10)
    for number in range(100):
        (home / f"IMG_{number}.jpg").touch()
    for name in (".aws/x", ".gnupg/x", ".kube/x"):
        (home / name).parent.mkdir()
        (home / name).touch()
    assert {decision(home, name) for name in (".aws/x", ".gnupg/x", ".kube/x", ".ssh/id", ".netrc")} == {"ask"}
