"""A real git repository to work in."""

import subprocess
from pathlib import Path


class GitProject:
    """A folder with a repository, and git by hand."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always")
        return subprocess.run(
            ["git", *identity, *arguments], cwd=self.root, capture_output=True, text=True, check=True
        ).stdout

    def write(self, name: str, text: str | bytes = "text\n") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def commit(self, **files: str) -> None:
        """Commit these files; `__` in a name is a dot."""
        for name, text in files.items():
            self.write(name.replace("__", "."), text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=c")

    def state(self) -> tuple[str, ...]:
        """All of the repository that is the user's: index, stash, branches, worktrees, and the objects there are."""
        index = (self.root / ".git" / "index").read_bytes().hex()
        asked = (
            ("stash", "list"),
            ("for-each-ref",),
            ("worktree", "list"),
            ("--no-optional-locks", "status", "--porcelain"),
            ("count-objects", "-v"),
        )
        return (index, *(self.git(*arguments) for arguments in asked))
