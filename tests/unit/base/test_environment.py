"""What of a project the program itself runs on."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from localllm.base import environment
from localllm.base.environment import believed_in, environment_in, links_to
from tests.support.each import each

ROOT = Path(__file__).parents[3]


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


@each(
    ("name", "before", "after"),
    [
        ("LD_LIBRARY_PATH", ":/opt/lib", "/opt/lib"),
        ("LD_LIBRARY_PATH", "/opt/lib", "/opt/lib"),
        ("LD_LIBRARY_PATH", "/opt/lib:", "/opt/lib"),
        ("LD_LIBRARY_PATH", "/opt/lib::/opt/more", "/opt/lib:/opt/more"),
        ("LD_LIBRARY_PATH", ".", None),
        ("LD_LIBRARY_PATH", "{project}/lib:/opt/lib", "/opt/lib"),
        ("LD_LIBRARY_PATH", "{project}/../project/lib", None),
        ("LD_LIBRARY_PATH", "{outside}/link", None),
        ("LD_PRELOAD", "libjemalloc.so.2 ./evil.so", "libjemalloc.so.2"),
        ("LD_PRELOAD", "evil/evil.so:/opt/lib/a.so", "/opt/lib/a.so"),
        ("PYTHONPATH", "src:{outside}", "{outside}"),
        ("PERL5LIB", "lib", None),
        ("NODE_PATH", "{project}/node_modules", None),
        ("GIT_EXEC_PATH", "core", None),
        ("GCONV_PATH", "{project}", None),
        ("BASH_ENV", "./env.sh", None),
        ("NODE_OPTIONS", "--require ./evil.js", None),
        ("PERL5OPT", "-Ilib -Mevil", None),
        ("MY_PATH", "lib:.", "lib:."),
    ],
)
def test_other_programs_look_for_no_code_in_the_project(name: str, before: str, after: str | None) -> None:
    with TemporaryDirectory() as folder:
        project, outside = Path(folder, "project"), Path(folder, "outside")
        (project / ".git").mkdir(parents=True)
        outside.mkdir()
        (outside / "link").symlink_to(project)
        given, wanted = (
            text.format(project=project, outside=outside) if text is not None else None for text in (before, after)
        )
        code = (
            "import os; from localllm.base.environment import own_variables, search_no_project; search_no_project()\n"
            f"print([os.environ.get({name!r}), own_variables()[{name!r}]])"
        )
        environ = {"PATH": os.environ["PATH"], "HOME": folder, "PYTHONPATH": str(ROOT), name: given or ""}
        if name == "PYTHONPATH":
            environ[name] = f"{ROOT}:{given}"
            given, wanted = environ[name], f"{ROOT}:{wanted}"
        run = [sys.executable, "-c", code]
        done = subprocess.run(run, cwd=project, env=environ, capture_output=True, text=True, check=False)
        assert done.stdout == f"{[wanted, given]}\n", done.stderr
