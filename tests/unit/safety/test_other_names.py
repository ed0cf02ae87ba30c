"""A rule that closes a file closes its other names."""

from pathlib import Path

import pytest

from localllm.config.schema import SafetySettings
from localllm.safety.hard_links import close_other_names
from localllm.safety.rules import closed_to_commands


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "secret/deep").mkdir(parents=True)
    (tmp_path / "secret/deep/key").write_text("key")
    (tmp_path / "secret/other").hardlink_to(tmp_path / "secret/deep/key")
    (tmp_path / "open").mkdir()
    (tmp_path / "open/plain").write_text("plain")
    return tmp_path


def test_they_are_found_anywhere_in_the_project(project: Path) -> None:
    (project / "open/name").hardlink_to(project / "secret/deep/key")
    closed = close_other_names(SafetySettings(deny=("read_file(secret)",)), project)
    assert closed_to_commands(closed) == (["secret", "open/name"], [])


def test_what_may_not_be_written_is_closed_to_that_alone(project: Path) -> None:
    (project / "open/name").hardlink_to(project / "secret/deep/key")
    closed = close_other_names(SafetySettings(deny=("write_file(secret/deep/)",)), project)
    assert closed_to_commands(closed) == ([], ["secret/deep", "open/name", "secret/other"])


def test_without_other_names_nothing_is_added(project: Path) -> None:
    settings = SafetySettings(deny=("read_file(secret)", "run_command(rm)", "fetch_page(http://x)"))
    assert close_other_names(settings, project).rules == ()


def test_a_link_is_no_other_name(project: Path) -> None:
    (project / "open/link").symlink_to(project / "secret/deep/key")
    assert close_other_names(SafetySettings(deny=("read_file(secret)",)), project).rules == ()


def test_a_rule_on_what_lies_elsewhere_is_not_looked_into(project: Path) -> None:
    outside = project.parent / "outside"
    outside.mkdir()
    (outside / "key").write_text("key")
    (project / "open/name").hardlink_to(outside / "key")
    settings = SafetySettings(deny=(f"read_file({outside})", "read_file(../outside)", "read_file(..)", "read_file(.)"))
    assert close_other_names(settings, project).rules == ()
