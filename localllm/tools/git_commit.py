"""Commit with git, or preview what would be committed."""

import asyncio
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import N_, Phrase, Phrases, ngettext
from localllm.base.regular_files import NO_LINK, READ, opened
from localllm.safety.path_names import shown
from localllm.safety.paths import ProjectRoot
from localllm.safety.rules import is_within
from localllm.safety.tool_definition import Preview, ToolOutput
from localllm.text.conflict_markers import marker_lines
from localllm.text.sanitising import clean
from localllm.tools.context import ToolContext, closed_paths
from localllm.tools.git_execution import LARGEST_OUTPUT, Question
from localllm.tools.git_reports import SHORT_HASH, change_line
from localllm.tools.git_repository import (
    Change,
    Commit,
    Repository,
    Status,
    WaysToCommit,
    by_kind,
    git_path,
    names_in,
    opened_repository,
    with_folders,
)
from localllm.tools.results import cap

if TYPE_CHECKING:
    from localllm.sandbox.runner import CommandResult

_MOST_NAMED = 10
_MOST_LINES = 20  # of the hooks' output


class _Plan(NamedTuple):
    """The content of a commit: `changes`, as staged or, with `as_now`, as the files are now; without untracked files
    that were not named (`left_out`) and those `closed` to reading by a rule. Of the staged ones, those `to_stage` are
    staged first, as they are now. `status` is of some files, or all."""

    status: Status
    as_now: bool
    changes: Sequence[Change]
    left_out: Sequence[Change] = ()
    closed: Sequence[Change] = ()
    to_stage: Sequence[Change] = ()

    @property
    def from_files(self) -> Sequence[Change]:
        """The changes that are taken from the files, not from what is staged."""
        return self.changes if self.as_now else self.to_stage


async def preview_commit(context: ToolContext, message: str, files: Sequence[str] = ()) -> Preview:
    """Preview a commit of git_commit."""
    message = clean(message)
    async with opened_repository(context, to_commit=True) as repository:
        plan = await _plan(repository, context, message, files)
        await _ways_to_commit(context, repository, message)
    notes = [str(note) for note in _where(plan.status)]
    lines = [*notes, *[""] * bool(notes), *(change_line(_letter(change, plan), change) for change in plan.changes)]
    summary = ngettext(
        "Commit {count} file: {subject}",
        "Commit {count} files: {subject}",
        len(plan.changes),
        subject=_subject(message),
    )
    return Preview(summary, "\n".join([message.strip(), "", *lines]))


async def _plan(repository: Repository, context: ToolContext, message: str, files: Sequence[str]) -> _Plan:
    """Plan the commit. Raises ToolExecutionError if nothing can be committed, or only by the user."""
    root = context.root
    if not message.strip():
        raise ToolExecutionError("git_no_message")
    plan = _without_closed(await _choose(repository, root, files, context.changed()), closed_paths(context), message)
    if not plan.changes and plan.status.operation != "merge":  # which may change nothing here
        raise _nothing_to_commit(plan)
    if outside := [change.path for change in plan.changes if change.is_outside]:
        raise ToolExecutionError("git_staged_outside", path=shown(outside[0]), top=repository.top)
    staged = [] if plan.as_now else [change for change in plan.changes if change not in plan.to_stage]
    if unlike := await _staged_unlike_files(repository, root, staged):
        raise ToolExecutionError(
            "git_staged_protected", paths=", ".join(map(shown, unlike)), message=quote(_subject(message))
        )
    if filtered := await repository.switched_off_filters(change.path for change in plan.from_files):
        path, name = next(iter(filtered.items()))
        raise ToolExecutionError("git_filtered", path=shown(path), filter=shown(name))
    if not repository.commits_in_sandbox and (link := _link_on_the_way(root, plan.from_files)):
        raise ToolExecutionError("git_behind_link", path=shown(link))
    return plan


def _link_on_the_way(root: ProjectRoot, changes: Sequence[Change]) -> str:
    """Return a link in place of a folder with changed files, or "": `git commit --only` would commit what is behind
    it."""
    paths = [path for change in changes for path in (change.path, change.old_path) if path]
    folders = sorted({str(folder) for path in paths for folder in PurePosixPath(path).parents[:-1]})
    return next((folder for folder in folders if os.path.islink(root.path / folder)), "")  # noqa: PTH114 - Path's may raise


