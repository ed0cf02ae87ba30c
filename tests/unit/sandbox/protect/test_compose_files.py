"""The search engine that localllm has set up keeps the settings its user gave it."""

from pathlib import Path

import pytest

from localllm.app.init import set_up
from localllm.sandbox.protect.revert import ProtectedFiles


def changed(root: Path, name: str) -> tuple[str, ...]:
    """What is put back after a command has written to this file."""
    files = ProtectedFiles(root, None)
    files.begin()
    with (root / name).open("a") as file:
        file.write("volumes: [/:/host]\n")
    return files.end()


@pytest.mark.parametrize(
    "name", ["compose.yaml", "compose.override.yaml", "searxng/settings.yml", "searxng/limiter.toml"]
)
@pytest.mark.parametrize("folder", ["", "tools/search"])
def test_what_init_has_written_is_put_back(tmp_path: Path, folder: str, name: str) -> None:
    root = tmp_path.resolve()
    set_up(root / folder, services=True)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert changed(root, f"{folder}/{name}".removeprefix("/")) == (f"{folder}/{name}".removeprefix("/"),)
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", ["compose.yaml", "docker-compose.yml", "searxng/notes.md"])
def test_a_compose_file_of_the_projects_own_is_work(tmp_path: Path, name: str) -> None:
    root = tmp_path.resolve()
    (root / "compose.yaml").write_text("services: {}\n")
    set_up(root, services=True)
    assert changed(root, name) == ()


def test_without_a_compose_file_nothing_is_closed(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    set_up(root, services=True)
    (root / "compose.yaml").unlink()
    assert changed(root, "compose.yaml") == ()
