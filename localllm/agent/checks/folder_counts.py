"""Find the files of a folder that were to be changed with all others of it ("a docstring for every file in mod/"), and
were not; not where they were only to be checked, or some of them were meant."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from localllm.agent.checks.findings import Finding
from localllm.agent.checks.unmet_orders import is_hedged
from localllm.agent.phrases.phrase_search import ends_of, sentences_in
from localllm.base.directory_walk import ProjectListing
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.safety.path_names import some_of
from localllm.tools.change_history import FileDiff
from localllm.tools.tool_system import ToolSystem

_EVERY = late_pattern(
    r"\b(?:all|every|each)\b (?:of )?(?:the )?(?:[\w.*-]{1,30} ){0,3}?"
    r"(?:files?|modules?|scripts?|pages?|documents?|class(?:es)?|components?|functions?)\b"
    r"|全(?:て|部|ファイル|モジュール|ページ|スクリプト)|すべて|各(?:ファイル|モジュール|ページ)|それぞれ",
    re.IGNORECASE,
)
_OF_SOME = late_pattern(
    r"\b(?:if|where|that|which|whose|containing|except|only|but|without|unless|unused|needed|necessary|rename|move"
    r"|delete|checks?|look|review|read|find|search|fix|run|lint|inspect)\b|場合|以外|除[いく]|含む|持つ|がある|だけ|のうち|必要|改名|移動|確認|調べ|探|直",
    re.IGNORECASE,
)
"""Matches an order for some of the files, or one after which they are not there."""
_NAME = late_pattern(r"(?a:(?<![\w./-])(?:\./)?([\w-][\w./-]{0,200}))")
_WORD = late_pattern(r"(?a:[A-Z][A-Z_]{2,30}\b)|[`「\"']([^`」\"'\n]{3,60})[`」\"']")
_FEWEST, _MOST_READ = 3, 300
_SHORTEST = 4  # characters of a line that tells of a change


def findings(tools: ToolSystem, listing: ProjectListing, request: str, answer: str, position: int) -> Iterator[Finding]:
    """Yield the files of a folder that were to be changed, and were not since `position`. Reads files."""
    if left := left_in_folder(tools, listing, request, answer, tools.changes.diffs_since(position)):
        reason = Phrase("{path} was not changed", path=some_of(left))
        yield Finding("unchanged_file", reason, contradicts=False, params={"path": some_of(left)})


def left_in_folder(
    tools: ToolSystem, listing: ProjectListing, request: str, answer: str, diffs: Sequence[FileDiff]
) -> list[str]:
    """Return the files of a folder that the request names with "all" or "every", which lack what was done to others
    of their kind: a line like those that were removed from these, or none like those that were added. Not if the
    answer may speak of some as left. Reads files."""
    if any(map(is_hedged, sentences_in(answer))) or any(one.reason for one in diffs):
        return []
    for said in sentences_in(ends_of(request)):
        if not _EVERY.search(said) or _OF_SOME.search(said):
            continue
        for name in _NAME.findall(said):
            folder = name.strip("./")
            done = [one for one in diffs if one.path.startswith(f"{folder}/")] if folder else []
            if done and (left := _left(tools, listing, folder, done, request)):
                return left
    return []


def _left(tools: ToolSystem, listing: ProjectListing, folder: str, done: Sequence[FileDiff], request: str) -> list[str]:
    endings = Counter(one.path.rpartition("/")[2].partition(".")[2] for one in done)
    ending = endings.most_common(1)[0][0]
    try:
        files = [
            one.path
            for one in listing.entries
            if not (one.is_dir or one.is_link)
            and one.size
            and one.path.startswith(f"{folder}/")
            and one.path.rpartition("/")[2].partition(".")[2] == ending
            and not one.path.endswith("__init__.py")
        ]
    except OSError:
        return []
    changed = {one.path for one in done}
    others = [path for path in files if path not in changed]
    if len(files) < _FEWEST or not 0 < len(others) < len(files) or len(files) > _MOST_READ:
        return []
    marks = _marks([one.diff for one in done if one.path in files], request)
    return [path for path in others if (text := tools.readable_text(path)) is not None and marks(text)]


class _Marks:
    """What shows in a text that it was not changed as others were: `gone` lines and `words`, or that it lacks the `new`
    lines, or the `lead` of one."""

    def __init__(self, gone: set[str], words: set[str], new: set[str], lead: str) -> None:
        self._gone, self._words, self._new, self._lead = gone, words, new, lead

    def __call__(self, text: str) -> bool:
        lines = [*map(_shape, text.splitlines())]
        if self._gone or self._words:
            return not self._gone.isdisjoint(lines) or any(word in text for word in self._words)
        if self._new:
            return self._new.isdisjoint(lines)
        return bool(self._lead) and not any(line.startswith(self._lead) for line in lines)


def _marks(diffs: Sequence[str], request: str) -> _Marks:
    removed = [_lines(diff, "-") for diff in diffs]
    added = [_lines(diff, "+") for diff in diffs]
    if any(removed):
        kept = {_shape(line) for lines in added for line in lines}
        counts = Counter(shape for lines in removed for shape in {_shape(line) for line in lines} - kept)
        gone = {shape for shape, count in counts.items() if len(shape) >= _SHORTEST and 2 * count >= len(diffs)}
        text, now = ("\n".join(line for lines in parts for line in lines) for parts in (removed, added))
        named = (found[1] or found[0] for found in _WORD.finditer(request))
        words = {one for one in named if one in text and one not in now}
        return _Marks(set() if words else gone, words, set(), "")
    shapes = [{_shape(line) for line in lines if len(line.strip()) >= _SHORTEST} for lines in added]
    common = set[str].intersection(*shapes) if shapes else set[str]()
    leads = {next((line.strip()[:3] for line in lines if line.strip()), "") for lines in added}
    lead = leads.pop() if len(leads) == 1 else ""
    return _Marks(set(), set(), common, lead if lead and not lead[0].isalnum() else "")


def _lines(diff: str, sign: str) -> list[str]:
    return [line[1:] for line in diff.splitlines() if line[:1] == sign and line[:4] != f"{sign * 3} "]


def _shape(line: str) -> str:
    """Return a line without its indentation, and with the same number in place of each."""
    return re.sub(r"\d+", "0", line.strip())
