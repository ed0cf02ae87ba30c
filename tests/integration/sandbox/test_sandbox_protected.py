"""What a command changed at protected names is undone."""

import asyncio
import re
import subprocess

import pytest

from localllm.base.kept_outputs import is_kept_output, keep_output
from tests.support.sandbox_world import World, fingerprint, until

pytestmark = pytest.mark.anyio

REFUSED = re.compile("Read-only file system|Device or resource busy|could not lock|cross-device")
"""What is said where a protected path is read-only in the first place, which Landlock cannot do."""


@pytest.mark.parametrize(
    ("attempt", "told"),
    [
        ("echo evil >> .git/hooks/pre-commit", ".git/hooks/pre-commit"),
        ("echo evil > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout", ".git/hooks/post-checkout"),
        ("git config core.fsmonitor ./evil", ".git/config"),
        ("git config core.hooksPath evil", ".git/config"),
        ("git config alias.status '!evil'", ".git/config"),
        ("git remote add origin https://evil.example/x", ".git/config"),
        ("mv .git/hooks x; mkdir .git/hooks; echo evil > .git/hooks/pre-commit; rm -r x", ".git/hooks/pre-commit"),
        ("rm .git/hooks/pre-commit", ".git/hooks/pre-commit"),
        ("ln .git/config x; printf '[core]\\npager = evil\\n' >> x; rm x", ".git/config"),
        ("mkdir .vscode; echo evil > .vscode/tasks.json", ".vscode/tasks.json"),
        ("mkdir .VSCode; echo evil > .VSCode/tasks.json", ".VSCode/tasks.json"),
        ("echo evil > .envrc", ".envrc"),
        ("rm .envrc; ln -s /etc/passwd .envrc", ".envrc"),
        ("rm .envrc; mkdir .envrc; echo x > .envrc/x", ".envrc"),
        ("echo evil > localllm.toml", "localllm.toml"),
        ("echo evil > .mcp.json", ".mcp.json"),
        ("mkdir .cargo; printf '[build]\\nrustc-wrapper = \"./evil\"\\n' > .cargo/config", ".cargo/config"),
        ("mkdir -p .direnv; echo evil > .direnv/flake-profile-1a.rc", ".direnv/flake-profile-1a.rc"),
        ("mkdir -p .forgejo/workflows; echo evil > .forgejo/workflows/ci.yml", ".forgejo/workflows/ci.yml"),
        ("echo evil > Jenkinsfile", "Jenkinsfile"),
        ("mkdir -p sub/.config/mise; echo evil > sub/.config/mise/config.toml", "sub/.config/mise/config.toml"),
        ("echo yarnPath: evil.cjs > .yarnrc.yml", ".yarnrc.yml"),
        ("echo evil > .aider.conf.yml", ".aider.conf.yml"),
        ("echo /etc > .git/objects/info/alternates", ".git/objects/info/alternates"),
        ("echo '{}' > .localllm/sessions/forged.jsonl", ".localllm/sessions/forged.jsonl"),
        ("echo evil > .localllm/sessions/old.jsonl", ".localllm/sessions/old.jsonl"),
        ("echo evil >> .localllm/sessions/old.jsonl", ".localllm/sessions/old.jsonl"),
        ("rm -r .localllm", ".localllm/sessions/old.jsonl"),
        ("mkdir -p sub/.git/hooks; echo evil > sub/.git/hooks/pre-commit; rmdir sub", "sub/.git/hooks/pre-commit"),
        ("echo 'gitdir: ../evil' > .git/commondir", ".git/commondir"),
        (r"printf 'ref: refs/heads/y\033[1m\n' > .git/HEAD", ".git/HEAD"),
        ("mkdir .git/rebase-merge; echo '$(evil)' > .git/rebase-merge/msgnum", ".git/rebase-merge/msgnum"),
        ("mkfifo .envrc.d; rm .envrc; mkfifo .envrc; rm .envrc.d", ".envrc"),
    ],
)
async def test_protected_files_are_put_back(repository: World, attempt: str, told: str) -> None:
    before = fingerprint(repository.project)
    done = await repository.run(attempt)
    assert fingerprint(repository.project) == before
    assert told in done.reverted or (done.level != "landlock" and REFUSED.search(done.stderr))


@pytest.mark.parametrize("folder", [".venv/x", "__pycache__/x", "deep/er/x"])
async def test_a_repository_planted_anywhere_does_not_run_programs(repository: World, folder: str) -> None:
    await repository.run(
        f"mkdir -p d{{1..400}} {folder} && cp -r .git {folder}/.git && "
        f"printf '[core]\\nfsmonitor = evil\\n' >> {folder}/.git/config"
    )
    planted = repository.project / folder / ".git" / "config"
    assert not planted.exists() or "evil" not in planted.read_text()


