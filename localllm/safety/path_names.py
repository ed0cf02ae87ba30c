"""Names of paths in a project: as users and models may see them, and those that are refused."""

from collections.abc import Sequence

from localllm.base.directory_walk import DEEPEST
from localllm.base.errors import SafetyViolationError
from localllm.base.i18n import Phrase
from localllm.text.sanitising import clean

_MOST_NAMED = 20


def shown(file_path: str) -> str:
    """Return a path as users and models may see it: on one line, without invisible characters."""
    return clean(file_path, keep_newlines=False)


def some_of(names: Sequence[str]) -> str:
    """Return the first names, and the number of further ones."""
    more = f", … (+{len(names) - _MOST_NAMED})" if len(names) > _MOST_NAMED else ""
    return ", ".join(map(shown, names[:_MOST_NAMED])) + more


def refuse_odd(file_path: str) -> None:
    """Refuse what is no path of a project file: misleading names, and addresses."""
    if not file_path:
        reason = Phrase("it is empty")
    elif shown(file_path) != file_path:
        reason = Phrase("it holds control or invisible characters")
    elif file_path.startswith("~"):
        reason = Phrase("“~” is not expanded")
    elif "://" in file_path:
        reason = Phrase("it is an address, not a file")
    elif len(file_path.split("/")) > DEEPEST:
        reason = Phrase("it is more than {count} folders deep", count=DEEPEST)
    else:
        return
    raise SafetyViolationError("path_invalid", path=shown(file_path[:200]), reason=reason)
