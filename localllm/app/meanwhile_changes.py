"""Tell the model of a resumed session which of the files that it knows were changed or taken away meanwhile."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from localllm.base.errors import LocalLLMError
from localllm.context.pruning import with_calls
from localllm.llm.messages import AssistantMessage, Message, ToolMessage, path_of
from localllm.safety.path_names import shown, some_of
from localllm.safety.paths import ProjectRoot
from localllm.snapshots.change_log import Transition
from localllm.snapshots.file_state import look

_MOST = 200
"""Files that are looked at, those that were read last first."""


def changed_meanwhile(
    folder: Path, made: Sequence[Transition], messages: Sequence[Message], since: float, memory: str
) -> str:
    """Return one line for the model, "" if there is nothing.

    `made` are the session's own changes: of the files that it names, the states are compared. `since` is when its last
    request came, in seconds since the epoch (0: none did): with it the time of a file that was only read is compared.
    `memory` is a file of which the model is told elsewhere.
    """
    if not since:
        return ""
    root = ProjectRoot(folder).for_any_name()
    said = "\n".join(_words(messages))
    own = {one.path: one.after for one in made}
    named = islice((path for path in reversed(own) if path.rpartition("/")[2] in said), _MOST)
    changed: list[str] = []
    gone: list[str] = []
    newest_read = list(_read(root, messages))[::-1]
    for path in islice(dict.fromkeys([*newest_read, *named]), _MOST):
        if path == memory:
            continue
        try:
            is_there = root.exists(path)
            is_other = look(root, path) != own[path] if path in own else not is_there or _time(root, path) > since
        except (LocalLLMError, OSError):
            continue
        if is_other:
            (changed if is_there else gone).append(path)
    parts = [f"{what}: {some_of(sorted(paths))}" for what, paths in (("changed", changed), ("gone", gone)) if paths]
    return f"[Since you last saw them: {'; '.join(parts)}. Read them again before you edit them.]" if parts else ""


def _time(root: ProjectRoot, path: str) -> float:
    return root.stat(path).st_mtime


def _words(messages: Sequence[Message]) -> Iterator[str]:
    for one in messages:
        yield one.text
        yield from (call.arguments for call in one.tool_calls) if isinstance(one, AssistantMessage) else ()


def _read(root: ProjectRoot, messages: Sequence[Message]) -> Iterator[str]:
    """Yield the files that were read with success: the result begins with their name."""
    for one, call in with_calls(messages):
        if isinstance(one, ToolMessage) and one.name == "read_file":
            try:
                path = root.relative(path_of(call))
            except LocalLLMError:
                continue
            if one.text.startswith(f"{shown(path)} ("):
                yield path
