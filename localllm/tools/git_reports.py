"""Report the status, diffs and log of a repository."""

from collections.abc import Iterator, Sequence

from localllm.base.i18n import N_, Phrase, Phrases
from localllm.safety.path_names import shown
from localllm.safety.tool_definition import ToolOutput
from localllm.text.decoding import NotTextError, decode
from localllm.tools.context import ToolContext, not_shown
from localllm.tools.git_execution import LARGEST_OUTPUT, Question
from localllm.tools.git_repository import Change, Status, by_kind, names_in, opened_repository
from localllm.tools.results import cap

_SECTIONS = {
    "staged": "staged:",
    "modified": "not staged:",
    "untracked": "new, not tracked:",
    "conflicts": "in conflict:",
}

_MOST_LISTED = 200

SHORT_HASH = 10
"""Characters of a hash shown to user and model."""


async def status(context: ToolContext) -> ToolOutput:
    """Report the status, for git_status."""
    async with opened_repository(context) as repository:
        found = await repository.status(".")
    grouped, where = by_kind(found.changes), _where(found)
    lines = [where.english, *(line for kind, changes in grouped.items() for line in _section(kind, changes))]
    if not found.changes:
        lines.append("nothing has changed")
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
        summary=Phrase(
            "{where}: {staged} staged, {modified} not staged, {untracked} new, {conflicts} in conflict",
            where=where,
            **counts,
        ),
    )


def _where(status: Status) -> Phrases:
    """Describe the branch, its upstream, and an operation in progress."""
    commit = status.commit[:SHORT_HASH]
    parts = [
        Phrase("on branch {branch}", branch=shown(status.branch))
        if status.branch
        else Phrase("detached at {commit}", commit=commit)
    ]
    if not status.commit:
        parts.append(Phrase("no commits yet"))
    if status.ahead or status.behind:
        parts.append(
            Phrase(
                "{ahead} ahead and {behind} behind {upstream}",
                ahead=status.ahead,
                behind=status.behind,
                upstream=shown(status.upstream),
            )
        )
    if status.operation:
        parts.append(Phrase("{operation} in progress", operation=status.operation))
    return Phrases(parts, ", ")


def _section(kind: str, changes: Sequence[Change]) -> Iterator[str]:
    if not changes:
        return
    yield _SECTIONS[kind]
    for change in changes[:_MOST_LISTED]:
        letters = {"staged": change.staged, "modified": change.unstaged, "untracked": "?"}
        yield change_line(letters.get(kind, change.staged + change.unstaged), change)
    if len(changes) > _MOST_LISTED:
        yield "  " + f"[and {len(changes) - _MOST_LISTED} more]"


def change_line(letters: str, change: Change) -> str:
    """Format a changed file, after the letters of its change."""
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


async def diff(context: ToolContext, path: str, kind: tuple[str, ...]) -> ToolOutput:
    """Report a diff, for git_diff; `kind` are the options that select the compared changes."""
    hidden = not_shown(context, path)
    excluded = [f":(exclude,literal){folder}" for folder in hidden.paths]
    async with opened_repository(context) as repository:
        raw, listed = await repository.ask(
            Question((*_DIFF, *kind, "--", f":(literal){path}", *excluded), literal=False),
            Question((*_DIFF, *kind, "--name-only", "-z", "--", path)),
        )
    names = names_in(listed)
    files = [shown(name) for name in names if not hidden.hides(name)]
    text = _text(raw)
    if len(raw) == LARGEST_OUTPUT:
        text += "\n" + f"[the difference is longer than {LARGEST_OUTPUT // 1_000_000} MB; give a file_path]"
    text = cap(text, context, "git_diff")
    told = text or (
        "[nothing is staged]" if kind else "[no difference; staged changes show with staged=true, new files not at all]"
    )
    if len(files) < len(names):
        told = f"{told.rstrip()}\n{hidden.note(len(names) - len(files), 'changed')}"
    return ToolOutput(
        payload={"diff": text, "files": files},
        for_model=told,
        summary=Phrase(N_("{count} file differs", "{count} files differ"), count=len(files)),
    )


def _text(raw: bytes) -> str:
    """Decode a diff, also of files in Shift_JIS or EUC-JP; undecodable bytes are replaced."""
    try:
        return decode(raw).text
    except NotTextError:
        return raw.decode("utf-8", "replace")


async def log(context: ToolContext, count: int, path: str) -> ToolOutput:
    """Report the log, for git_log."""
    async with opened_repository(context) as repository:
        fields = names_in(await repository.run(_log_of(count, path)))
    commits = [
        {"hash": fields[i], "author": shown(fields[i + 1]), "date": fields[i + 2], "subject": shown(fields[i + 3])}
        for i in range(0, len(fields), 4)
    ]
    lines = [f"{c['hash'][:SHORT_HASH]} {c['date'][:10]} {c['author']}: {c['subject']}" for c in commits]
    return ToolOutput(
        payload={"commits": commits},
        for_model=cap("\n".join(lines) or "no commits yet", context, "git_log"),
        summary=Phrase(N_("{count} commit", "{count} commits"), count=len(commits)),
    )


def _log_of(count: int, path: str) -> Question:
    """Return the log command; its output is empty before the first commit."""
    options = ("--no-color", "--no-show-signature", "--encoding=UTF-8", "-z", f"--max-count={count}")
    commits = ("--ignore-missing", "--format=tformat:%H%x00%an%x00%aI%x00%s", "HEAD")
    return Question(("log", *options, *commits, *(("--follow", "--", path) if path else ())))