def _without_closed(plan: _Plan, closed: Sequence[str], message: str) -> _Plan:
    """Remove the files that rules close to reading from the plan: commands could read them in the repository, and a
    sandbox that hides them commits other content. Raises ToolExecutionError if only they are left, or one is staged."""

    def is_closed(change: Change) -> bool:
        names = [name for name in (change.path, change.old_path) if name]
        return any(is_within(name, folder) for name in names for folder in closed)

    left = [change for change in plan.changes if is_closed(change)]
    rest = [change for change in plan.changes if not is_closed(change)]
    if left and not (plan.as_now and rest):
        raise ToolExecutionError("git_closed", paths=_named(left), message=quote(_subject(message)))
    return plan._replace(changes=rest, closed=left)


def _nothing_to_commit(plan: _Plan) -> ToolExecutionError:
    if plan.left_out:
        return ToolExecutionError("git_only_new", names=_named(plan.left_out))
    return ToolExecutionError("git_nothing_to_commit")


async def _staged_unlike_files(repository: Repository, root: ProjectRoot, changes: Sequence[Change]) -> list[str]:
    """Return the protected files with other content staged, which commands could not have written to them. Git's index
    may hide them, so git is not asked."""
    from localllm.sandbox.protect.protected_paths import is_protected

    paths = sorted(
        {path for change in changes for path in (change.path, change.old_path) if path and is_protected(path)}
    )
    if not paths:
        return []
    questions = [Question(("cat-file", "blob", f":./{path}"), also_good=(128,)) for path in paths]
    staged = await repository.ask(*questions)
    return [path for path, content in zip(paths, staged, strict=True) if content != _content_of(root.path / path)]


def _content_of(file: Path) -> bytes:
    """Return what git would stage for a file: empty if missing; for a link, its target."""
    try:
        if file.is_symlink():
            return os.fsencode(file.readlink())
        with opened(os.open(file, READ | NO_LINK)) as source:
            return source.read(LARGEST_OUTPUT).replace(b"\r\n", b"\n")
    except OSError:
        return b""


async def _choose(repository: Repository, root: ProjectRoot, files: Sequence[str], changed: Collection[str]) -> _Plan:
    """Choose what is committed: the `files`; without them what is staged, else what this session has changed of the
    tracked files, as the rest may be the user's unfinished work; all of them if it has changed nothing. New files have
    to be named, as commands leave some that nobody wants."""
    paths = [git_path(root, file) for file in files]
    named: Sequence[Change] = ()
    if paths:
        status = await repository.status(*paths, each_new=True)
        named = status.changes
        await _refuse_pointless(paths, named, repository, root)
        if not repository.commits_whole and not by_kind(named)["conflicts"]:
            return _Plan(status, as_now=True, changes=named)
    status = await repository.status()
    everywhere = by_kind(status.changes)
    inside = by_kind(change for change in status.changes if not change.is_outside)
    staged = everywhere["staged"] + everywhere["conflicts"]
    if not (staged or paths or repository.commits_whole):
        ours = set(changed)
        own = dict.fromkeys(one for one in inside["modified"] if not ours.isdisjoint((one.path, one.old_path)))
        left = [one for one in inside["modified"] if own and one not in own]
        if inside["modified"] and not own and (new := _made_in(inside["untracked"], ours)):
            raise ToolExecutionError(
                "git_only_own_new", names=_first_of(sorted(new)), others=_named(inside["modified"])
            )
        return _Plan(status, as_now=True, changes=[*own] or inside["modified"], left_out=[*left, *inside["untracked"]])
    await asyncio.to_thread(_refuse_conflicts, root, everywhere["conflicts"], {change.path for change in named})
    chosen = by_kind(named)
    to_stage = dict.fromkeys([*everywhere["conflicts"], *chosen["modified"], *chosen["untracked"]])
    others = [one for one in (*inside["modified"], *inside["untracked"]) if one not in to_stage]
    changes = [*dict.fromkeys([*staged, *to_stage])]
    return _Plan(status, as_now=False, changes=changes, left_out=others, to_stage=[*to_stage])


