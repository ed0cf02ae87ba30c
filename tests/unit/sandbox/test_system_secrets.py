"""Which settings and data of services on the machine a command must not read."""

import os
from pathlib import Path

import pytest

from localllm.sandbox import system_secrets as module
from localllm.sandbox.environment import survey


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "_OF_SERVICES", (f"{tmp_path}/etc", f"{tmp_path}/lib"))
    monkeypatch.setattr(module, "_SECRETS", "")
    monkeypatch.setattr(module, "_SETTINGS", f"{tmp_path}/etc/pip.conf {tmp_path}/etc/npmrc")
    monkeypatch.setattr(module, "_NEEDED", {f"{tmp_path}/etc/gitconfig", f"{tmp_path}/lib/apt"})
    return tmp_path


def make(path: Path, mode: int, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def test_what_not_everybody_may_read_of_services_is_found(machine: Path) -> None:
    make(machine / "etc/redis/redis.conf", 0o640)
    make(machine / "etc/hosts", 0o644)
    make(machine / "etc/gitconfig", 0o600)
    make(machine / "lib/db/15/main/rows", 0o644)
    make(machine / "lib/apt/lists/lock", 0o600)
    (machine / "lib/db/15/main").chmod(0o700)
    (machine / "lib/link").symlink_to("db/15/main")
    assert set(module.system_secrets()) == {machine / "etc/redis/redis.conf", machine / "lib/db/15/main"}


def test_settings_for_all_users_are_found_if_they_hold_a_secret(machine: Path) -> None:
    make(machine / "etc/pip.conf", 0o644, "[global]\nindex-url = https://me:x@example.org\n")
    make(machine / "etc/npmrc", 0o644, "prefix=/usr/local\n")
    assert module.system_secrets() == [machine / "etc/pip.conf"]


def test_not_more_is_found_than_can_be_hidden(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_CLOSED", 3)
    for number in range(9):
        make(machine / f"etc/{number}", 0o600)
    assert len(module.system_secrets()) == 3


def test_secrets_that_containers_get_as_files_are_hidden(tmp_path: Path) -> None:
    hidden = survey({"HOME": str(tmp_path)}).hidden
    wanted = {Path(os.path.realpath(path)) for path in ("/workspaces/.codespaces", "/vault/secrets", "/var/run")}
    assert wanted <= set(hidden)
    assert Path("/workspaces") not in hidden
