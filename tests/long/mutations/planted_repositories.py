"""Plant a repository whose settings run a program at a random place, and a way that leads to it, in two commands.

Run with a seed, the number of the command (0 or 1) and the file that the program makes, in a project. Prints what was
done.
"""

import os
import random
import subprocess
import sys
from pathlib import Path

PLACES = (
    *(
        "src",
        "lib",
        "deep/a/b",
        "node_modules/pkg",
        "node_modules/.cache/x",
        "vendor/bundle",
        "site-packages/p",
        "target/x",
    ),
    *(
        f".git/{name}/x"
        for name in ("logs", "objects", "refs", "info", "lfs", "annex", "rr-cache", "hooks", "sequencer")
    ),
    *(
        f".git/{name}/x"
        for name in ("rebase-merge", "svn", "branches", "refs/heads", "objects/pack", "objects/ab", "jj")
    ),
    *(
        ".git/modules/m",
        ".git/modules/a/b",
        ".git/worktrees/w",
        ".GIT/x",
        ".Git",
        ".git./x",
        ".git ",
        "git~1",
        ".\u200cgit/x",
    ),
    *(".vscode/x", ".zed/d/e", ".github/x", ".venv/lib/x", "build/.git/x", ".localllm/x", ".hg/x", ".svn/x", ".idea/x"),
    *("objects", "x" * 200 + "/y", "/".join(["d"] * 60), "é/x", ".direnv/x", ".config/git", "sub/.git/modules/m"),
    *("sub/.git/logs/x", "sub/.GIT/x"),
)
LINKS = ("app", "src/app", "docs", "lib2", "node_modules/l", "dist")
STATE = Path(".planted")


class Planter:
    def __init__(self, seed: int, trap: str) -> None:
        self.random = random.Random(seed)
        runs = f'[core]\n\tfsmonitor = "touch {trap};:"\n'
        self.settings = self.random.choice((runs, runs + "\tbare = false\n", "[include]\n\tpath = more\n"))
        self.more = runs
        self.done: list[str] = []

    def place(self) -> Path:
        return Path(self.random.choice(PLACES))

    def data(self, folder: Path, *, is_whole: bool = True) -> None:
        """Make what git takes for the data of a repository; without a HEAD only for that of a linked work tree."""
        (folder / "objects").mkdir(parents=True, exist_ok=True)
        (folder / "refs").mkdir(exist_ok=True)
        if is_whole:
            (folder / "HEAD").write_text("ref: refs/heads/x\n")
        (folder / "config").write_text(f"[core]\n\trepositoryformatversion = 0\n{self.settings}")
        (folder / "more").write_text(self.more)

    def repository(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        git, there = folder / ".git", self.place()
        how = self.random.randrange(6)
        self.done.append(f"repository {how} {folder} {there}")
        match how:
            case 0:
                self.data(git)
            case 1:
                git.mkdir()
                (git / "HEAD").write_text("ref: refs/heads/x\n")
                self.data(there / "common", is_whole=False)
                (git / "commondir").write_text(os.path.relpath(there / "common", git) + "\n")
            case 2:
                data = there / self.random.choice(("data", ".git", "modules/evil", "worktrees/w"))
                self.settings += f"[core]\n\tworktree = {os.path.relpath(folder, data)}\n"
                self.data(data)
                git.write_text(f"gitdir: {os.path.relpath(data, folder)}\n")
            case 3:
                self.data(there / "data")
                git.symlink_to(os.path.relpath(there / "data", folder))
            case 4:
                self.data(there / "common", is_whole=self.random.random() < 0.5)
                tree = self.place() / "w"
                tree.mkdir(parents=True, exist_ok=True)
                (tree / "HEAD").write_text("ref: refs/heads/x\n")
                (tree / "commondir").write_text(os.path.relpath(there / "common", tree) + "\n")
                (tree / "gitdir").write_text(f"{git.absolute()}\n")
                git.write_text(f"gitdir: {os.path.relpath(tree, folder)}\n")
            case _:
                self.data(folder)

    def lead(self, folder: Path) -> None:
        """Let a link, a move or an entry in the index lead to the folder."""
        how = self.random.randrange(5)
        self.done.append(f"lead {how}")
        match how:
            case 0 | 1:
                link = Path(self.random.choice(LINKS))
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(os.path.relpath(folder if how else folder.parent, link.parent))
            case 2:
                to = Path(self.random.choice(("app2", "src/q", "node_modules/q", "vendor2")))
                to.parent.mkdir(parents=True, exist_ok=True)
                (folder if self.random.random() < 0.5 else folder.parent).rename(to)
            case 3:
                head = subprocess.run(
                    ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False
                ).stdout.strip()
                entry = f"160000,{head},{folder}"
                subprocess.run(["git", "update-index", "--add", "--cacheinfo", entry], capture_output=True, check=False)
                Path(".gitmodules").write_text(f'[submodule "m"]\n\tpath = {folder}\n\turl = ./m\n\tignore = none\n')
            case _:
                pass


def main() -> None:
    seed, command, trap = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    planter = Planter(seed, trap) if not command else Planter(~seed, trap)
    try:
        if command:
            folder = Path(STATE.read_text())
            STATE.unlink()
        else:
            folder = planter.place() / "pkg"
            STATE.write_text(str(folder))
            planter.repository(folder)
        planter.lead(folder)
    except OSError as error:
        planter.done.append(str(error))
    print("; ".join(planter.done))


if __name__ == "__main__":
    main()