def _made_in(untracked: Sequence[Change], ours: Collection[str]) -> list[str]:
    """Return the files of `ours` that git does not track, of which it may name only the folder."""
    new = {change.path.rstrip("/") for change in untracked}
    return [path for path in ours if not new.isdisjoint(with_folders(path))]


def _refuse_conflicts(root: ProjectRoot, conflicts: Sequence[Change], named: Collection[str]) -> None:
    """Refuse conflicts that are not resolved: files with markers; and where one side deleted the file, or it is no
    text, those that were not named."""
    marked: list[str] = []
    unsure: list[Change] = []
    for change in conflicts:
        content = _content_of(root.path / change.path)
        if lines := marker_lines(content.decode("utf-8", "replace")):
            marked.append(f"{shown(change.path)}:{lines[0]}")
        elif not content or b"\0" in content or change.staged + change.unstaged not in ("UU", "AA"):
            unsure.append(change)
    if marked:
        places = ", ".join([*marked[:_MOST_NAMED], *("…" for _ in marked[_MOST_NAMED : _MOST_NAMED + 1])])
        raise ToolExecutionError("git_conflict_markers", places=places)
    if unnamed := [change for change in unsure if change.path not in named]:
        raise ToolExecutionError("git_unresolved", paths=_named(unnamed))


async def _refuse_pointless(
    paths: Sequence[str], changes: Sequence[Change], repository: Repository, root: ProjectRoot
) -> None:
    """Refuse files that are ignored, missing or in another repository; unchanged ones may be named."""
    changed = {
        above for change in changes for name in (change.path, change.old_path) if name for above in with_folders(name)
    }
    unchanged = [path for path in dict.fromkeys(paths) if path not in changed]
    if unchanged and (ignored := await repository.ignored(unchanged)):
        raise ToolExecutionError("git_ignored", path=shown(ignored[0]))
    for path in unchanged:
        if not os.path.lexists(root.path / path):  # noqa: ASYNC240 - fast
            raise root.missing(path)
        if inner := _repository_around(root, path):
            raise ToolExecutionError("git_in_another", path=shown(path), folder=shown(inner))


def _repository_around(root: ProjectRoot, path: str) -> str:
    """Return the folder of a submodule, or another repository in the project, that has the file; "" if none has."""
    folders = map(str, PurePosixPath(path).parents[:-1])
    return next((folder for folder in folders if os.path.lexists(root.path / folder / ".git")), "")


async def commit(context: ToolContext, message: str, files: Sequence[str]) -> ToolOutput:
    """Commit, for git_commit. Raises ToolExecutionError if nothing can be committed, or only by the user."""
    message = clean(message)  # as the question shows it: a terminal obeys what `git log` and others print of it
    async with opened_repository(context, to_commit=True) as repository:
        plan = await _plan(repository, context, message, files)
        remarks = await _make(context, repository, _commit_of(plan, message))
        head = await repository.head()
        listed = await repository.run(
            Question(("show", "-m", "--first-parent", "--relative", "--name-only", "--format=", "-z", head))
        )
    names = [shown(name) for name in names_in(listed)]
    committed = Phrase(
        N_("Committed {hash} ({count} file): {subject}", "Committed {hash} ({count} files): {subject}"),
        hash=head[:SHORT_HASH],
        count=len(names),
        subject=_subject(message),
    )
    said = Phrases([committed, *_where(plan.status), *_left_out(plan), *remarks])
    return ToolOutput(
        payload={"hash": head, "files": names, "message": message},
        for_model=cap("\n".join(said.each_english), context, "git_commit"),
        summary=said,
    )


def _commit_of(plan: _Plan, message: str) -> Commit:
    if not plan.as_now:
        return Commit(message, staged=[change.path for change in plan.to_stage])
    paths = [path for change in plan.changes for path in (change.path, change.old_path) if path]
    return Commit(message, paths, [change.path for change in plan.changes if "untracked" in change.kinds])


