"""What direnv and mise read into the shell: which files, and that changes of them are undone."""

import os
from pathlib import Path
from time import process_time

import pytest

from localllm.safety.protection import Protection
from localllm.sandbox.protect import indirect_targets
from localllm.sandbox.protect.indirect_targets import Leads, is_matched
from localllm.sandbox.protect.protected_paths import Entry
from localllm.sandbox.protect.revert import ProtectedFiles
from localllm.sandbox.protect.sourced_files import sourced_by
from tests.support.tools import put

MISE_RUNS = {"bash", "tools/cd", "sh", "go", "exec", "./run"}

IN_DEV = {f"dev/t/{name}{suffix}" for name in ("run", "x/y") for suffix in ("", ".*")}


def files_of_tasks(*names: str) -> set[str]:
    folders = ("mise-tasks", ".mise-tasks", "mise/tasks")
    return {f"{folder}/{name}{suffix}" for folder in folders for name in names for suffix in ("", ".*")}


@pytest.mark.parametrize(
    ("path", "content", "read"),
    [
        (".envrc", "dotenv", {".env"}),
        (".envrc", "dotenv_if_exists # mine\nlayout python", {".env"}),
        (".envrc", "dotenv .env.local", {".env.local"}),
        (".envrc", 'dotenv_if_exists "$PWD/conf/dev.env"', {"conf/dev.env"}),
        (".envrc", "source_env_if_exists .envrc.local; use flake", {".envrc.local"}),
        (".envrc", "set -a; source ./vars.sh; set +a", {"./vars.sh"}),
        (".envrc", "export $(grep -v '^#' .env | xargs)", {".env"}),
        (".envrc", "source .venv/bin/activate\nPATH_add bin", set[str]()),
        (".envrc", "export A=dotenv\nuse nix", set[str]()),
        ("sub/mise.toml", '[env]\n_.file = [".env", "conf/.env.dev"]', {".env", "conf/.env.dev"}),
        ("mise.toml", "[env]\nNODE_ENV = 'x'", set[str]()),
        ("mise.toml", "env_file = 'dev.json'\n[env]\n_.source = 'scripts/env.sh'", {"dev.json", "scripts/env.sh"}),
        ("mise.toml", "[[env]]\n_ = { file = ['a', { path = '{{config_root}}/b', redact = true }] }", {"a", "b"}),
        ("mise.toml", "[tasks.build]\nfile = 'scripts/build.sh'\nrun = 'make'", set[str]()),
        (".mise.toml", "[env\n_.file = '.env'", {".env"}),
        (".envrc", 'source "dev env.sh"', {"dev env.sh"}),
        (".envrc", 'source "$(expand_path scripts/a.sh)"; source_env $(expand_path b)', {"scripts/a.sh", "b"}),
        (".envrc", "use vim\nuse vim x.vim; use_vim y.vim", {".vimrc.local", "x.vim", "y.vim"}),
        (".envrc", "\\source a.sh\nsource \\\n  b.sh; direnv_apply_dump c", {"a.sh", "b.sh", "c"}),
        (".envrc", "use video\nuser vim", set[str]()),
        (".envrc", "source 'dev env.sh' && true", {"dev env.sh"}),
        (".envrc", 'source "$(pwd)/dev.sh"; . $(pwd)/a.sh; . ${ROOT}/b.sh', {"dev.sh", "a.sh", "b.sh"}),
        (".envrc", "# First copy .env.example.\n  # A source of trouble: the proxy\nPATH_add bin", set[str]()),
        ("bin/activate-hermit", "#!/bin/bash", {"hermit"}),
        (".envrc", 'source "${PWD}"/a.sh; . -- b.sh && source `pwd`/c.sh', {"a.sh", "b.sh", "c.sh"}),
        (".envrc", 'source "$(dirname "${BASH_SOURCE[0]}")/a.sh"', {"a.sh"}),
        (".envrc", 'source $(dirname "$0")/a.sh', {"a.sh"}),
        (".envrc", "source dev\\ 13.sh # mine\n. ~+/x.sh", {"dev 13.sh", "x.sh"}),
        (".envrc", "(source a.sh)\nif true; then . b.sh; fi", {"a.sh", "b.sh"}),
        (".config/mise/config.toml", "[env]\n_.source = 'a.sh'", {"a.sh", "../../a.sh"}),
        (".config/mise/conf.d/x.toml", "[env]\n_.file = 'b'", {"b", "../../../b"}),
        (
            "mise.toml",
            "[settings]\nenv_file = 'ef.conf'\n[hooks]\nenter = 'scripts/enter.sh now'",
            {"ef.conf", "scripts/enter.sh"},
        ),
        ("mise.toml", "[hooks]\ncd = [{ script = './c.sh' }]", {"./c.sh"}),
        ("Makefile", "include .env", set[str]()),
        (
            "mise.toml",
            "[vars]\n_.file = 'vars.env'\n[[env]]\nA = '''{{ exec(command=\"sh a.sh\") }}'''",
            {"vars.env", "a.sh", "sh"},
        ),
        ("mise.toml", "[hooks.enter]\nshell = 'bash'\nscript = 'source completions.sh'", {"completions.sh", "source"}),
        ("mise.toml", "[hooks]\nleave = { shell = 'zsh', scripts = ['. done'] }", {"done", "."}),
        ("mise.toml", "[hooks]\ncd = 'bash -e tools/cd'\nenter = ['sh go', { run = 'exec ./run' }]", MISE_RUNS),
        (
            "mise.toml",
            "[hooks]\npostinstall = '''\n# First a/b.\nFOO=c/d env X=1 e.sh > log/f\nsh -c 'g/h && i.py'\n'''",
            {"FOO=c/d", "c/d", "e.sh", "g/h && i.py", "g/h", "i.py"},
        ),
        ("mise.toml", "[hooks]\nenter = 'eval \"$(a/b)\"; curl https://x/y; ls c/'", {"eval", "$(a/b)", "a/b", "c/"}),
        ("mise.toml", "[tools]\nnode = { version = '24', postinstall = 'echo; ./a' }", {"echo", "./a"}),
        ("mise.toml", "[[watch_files]]\npatterns = ['src/*']\nrun = 'true; b.sh'", {"true", "b.sh"}),
        (
            "mise.toml",
            "[hooks]\nenter = { task = 'x:y' }\n[tasks.'x:y']\nfile = 'f'\ndepends = ['z 1']\n[tasks]\nz = ['sh g']",
            {"f", "sh", "g", *files_of_tasks("x/y", "z")},
        ),
        ("mise.toml", "[env]\nmise = { file = 'a', source = ['b'] }", {"a", "b"}),
        ("mise.toml", "[vars]\n_.file = { paths = ['a', 'b'] }\n_.source = { value = 'c' }", {"a", "b", "c"}),
        (
            "mise.toml",
            "[hooks]\nenter = 'mise -q run x:y'\n[tasks]\nrun = 'r.sh'\n[tasks.'x:y']\nrun = './t.sh'",
            {"mise", "./t.sh", "r.sh", *files_of_tasks("run", "x/y")},
        ),
        (
            "mise.toml",
            "[hooks]\ncd = { run = 'true && mise z' }\n[tasks.long]\nalias = 'z'\nrun = './t.sh'",
            {"true", "./t.sh", *files_of_tasks("z")},
        ),
        (
            "mise.toml",
            "[hooks]\nenter = 'mise run x:y'\n[task_config]\nincludes = ['tasks.toml', '{{config_root}}/dev/t/']",
            {"mise", "tasks.toml", *IN_DEV, *files_of_tasks("run", "x/y")},
        ),
        ("mise.toml", "[task_config]\nincludes = ['tasks.toml', 'dev/t']", set[str]()),
    ],
)
def test_what_is_read(path: str, content: str, read: set[str]) -> None:
    assert set(sourced_by(path, content.encode())) == read


