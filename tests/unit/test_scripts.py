"""The scripts that set up and check the project."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

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
