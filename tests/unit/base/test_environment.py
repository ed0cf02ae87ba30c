"""What of a project the program itself runs on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from localllm.base import environment
from localllm.base.environment import believed_in, environment_in, links_to


def test_every_link_on_the_way_is_found(tmp_path: Path) -> None:
    (tmp_path / "real" / "bin").mkdir(parents=True)
    (tmp_path / "real" / "bin" / "python").touch()
    (tmp_path / "second").symlink_to("real")
    (tmp_path / "first").symlink_to(tmp_path / "second")
    assert links_to(f"{tmp_path}/x/../first/bin/python") == [f"{tmp_path}/first", f"{tmp_path}/second"]
    assert links_to(f"{tmp_path}/real/bin/python") == []


def test_links_in_a_circle_come_to_an_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert set(links_to(f"{tmp_path}/a")) == {f"{tmp_path}/a", f"{tmp_path}/b"}


def test_of_a_project_that_is_the_environment_its_parts_are_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert f"{tmp_path}/lib" in environment_in(str(tmp_path))
    assert str(tmp_path) not in believed_in(str(tmp_path))


def test_settings_beside_the_interpreter_and_links_to_it_are_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", f"{tmp_path}/bin/python")
    monkeypatch.setattr(environment, "_LINKS", [f"{tmp_path}/.venv", "/elsewhere/link"])
    found = [f"{tmp_path}/bin/pyvenv.cfg", f"{tmp_path}/pyvenv.cfg", f"{tmp_path}/.venv"]
    assert believed_in(str(tmp_path)) == found


def test_a_user_without_a_home_loads_no_module_of_the_project(tmp_path: Path) -> None:
    pytest.importorskip("pwd")
    folder = tmp_path / "project/src"
    folder.mkdir(parents=True)
    (folder / "planted.py").touch()
    code = """
import pwd, sys

def unknown(_user):
    raise KeyError

pwd.getpwuid = unknown
from localllm.base.environment import search_no_project

search_no_project()
import planted
"""
    variables = {name: value for name, value in os.environ.items() if name != "HOME"}
    variables["PYTHONPATH"] = os.pathsep.join([str(folder), *sys.path])
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder.parent, env=variables, capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError: No module named 'planted'" in done.stderr
