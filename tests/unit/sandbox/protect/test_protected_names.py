"""What of a project is believed outside, and that it is found wherever it lies."""

from collections import Counter
from pathlib import Path

import pytest

from localllm.base.instruction_files import INSTRUCTIONS
from localllm.sandbox.protect.protected_names import BELIEVED
from localllm.sandbox.protect.protected_paths import (
    PROTECTED_NAMES,
    Reach,
    folders_that_lead_to,
    is_git_settings,
    is_protected,
)
from localllm.sandbox.protect.protected_walk import look
from tests.support.each import each


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def test_every_name_is_there_once_with_who_believes_it() -> None:
    assert all(believer.program and believer.when and believer.names for believer in BELIEVED)
    counted = Counter(name.casefold() for name in (*PROTECTED_NAMES, *INSTRUCTIONS))
    assert [name for name, times in counted.items() if times > 1] == []


@each("name", PROTECTED_NAMES)
def test_each_name_is_found_by_a_look(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    root = tmp_path_factory.mktemp("project")
    named = name.replace("*", "some")
    make(root, f"sub/{named}", "sub/ordinary.txt", f"sub/{named}.ordinary")
    assert set(look(root)) == {f"sub/{named}"}


@pytest.mark.parametrize(
    "path",
    [
        ".direnv/python-3.12/lib/x.py",
        ".vim/pack/x/start/plugin.vim",
        ".yarn/cache/x.zip",
        ".pnp.cjs",
        ".cargo/bin/tool",
        "mise/README.md",
        ".github/ISSUE_TEMPLATE/bug.md",
        ".github/CODEOWNERS",
        "Procfile",
        "app.json",
        "wrangler.toml",
        "fly.toml",
        ".github/FUNDING.yml",
        "searxng/.gitignore",
        "searx/settings.yml",
        "compose.yaml",
        ".clinerules/style.md",
        ".config/tool/config.json",
        "docs/Jenkinsfile.md",
        ".env",
        ".npmrc",
        ".pre-commit-config.yaml",
        ".obsidian/workspace.json",
        "renv/settings.json",
        "ci_scripts/build.sh",
        "logseq/bak/x.md",
        "mise.lock",
        "mise/config.md",
        "src/mise.toml.md",
        "mise.toml.d/x",
        ".config/mise.md",
        "bin/hermit",
        "ctags.d/README.md",
        "global.json",
        "CLAUDE.md",
        "__pycache__/sitecustomize.cpython-311.pyc",
        "tests/test_sitecustomize.py",
        ".cm/README.md",
        "mcp.json",
        "docs/en/mcp.json",
        ".storybook/hooks/use.ts",
        ".storybook/addons/hooks.json",
        ".config/tool/mcp.json",
        "src/hooks.json",
        ".settings/org.eclipse.core.resources.prefs",
        ".bloop/app/classes/x.class",
        ".calva/output-window/output.calva-repl",
        "jupytext.toml",
        ".ropeproject/history",
        ".luarc.json",
        ".clangd",
        "compile_commands.json",
        "eslint.config.js",
        "docs/azure-pipelines.md",
        "lib/manager/azure-pipelines/extract.ts",
        "src/cloudbuild.py",
        ".github/policies/review.md",
        ".nx/cache/x",
        "clevercloud/main.tf",
        ".copr/x.spec",
        "debian/control",
        ".npmrc.example",
        ".azure/dev/.env",
        ".plastic/plastic.wktree",
        ".serena/memories/x.md",
        ".datalad/config",
        ".west/config",
        ".repo/project.list",
        ".repo/manifests/README.md",
        ".bzr/branch/format",
        ".bzr/branch/last-revision",
    ],
)
def test_what_honest_work_changes_is_not_protected(tmp_path: Path, path: str) -> None:
    assert not is_protected(path)
    make(tmp_path, path)
    assert not look(tmp_path)


@pytest.mark.parametrize("name", ["mise.toml", "mise..toml", "mise.a.b.TOML", ".config/mise.linux.toml"])
def test_a_pattern_stands_for_anything(tmp_path: Path, name: str) -> None:
    assert is_protected(f"a/{name}")
    make(tmp_path, name)
    assert set(look(tmp_path)) == {name}


@pytest.mark.parametrize("name", [".newtool/mcp.json", "a/.New.Tool/MCP.json", ".x/hooks.json", ".github/mcp.json"])
def test_what_lists_programs_is_protected_in_every_hidden_folder(tmp_path: Path, name: str) -> None:
    assert is_protected(f"sub/{name}")
    make(tmp_path, f"sub/{name}", f"sub/{name}.ordinary", "sub/.x/ordinary/mcp.json")
    assert set(look(tmp_path)) == {f"sub/{name}"}
    assert folders_that_lead_to(f"sub/{name}") == [f"sub/{name}".rpartition("/")[0]]


@each(
    "name",
    ["usercustomize/__init__.py", "sitecustomize/sub/x.py", "usercustomize.abi3.so", "SiteCustomize.cpython-311-x.so"],
)
def test_what_python_loads_at_each_start_is_believed_in_any_form(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    root = tmp_path_factory.mktemp("project")
    assert is_protected(f"src/{name}")
    make(root, f"src/{name}", f".venv/lib/python3.11/site-packages/{name}", f"site-packages/x/bootstrap/{name}")
    assert set(look(root, reach=Reach(skipped=True))) == {f"src/{name}"}


def test_a_folder_beside_something_believed_is_looked_into(tmp_path: Path) -> None:
    make(tmp_path, ".config/mise/config.toml", ".config/deep/.envrc", ".github/workflows/a.yml", ".github/x/.envrc")
    assert set(look(tmp_path)) == {
        ".config/mise/config.toml",
        ".config/deep/.envrc",
        ".github/workflows/a.yml",
        ".github/x/.envrc",
    }
    assert folders_that_lead_to("sub/.config/mise") == ["sub/.config"]


@pytest.mark.parametrize(("path", "is_it"), [(".cargo/config", False), (".github/workflows/config", False)])
def test_settings_of_others_are_not_taken_for_those_of_git(path: str, is_it: bool) -> None:
    assert is_git_settings(path) is is_it
    assert is_git_settings(".git/config")
    assert is_git_settings("mise/.git/config")
    assert is_git_settings(".git/modules/lib/config")
    assert is_git_settings("bare/config")
