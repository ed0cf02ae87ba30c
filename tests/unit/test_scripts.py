"""The scripts that set up and check the project."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from importlib.util import cache_from_source
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.bytecode import with_own_bytecode
from tests.support.each import each

ROOT = Path(__file__).parents[2]


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"scripts_{name}", ROOT / "scripts" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CONSTRAINTS = """\
# made by a tool
click==8.1.7 \\
    --hash=sha256:aa
    # via
    #   localllm (pyproject.toml)
    #   import-linter
colorama==0.4.6 ; sys_platform == 'win32' \\
    --hash=sha256:bb
    # via Click
import-linter==2.1 \\
    --hash=sha256:cc
    # via localllm (pyproject.toml)
typing-extensions==4.0 ; python_full_version < '3.12' \\
    --hash=sha256:dd
    # via
    #   colorama
    #   import-linter
typing-extensions==5.0 ; python_full_version >= '3.12' \\
    --hash=sha256:ee
    # via colorama
"""


def test_setup_takes_what_is_wanted_and_what_that_needs() -> None:
    setup = load("setup")
    chosen = setup.select(CONSTRAINTS, {"click"})
    assert [line.split("==")[0] for line in chosen.splitlines() if "==" in line] == [
        "click",
        "colorama",
        "typing-extensions",
        "typing-extensions",
    ]
    assert "sys_platform == 'win32'" in chosen
    assert "sha256:aa" in chosen
    assert "sha256:cc" not in chosen


def test_setup_refuses_a_list_that_lacks_something() -> None:
    with pytest.raises(SystemExit, match=r"lacks Rich|lacks rich"):
        load("setup").select(CONSTRAINTS, {"rich", "click"})


def test_without_dev_no_development_tool_is_installed() -> None:
    setup = load("setup")
    text = (ROOT / "constraints.txt").read_text("utf-8")
    for_use = setup.select(text, setup.roots(dev=False))
    for_work = setup.select(text, setup.roots(dev=True))
    assert "\nhttpx==" in for_use
    for name in ("pytest", "ruff", "pyright", "uv"):
        assert f"\n{name}==" not in for_use
        assert f"\n{name}==" in for_work


class TestTheLinkToTheProgram:
    @pytest.fixture
    def setup(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
        setup = load("setup")
        monkeypatch.setenv("HOME", str(tmp_path))
        program = tmp_path / "clone/.venv/bin/localllm"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n")
        monkeypatch.setattr(setup, "VENV", program.parents[1])
        return setup

    @pytest.mark.parametrize("before", ["nothing", "a link of ours", "a link that leads nowhere"])
    def test_it_is_made(self, setup: ModuleType, tmp_path: Path, before: str) -> None:
        link = tmp_path / ".local/bin/localllm"
        if before != "nothing":
            link.parent.mkdir(parents=True)
            link.symlink_to(setup.VENV / "bin/localllm" if before == "a link of ours" else tmp_path / "gone")
        assert setup.link_program(f"/bin:{link.parent}") == "Ready: localllm"
        assert link.samefile(setup.VENV / "bin/localllm")

    def test_where_the_shell_does_not_look_it_is_said_how(self, setup: ModuleType) -> None:
        assert "export PATH=" in setup.link_program("/bin")

    @pytest.mark.parametrize("kind", ["file", "link"])
    def test_another_program_stays(self, setup: ModuleType, tmp_path: Path, kind: str) -> None:
        other, link = tmp_path / "other", tmp_path / ".local/bin/localllm"
        other.write_text("other")
        link.parent.mkdir(parents=True)
        link.symlink_to(other) if kind == "link" else link.write_text("other")
        assert ".venv/bin/localllm" in setup.link_program(str(link.parent))
        assert link.read_text() == "other"

    def test_a_home_that_cannot_be_written_is_no_failure(self, setup: ModuleType, tmp_path: Path) -> None:
        (tmp_path / ".local").write_text("a file")
        assert ".venv/bin/localllm" in setup.link_program("/bin")


def test_setup_compiles_the_package_where_python_writes_no_bytecode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = load("setup")
    (tmp_path / "localllm").mkdir()
    (tmp_path / "localllm/one.py").write_text("x = 1\n")
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    monkeypatch.setattr(setup, "PYTHON", Path(sys.executable))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    setup.compile_package()
    assert list((tmp_path / "localllm/__pycache__").glob("one.*.pyc"))


def test_programs_that_benchmarks_start_keep_bytecode_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("x = 1\n")
    environ = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(tmp_path)}
    with_own_bytecode(environ)
    subprocess.run([sys.executable, "-c", "import one"], check=True, env=environ)
    assert not (tmp_path / "__pycache__").exists()
    assert list(Path(environ["PYTHONPYCACHEPREFIX"]).rglob("one.*.pyc"))


def test_extras_name_only_what_something_imports() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    names = {
        re.split(r"[^\w-]", line)[0] for extra in ("browser", "gguf", "queue", "redis", "web") for line in extras[extra]
    }
    source = "".join(file.read_text("utf-8") for file in (ROOT / "localllm").rglob("*.py"))
    used = {name for name in names if re.search(rf"import {name}\b|from {name}\b|import_module\(\"{name}\"\)", source)}
    assert names - used == {"lxml_html_clean"}, "trafilatura asks for it itself"
    wanted = {"all", "bench", "browser", "dev", "gguf", "qdrant", "queue", "rag", "redis", "serve", "trace", "web"}
    assert set(extras) == wanted


def test_the_constraints_fit_the_project() -> None:
    assert load("constraints").problems() == []


@pytest.mark.parametrize(
    "line",
    [
        "see /" + "home/karl/project",
        "at /" + "work/main/x",
        "--index" + "-url https://example.org",
        "https://example.org" + "/simple/",
        "key = ghp_" + "a1" * 18,
        "https://karl:" + "abcd1234efgh@example.org",
        "-----BEGIN " + "PRIVATE KEY----- x",
    ],
)
def test_what_must_not_be_published_is_found(line: str) -> None:
    found = list(load("check_tree").findings(f"harmless\n{line}\n"))
    assert found
    assert {finding.partition(": ")[0] for finding in found} == {"2"}


def test_harmless_lines_are_let_through() -> None:
    text = (
        "~/builds/x, docs/builds/x, /home/you/x, http://localhost:1234/v1, http://u:password@h, a simple text, sk-test"
    )
    assert list(load("check_tree").findings(text)) == []


@pytest.fixture(scope="module")
def check_docs() -> ModuleType:
    """One for all, for it remembers each --help."""
    return load("check_docs")


@each(
    ("mention", "wrong"),
    [
        ("localllm -p X --output json", ""),
        ("localllm config set KEY VALUE", ""),
        ("localllm --no-such-option", "no option --no-such-option"),
        ("localllm nonsense", "no command nonsense"),
        ("localllm config nonsense", "no command nonsense"),
    ],
)
def test_what_documents_say_is_compared_with_the_help(mention: str, wrong: str, check_docs: ModuleType) -> None:
    assert check_docs.judge(mention) == wrong


def test_command_lines_are_found_in_a_document() -> None:
    block = "```sh\n$ localllm -p x | less  # see\nmake && .venv/bin/localllm config  lists\n```\n"
    text = f"Run `localllm doctor`.\n\n{block}"
    assert list(load("check_docs").mentions(text)) == ["localllm -p x", "localllm config", "localllm doctor"]


def test_the_readme_promises_two_commands() -> None:
    script = ROOT / "scripts" / "check_docs.py"
    for what, part in (("first", "localllm -p"), ("test", "pytest")):
        done = subprocess.run([sys.executable, script, "--print", what], capture_output=True, text=True, check=True)
        assert part in done.stdout


SAMPLE = """\
def shares(total: int, people: list[str]) -> list[int]:
    if total < 1 and not people:
        return []
    print("dividing")
    return [total // len(people) + 1 for _ in people]
"""


def test_mutants_change_one_place_each_and_leave_python(tmp_path: Path):
    file = tmp_path / "sample.py"
    file.write_text(SAMPLE)
    script = load("mutants")
    made = script.mutants(file)
    results = {mutant.applied(file.read_bytes()).decode() for mutant in made}
    for result in results:
        compile(result, "sample.py", "exec")
    assert len(results) == len(made)
    assert SAMPLE not in results
    assert SAMPLE.replace('print("dividing")', "pass") in results
    assert any("(total <= 1)" in result for result in results)
    assert any("total >= 1" not in result and "not (total < 1 and not people)" in result for result in results)
    assert not any("list[str]" not in result for result in results)  # annotations are left


def test_a_mutant_that_nothing_notices_is_shown_and_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    script = load("mutants")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin")
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "PACKAGE", tmp_path / "localllm")
    room = tmp_path / "localllm/room"
    room.mkdir(parents=True)
    (room / "__init__.py").touch()
    source = room / "sums.py"
    source.write_text("def plus(a, b):\n    return a + b\n\ndef unseen(a):\n    return a - 1\n")
    tests = tmp_path / "tests/unit/room"
    tests.mkdir(parents=True)
    (tests / "test_sums.py").write_text(
        f"import sys\nsys.path.insert(0, {str(tmp_path / 'localllm')!r})\nfrom room.sums import plus\n\n"
        "def test_plus():\n    assert plus(2, 3) == 5\n"
    )
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    plus, unseen = sorted(script.chosen(["room"], 10, seed=1), key=lambda mutant: mutant.line)
    assert script.try_one(plus, jobs=0) == ""
    assert "\n-    return a - 1" in script.try_one(unseen, jobs=0)
    assert "a + b" in source.read_text()
    assert "a - 1" in source.read_text()
    assert not Path(cache_from_source(str(source))).exists()