async def test_many_planted_hooks_are_all_taken_away(repository: World) -> None:
    before = fingerprint(repository.project)
    await repository.run("cd .git/hooks; touch f{1..5200}; echo evil > post-checkout; chmod +x post-checkout")
    assert fingerprint(repository.project) == before


async def test_a_linked_worktree_is_not_led_elsewhere(repository: World) -> None:
    linked = repository.project / ".git" / "worktrees" / "wt"
    linked.mkdir(parents=True)
    (linked / "commondir").write_text("../..\n")
    await repository.run("echo ../../objects/k > .git/worktrees/wt/commondir; echo x > .git/worktrees/wt/HEAD")
    assert (linked / "commondir").read_text() == "../..\n"
    assert (linked / "HEAD").read_text() == "x\n", "a commit in the worktree changes this"


async def test_what_was_put_at_a_protected_name_is_kept_out_of_reach(repository: World) -> None:
    await repository.run("echo evil > .mcp.json")
    kept = list((repository.project.parent / "state" / "quarantine").rglob(".mcp.json"))
    assert [path.read_text() for path in kept] == ["evil\n"]


async def test_putting_back_follows_no_link(repository: World) -> None:
    (repository.project / ".vscode").mkdir()
    (repository.project / ".vscode/settings.json").write_text("{}")
    done = await repository.run(f"mv .vscode x; ln -s {repository.outside} .vscode; echo > x/file; mv x y")
    assert (repository.project / ".vscode/settings.json").read_text() == "{}"
    assert not (repository.project / ".vscode").is_symlink()
    assert repository.outside_is_untouched()
    assert ".vscode" in done.reverted or (done.level != "landlock" and REFUSED.search(done.stderr))


async def test_a_moved_repository_gets_its_settings_back(repository: World) -> None:
    config = (repository.project / ".git/config").read_bytes()
    await repository.run("mv .git x; mkdir .git; cp -r x/* .git; git config core.fsmonitor evil; rm -r x")
    assert (repository.project / ".git/config").read_bytes() == config


async def test_honest_work_with_git_is_not_undone(repository: World) -> None:
    settings = "git config user.name Someone; git config user.email someone@example.org"
    if repository.runner.level != "landlock":  # there the settings of a repository are read-only, whatever they say
        subprocess.run(settings, shell=True, cwd=repository.project, check=True)
        settings = "git config user.name"
    done = await repository.run(f"""
        set -e
        {settings} > /dev/null
        git add -A; git commit -qm first; git switch -qc other; git status --short; git log --oneline | wc -l
        git init -q new; git -C new status --short
    """)
    assert (done.return_code, done.stdout, done.reverted) == (0, "1\n", ())


async def test_long_output_that_is_kept_meanwhile_is_left_alone(repository: World) -> None:
    """What another command printed, or another program in the same project keeps."""
    folder = repository.project / ".localllm/tool-output"
    old = keep_output(folder, "run_command", "from before")
    old.write_text("torn")
    running = asyncio.ensure_future(repository.run("touch ready; while [ ! -e go ]; do sleep 0.02; done"))
    await until((repository.project / "ready").exists)
    new = keep_output(folder, "grep", "long")
    assert keep_output(folder, "run_command", "from before") == old
    (repository.project / "go").touch()
    assert (await running).reverted == ()
    assert [file.read_text() for file in (new, old)] == ["long", "from before"]


async def test_long_output_that_a_command_changes_is_not(repository: World) -> None:
    folder = repository.project / ".localllm/tool-output"
    running = asyncio.ensure_future(
        repository.run("""
            touch ready; while [ ! -e go ]; do sleep 0.02; done
            cd .localllm/tool-output; for file in *; do echo more >> $file; done; echo new > grep-0123456789abcdef.txt
        """)
    )
    await until((repository.project / "ready").exists)
    new = keep_output(folder, "grep", "long")
    (repository.project / "go").touch()
    await running
    assert [file for file in folder.glob("*") if not is_kept_output(file, 1_000)] == []
    if repository.runner.level == "namespaces":
        assert new.read_text() == "long"


async def test_commands_side_by_side_do_not_take_each_other_for_the_user(repository: World) -> None:
    first = asyncio.ensure_future(repository.run("echo evil > .envrc; touch ready; sleep 0.4"))
    while not (repository.project / "ready").exists():
        await asyncio.sleep(0.01)
    await asyncio.gather(first, repository.run("sleep 0.6"))
    assert (repository.project / ".envrc").read_text() == "export A=1\n"


async def test_a_link_to_what_a_command_does_not_see_is_taken_away(world: World) -> None:
    (world.home / ".cargo/bin").mkdir(parents=True)
    (world.project / "dist").mkdir()
    result = await world.run(
        f"rmdir dist; ln -s {world.home}/.ssh dist; ln -s {world.home} all; ln -s {world.home}/.cargo/bin tools"
    )
    assert (result.return_code, result.reverted) == (0, ("all", "dist"))
    assert sorted(path.name for path in world.project.iterdir() if path.is_symlink()) == ["tools"]
