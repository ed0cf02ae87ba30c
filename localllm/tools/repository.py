"""The project's git repository, asked so that nothing in it can run a program.

A repository's own configuration can name programs for git to start: hooks, filters, a file system monitor, difference
drivers, signing, remotes. What the project holds is not trusted, so all of that is switched off here, where only the
repository itself asks for it; the user's own configuration (identity, filters such as git-lfs, ignore rules) counts.
"""

import os
import posixpath
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, NamedTuple

from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import Phrase
from localllm.base.programs import find_program
from localllm.tools.guard.paths import shown

_SECONDS = 60.0
LARGEST_OUTPUT = 4_000_000
"""Bytes of the longest output that is kept."""

_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # nothing is fetched, not even a missing object of a partial clone
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_LITERAL_PATHSPECS": "1",  # a file may be called *.py or :(top)
}

_ALWAYS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.quotePath": "false",
    "core.safecrlf": "false",
    "diff.ignoreSubmodules": "dirty",  # looking into a submodule would obey that submodule's configuration
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "log.showSignature": "false",
    "log.showRoot": "true",
    "i18n.commitEncoding": "UTF-8",
    "safe.bareRepository": "explicit",  # a tracked folder can be made to look like a bare repository
}

_PROGRAMS = (
    (re.compile(r"filter\..*\.(?:clean|smudge|process)"), ""),
    (re.compile(r"filter\..*\.required"), "false"),
    (re.compile(r"diff\..*\.(?:command|textconv)|diff\.external"), "cat"),
    (re.compile(r"merge\..*\.driver|gpg\.(?:.*\.)?program|gpg\.ssh\.defaultkeycommand"), "false"),
    (
        re.compile(r"hook\..*\.command|trailer\..*\.(?:cmd|command)|core\.(?:editor|askpass|alternaterefscommand)"),
        "true",
    ),
    (re.compile(r"core\.(?:pager|sshcommand)|pager\..*|sequence\.editor|interactive\.difffilter"), "cat"),
    (re.compile(r"credential\.(?:.*\.)?helper|core\.gitproxy"), ""),
)
"""Settings that name a program, and what they become when only the repository sets them."""

_OPERATIONS = {
    "merge": ("MERGE_HEAD",),
    "rebase": ("rebase-merge", "rebase-apply"),
    "cherry-pick": ("CHERRY_PICK_HEAD",),
    "revert": ("REVERT_HEAD",),
    "bisect": ("BISECT_LOG",),
}
"""What is going on in a repository, and the files in its folder that tell so."""

_COMMIT_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")


class _Bounded:
    """A stream for GitPython to write to: keeps the first `limit` bytes, lets the rest go."""

    def __init__(self, limit: int) -> None:
        self.data = bytearray()
        self._limit = limit

    def write(self, chunk: bytes) -> int:
        self.data += chunk[: self._limit - len(self.data)]
        return len(chunk)


KINDS = ("conflicts", "staged", "modified", "untracked")


