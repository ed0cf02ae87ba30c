"""What the tools of git show and do."""

import os
import posixpath
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import tr
from localllm.text.decoding import NotTextError, decode
from localllm.tools.context import ToolContext, closed_paths
from localllm.tools.guard.paths import ProjectRoot, shown
from localllm.tools.guard.rules import is_within
from localllm.tools.output import cap
from localllm.tools.registry import Preview, ToolOutput
from localllm.tools.repository import LARGEST_OUTPUT, Change, Repository, Status, by_kind, null_separated

_MOST_LISTED = 200
_MOST_NAMED = 10
_SHORT = 10  # characters of a hash that people and models are shown


def status(context: ToolContext) -> ToolOutput:
    """For git_status."""
    found = Repository(context.root.path).status(".")
    grouped = by_kind(found.changes)
    lines = [_where(found), *(line for kind, changes in grouped.items() for line in _section(kind, changes))]
    if not found.changes:
        lines.append(tr("git.clean"))
    names = {kind: [shown(change.path) for change in changes] for kind, changes in grouped.items()}
    counts = {kind: len(changes) for kind, changes in grouped.items()}
    return ToolOutput(
        payload={
            "branch": found.branch,
            **names,
            "ahead": found.ahead,
            "behind": found.behind,
            "operation": found.operation,
        },
        for_model=cap("\n".join(lines), context, "git_status"),
        summary=tr("git.counts", where=_where(found), **counts),
    )


def _where(status: Status) -> str:
    """The branch, what it follows, and what is going on."""
    commit = status.commit[:_SHORT]
    parts = [tr("git.branch", branch=shown(status.branch)) if status.branch else tr("git.detached", commit=commit)]
    if not status.commit:
        parts.append(tr("git.no_commits"))
    if status.ahead or status.behind:
        parts.append(tr("git.tracking", ahead=status.ahead, behind=status.behind, upstream=shown(status.upstream)))
    if status.operation:
        parts.append(tr("git.operation", operation=status.operation))
    return ", ".join(parts)


def _section(kind: str, changes: Sequence[Change]) -> Iterator[str]:
    if not changes:
        return
    yield tr(f"git.{kind}")
    for change in changes[:_MOST_LISTED]:
        letters = {"staged": change.staged, "modified": change.unstaged, "untracked": "?"}
        yield _line(letters.get(kind, change.staged + change.unstaged), change)
    if len(changes) > _MOST_LISTED:
        yield "  " + tr("git.more", count=len(changes) - _MOST_LISTED)


def _line(letters: str, change: Change) -> str:
    old = f"{shown(change.old_path)} -> " if change.old_path else ""
    return f"  {letters} {old}{shown(change.path)}"


_DIFF = (
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--submodule=short",
    "--ignore-submodules=dirty",
    "--relative",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)


