"""Other programs find no code in the project."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.each import each

ROOT = Path(__file__).parents[2]


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
        ("PYTHONPATH", "{other}/lib:{outside}", "{outside}"),
        ("PYTHONPATH", "{other}/.venv/lib/site-packages", "{other}/.venv/lib/site-packages"),
        ("LD_PRELOAD", "{other}/a.so", None),
        ("PERL5LIB", "{outside}/.pyenv/lib:{other}/lib", "{outside}/.pyenv/lib"),
        ("PERL5LIB", "lib", None),
        ("NODE_PATH", "{project}/node_modules", None),
        ("GIT_EXEC_PATH", "core", None),
        ("GCONV_PATH", "{project}", None),
        ("BASH_ENV", "./env.sh", None),
        ("NODE_OPTIONS", "--require ./evil.js", None),
        ("PERL5OPT", "-Ilib -Mevil", None),
        ("GIT_DIR", "/opt/other/.git", None),
        ("GIT_WORK_TREE", "/opt/other", None),
        ("GIT_INDEX_FILE", "/opt/other/.git/index.lock", None),
        ("GIT_CONFIG", "/dev/null", None),
        ("GIT_CONFIG_GLOBAL", "/opt/gitconfig", "/opt/gitconfig"),
        ("MY_PATH", "lib:.", "lib:."),
    ],
)
def test_nothing_steers_other_programs_from_elsewhere(name: str, before: str, after: str | None) -> None:
    with TemporaryDirectory() as folder:
        project, outside = Path(folder, "project"), Path(folder, "outside")
        (project / ".git").mkdir(parents=True)
        outside.mkdir()
        (other := Path(folder, "other")).mkdir()
        (other / "localllm.toml").touch()
        (outside / "link").symlink_to(project)
        given, wanted = (
            text.format(project=project, outside=outside, other=other) if text is not None else None
            for text in (before, after)
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


@pytest.mark.parametrize("name", ["BASH_ENV", "ENV", "PYTHONSTARTUP", "GIT_CONFIG_GLOBAL", "INPUTRC"])
def test_a_file_of_the_project_that_the_users_programs_read_each_time_is_put_back(tmp_path: Path, name: str) -> None:
    project = tmp_path / "dotfiles"
    (project / ".git").mkdir(parents=True)
    (project / "named").write_text("mine")
    code = (
        "from localllm.base.environment import search_no_project; search_no_project()\n"
        "from pathlib import Path\n"
        "from localllm.sandbox.protect.revert import ProtectedFiles\n"
        "files = ProtectedFiles(Path.cwd(), None); files.begin()\n"
        "Path('named').write_text('evil')\n"
        "print(files.end())"
    )
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environ[name] = str(project / "named")
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, cwd=project, env=environ, capture_output=True, text=True, check=False)
    assert done.stdout == "('named',)\n", done.stderr
    assert (project / "named").read_text() == "mine"