class Change(NamedTuple):
    """A file that is not as in the last commit.

    `staged` and `unstaged` are git's letters, "." for none: M modified, A added, D deleted, R renamed (from
    `old_path`), C copied, T of another type. Of a file git does not track both are "?", of an ignored one "!".
    """

    path: str
    staged: str
    unstaged: str
    old_path: str = ""
    conflict: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those of KINDS it belongs to: a file may be staged and modified again."""
        if self.conflict:
            return ("conflicts",)
        if self.staged in "?!":
            return ("untracked",) if self.staged == "?" else ()
        return ("staged",) * (self.staged != ".") + ("modified",) * (self.unstaged != ".")

    @property
    def is_outside(self) -> bool:
        """Whether it lies outside the folder its path was made relative to."""
        return self.path.startswith("../")

    def seen_from(self, folder: str) -> "Change":
        """The same with paths relative to `folder`, which ends with "/"."""
        old_path = _seen_from(folder, self.old_path) if self.old_path else ""
        return self._replace(path=_seen_from(folder, self.path), old_path=old_path)


def _seen_from(folder: str, path: str) -> str:
    inside = path.startswith(folder)
    return path.removeprefix(folder) or "./" if inside else posixpath.relpath(path, folder)


class Status(NamedTuple):
    """`branch` is "" on a detached HEAD, `commit` "" before the first one; `operation` is what is going on: "merge",
    "rebase", "cherry-pick", "revert", "bisect" or ""."""

    branch: str
    commit: str
    upstream: str
    ahead: int
    behind: int
    operation: str
    changes: tuple[Change, ...]


def by_kind(changes: Iterable[Change]) -> dict[str, list[Change]]:
    """The changes of each of KINDS."""
    grouped: dict[str, list[Change]] = {kind: [] for kind in KINDS}
    for change in changes:
        for kind in change.kinds:
            grouped[kind].append(change)
    return grouped


class Repository:
    """The repository the folder `root` lies in, perhaps as a subfolder. Open it anew for each call: settings change.

    `top` is the repository's own folder. Paths are relative to `root`; what lies outside of it begins with "../".
    Every method raises ToolExecutionError: git_not_a_repository, git_not_owned, git_missing, git_failed.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._overrides = dict(_ALWAYS)
        facts = self.run("rev-parse", "--show-toplevel", "--show-prefix", "--absolute-git-dir", "--git-common-dir")
        top, self._prefix, folder, common = os.fsdecode(facts).removesuffix("\n").split("\n")
        self.top, self._folder, self._common = Path(top), Path(folder), root / common
        if not root.is_relative_to(self.top):  # core.worktree can claim any folder of the machine
            raise ToolExecutionError("git_not_a_repository", path=root)
        self._trusted, self._own = self._read_settings()
        self._overrides |= _without_programs(self._trusted, self._own)

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        writes: bool = False,
        also_good: tuple[int, ...] = (),
        literal: bool = True,
    ) -> bytes:
        """The output of `git arguments`, the first 4 MB of it. Exit codes other than 0 and `also_good` are failures.
        `literal`: paths are no patterns."""
        output = _Bounded(LARGEST_OUTPUT)
        with tempfile.TemporaryFile() as file:
            file.write(stdin)
            file.seek(0)
            environment = self._environment(writes=writes) | ({} if literal else {"GIT_LITERAL_PATHSPECS": "0"})
            code, stderr = _execute(self._root, arguments, file, output, environment)
        if code and code not in also_good:
            raise _failure(stderr, self._root)
        return bytes(output.data)

    def _environment(self, *, writes: bool) -> dict[str, str]:
        environment = {**_ENVIRONMENT, "GIT_OPTIONAL_LOCKS": "1" if writes else "0"}
        first = int(os.environ.get("GIT_CONFIG_COUNT") or 0)
        for number, (key, value) in enumerate(self._overrides.items(), first):
            environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        return {**environment, "GIT_CONFIG_COUNT": str(first + len(self._overrides))}

    def _read_settings(self) -> tuple[dict[str, str], dict[str, str]]:
        """What the machine and the user set, and what the repository itself does."""
        trusted: dict[str, str] = {}
        own: dict[str, str] = {}
        fields = os.fsdecode(self.run("config", "--list", "--show-scope", "--null")).split("\0")
        for scope, entry in zip(fields[:-1:2], fields[1::2], strict=True):
            key, has_value, value = entry.partition("\n")
            if scope != "command":  # those are our own overrides
                (own if scope in ("local", "worktree") else trusted)[key] = value if has_value else "true"
        return trusted, own

    def status(self, *paths: str, each_new: bool = False) -> Status:
        """How the files at `paths` (without any: of the whole repository) differ from the last commit. `each_new` names
        every new file instead of the topmost new folder."""
        output = self.run(
            "status",
            "--porcelain=v2",
            "--branch",
            "--ahead-behind",
            "--null",
            "--ignore-submodules=dirty",
            f"--untracked-files={'all' if each_new else 'normal'}",
            "--",
            *paths,
        )
        return _parse_status(os.fsdecode(output), self._operation(), self._prefix)

    def _operation(self) -> str:
        for name, marks in _OPERATIONS.items():
            if any((self._folder / mark).exists() for mark in marks):
                return name
        return ""

    def head(self) -> str:
        """The last commit; "" before the first one."""
        return self.run("rev-parse", "--verify", "--quiet", "HEAD", also_good=(1,)).decode().strip()

    @property
    def signs(self) -> bool:
        """Whether commits are to be signed."""
        return (self._trusted | self._own).get("commit.gpgsign", "").lower() in ("true", "yes", "on", "1")

    def hooks(self) -> list[str]:
        """The hooks a commit would run if git were called by hand."""
        path = (self._trusted | self._own).get("core.hookspath", "")
        folder = self.top / Path(path).expanduser() if path else self._common / "hooks"
        return [name for name in _COMMIT_HOOKS if os.access(folder / name, os.X_OK)]

    def own_filters(self, paths: Iterable[str]) -> dict[str, str]:
        """Those of `paths` that would go through a filter only the repository defines, so that it does not run."""
        replaced = [key for key in self._overrides if key.startswith("filter.") and key not in self._trusted]
        switched_off = {key.partition(".")[2].rpartition(".")[0] for key in replaced}
        if not switched_off:
            return {}
        listed = self.run("check-attr", "-z", "--stdin", "filter", stdin=null_separated(paths))
        fields = os.fsdecode(listed).split("\0")
        return {path: name for path, name in zip(fields[:-1:3], fields[2::3], strict=True) if name in switched_off}

    def is_ignored(self, path: str) -> bool:
        """Whether the ignore rules leave out `path`, which is not tracked."""
        return self.run("status", "--porcelain=v2", "--ignored", "--null", "--", path).startswith(b"! ")