@pytest.mark.parametrize("envrc", ["dotenv\n", "set -a; . .env\n", "export $(cat .env | xargs)\n"])
@pytest.mark.parametrize(
    ("before", "after"), [(None, "DB=x\n"), ("DB=x\n", "DB=y\n"), ("DB=x\n", "# PATH=x\nDB=x\n"), ("DB=x\n", None)]
)
def test_what_is_read_is_put_back(tmp_path: Path, envrc: str, before: str | None, after: str | None) -> None:
    root = tmp_path.resolve()
    (root / ".envrc").write_text(envrc)
    if before:
        (root / ".env").write_text(before)
    files = ProtectedFiles(root, None)
    files.begin()
    (root / ".env").unlink(missing_ok=True)
    if after:
        (root / ".env").write_text(after)
    assert files.end() == (".env",)
    assert ((root / ".env").read_text() if (root / ".env").exists() else None) == before


@pytest.mark.parametrize("folder", ["project", "[a]"])
@pytest.mark.parametrize("pattern", ["scripts/*.sh", "s*/[ab].sh"])
def test_mise_names_files_by_patterns_and_from_the_folder_above_its_own(
    tmp_path: Path, folder: str, pattern: str
) -> None:
    root = tmp_path.resolve() / folder
    (root / ".config/mise").mkdir(parents=True)
    (root / ".config/mise/config.toml").write_text(f"[env]\n_.source = ['{pattern}']\n")
    (root / "scripts").mkdir()
    (root / "scripts/a.sh").write_text("true\n")
    files = ProtectedFiles(root, None)
    files.begin()
    (root / "scripts/a.sh").write_text("evil\n")
    assert files.end() == ("scripts/a.sh",)
    assert (root / "scripts/a.sh").read_text() == "true\n"


