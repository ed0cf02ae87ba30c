"""Find the files that a request wants to be read as a whole, and of which the model has read a part alone."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from localllm.agent.phrases.answer_phrases import named_files
from localllm.agent.phrases.phrase_search import ends_of
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import AssistantMessage, Message, ToolMessage, UserMessage

_WHOLE = late_pattern(
    r"\b(?:summar\w+|translat\w+|proofread|typos?|spelling|duplicat\w+|review|last|end|whole|entire|everything|how many"
    r"|list all|extract|compare|overview)\b"
    r"|要約|翻訳|訳して|校正|誤字|脱字|最後|末尾|全体|全部|すべて|一覧|抽出|いくつ|何[件個]|重複|まとめ",
    re.IGNORECASE,
)
_PART = late_pattern(
    r"\b(?:first|beginning|top|heading|title|intro\w*|lines? \d|section|chapter|part of|paragraph)\b"
    r"|冒頭|先頭|最初|見出し|題名|\d ?行目|節|章|段落|の一部",
    re.IGNORECASE,
)
_IS_TOLD = late_pattern(
    r"\blines? \d|\b(?:part(?:ly|ial\w*)?|first|beginning|rest|remain\w*|not (?:been )?read|unread|truncat\w*|excerpt"
    r"|so far|up to|only)\b|\d ?行|(?<!最後)まで|残り|一部|途中|冒頭|前半|読んで(?:い?な|い?ませ)|未読|のみ|だけ",
    re.IGNORECASE,
)
_TITLE = late_pattern(r"(?P<path>[^\n]{1,400}) \(lines (?P<start>\d{1,9})-(?P<end>\d{1,9}) of (?P<total>\d{1,9})\b")
_FEWEST_LINES, _MOST_NAMED = 3, 5


def partly_read(request: str, answer: str, messages: Sequence[Message], root: Path) -> list[str]:
    """Return the lines that were not read of the files that the request names (a.md:49-121), unless the answer speaks
    of a part, or another call may have shown them."""
    text = ends_of(request)
    if not _WHOLE.search(text) or _PART.search(text) or _IS_TOLD.search(ends_of(answer)):
        return []
    found: list[str] = []
    for named in named_files(request)[:_MOST_NAMED]:
        path = named.removeprefix("./")
        if (root / path).is_file() and not _is_shown(path, messages):
            found += _unread(path, messages)
    return found


def _is_shown(path: str, messages: Sequence[Message]) -> bool:
    """Return whether the user, or another call than one to read or write files, has named a file."""
    name = path.rpartition("/")[2]
    for one in messages:
        if isinstance(one, UserMessage) and (f"@{path}" in one.text or ("<file " in one.text and name in one.text)):
            return True
        calls = one.tool_calls if isinstance(one, AssistantMessage) else ()
        others = (call for call in calls if call.name not in ("read_file", "write_file", "edit_file", "list_files"))
        if any(name in call.arguments or call.name == "explore" or "*" in call.arguments for call in others):
            return True
    return False


def _unread(path: str, messages: Sequence[Message]) -> Iterator[str]:
    total, read = 0, list[tuple[int, int]]()
    for one in messages:
        if not isinstance(one, ToolMessage) or one.name != "read_file":
            continue
        title = _TITLE.match(one.text)
        if title and title["path"] == path:
            total = int(title["total"])
            read.append((int(title["start"]), int(title["end"])))
        elif one.text.startswith(f"{path} ("):
            return  # which was the whole
    left, following = list[tuple[int, int]](), 1
    for start, end in (*sorted(read), (total + 1, total)):
        left += [(following, start - 1)] if start > following else []
        following = max(following, end + 1)
    if sum(end - start + 1 for start, end in left) >= _FEWEST_LINES:
        yield from (f"{path}:{start}-{end}" for start, end in left[:_MOST_NAMED])
