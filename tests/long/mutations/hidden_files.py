"""Bring files to names that programs trust by random ways, in several commands. Run with a seed and the number of the
command, in a project. Prints what was done.

The content of each such file begins with `EVIL`. The ways: written, renamed, copied or linked, with a folder around it
that is moved, exchanged, linked, closed or made anew, with times set back, at places where nobody may look.
"""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

EVIL = "EVIL = 1\n"
BELIEVED = (
    *(".envrc", "mise.toml", ".vscode/tasks.json", ".idea/workspace.xml", ".claude/settings.json", ".mcp.json"),
    *(".nvim.lua", ".cursor/mcp.json", ".zed/tasks.json", ".github/workflows/x.yml", "sitecustomize.py", ".gdbinit"),
    *(".config/mise/config.toml", ".git/hooks/post-checkout", ".gitlab-ci.yml", ".dir-locals.el"),
)
FOLDERS = (
    *("", "src", "src/deep", "lib", "node_modules/pkg", "node_modules/.cache/x", "node_modules/@s/p", "vendor/bundle"),
    *(".venv/lib", "target/debug", "build", "dist/x", "sub", "sub/in", ".direnv", ".direnv/x", ".git/logs/x", ".git/x"),
    *(
        ".git/refs/heads/x",
        ".git/info",
        ".GIT/x",
        ".github",
        ".hg/x",
        ".localllm/x",
        "docs\n/x",
        "\udcff",
        "é",
        "e\u0301",
    ),
    *("site-packages/p", "site-packages/sitecustomize-app", "lib/site-packages/usercustomize", ".GIT/worktrees/w"),
    *(".GIT/modules/m", ".git/worktrees/w", ".git/modules/m", "sub/.git/modules/m"),
    *("x" * 200, "/".join(["d"] * 49), "/".join(["d"] * 55), ".vscode/x", ".vscode", "__pycache__", ".tox/x", ".cache"),
)
PLAIN = ("notes.txt", "data.json", "a/b.txt", "config", "t")


