"""The project's git repository: queries and commits for the tools.

How git is run safely is in `git_execution`.
"""

import asyncio
import os
import posixpath
import re
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import lru_cache
from pathlib import Path, PurePosixPath
from shlex import join, quote
from typing import NamedTuple

from localllm.base.errors import ToolExecutionError
from localllm.safety.path_names import shown
from localllm.safety.paths import ProjectRoot
from localllm.sandbox.command_runner import CommandRunner
from localllm.sandbox.dotfiles import git_settings_of_user
from localllm.sandbox.protect.repositories.git_index import IndexCheck
from localllm.sandbox.protect.repositories.repository import Place, RepositoryCheck, find_place
from localllm.tools.commit_remarks import hooks_in
from localllm.tools.context import ToolContext, not_shown
from localllm.tools.git_execution import (
    ENVIRONMENT,
    LIST_SETTINGS,
    SETTINGS,
    Answer,
    Git,
    Question,
    SandboxedGit,
    UnsandboxedGit,
    configured,
    exported,
    no_further_than,
    program_of,
    settings_by_scope,
)
from localllm.tools.merge_state import operation_in

KINDS = ("conflicts", "staged", "modified", "untracked")


class Change(NamedTuple):
    """A file that differs from the last commit.

    `staged` and `unstaged` are git's letters, "." for none: M modified, A added, D deleted, R renamed (from
    `old_path`), C copied, T type changed. For an untracked file both are "?", for an ignored one "!".
    """

    path: str
    staged: str
    unstaged: str
    old_path: str = ""
    conflict: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """The KINDS it belongs to: a file may be staged and modified again."""
        if self.conflict:
            return ("conflicts",)
        if self.staged in "?!":
            return ("untracked",) if self.staged == "?" else ()
        return ("staged",) * (self.staged != ".") + ("modified",) * (self.unstaged != ".")

    @property
    def is_outside(self) -> bool:
        """Whether it lies outside the folder its path is relative to."""
        return self.path.startswith("../")

    def seen_from(self, folder: str) -> "Change":
        """Return the change with paths relative to `folder`, which ends with "/"."""
        old_path = _seen_from(folder, self.old_path) if self.old_path else ""
        return self._replace(path=_seen_from(folder, self.path), old_path=old_path)


def _seen_from(folder: str, path: str) -> str:
    inside = path.startswith(folder)
    return path.removeprefix(folder) or "./" if inside else posixpath.relpath(path, folder)


class Status(NamedTuple):
    """`branch` is "" on a detached HEAD, `commit` "" before the first one;
    `operation` in progress: "merge", "rebase", "cherry-pick", "revert", "bisect" or ""; `goes_on`: further commits
    follow the one that it stopped at."""

    branch: str
    commit: str
    upstream: str
    ahead: int
    behind: int
    operation: str
    goes_on: bool
    changes: tuple[Change, ...]


def by_kind(changes: Iterable[Change]) -> dict[str, list[Change]]:
    """Group the changes by KINDS."""
    grouped: dict[str, list[Change]] = {kind: [] for kind in KINDS}
    for change in changes:
        for kind in change.kinds:
            grouped[kind].append(change)
    return grouped