def null_separated(paths: Iterable[str]) -> bytes:
    """Paths as git reads them from its standard input with -z or --pathspec-file-nul."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _without_programs(trusted: dict[str, str], own: dict[str, str]) -> dict[str, str]:
    """Overrides for each setting of the repository that names a program: the user's own value, or nothing."""
    overrides: dict[str, str] = {}
    for key, value in own.items():
        neutral = next((neutral for pattern, neutral in _PROGRAMS if pattern.fullmatch(key)), value)
        wanted = trusted.get(key, neutral)
        if neutral != value and wanted != value:
            overrides[key] = wanted
    return overrides


def _execute(
    root: Path, arguments: tuple[str, ...], stdin: IO[bytes], output: _Bounded, environment: dict[str, str]
) -> tuple[int, str]:
    """Exit code and error text of git."""
    program = find_program("git", root)
    if program is None:
        raise ToolExecutionError("git_missing")
    os.environ["GIT_PYTHON_GIT_EXECUTABLE"] = program  # GitPython runs it when it is imported
    try:
        from git import Git, GitCommandNotFound
    except ImportError as error:  # GitPython looks for the program when it is imported
        raise ToolExecutionError("git_missing") from error
    git = Git(root)
    try:
        code, _, stderr = git.execute(
            [program, *arguments],
            istream=stdin.fileno(),
            output_stream=output,
            with_extended_output=True,
            with_exceptions=False,
            kill_after_timeout=None if sys.platform == "win32" else _SECONDS,
            env=environment,
            shell=False,
            start_new_session=True,
        )
    except GitCommandNotFound as error:
        raise ToolExecutionError("git_missing") from error
    return code, stderr


_FAILURES = {
    "not a git repository": "git_not_a_repository",
    "cannot use bare repository": "git_not_a_repository",
    "must be run in a work tree": "git_not_a_repository",
    "dubious ownership": "git_not_owned",
    "tell me who you are": "git_no_identity",
}
"""What git says (in English, GitPython sees to that) and the error that explains it."""


def _failure(stderr: str, root: Path) -> ToolExecutionError:
    if stderr.startswith("Timeout: "):
        return ToolExecutionError("git_failed", reason=Phrase("git.slow", seconds=_SECONDS))
    key = next((key for text, key in _FAILURES.items() if text in stderr), "git_failed")
    lines = [line.removeprefix("fatal: ").removeprefix("error: ") for line in stderr.strip().splitlines()[:4]]
    return ToolExecutionError(key, path=root, reason=shown(" ".join(lines)))


def _parse_status(output: str, operation: str, prefix: str) -> Status:
    """Parse `git status --porcelain=v2 --branch -z`; the format is described in git-status(1)."""
    headers: dict[str, str] = {}
    changes: list[Change] = []
    fields = iter(output.split("\0")[:-1])  # the last is empty, or torn where the output was cut
    for field in fields:
        kind, _, rest = field.partition(" ")
        match kind:
            case "#":
                name, _, headers[name] = rest.partition(" ")
            case "1":
                changes.append(Change(rest.split(" ", 7)[7], rest[0], rest[1]))
            case "2":
                changes.append(Change(rest.split(" ", 8)[8], rest[0], rest[1], next(fields, "")))
            case "u":
                changes.append(Change(rest.split(" ", 9)[9], rest[0], rest[1], conflict=True))
            case _:
                changes.append(Change(rest, kind, kind))
    branch, commit = headers.get("branch.head", ""), headers.get("branch.oid", "")
    ahead, _, behind = headers.get("branch.ab", "+0 -0").partition(" ")
    return Status(
        branch="" if branch == "(detached)" else branch,
        commit="" if commit == "(initial)" else commit,
        upstream=headers.get("branch.upstream", ""),
        ahead=abs(int(ahead)),
        behind=abs(int(behind)),
        operation=operation,
        changes=tuple(change.seen_from(prefix) for change in changes) if prefix else tuple(changes),
    )