class Hider:
    def __init__(self, seed: int, command: int) -> None:
        self.random = random.Random(seed * 10 + command)
        self.done: list[str] = []

    def run(self) -> None:
        ways: list[Callable[[], object]] = [
            *[self.write] * 3,
            *[self.write_plain] * 5,
            *[self.rename] * 5,
            *[self.move_folder] * 5,
            *[self.link_to] * 3,
            *[self.link_folder] * 4,
            *[self.link_out] * 3,
            *[self.hard_link] * 2,
            *[self.change_in_place] * 2,
            *[self.copy_folder] * 2,
            *[self.exchange] * 2,
            *[self.make_anew] * 2,
            *[self.seem_bare] * 2,
            *[self.close] * 2,
            *[self.set_back] * 2,
            *[self.many, self.git_work, self.later],
        ]
        for _ in range(self.random.randrange(1, 6)):
            way = self.random.choice(ways)
            try:
                self.done.append(f"{way.__name__} {way() or ''}")
            except (OSError, ValueError, IndexError, shutil.Error, subprocess.SubprocessError) as error:
                self.done.append(f"{way.__name__}: {str(error)[:150]}")

    def folder(self) -> Path:
        path = Path(self.random.choice(FOLDERS))
        path.mkdir(parents=True, exist_ok=True)
        return path

    def believed(self) -> Path:
        path = self.folder() / self.random.choice(BELIEVED)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def evils(self) -> list[Path]:
        return sorted(path for path in Path().rglob("*") if is_evil(path))

    def folders(self) -> list[Path]:
        return sorted(path for path in Path().rglob("*") if path.is_dir() and not path.is_symlink())

    def evil(self) -> Path:
        return self.random.choice(self.evils() or [self.write_plain()])

    def write(self) -> Path:
        path = self.believed()
        path.write_text(EVIL)
        return path

    def write_plain(self) -> Path:
        """Write it under a harmless name, mostly so that a move of its folder is enough."""
        if self.random.random() < 0.6:
            first, _, rest = self.random.choice([name for name in BELIEVED if "/" in name]).partition("/")
            path = self.folder() / f"{first.strip('.')}-x" / rest
        else:
            path = self.folder() / self.random.choice(PLAIN)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(EVIL)
        return path

    def rename(self) -> str:
        evil = self.evil()
        for name in BELIEVED:
            first, _, rest = name.partition("/")
            if rest and str(evil).endswith(f"{first.strip('.')}-x/{rest}"):
                top = Path(str(evil)[: -len(rest) - 1])
                to = (top.parent if self.random.random() < 0.5 else self.folder()) / first
                top.rename(to)
                return f"{top} {to}"
        to = self.believed()
        evil.rename(to)
        return f"{evil} {to}"

    def move_folder(self) -> str:
        """Move a folder above an evil file, or any."""
        evil = self.evil()
        above = [path for path in evil.parents if path != Path()]
        folder = self.random.choice(above if above and self.random.random() < 0.8 else self.folders())
        to = self.folder() / self.random.choice(("m", "m2", ".x", "pkg"))
        folder.rename(to)
        return f"{folder} {to}"

    def link_to(self) -> str:
        path, to = self.believed(), self.evil()
        if self.random.random() < 0.5 and len(path.parts) > 1:
            shutil.rmtree(path.parent)
            path, to = path.parent, to.parent
        path.symlink_to(os.path.relpath(to, path.parent))
        return f"{path} {to}"

    def link_folder(self) -> str:
        evil = self.evil()
        to = self.random.choice([path for path in evil.parents if path != Path()])
        link = self.folder() / self.random.choice(("app", "current", "latest", "l"))
        link.symlink_to(os.path.relpath(to, link.parent) if self.random.random() < 0.8 else to.absolute())
        return f"{link} {to}"

    def link_out(self) -> str:
        """Lay a link to the hidden folder of the home, or to where one will be or is laid."""
        way = Path(self.random.choice(("node_modules/x/y", "node_modules/.cache/d", "way", "build/y", "é/y")))
        link = self.folder() / self.random.choice(("out", "dist", "assets"))
        if self.random.random() < 0.3:
            link = Path(self.random.choice((".git/COMMIT_EDITMSG", ".git/ORIG_HEAD", "sub/.git/logs/HEAD")))
        if self.random.random() < 0.5:
            link = way
        link.parent.mkdir(parents=True, exist_ok=True)
        to = os.environ["VICTIM"] if link == way else os.path.relpath(way, link.parent)
        link.symlink_to(to)
        return f"{link} {to}"

    def hard_link(self) -> str:
        evil, to = self.evil(), self.believed()
        to.unlink(missing_ok=True)
        to.hardlink_to(evil)
        return f"{evil} {to}"

    def change_in_place(self) -> str:
        path = Path(self.random.choice((".envrc", ".vscode/tasks.json", "sub/.envrc", "node_modules/pkg/.mcp.json")))
        before = path.stat()
        with path.open("r+") as file:
            file.write(EVIL)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return str(path)

    def copy_folder(self) -> str:
        evil = self.evil()
        folder, to = evil.parent, self.folder() / "copy"
        shutil.copytree(folder, to, symlinks=True)
        return f"{folder} {to}"

    def exchange(self) -> str:
        """Exchange two folders."""
        one, other = self.random.sample(self.folders(), 2)
        one.rename("exchanged")
        other.rename(one)
        Path("exchanged").rename(other)
        return f"{one} {other}"

    def make_anew(self) -> str:
        """Delete a folder and make it anew, perhaps with the same number."""
        folder = self.random.choice([path for path in self.folders() if ".git" not in path.parts])
        shutil.rmtree(folder)
        folder.mkdir()
        path = folder / self.random.choice(BELIEVED)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(EVIL)
        return str(path)

    def seem_bare(self) -> str:
        """Make a folder look like a bare repository, by names alone."""
        folder = self.random.choice((Path(), self.folder()))
        for name in ("HEAD", "objects", "refs"):
            (folder / name).mkdir()
        return str(folder)

    def close(self) -> str:
        path = self.evil()
        path = path if self.random.random() < 0.3 or path.parent == Path() else path.parent
        path.chmod(0)
        return str(path)

    def set_back(self) -> str:
        """Set back the times of an evil file and of all above it."""
        evil = self.evil()
        for path in (evil, *evil.parents):
            os.utime(path, (1_600_000_000, 1_600_000_000))
        return str(evil)

    def many(self) -> str:
        top = self.folder() / "many"
        for number in range(1_500):
            (top / str(number)).mkdir(parents=True, exist_ok=True)
        path = top / str(self.random.randrange(1_500)) / self.random.choice(BELIEVED)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(EVIL)
        return str(path)

    def git_work(self) -> str:
        words = self.random.choice(
            (
                "add -A -f",
                "commit -qm x",
                "stash -u",
                "stash pop",
                "checkout -q -b z",
                "clean -qfd",
                "worktree add -q wt",
            )
        )
        subprocess.run(["git", *words.split()], capture_output=True, timeout=20, check=False)
        return words

    def later(self) -> str:
        """Write by a process that goes on after the command."""
        path = self.believed()
        script = f"import time; time.sleep(.3); open({str(path)!r}, 'w').write({EVIL!r})"
        subprocess.Popen([sys.executable, "-c", script], start_new_session=True)
        return str(path)


def is_evil(path: Path) -> bool:
    try:
        if path.is_symlink() or not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(4) == b"EVIL"
    except OSError:
        return False


def main() -> None:
    hider = Hider(int(sys.argv[1]), int(sys.argv[2]))
    hider.run()
    print("; ".join(hider.done).encode("utf-8", "backslashreplace").decode())


if __name__ == "__main__":
    main()