class Repository:
    """The repository that contains the folder `root`. Open it for each call, as settings change.

    `top` is the repository's root. Paths are relative to `root`; those outside it begin with "../". Every method raises
    ToolExecutionError: git_not_a_repository, git_not_owned, git_missing, git_failed.
    """

    def __init__(self, root: Path, place: Place, git: Git) -> None:
        self._root = root
        self._place = place
        self._git = git
        self.top = place.top

    @property
    def is_in_sandbox(self) -> bool:
        """Whether git runs in the sandbox."""
        return isinstance(self._git, SandboxedGit)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders with the files and the data of the repository."""
        return (self.top, self._place.folder, self._place.common)

    @property
    def commits_in_sandbox(self) -> bool:
        """Whether it can commit there as well: commands cannot write to repositories outside the project."""
        data = (self._place.folder, self._place.common)
        return self.is_in_sandbox and all(folder.is_relative_to(self._root) for folder in data)

    async def run(self, question: Question) -> bytes:
        """Return the answer to one question."""
        return (await self.ask(question))[0]

    async def ask(self, *questions: Question) -> list[bytes]:
        """Return the answers to several questions, run together."""
        answers = await self._git.ask(questions)
        return [self.checked(question, answer) for question, answer in zip(questions, answers, strict=True)]

    def checked(self, question: Question, answer: Answer) -> bytes:
        """Return the output. Raises ToolExecutionError if git failed."""
        if answer.code and answer.code not in question.also_good:
            raise self.failure(answer.errors)
        return answer.output

    def failure(self, errors: str) -> ToolExecutionError:
        """Return the error that explains git's message."""
        key = next((key for text, key in _FAILURES.items() if text in errors), "git_failed")
        lines = _OWN_WORDS.findall(errors)[:4]
        return ToolExecutionError(key, path=self._root, reason=shown(" ".join(lines)))

    async def status(self, *paths: str, each_new: bool = False) -> "Status":
        """Return how the files at `paths` (none: the whole repository) differ from the last commit.
        `each_new` lists every new file instead of the topmost new folder."""
        options = ("--porcelain=v2", "--branch", "--ahead-behind", "--null", "--ignore-submodules=dirty")
        new_files = f"--untracked-files={'all' if each_new else 'normal'}"
        output = await self.run(Question(("status", *options, new_files, "--", *paths)))
        prefix = "" if self._root == self.top else f"{self._root.relative_to(self.top)}/"
        return _parse_status(os.fsdecode(output), *operation_in(self._place.folder), prefix)

    def _has(self, mark: str) -> bool:
        return os.path.lexists(self._place.folder / mark)

    @property
    def commits_whole(self) -> bool:
        """Whether the next commit ends a merge or a picked commit: git makes such a commit only of all that is
        staged."""
        return self._has("MERGE_HEAD") or self._has("CHERRY_PICK_HEAD")

    @property
    def keeps_changes_aside(self) -> bool:
        """Whether the next commit would restore what a merge has stashed."""
        return os.path.lexists(self._place.folder / "MERGE_AUTOSTASH")

    async def head(self) -> str:
        """Return the last commit; "" before the first one."""
        return (await self.run(_HEAD)).decode().strip()

    async def switched_off_filters(self, paths: Iterable[str]) -> dict[str, str]:
        """Return those of `paths` with a filter that is disabled, as only the repository defines it."""
        if not isinstance(self._git, UnsandboxedGit) or not self._git.switched_off:
            return {}
        question = Question(("check-attr", "-z", "--stdin", "filter"), null_separated(paths))
        fields = os.fsdecode(await self.run(question)).split("\0")
        filters = zip(fields[:-1:3], fields[2::3], strict=True)
        return {path: name for path, name in filters if name in self._git.switched_off}

    async def ignored(self, paths: Sequence[str]) -> list[str]:
        """Return those of the unchanged or untracked `paths` that are ignored, or folders with something ignored."""
        options = ("--porcelain=v2", "--ignored", "--null", "--ignore-submodules=dirty")  # whatever .gitmodules says
        listed = os.fsdecode(await self.run(Question(("status", *options, "--", *paths)))).split("\0")
        prefix = "" if self._root == self.top else f"{self._root.relative_to(self.top)}/"
        ignored = {name[2:].rstrip("/") for name in listed if name.startswith("! ")}
        if not ignored.isdisjoint(with_folders(prefix.rstrip("/"))):
            return list(paths)  # the whole project, in a repository around it
        names = {name.removeprefix(prefix) for name in ignored}
        around = {above for name in names for above in with_folders(name)}
        return [path for path in paths if path in around or not names.isdisjoint(with_folders(path))]

    async def ways_to_commit(self) -> "WaysToCommit":
        """Return what the user's and the repository's settings require of a commit."""
        machine, own = settings_by_scope(await self.run(LIST_SETTINGS), self._root)
        user = {f"{one.section}.{one.name}": one.value for one in git_settings_of_user(os.environ, self._root)}
        settings = machine | user | own
        path = settings.get("core.hookspath", "")
        folder = self.top / os.path.expanduser(path) if path else self._place.common / "hooks"  # noqa: ASYNC240, PTH111
        return WaysToCommit(
            signs=settings.get("commit.gpgsign", "").lower() in ("true", "yes", "on", "1"),
            hooks=hooks_in(folder),
            hooks_folder=folder,
        )

    def commit_script(self, commit: "Commit", hooks_folder: Path) -> tuple[str, dict[str, bytes]]:
        """Return a bash script that commits in the sandbox, and the files it reads from $TMPDIR."""
        settings = {**SETTINGS, "core.hooksPath": str(hooks_folder)}
        people = {name: value for name in _PEOPLE if (value := os.environ.get(name))}
        known = {**ENVIRONMENT, **no_further_than(self.top), "GIT_OPTIONAL_LOCKS": "1"}
        variables = {**known, **configured(settings), **people}
        git = quote(program_of(self._root))
        given = ' <"$TMPDIR/{}"'.format
        make = f"{git} {join(commit.arguments())}{given('paths') if commit.paths else ''}"
        lines = [*exported(variables), "export GIT_LITERAL_PATHSPECS=1"]
        if commit.staged:
            lines.append(f"{git} {join(_STAGE)}{given('staged')} || exit")
        if commit.new:
            lines.append(f"{git} {join(_ANNOUNCE)}{given('new')} || exit")
            make += f" || {{ code=$?; {git} {join(_FORGET)}{given('new')}; exit $code; }}"
        files = {name: null_separated(getattr(commit, name)) for name in ("paths", "new", "staged")}
        return "\n".join([*lines, make]), files

    async def commit_outside(self, commit: "Commit") -> None:
        """Commit outside the sandbox, without hooks."""
        git = self._git
        if not isinstance(git, UnsandboxedGit):
            raise TypeError(git)
        new, paths = null_separated(commit.new), null_separated(commit.paths)
        if new:
            await self._change(git, Question(_ANNOUNCE, new))
        if commit.staged:
            await self._change(git, Question(_STAGE, null_separated(commit.staged)))
        try:
            await self._change(git, Question((*commit.arguments(), "--no-verify"), paths))
        except ToolExecutionError:
            if new:
                with suppress(ToolExecutionError):  # why the commit failed matters more
                    await self._change(git, Question(_FORGET, new))
            raise

    async def _change(self, git: UnsandboxedGit, question: Question) -> None:
        answers = await asyncio.to_thread(git.ask_now, [question], writes=True)
        self.checked(question, answers[0])


