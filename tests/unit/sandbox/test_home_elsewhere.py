"""What of a home lies on another disk: worked out for a made-up user."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from localllm.sandbox import home_elsewhere
from localllm.sandbox.environment import survey
from localllm.sandbox.launcher import mount_table
from localllm.sandbox.launcher.mount_table import MountTable


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("localllm.sandbox.environment._ALWAYS_HIDDEN", "/run")  # tests have their folders in /tmp
    home = (tmp_path / "home").resolve()
    (home / ".config/gh").mkdir(parents=True)
    return home


def linked(home: Path, name: str, inside: str = "") -> Path:
    """A folder on another disk, to which the name in the home leads."""
    target = home.parent / "disk" / name.replace(".", "_").replace("/", "_")
    (target / inside).mkdir(parents=True)
    (home / name).symlink_to(target)
    return target


@pytest.mark.parametrize("name", [".ssh", ".aws", ".config/gh/hosts", ".config/gcloud", "Documents"])
def test_settings_and_documents_are_hidden_where_they_are(home: Path, name: str) -> None:
    assert linked(home, name) in survey({"HOME": str(home)}).hidden


def test_folders_in_the_language_of_the_user_are_as_well(home: Path) -> None:
    (home / ".config/user-dirs.dirs").write_text('XDG_DOCUMENTS_DIR="$HOME/文書"\nXDG_DESKTOP_DIR="$HOME/"\n')
    assert linked(home, "文書") in survey({"HOME": str(home)}).hidden


def test_links_are_found_among_any_number_of_other_files(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_elsewhere, "_MOST_ENTRIES", 10)
    for number in range(100):
        (home / f"IMG_{number}.jpg").touch()
        (home / f".config/{number}.rc").touch()
        (home / f".config/gh/{number}").touch()
    names = (".aws", ".gnupg", ".ssh", "Documents", ".config/gcloud", ".config/gh/hosts")
    targets = {linked(home, name) for name in names}
    assert targets <= set(survey({"HOME": str(home)}).hidden)


@pytest.mark.parametrize("name", ["data", "models", ".cache", ".virtualenvs", ".pyenv", ".cargo", ".nvm"])
def test_data_and_programs_stay_to_be_seen(home: Path, name: str) -> None:
    assert linked(home, name) not in survey({"HOME": str(home)}).hidden


def test_programs_within_what_is_hidden_are_shown(home: Path) -> None:
    target = linked(home, ".local", "bin")
    seen = survey({"HOME": str(home), "PATH": f"{home}/.local/bin"})
    assert target in seen.hidden
    assert target / "bin" in seen.shown
    assert seen.toolchains[".local/bin"] == target / "bin"


def test_the_project_and_the_system_are_not_hidden(home: Path) -> None:
    project = linked(home, ".dotfiles", "sub")
    (home / ".profile").symlink_to("/etc/profile")
    (home / ".all").symlink_to("/mnt")
    (home / ".bash_history").symlink_to("/dev/null")
    seen = survey({"HOME": str(home)}, project=project).hidden
    assert not {project, Path("/etc/profile"), Path("/mnt"), Path("/dev/null")} & set(seen)
    assert project in survey({"HOME": str(home)}, project=project / "sub").hidden  # the project itself stays open


def test_what_is_mounted_in_the_home_is_hidden_where_it_is(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NixOS can keep what outlasts a restart on another disk, and mount each folder of it."""
    mounts = ["1 0 8:1 / / rw - ext4 a rw", "2 1 8:2 / /persist rw - ext4 b rw"]
    mounts += [f"{n} 1 8:2 /me/{name} {home}/{name} rw - ext4 b rw" for n, name in enumerate((".ssh", "data"), 3)]
    monkeypatch.setattr(mount_table, "mounts_here", lambda: MountTable("\n".join(mounts).encode()))
    hidden = survey({"HOME": str(home)}).hidden
    assert Path("/persist/me/.ssh") in hidden
    assert not {Path("/persist"), Path("/persist/me/data")} & set(hidden)


def test_the_home_of_windows_is_hidden(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    users = tmp_path.resolve() / "mnt/c/Users"
    for name in ("me/AppData/Code/bin", "me/venv/bin"):
        (users / name).mkdir(parents=True)
    (users / "me/venv/pyvenv.cfg").touch()
    monkeypatch.setattr(home_elsewhere, "_DRIVES", (str(tmp_path / "mnt"), str(tmp_path / "missing")))
    seen = survey({"HOME": str(home), "PATH": f"{users}/me/AppData/Code/bin:{users}/me/venv/bin"})
    assert users in seen.hidden
    assert users / "me/venv/bin" in seen.shown
    assert not any(path.is_relative_to(users / "me/AppData") for path in seen.shown)


def test_of_a_disk_that_does_not_heed_case_all_is_hidden(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`/mnt/c/users/me` is `/mnt/c/Users/me` there. Here a symlink is the other spelling."""
    users = tmp_path.resolve() / "mnt/c/Users"
    (users / "me/.ssh").mkdir(parents=True)
    users.with_name("uSERS").symlink_to("Users")
    (users / "me/.SSH").symlink_to(".ssh")
    (home / ".ssh").symlink_to(users / "me/.ssh")
    monkeypatch.setattr(home_elsewhere, "_DRIVES", (str(tmp_path / "mnt"),))
    monkeypatch.setattr(Path, "stat", _on_two_disks(users.parent))
    assert home_elsewhere.windows_homes() == [users.parent]
    assert home_elsewhere.home_elsewhere(home, [home]) == [users.parent]
    users.with_name("uSERS").unlink()
    assert home_elsewhere.windows_homes() == [users]


def _on_two_disks(disk: Path) -> Callable[..., os.stat_result]:
    stat = Path.stat

    def of(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        about = stat(path, follow_symlinks=follow_symlinks)
        return about if path.is_relative_to(disk) else os.stat_result((about[0], about[1], about[2] + 1, *about[3:]))

    return of