async def _ways_to_commit(context: ToolContext, repository: Repository, message: str) -> WaysToCommit:
    """Return what the user's settings require of a commit. Raises ToolExecutionError if only the user can do that."""
    ways = await repository.ways_to_commit()
    if ways.signs:
        raise ToolExecutionError("git_signs", message=quote(_subject(message)))
    if repository.keeps_changes_aside and not repository.commits_in_sandbox:
        raise ToolExecutionError("git_kept_aside", message=quote(_subject(message)))
    if ways.hooks and not (repository.commits_in_sandbox and context.runner.shows(ways.hooks_folder)):
        names, folder = ", ".join(ways.hooks), ways.hooks_folder
        raise ToolExecutionError("git_hooks_left", names=names, folder=folder, message=quote(_subject(message)))
    return ways


async def _make(context: ToolContext, repository: Repository, commit: Commit) -> list[Phrase]:
    """Commit as the user's settings require, or not at all; return remarks."""
    ways = await _ways_to_commit(context, repository, commit.message)
    if not repository.commits_in_sandbox:
        await repository.commit_outside(commit)
        return []
    script, given = repository.commit_script(commit, ways.hooks_folder)
    seconds = context.settings.safety.command_timeout
    result = await context.runner.run(script, cwd=context.root.path, timeout=seconds, files=given)
    names = ", ".join(ways.hooks)
    if result.return_code:
        raise _not_committed(repository, result, names, quote(_subject(commit.message)))
    from localllm.tools.command_reports import remarks_on  # not needed at the start

    return [*([Phrase("Hooks run in the sandbox: {names}.", names=names)] if names else []), *remarks_on(result)]


def _not_committed(repository: Repository, result: "CommandResult", names: str, message: str) -> ToolExecutionError:
    error = repository.failure(result.stderr or result.stdout)
    if result.timed_out:
        return ToolExecutionError(
            "git_failed", reason=Phrase("it did not answer within {seconds:.0f} s", seconds=result.execution_time)
        )
    if names and error.key == "git_failed":
        return ToolExecutionError("git_hook_failed", reason=_last_lines(result), names=names, message=message)
    return error


def _last_lines(result: "CommandResult") -> str:
    lines = [line for line in f"{result.stdout}\n{result.stderr}".splitlines() if line.strip()]
    return shown("\n".join(lines[-_MOST_LINES:]))


def _where(status: Status) -> Iterator[Phrase]:
    """Yield what a commit here means for an operation in progress, and that it is on no branch."""
    if status.goes_on:
        yield Phrase(
            "A {operation} is in progress: git {operation} --continue goes on with it.", operation=status.operation
        )
    elif status.operation in ("merge", "cherry-pick", "revert"):
        yield Phrase("This concludes the {operation}.", operation=status.operation)
    elif not status.branch and status.commit:
        if status.operation == "bisect":
            yield Phrase("A bisect is in progress: no branch has this commit, and git bisect reset leaves it behind.")
        else:
            yield Phrase("HEAD is detached: no branch has this commit.")


def _left_out(plan: _Plan) -> Iterator[Phrase]:
    """Yield what the user may have expected in the commit."""
    if plan.left_out:
        yield Phrase("Not in this commit: {names}. Name them in files to commit them.", names=_named(plan.left_out))
    if plan.closed:
        yield Phrase("Not in this commit, because a rule forbids reading them: {names}.", names=_named(plan.closed))


def _named(changes: Sequence[Change]) -> Phrases:
    """Format the paths of the first changes, and the number of others."""
    return _first_of([change.path for change in changes])


def _first_of(paths: Sequence[str]) -> Phrases:
    """Format the first paths, and the number of others."""
    names = [shown(path) for path in paths[:_MOST_NAMED]]
    left = len(paths) - len(names)
    return Phrases([*names, *([Phrase("[and {count} more]", count=left)] if left else [])], ", ")


def _letter(change: Change, plan: _Plan) -> str:
    if "untracked" in change.kinds:
        return "A"
    return change.unstaged if change in plan.from_files and change.unstaged != "." else change.staged


def _subject(message: str) -> str:
    return shown(next(iter(message.strip().splitlines()), ""))