@pytest.mark.parametrize(
    ("settings", "said", "new"),
    [
        ("mise.toml", "[env]\n_.source = 'env.d/*.sh'\n", "env.d/b.sh"),
        (".mise/config.toml", "[env]\n_.file = ['en[v].d/*']\n", "env.d/new"),
        ("mise.toml", "[hooks]\nenter = 'mise run dev'\n", "mise-tasks/dev.sh"),
        ("mise.toml", "[env]\n_.source = 'env.d/**/*.sh'\n", "env.d/b.sh"),
        ("mise.toml", "[env]\n_.source = '**/env.d/**/**/*.sh'\n", "env.d/x/y/z/b.sh"),
        ("mise.toml", "[env]\n_.file = 'env.d/**'\n", "env.d/x/.b"),
        ("mise.toml", "[tools]\nnode = '22'\n", ".tool-versions"),
        ("sub/.config/mise/conf.d/a.toml", "[tools]\nnode = '22'\n", "sub/.tool-versions"),
    ],
)
def test_what_mise_would_read_and_is_not_there_yet_is_the_users(
    tmp_path: Path, settings: str, said: str, new: str
) -> None:
    root = tmp_path.resolve()
    put(root / settings, said)
    put(root / "env.d/a.sh")
    files = ProtectedFiles(root, None)
    assert Protection(root, files.named).covers(new)
    assert not Protection(root, files.named).covers("other/.tool-versions")
    files.begin()
    put(root / new, "evil")
    put(root / "other/.tool-versions", "nodejs 22\n")
    assert files.end() == (new,)
    assert not (root / new).exists()


@pytest.mark.parametrize("named", ["source scripts/a.sh", "bash scripts/a.sh", "sh -c '. scripts/a.sh'"])
def test_what_a_hook_of_mise_sources_or_runs_is_put_back(tmp_path: Path, named: str) -> None:
    root = tmp_path.resolve()
    (root / "mise.toml").write_text(f'[hooks.enter]\nshell = "bash"\nscript = "{named}"\n')
    (root / "scripts").mkdir()
    (root / "scripts/a.sh").write_text("true\n")
    files = ProtectedFiles(root, None)
    files.begin()
    (root / "scripts/a.sh").write_text("evil\n")
    (root / "scripts/b.sh").write_text("new\n")
    assert files.end() == ("scripts/a.sh",)
    assert (root / "scripts/a.sh").read_text() == "true\n"


def test_no_folder_outside_the_project_is_listed_for_a_pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[str] = []
    scandir = os.scandir

    def listing(path: str) -> object:
        listed.append(os.path.realpath(path))
        return scandir(path)

    root = tmp_path.resolve() / "project"
    root.mkdir()
    monkeypatch.setattr(os, "scandir", listing)
    entries = {"mise.toml": Entry(0o100644, (), b"[env]\n_.source = ['../*/*/x', 'sub/../*']\n")}
    Leads(root, (), "").of(entries)
    assert set(listed) <= {str(root)}


def test_tasks_that_depend_on_each_other_end() -> None:
    tasks = "".join(f"[tasks.a{number}]\ndepends = 'a{(number + 1) % 2_000}'\n" for number in range(2_000))
    assert set(sourced_by("mise.toml", f"[hooks]\nenter = {{ task = 'a0' }}\n{tasks}".encode())) > {"mise-tasks/a1"}


@pytest.mark.parametrize("piece", ["a ", "$(", "# \n", '"a b" ', "exec(command="])
def test_a_long_command_takes_time_in_proportion_to_its_length(piece: str) -> None:
    def seconds(count: int) -> float:
        text = f"[hooks]\nenter = '''{piece * count}'''\n".encode()
        began = process_time()
        list(sourced_by("mise.toml", text))
        return process_time() - began

    assert min(seconds(16_000) for _ in range(3)) < 9 * max(seconds(4_000) for _ in range(3))


