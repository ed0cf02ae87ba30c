"""What protected files lead to."""

from pathlib import Path

import pytest

from localllm.sandbox.git_config import Setting, parse
from localllm.sandbox.protect.indirect_targets import Leads
from localllm.sandbox.protect.protected_walk import look


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in (".git", "tools", "hooks", "black"):
        (tmp_path / folder).mkdir()
    (tmp_path / "conv.py").touch()
    return tmp_path.resolve()


def leads(root: Path, user: list[Setting]) -> set[str]:
    return Leads(root, user, "/home/me").of(look(root))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ("[core]\nhooksPath = hooks", {"hooks"}),
        ("[core]\nhooksPath = missing", {"missing"}),
        ("[include]\npath = ../team", {"team"}),
        ('[lfs "customtransfer.a"]\npath = tools/agent', {"tools/agent"}),
        ('[includeIf "onbranch:x"]\npath = ../team', {"team"}),
        ("[core]\nfsmonitor = ./watch.sh", {"watch.sh"}),
        ('[diff "x"]\ntextconv = python conv.py --all', {"conv.py"}),
        ("[alias]\nx = \"!sh -c 'tools/go.sh $1'\"", {"tools/go.sh"}),
        ('[credential]\nhelper = "!$(git rev-parse --show-toplevel)/tools/cred"', {"tools/cred"}),
        ('[filter "x"]\nclean = black -q -', set[str]()),
        ("[alias]\nst = tools/x", set[str]()),
        ('[remote "o"]\nurl = ./tools', set[str]()),
        ("[core]\nhooksPath = ../../outside", set[str]()),
    ],
)
def test_files_that_settings_name(root: Path, settings: str, named: set[str]) -> None:
    (root / ".git/config").write_text(settings)
    found = leads(root, [])
    assert named <= found
    assert bool(found) == bool(named)


def test_the_users_own_settings(root: Path) -> None:
    assert ".githooks" in leads(root, list(parse(b"[core]\nhooksPath = .githooks")))


def test_links_and_folders_kept_elsewhere(root: Path) -> None:
    (root / ".envrc").symlink_to("tools/env")
    (root / "sub").mkdir()
    (root / "sub/.git").write_text("gitdir: ../store\n")
    (root / "other").mkdir()
    (root / "other/.git").symlink_to("../kept")
    found = leads(root, [])
    assert {"tools/env", "store/config", "kept/hooks"} <= found


@pytest.mark.parametrize("settings", ["#" * 600_000, "[alias]\n" + "".join(f"\ta{n} = !t/{n}\n" for n in range(300))])
def test_too_many_settings_keep_nobody_from_seeing_the_small_ones(root: Path, settings: str) -> None:
    (root / "a/.git").mkdir(parents=True)
    (root / "a/.git/config").write_text(settings)
    (root / ".git/config").write_text("[alias]\n\tx = !tools/x\n[core]\n\thooksPath = hooks\n")
    found = Leads(root, [], "/home/me")
    assert {"hooks", "tools/x"} <= found.of(look(root))
    assert not found.is_complete


def test_the_folder_of_hooks_comes_before_any_number_of_other_programs(root: Path) -> None:
    aliases = "".join(f"\ta{n} = !t/{n}\n" for n in range(300))
    (root / ".git/config").write_text(f"[alias]\n{aliases}[core]\n\thooksPath = hooks\n")
    assert "hooks" in leads(root, [])


def test_a_common_folder_is_believed_as_a_repository_is(root: Path) -> None:
    (root / ".git/commondir").write_text("../common\n")
    (root / "common").mkdir()
    found = leads(root, [])
    assert {"common/hooks", "common/config"} <= found
    assert not {"common/worktrees", "common/modules"} & found, "what lies there has a folder of its own"


def test_a_git_that_is_a_link_leads_to_a_file(tmp_path: Path) -> None:
    (tmp_path / "gitfile").write_text("gitdir: meta")
    (tmp_path / ".git").symlink_to("gitfile")
    assert "gitfile" in leads(tmp_path.resolve(), [])


def test_the_names_git_tries_for_a_remote_are_places(root: Path) -> None:
    (root / ".git/config").write_text('[remote "o"]\nurl = ./up\n[url "mine:"]\ninsteadOf = x\n')
    found = Leads(root, list(parse(f'[url "{root}/"]\ninsteadOf = ./'.encode())), "/home/me")
    found.of(look(root))
    assert {f"{root}/up", f"{root}/up.git", f"{root}/up/.git", f"{root}/up.git/.git"} <= found.places
