"""Rules from answers: kept for the user and the project, never lost, never in the project."""

import subprocess
import sys
from pathlib import Path

import pytest

from localllm.base import birth_times
from localllm.base.birth_times import birth_time
from localllm.base.errors import ConfigurationError
from localllm.safety.rules import Rule
from localllm.safety.saved_rules import Remembered, RememberedRules

MAKE = Rule(tool="run_command", decision="allow", prefix="make test", exact=True)
DOCS = Rule(tool="edit_file", decision="allow", prefix="docs")


def test_they_hold_for_the_session_or_for_the_project(tmp_path: Path) -> None:
    file = tmp_path / "state" / "rules.json"
    first = RememberedRules(file, tmp_path / "a")
    first.add(MAKE, "session")
    first.add(DOCS, "project")
    first.add(DOCS, "project")
    assert first.all == [Remembered(DOCS, "project"), Remembered(MAKE, "session")]
    assert RememberedRules(file, tmp_path / "a").rules() == [DOCS]
    assert RememberedRules(file, tmp_path / "b").rules() == []
    assert file.stat().st_mode & 0o077 == 0


def test_one_is_removed_and_the_others_stay(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    rules = RememberedRules(file, tmp_path)
    for rule in (MAKE, DOCS):
        rules.add(rule, "project")
        rules.add(rule, "session")
    rules.remove(Remembered(MAKE, "project"))
    rules.remove(Remembered(DOCS, "session"))
    assert rules.all == [Remembered(DOCS, "project"), Remembered(MAKE, "session")]
    rules.forget_session()
    assert RememberedRules(file, tmp_path).rules() == rules.rules() == [DOCS]


def test_what_another_program_adds_and_removes_holds_at_once(tmp_path: Path) -> None:
    one, other = (RememberedRules(tmp_path / "rules.json", tmp_path) for _ in range(2))
    one.add(MAKE, "project")
    other.add(DOCS, "project")
    assert one.rules() == other.rules() == [MAKE, DOCS]
    one.remove(Remembered(MAKE, "project"))
    assert other.rules() == [DOCS]
    (tmp_path / "rules.json").unlink()
    assert other.rules() == []


def test_programs_that_add_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from localllm.safety.saved_rules import RememberedRules;"
        "from localllm.safety.rules import Rule; rules = RememberedRules(Path(sys.argv[1]), Path('/p'))\n"
        "for n in range(15): rules.add(Rule(tool='x', decision='allow', prefix=f'{sys.argv[2]}-{n}'), 'project')"
    )
    file = tmp_path / "rules.json"
    running = [subprocess.Popen([sys.executable, "-c", program, str(file), name]) for name in "ab"]
    assert [process.wait(30) for process in running] == [0, 0]
    assert len(RememberedRules(file, Path("/p")).rules()) == 30


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"projects": 3}', b"\xff"])
def test_a_damaged_file_counts_as_empty(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "rules.json"
    file.write_bytes(content)
    rules = RememberedRules(file, tmp_path)
    assert rules.rules() == []
    rules.add(DOCS, "project")
    assert rules.rules() == [DOCS]


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "rules.json").mkdir()
    with pytest.raises(ConfigurationError) as caught:
        RememberedRules(tmp_path / "rules.json", tmp_path).add(DOCS, "project")
    assert caught.value.key == "config_unwritable"


def test_those_of_the_user_lie_in_his_state_folder(tmp_path: Path) -> None:
    rules = RememberedRules.of_user(tmp_path, {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)})
    assert rules.file == tmp_path / "state" / "localllm" / "rules.json"
    assert rules.rules() == []


def test_another_folder_at_the_same_path_has_none(tmp_path: Path) -> None:
    file, project = tmp_path / "rules.json", tmp_path / "app"
    project.mkdir()
    if not birth_time(project):
        pytest.skip("this file system does not tell")
    RememberedRules(file, project).add(MAKE, "project")
    (project / ".git").mkdir()
    assert RememberedRules(file, project).rules() == [MAKE]
    project.rename(tmp_path / "moved")
    assert RememberedRules(file, tmp_path / "moved").rules() == []
    project.mkdir()
    assert RememberedRules(file, project).rules() == []
    other = RememberedRules(file, project)
    other.add(DOCS, "project")
    assert RememberedRules(file, project).rules() == [DOCS]
    other.remove(Remembered(DOCS, "project"))
    assert RememberedRules(file, project).rules() == []


def test_where_the_age_of_a_folder_is_not_known_the_path_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rules.json"
    monkeypatch.setattr(birth_times, "birth_time", lambda _path: "")
    RememberedRules(file, tmp_path).add(MAKE, "project")
    assert RememberedRules(file, tmp_path).rules() == [MAKE]
    monkeypatch.undo()
    assert RememberedRules(file, tmp_path).rules() == [MAKE]


def test_when_a_folder_was_made(tmp_path: Path) -> None:
    assert birth_time(tmp_path / "none") == ""
    (tmp_path / "a").mkdir()
    before = birth_time(tmp_path / "a")
    (tmp_path / "a" / "b").touch()
    (tmp_path / "a").chmod(0o700)
    assert birth_time(tmp_path / "a") == before
