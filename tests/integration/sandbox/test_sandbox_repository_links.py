"""What a command lays among the data of a repository, for git to write and read through, is taken away."""

from pathlib import Path

import pytest

from tests.support.sandbox_world import World

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "attempt",
    [
        "ln -sf {outside}/file .git/COMMIT_EDITMSG",
        "rm -f .git/index; ln -s {outside}/new .git/index",
        "mkdir -p .git/logs; ln -sf {outside}/file .git/logs/HEAD",
        "rm -rf .git/objects/ab; ln -s {outside} .git/objects/ab",
        "ln -s {outside} .git/refs/heads/other",
        "ln -s ../.envrc .git/MERGE_MSG",
        "ln -s config .git/COMMIT_EDITMSG",
        "ln -s ../program.py .git/COMMIT_EDITMSG",
        "mkfifo .git/FETCH_HEAD",
        "git init -q sub; ln -s {outside}/file sub/.git/COMMIT_EDITMSG",
        "mkdir -p .git/objects/info; echo {outside} > .git/objects/info/alternates",
        "mkdir -p .git/objects/info; echo ../../../../outside > .git/objects/info/alternates",
    ],
)
async def test_what_leads_out_of_a_repository_is_taken_away(repository: World, attempt: str) -> None:
    done = await repository.run(attempt.format(outside=repository.outside))
    assert done.reverted
    data = list(repository.project.rglob(".git"))
    links = [path for folder in data for path in folder.rglob("*") if not (path.is_dir() or path.is_file())]
    links += [path for folder in data for path in folder.rglob("*") if path.is_symlink()]
    assert links == []
    assert not list(repository.project.rglob("alternates"))
    assert repository.outside_is_untouched()


async def test_what_git_does_itself_stays(repository: World) -> None:
    await repository.run(
        "git init -q base && cd base && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && cd .. "
        "&& git clone -q --shared base copy && cd base && git config core.preferSymlinkRefs true"
    )
    alternates = repository.project / "copy/.git/objects/info/alternates"
    assert Path(alternates.read_text().strip()).is_dir()


async def test_a_repository_among_the_data_of_another_goes(repository: World) -> None:
    done = await repository.run("git init -q --bare .git/x/hub; cd .git/x/hub; mkdir -p hooks; touch hooks/update")
    assert done.reverted == (".git/x",)
    assert not (repository.project / ".git/x").exists()


async def test_a_repository_among_the_branches_of_another_gets_no_hooks(repository: World) -> None:
    await repository.run("git init -q --bare .git/refs/hub; cd .git/refs/hub; mkdir -p hooks; echo evil > hooks/update")
    hub = repository.project / ".git/refs/hub"
    assert (hub / "HEAD").exists()
    assert not (hub / "hooks/update").exists()
