"""Find files that the request names, and that a run has made without anything in them."""

import re
from collections.abc import Iterable, Iterator

from localllm.agent.checks.findings import Finding
from localllm.agent.checks.run_facts import RunFacts, is_code
from localllm.agent.phrases import answer_phrases as phrases
from localllm.agent.phrases.phrase_search import sentences_in
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.safety.path_names import shown
from localllm.snapshots.change_log import Transition
from localllm.snapshots.file_state import ABSENT
from localllm.tools.tool_system import ToolSystem

_MARKERS = frozenset({"__init__.py", "py.typed", ".gitkeep", ".keep", ".nojekyll", "conftest.py"})
"""Files that are often empty."""
_EMPTY = late_pattern(
    r"\b(?:empty|blank|touch|placeholders?|marker|no (?:content|text|lines)|nothing in it|0 (?:bytes|lines))\b"
    r"|空(?:の|で|に|フ|、|。|っぽ)|から(?:の|っぽ)ファイル|0 ?(?:バイト|行)|中身(?:は|が)?(?:な|無|あり)",
    re.IGNORECASE,
)
_ONLY_MAKES = late_pattern(
    r"\b(?:please|can|could|you|then|and|now|also|create|make|add|write|generate|put|a|an|the|new|files?|named|called|name|as|in|into"
    r"|inside|folders?|directory|project|root|here|for|me|it)\b"
    r"|新規|新しい|作成|作って|作り|作る|追加|生成|ファイル|フォルダ|ディレクトリ|という|名前|ください|下さい|お願いします|して|した|[のをにでとは]",
    re.IGNORECASE,
)
"""Matches what an order to make a file says without a word of what is to be in it."""
_MARKS = late_pattern(r"[\W_]+")
_LEAST_SAID = 3  # characters


def findings(
    tools: ToolSystem, facts: RunFacts, made: Iterable[Transition], request: str, answer: str
) -> Iterator[Finding]:
    """Yield the files that are empty though they were to hold something, and the answer does not say so; none where one
    went, as it may have been moved, and none for the output of a command, which may be nothing. Reads files."""
    made = list(made)
    if any(one.after == ABSENT for one in made):
        return
    if _EMPTY.search(request) or _EMPTY.search(answer) or phrases.admits_failure(answer):
        return
    for path in dict.fromkeys(one.path for one in made if one.before == ABSENT):
        name = path.rpartition("/")[2]
        if not (path in facts.edited or is_code(path)):
            continue
        if name in _MARKERS or name not in request or not _asks_for_contents(name, request):
            continue
        text = tools.readable_text(path)
        if text is not None and not text.strip():
            told = {"path": shown(path)}
            yield Finding("empty_file", Phrase("{path} is empty", **told), contradicts=True, params=told)


def _asks_for_contents(name: str, request: str) -> bool:
    """Return whether more is said of the file than that it is to be made."""
    said = " ".join(sentences_in(request)).replace(name, " ")
    return len(_MARKS.sub("", _ONLY_MAKES.sub(" ", said))) >= _LEAST_SAID