def test_a_long_word_takes_time_in_proportion_to_its_length() -> None:
    def seconds(length: int) -> float:
        text = b"source " + b"a" * length + b"\n"
        began = process_time()
        for _ in range(20):
            assert list(sourced_by(".envrc", text))
        return process_time() - began

    assert min(seconds(4_000) for _ in range(3)) < 9 * max(seconds(1_000) for _ in range(3))


def test_without_direnv_it_is_nobodys(tmp_path: Path) -> None:
    files = ProtectedFiles(tmp_path.resolve(), None)
    files.begin()
    (tmp_path / ".env").write_text("PROMPT_COMMAND=x\n")
    assert files.end() == ()


@pytest.mark.parametrize("envrc", ["source_env backend\n", "source_env_if_exists ./backend/\n"])
def test_of_a_folder_only_its_envrc_is_read(tmp_path: Path, envrc: str) -> None:
    root = tmp_path.resolve()
    (root / ".envrc").write_text(envrc)
    (root / "backend").mkdir()
    (root / "backend/.envrc").write_text("export A=1\n")
    (root / "backend/app.py").write_text("a = 1\n")
    files = ProtectedFiles(root, None)
    files.begin()
    (root / "backend/app.py").write_text("a = 2\n")
    (root / "backend/new.py").write_text("b = 1\n")
    (root / "backend/.envrc").write_text("export A=2\n")
    assert files.end() == ("backend/.envrc",)
    assert (root / "backend/app.py").read_text() == "a = 2\n"


def test_a_file_in_place_of_the_folder_goes_again(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / ".envrc").write_text("source_env backend\n")
    (root / "backend").mkdir()
    (root / "backend/.envrc").write_text("export A=1\n")
    files = ProtectedFiles(root, None)
    files.begin()
    (root / "backend/.envrc").unlink()
    (root / "backend").rmdir()
    (root / "backend").write_text("export A=2\n")
    assert files.end()
    assert (root / "backend/.envrc").read_text() == "export A=1\n"


def test_no_number_of_new_files_leaves_one_for_mise(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    put(root / "mise.toml", "[env]\n_.source = ['env.d/*.sh', 'more/**/a.sh']\n")
    for folder in ("env.d", "more"):
        (root / folder).mkdir()
    files = ProtectedFiles(root, None)
    files.begin()
    new = {f"env.d/{number}.sh" for number in range(300)} | {f"more/{number}/x/a.sh" for number in range(300)}
    for name in (*new, "env.d/1.txt", "more/1/b.sh"):
        put(root / name, "evil")
    assert set(files.end()) == new
    assert sorted(path.name for path in root.rglob("*") if path.is_file()) == ["1.txt", "b.sh", "mise.toml"]


def test_a_pattern_of_many_parts_is_no_matter_of_hours() -> None:
    assert is_matched("/".join(["a"] * 200), "/".join(["**", "a"] * 60))
    assert not is_matched("/".join(["a"] * 200), "/".join(["**", "a"] * 60) + "/b")


@pytest.mark.parametrize(("limit", "most"), [("_MOST_MATCHES", 50), ("_MOST_LISTED", 70)])
def test_more_files_for_mise_than_are_looked_at_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    root = tmp_path.resolve()
    put(root / "mise.toml", "[env]\n_.source = 'env.d/*.sh'\n")
    put(root / "env.d/a.sh", "true")
    monkeypatch.setattr(indirect_targets, limit, most)
    files = ProtectedFiles(root, None)
    for number, is_said in ((10, False), (60, True)):
        files.begin()
        assert not files.is_overlooked
        for made in range(number):
            put(root / f"env.d/{made}.sh", "evil")
            put(root / f"env.d/{made}.txt")
        files.end()
        assert files.is_overlooked == is_said


def test_a_name_that_is_no_utf_8_is_protected(tmp_path: Path) -> None:
    root, name = tmp_path.resolve(), os.fsdecode("フック.sh".encode("cp932"))
    (root / ".envrc").write_bytes(b"source_env " + os.fsencode(name) + b"\n")
    (root / "mise.toml").write_bytes(b"[env]\n_.file = '" + os.fsencode(name) + b".env'\n")
    for one in (name, f"{name}.env"):
        (root / one).write_text("old")
    files = ProtectedFiles(root, None, coarse=50_000_000)
    files.begin()
    for one in (name, f"{name}.env"):
        (root / one).write_text("evil")
    assert set(files.end()) == {name, f"{name}.env"}