def diff(context: ToolContext, path: str, kind: tuple[str, ...]) -> ToolOutput:
    """For git_diff; `kind` are the options that say which changes are compared."""
    repository = Repository(context.root.path)
    closed = closed_paths(context)
    excluded = [f":(exclude,literal){folder}" for folder in closed]
    raw = repository.run(*_DIFF, *kind, "--", f":(literal){path}", *excluded, literal=False)
    names = _names(repository.run(*_DIFF, *kind, "--name-only", "-z", "--", path))
    files = [shown(name) for name in names if not any(is_within(name, folder) for folder in closed)]
    text = _text(raw)
    if len(raw) == LARGEST_OUTPUT:
        text += "\n" + tr("git.diff_cut", megabytes=LARGEST_OUTPUT // 1_000_000)
    text = cap(text, context, "git_diff")
    told = text or tr("git.no_staged_diff" if kind else "git.no_diff")
    if len(files) < len(names):
        told = f"{told.rstrip()}\n{tr('git.closed', count=len(names) - len(files))}"
    return ToolOutput(
        payload={"diff": text, "files": files},
        for_model=told,
        summary=tr("git.diffed", count=len(files)),
    )


def _text(raw: bytes) -> str:
    """A diff as text, also where the files are in Shift_JIS or EUC-JP; what cannot be read is replaced."""
    try:
        return decode(raw).text
    except NotTextError:
        return raw.decode("utf-8", "replace")


def _names(output: bytes) -> list[str]:
    """The names in a list that ends each with NUL."""
    return os.fsdecode(output).split("\0")[:-1]


def log(context: ToolContext, count: int, path: str) -> ToolOutput:
    """For git_log."""
    repository = Repository(context.root.path)
    fields = _names(_log_of(repository, count, path)) if repository.head() else []
    commits = [
        {"hash": fields[i], "author": shown(fields[i + 1]), "date": fields[i + 2], "subject": shown(fields[i + 3])}
        for i in range(0, len(fields), 4)
    ]
    lines = [f"{c['hash'][:_SHORT]} {c['date'][:10]} {c['author']}: {c['subject']}" for c in commits]
    return ToolOutput(
        payload={"commits": commits},
        for_model=cap("\n".join(lines) or tr("git.no_commits"), context, "git_log"),
        summary=tr("git.logged", count=len(commits)),
    )


def _log_of(repository: Repository, count: int, path: str) -> bytes:
    return repository.run(
        "log",
        "--no-color",
        "--no-show-signature",
        "--encoding=UTF-8",
        "-z",
        "--format=tformat:%H%x00%an%x00%aI%x00%s",
        f"--max-count={count}",
        *(("--follow", "--", path) if path else ()),
    )


class _Plan(NamedTuple):
    """What a commit will hold: `changes`, as staged or, with `as_now`, as the files are now."""

    as_now: bool
    changes: Sequence[Change]
    left_out: Sequence[Change]


def preview_commit(context: ToolContext, message: str, files: Sequence[str] = ()) -> Preview:
    """What git_commit would commit."""
    plan = _plan(Repository(context.root.path), context.root, message, files)
    lines = [_line(_letter(change, as_now=plan.as_now), change) for change in plan.changes]
    summary = tr("git.preview", count=len(plan.changes), subject=_subject(message))
    return Preview(summary, "\n".join([message.strip(), "", *lines]))


def _plan(repository: Repository, root: ProjectRoot, message: str, files: Sequence[str]) -> _Plan:
    """Raises ToolExecutionError where there is nothing that can be committed."""
    if not message.strip():
        raise ToolExecutionError("git_no_message")
    plan = _choose(repository, root, files)
    if not plan.changes:
        raise ToolExecutionError("git_nothing_to_commit")
    if outside := [change.path for change in plan.changes if change.is_outside]:
        raise ToolExecutionError("git_staged_outside", path=shown(outside[0]), top=repository.top)
    if plan.as_now and (filtered := repository.own_filters(change.path for change in plan.changes)):
        path, name = next(iter(filtered.items()))
        raise ToolExecutionError("git_filtered", path=shown(path), filter=shown(name))
    return plan


def _choose(repository: Repository, root: ProjectRoot, files: Sequence[str]) -> _Plan:
    if files:
        paths = [git_path(root, file) for file in files]
        changes = repository.status(*paths, each_new=True).changes
        for path in paths:
            _refuse_pointless(path, changes, repository, root)
        return _Plan(as_now=True, changes=changes, left_out=())
    changes = repository.status().changes
    inside = by_kind(change for change in changes if not change.is_outside)
    everywhere = by_kind(changes)
    if staged := everywhere["staged"] + everywhere["conflicts"]:
        return _Plan(as_now=False, changes=staged, left_out=[*inside["modified"], *inside["untracked"]])
    return _Plan(as_now=True, changes=inside["modified"], left_out=inside["untracked"])


def _refuse_pointless(path: str, changes: Sequence[Change], repository: Repository, root: ProjectRoot) -> None:
    """Refuse a file that is ignored or does not exist; one that is as in the last commit may be named."""
    folder = "" if path == "." else path + "/"
    if any(path in (change.path, change.old_path) or change.path.startswith(folder) for change in changes):
        return
    if repository.is_ignored(path):
        raise ToolExecutionError("git_ignored", path=shown(path))
    if not os.path.lexists(root.path / path):
        raise root.missing(path)


def commit(context: ToolContext, message: str, files: Sequence[str]) -> ToolOutput:
    """For git_commit. Raises ToolExecutionError where there is nothing that can be committed."""
    repository = Repository(context.root.path)
    plan = _plan(repository, context.root, message, files)
    arguments = ("commit", "--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=whitespace", f"--message={message}")
    if plan.as_now:
        _commit_files(repository, arguments, plan.changes)
    else:
        repository.run(*arguments, writes=True)
    commit = repository.head()
    listed = repository.run("show", "-m", "--first-parent", "--relative", "--name-only", "--format=", "-z", commit)
    names = [shown(name) for name in _names(listed)]
    summary = tr("git.committed", hash=commit[:_SHORT], count=len(names), subject=_subject(message))
    return ToolOutput(
        payload={"hash": commit, "files": names, "message": message},
        for_model=cap("\n".join([summary, *_notes(repository, plan)]), context, "git_commit"),
        summary=" ".join([summary, *_notes(repository, plan)]),
    )


_FROM_STDIN = ("--pathspec-from-file=-", "--pathspec-file-nul")


def _commit_files(repository: Repository, arguments: tuple[str, ...], changes: Sequence[Change]) -> None:
    """Commit these files as they are now and nothing else of what is staged.

    git takes only files it knows for that, so the new ones are announced to it first, and forgotten if it fails.
    """
    paths = [path for change in changes for path in (change.path, change.old_path) if path]
    new = null_separated(change.path for change in changes if "untracked" in change.kinds)
    if new:
        repository.run("add", "--intent-to-add", *_FROM_STDIN, stdin=new, writes=True)
    try:
        repository.run(*arguments, "--only", *_FROM_STDIN, stdin=null_separated(paths), writes=True)
    except ToolExecutionError:
        if new:
            repository.run("rm", "--cached", "--quiet", "--force", *_FROM_STDIN, stdin=new, writes=True)
        raise


def _notes(repository: Repository, plan: _Plan) -> Iterator[str]:
    """What a person may have expected of the commit and did not get."""
    if plan.left_out:
        names = [shown(change.path) for change in plan.left_out[:_MOST_NAMED]]
        more = [tr("git.more", count=len(plan.left_out) - _MOST_NAMED)] if len(plan.left_out) > _MOST_NAMED else []
        yield tr("git.left_out", names=", ".join([*names, *more]))
    if hooks := repository.hooks():
        yield tr("git.hooks", names=", ".join(hooks))
    if repository.signs:
        yield tr("git.unsigned")


def _letter(change: Change, *, as_now: bool) -> str:
    if "untracked" in change.kinds:
        return "A"
    return change.unstaged if as_now and change.unstaged != "." else change.staged


def _subject(message: str) -> str:
    return shown(message.strip().splitlines()[0])


def git_path(root: ProjectRoot, file_path: str) -> str:
    """The path for git: as `root.relative` has it, but a link is itself, not what it points to."""
    folder, name = posixpath.split(file_path.rstrip("/"))
    if name not in ("", ".", "..") and (root.path / file_path.rstrip("/")).is_symlink():
        return posixpath.normpath(posixpath.join(root.relative(folder or "."), name))
    return root.relative(file_path)