class WaysToCommit(NamedTuple):
    """`hooks`: those a commit by hand would run, in `hooks_folder`."""

    signs: bool
    hooks: tuple[str, ...]
    hooks_folder: Path


class Commit(NamedTuple):
    """A commit to be made: of `paths` as the files are now, or, without any, of what is staged.

    git accepts only known files, so the `new` ones are announced first (intent to add), and removed if it fails.
    `staged` are staged as they are now, and stay so.
    """

    message: str
    paths: Sequence[str] = ()
    new: Sequence[str] = ()
    staged: Sequence[str] = ()

    def arguments(self) -> tuple[str, ...]:
        """Return git's arguments; the paths are passed on standard input."""
        options = ("--quiet", "--no-gpg-sign", "--cleanup=whitespace", f"--message={self.message}")
        return ("commit", *options, *(("--only", *_FROM_STDIN) if self.paths else ()))


_FROM_STDIN = ("--pathspec-from-file=-", "--pathspec-file-nul")
_ANNOUNCE = ("add", "--intent-to-add", *_FROM_STDIN)
_STAGE = ("add", "--all", *_FROM_STDIN)
_FORGET = ("update-index", "--force-remove", "-z", "--stdin")  # `git rm` takes no paths from a file in a subfolder
_PEOPLE = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
_HEAD = Question(("rev-parse", "--verify", "--quiet", "HEAD"), also_good=(1,))


@lru_cache(maxsize=4)
def _checks_of(root: Path) -> tuple[RepositoryCheck, IndexCheck]:
    """Return the checks of a root, cached with what they have verified."""
    del root
    return RepositoryCheck(), IndexCheck()


@asynccontextmanager
async def opened_repository(context: ToolContext, *, to_commit: bool = False) -> AsyncGenerator[Repository]:
    """Open the repository that contains the project, for a `with` block.

    Where git has to run outside the sandbox, no command runs or starts meanwhile: it could exchange what git reads and
    writes for links to elsewhere. Nor is there a commit in the sandbox beside another command. Raises
    ToolExecutionError git_not_a_repository, git_leads_out, git_index_refused, git_background, git_other_program,
    git_commit_background, git_commit_beside.
    """
    root, runner = context.root.path, context.runner
    repository = await _open(root, runner, is_guarded=bool(not_shown(context, ".").paths))
    if repository.commits_in_sandbox if to_commit else repository.is_in_sandbox:
        if to_commit:
            await _refuse_beside_commands(context)
        yield repository
        return
    with ExitStack() as stack:
        if await asyncio.to_thread(lambda: runner.level) != "none":
            if context.background.is_any_running:
                raise ToolExecutionError("git_background")
            try:
                is_alone = stack.enter_context(runner.hold_off(repository.folders))
            except OSError as error:
                raise ToolExecutionError(
                    "git_failed", reason=shown(str(error) or "the records of commands are locked")
                ) from error
            if not is_alone:
                raise ToolExecutionError("git_other_program")
        yield await _open(root, runner, outside=True)


