"""The scripts that set up and check the project."""

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

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


def test_command_lines_are_found_in_a_document() -> None:
    block = "```sh\n$ localllm -p x | less  # see\nmake && .venv/bin/localllm config  lists\n```\n"
    text = f"Run `localllm doctor`.\n\n{block}"
    assert list(load("check_docs").mentions(text)) == ["localllm -p x", "localllm config", "localllm doctor"]


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
