"""Change what git believes in `.git` at random, as a command of a hostile model could. Run with a seed, in a project.

Prints what was done. The changes are those by which git could show something else than what it pushes or commits:
objects and indexes that have changed places, names of objects exchanged in a binary file with a right check sum,
derived files of another state, replacements, forged times, and honest work between them.
"""

import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

GIT = Path(".git")
WHO = {f"GIT_{role}_{what}": "m" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
FILES = ("README", "src/a.py", ".github/workflows/ci.yml")
DERIVE = (
    *("commit-graph write --reachable", "commit-graph write --reachable --changed-paths", "repack -ad", "repack -adb"),
    *("commit-graph write --reachable --split", "repack -d --write-midx", "multi-pack-index write", "gc -q"),
    *("pack-refs --all", "multi-pack-index write --bitmap"),
)
WORK = (
    *(
        "stash",
        "checkout -q -b other2",
        "checkout -q --detach",
        "commit -q --allow-empty -m e",
        "add -A",
        "mv README R2",
    ),
    *("rm -q --cached README", "reset -q --soft HEAD~1", "reset -q --hard HEAD~1", "tag -a t1 -m x", "prune"),
    *("worktree add -q wt HEAD", "bisect start", "revert --no-edit HEAD", "sparse-checkout set src", "maintenance run"),
    *(
        "merge -q --no-ff --no-commit HEAD~1",
        "cherry-pick -n HEAD~1",
        "replace HEAD HEAD~1",
        "update-index --split-index",
    ),
    *("update-index --untracked-cache", "update-index --index-version 4", "read-tree HEAD"),
)


def git(*arguments: str, given: bytes = b"", index: str = "") -> bytes:
    env = {**os.environ, **WHO, **({"GIT_INDEX_FILE": index} if index else {})}
    return subprocess.run(
        ["git", *arguments], env=env, input=given, capture_output=True, timeout=20, check=False
    ).stdout


class Mutator:
    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, random.Random(seed)
        self.evil = ""
        self.done: list[str] = []

    def run(self) -> None:
        changes: list[Callable[[], str | None]] = [
            *[self.exchange_names] * 4,
            *[self.exchange_names_in_index] * 3,
            *[self.exchange_objects] * 3,
            *[self.break_object] * 2,
            *[self.exchange_refs] * 2,
            *[self.move_head] * 4,
            *[self.replace] * 4,
            *[self.derive] * 3,
            *[self.put_back_derived] * 4,
            *[self.edit] * 4,
            *[self.work] * 5,
            *[self.link] * 2,
            *[self.forge_tree] * 3,
            *[self.new_file] * 2,
        ]
        for _ in range(self.random.choice((1, 2, 2, 3, 3, 4))):
            change = self.random.choice(changes)
            try:
                self.done.append(f"{change.__name__} {change() or ''}")
            except (OSError, ValueError, IndexError, subprocess.SubprocessError) as error:
                self.done.append(f"{change.__name__}: {error}")

    def files(self) -> list[Path]:
        return sorted(path for path in GIT.rglob("*") if path.is_file() and not path.is_symlink())

    def objects(self) -> dict[str, list[str]]:
        """The names of all objects, by their kind."""
        found: dict[str, list[str]] = {}
        for line in git("cat-file", "--batch-all-objects", "--batch-check").decode().splitlines():
            name, kind, *_ = line.split()
            found.setdefault(kind, []).append(name)
        return found

    def write(self, path: Path, content: bytes) -> None:
        """Write in place, by a rename or anew, mostly with the times of before."""
        before = path.lstat() if path.exists() else None
        path.parent.mkdir(parents=True, exist_ok=True)
        how = self.random.random()
        if how < 0.4 and before:
            path.chmod(0o644)
            with path.open("r+b") as file:
                file.write(content)
                file.truncate()
        elif how < 0.8:
            other = path.with_name(path.name + ".t")
            other.write_bytes(content)
            other.replace(path)
        else:
            path.unlink(missing_ok=True)
            path.write_bytes(content)
        if before and self.random.random() < 0.7:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def evil_commit(self) -> str:
        """A commit with a workflow that looks like HEAD's otherwise."""
        if not self.evil:
            blob = git("hash-object", "-w", "--stdin", given=b"on: push\nevil: %d\n" % self.seed).decode().strip()
            index = str(GIT / "other-index")
            git("read-tree", "HEAD", index=index)
            git("update-index", "--add", "--cacheinfo", f"100644,{blob},.github/workflows/x.yml", index=index)
            tree = git("write-tree", index=index).decode().strip()
            subject = git("log", "-1", "--format=%s").decode().strip() or "x"
            self.evil = git("commit-tree", "-p", "HEAD", "-m", subject, tree).decode().strip()
            Path(index).unlink(missing_ok=True)
        return self.evil

    def exchange_names(self) -> None:
        derived = (".idx", ".rev", ".bitmap", ".graph")
        names = ("index", "commit-graph", "multi-pack-index")
        self._exchange_in(
            self.random.choice([one for one in self.files() if one.suffix in derived or one.name in names])
        )

    def exchange_names_in_index(self) -> None:
        self._exchange_in(GIT / "index")

    def _exchange_in(self, path: Path) -> None:
        """Put another object's name in the place of one, and make the check sum anew."""
        content, objects = path.read_bytes(), self.objects()
        kinds = {name: kind for kind, names in objects.items() for name in names}
        old = self.random.choice([name for name in kinds if bytes.fromhex(name) in content])
        new = bytes.fromhex(self.random.choice(objects[kinds[old]]))
        places = [found.start() for found in re.finditer(re.escape(bytes.fromhex(old)), content)]
        at, size = self.random.choice(places), len(new)
        changed = content[:at] + new + content[at + size :]
        if hashlib.sha1(content[:-size]).digest() == content[-size:]:
            changed = changed[:-size] + hashlib.sha1(changed[:-size]).digest()
        self.write(path, changed)

    def loose(self) -> list[Path]:
        return [path for path in self.files() if len(path.parent.name) == 2 and path.parent.parent.name == "objects"]

    def exchange_objects(self) -> None:
        one, other = self.random.sample(self.loose(), 2)
        content = one.read_bytes(), other.read_bytes()
        self.write(one, content[1])
        if self.random.random() < 0.5:
            self.write(other, content[0])

    def break_object(self) -> None:
        path = self.random.choice(self.loose())
        content = zlib.decompress(path.read_bytes())
        compress = zlib.compress
        forms = (
            compress(content) + b"x",
            compress(content + b"x"),
            compress(content[:-1]),
            compress(content.replace(b" ", b" 0", 1)),
        )
        self.write(path, self.random.choice(forms))

    def exchange_refs(self) -> None:
        named = ("HEAD", "packed-refs", "FETCH_HEAD", "ORIG_HEAD")
        path = self.random.choice([one for one in self.files() if "refs" in one.parts or one.name in named])
        content = path.read_bytes()
        old = self.random.choice(re.findall(rb"[0-9a-f]{40}", content))
        self.write(path, content.replace(old, self.random.choice(self.objects()["commit"]).encode()))

    def move_head(self) -> None:
        before = git("rev-parse", "HEAD").decode().strip()
        git("update-ref", "HEAD", self.evil_commit())
        if self.random.random() < 0.5:
            git("read-tree", before)

    def replace(self) -> None:
        one, other = git("rev-parse", self.random.choice(("HEAD", "HEAD~1"))).decode().strip(), self.evil_commit()
        old, new = (one, other) if self.random.random() < 0.5 else (other, one)
        match self.random.randrange(6):
            case 0:
                git("replace", "-f", old, new)
            case 1:
                path = GIT / "packed-refs"
                lines = path.read_bytes() if path.exists() else b""
                blank = self.random.choice((b" ", b"\t", b"\n", b"\x0b"))
                folder = self.random.choice((b"refs/replace/", b"refs//replace/", b"REFS/replace/"))
                end = self.random.choice((b"\n", b"\r\n", b"", b"\n^" + old.encode() + b"\n"))
                self.write(path, lines + new.encode() + blank + folder + old.encode() + end)
            case 2:
                self.write(GIT / "info" / "grafts", f"{old} {new}\n".encode())
            case 3:
                self.write(GIT / "shallow", f"{self.random.choice((old, new))}\n".encode())
            case 4:
                shutil.copytree(GIT / "refs", GIT / "refs2")
                (GIT / "refs2" / "replace").mkdir(exist_ok=True)
                (GIT / "refs2" / "replace" / old).write_text(f"{new}\n")
                shutil.rmtree(GIT / "refs")
                (GIT / "refs").symlink_to("refs2")
            case _:
                git("update-ref", f"refs/replace/{old}", new)
                git("pack-refs", "--all")

    def derive(self) -> str:
        command = self.random.choice(DERIVE)
        git(*command.split())
        return command

    def put_back_derived(self) -> None:
        """Let derived files tell of a history that is another now."""
        self.derive()
        telling = ("commit-graph", "multi-pack", ".bitmap", ".rev", ".idx", "packed-refs", "index")
        kept = {path: path.read_bytes() for path in self.files() if any(part in str(path) for part in telling)}
        self.random.choice((self.move_head, self.derive))()
        for path, content in kept.items():
            if self.random.random() < 0.6:
                self.write(path, content)

    def edit(self) -> None:
        """Change a file, mostly without a trace in its size and its times."""
        path = Path(self.random.choice(FILES))
        before, content = path.lstat(), path.read_bytes()
        path.write_bytes(b"Z" + content[1:] if self.random.random() < 0.5 else content + b"more\n")
        if self.random.random() < 0.7:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def work(self) -> str:
        command = self.random.choice(WORK)
        git(*command.split())
        return command

    def link(self) -> None:
        """Put a link, or another file, in the place of something in `.git`."""
        every = [path for path in GIT.rglob("*") if "hooks" not in path.parts]
        one, other = self.random.sample(sorted(every), 2)
        match self.random.randrange(3):
            case 0:
                real = one.with_name(one.name + ".real")
                one.rename(real)
                one.symlink_to(real.name)
            case 1:
                other.unlink()
                other.hardlink_to(one)
            case _:
                one.rename(other)

    def forge_tree(self) -> None:
        """Let the index have cached another tree for a folder than that of its entries."""
        evil = self.evil_commit()
        git("read-tree", "HEAD")
        git("update-index", "-q", "--refresh")
        trees = [git("rev-parse", f"{one}^{{tree}}").decode().strip() for one in ("HEAD", evil)]
        for one in ("HEAD", evil):
            trees += git("ls-tree", "-d", "-r", "--format=%(objectname)", one).decode().split()
        content = (GIT / "index").read_bytes()
        old, new = map(bytes.fromhex, self.random.sample(trees, 2))
        at = content.index(b"TREE")
        changed = content[:at] + content[at:-20].replace(old, new)
        self.write(GIT / "index", changed + hashlib.sha1(changed).digest())

    def new_file(self) -> None:
        folder = Path(self.random.choice(("", "src", ".github/workflows", "src/deep")))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / self.random.choice(("n.py", "evil.yml", "ci.yml~", "-x", "é", "git~1"))).write_text("new")
        os.utime(folder, (1, 1))


if __name__ == "__main__":
    mutator = Mutator(int(sys.argv[1]))
    mutator.run()
    print("; ".join(mutator.done))