async def _refuse_beside_commands(context: ToolContext) -> None:
    """Refuse to commit while a command runs: git does not check whether the last commit is what its name says, and a
    forged one, put back before anybody looks, hides from the question what is staged."""
    if context.background.is_any_running:
        raise ToolExecutionError("git_commit_background")
    if await asyncio.to_thread(lambda: context.runner.has_others):
        raise ToolExecutionError("git_commit_beside")


async def _open(root: Path, runner: CommandRunner, *, outside: bool = False, is_guarded: bool = False) -> Repository:
    """Find the repository that contains `root`, verify it, and decide where git runs.

    It runs in the sandbox, except `outside` if requested, if there is no sandbox, or if that hides the repository.
    `is_guarded`: see SandboxedGit.
    Raises ToolExecutionError git_not_a_repository, git_leads_out, git_index_refused.
    """

    def find() -> Repository:
        place = find_place(root)
        if place is None:
            raise ToolExecutionError("git_not_a_repository", path=root)
        in_sandbox = not outside and runner.can_inspect and all(map(runner.shows, _needed(place)))
        leads, index = _checks_of(root)
        leads.refuse_leads(place, root, None if in_sandbox else _included_by_user())
        index.refuse_paths(place)
        inside = SandboxedGit(root, place.top, runner, is_guarded=is_guarded)
        return Repository(root, place, inside if in_sandbox else UnsandboxedGit(root, place.top))

    return await asyncio.to_thread(find)


class Examined(NamedTuple):
    """`nameless`: the error if git lacks the committer's identity."""

    version: str
    top: Path
    nameless: ToolExecutionError | None


def examine_repository(root: Path) -> Examined:
    """Query git and the repository of `root`, outside the sandbox. Raises ToolExecutionError."""
    place = find_place(root)
    if place is None:
        raise ToolExecutionError("git_not_a_repository", path=root)
    RepositoryCheck().refuse_leads(place, root, _included_by_user())
    IndexCheck().refuse_paths(place)
    git = UnsandboxedGit(root, place.top)
    repository = Repository(root, place, git)
    questions = (Question(("version",)), Question(("var", "GIT_COMMITTER_IDENT")))
    version, identity = git.ask_now(questions)
    number = os.fsdecode(repository.checked(questions[0], version)).removeprefix("git version").strip()
    return Examined(number, place.top, repository.failure(identity.errors) if identity.code else None)


def _needed(place: Place) -> tuple[Path, ...]:
    return place.folder, place.common, place.common / "config"


def _included_by_user() -> list[Path]:
    """Return the files included by the user's own git settings."""
    home = Path.home()
    values = [one.value for one in git_settings_of_user(os.environ) if one.section in ("include", "includeif")]
    return [Path(os.path.realpath(home / value.removeprefix("~/"))) for value in values]


def null_separated(paths: Iterable[str]) -> bytes:
    """Encode paths for git's standard input with -z or --pathspec-file-nul."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def names_in(output: bytes) -> list[str]:
    """Split a NUL-terminated list of names."""
    return os.fsdecode(output).split("\0")[:-1]


def git_path(root: ProjectRoot, file_path: str) -> str:
    """Return the path for git: like `root.relative`, but a link stays itself."""
    folder, name = posixpath.split(file_path.rstrip("/"))
    here = root.path / file_path.rstrip("/")
    if name not in ("", ".", "..") and os.path.islink(here):  # noqa: PTH114 - pathlib raises for overlong names
        return posixpath.normpath(posixpath.join(root.relative(folder or "."), name))
    return root.relative(file_path)


_OWN_WORDS = re.compile(r"^(?:fatal|error|warning): (.*)", re.MULTILINE)
"""Git's own messages: other lines quote files, which may lie outside the project."""

_FAILURES = {
    "not a git repository": "git_not_a_repository",
    "cannot use bare repository": "git_not_a_repository",
    "must be run in a work tree": "git_not_a_repository",
    "dubious ownership": "git_not_owned",
    "tell me who you are": "git_no_identity",
}
"""Git's messages (in English) and the errors that explain them."""


def _parse_status(output: str, operation: str, goes_on: bool, prefix: str) -> Status:
    """Parse `git status --porcelain=v2 --branch -z`, as described in git-status(1)."""
    headers: dict[str, str] = {}
    changes: list[Change] = []
    fields = iter(output.split("\0")[:-1])  # the last is empty, or truncated
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
        goes_on=goes_on,
        changes=tuple(change.seen_from(prefix) for change in changes) if prefix else tuple(changes),
    )


def with_folders(path: str) -> Iterator[str]:
    """Yield a path below the project and the folders above it, the project as "."."""
    yield path
    yield from map(str, PurePosixPath(path).parents)
