"""Look for the values, names and options that a request orders in what a run has written: which of them stand nowhere.

Values are looked for in the files that the request names, else in those that changed, and in commands and outputs.
Nothing is said where the answer tells of one as left, already so or done otherwise, or a change may compute it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from localllm.agent.checks.written_values import ValueSearch, has_word, key_pattern, literal_in, plain
from localllm.agent.middleware import RunState
from localllm.agent.phrases.claimed_files import listed_files, paths_in
from localllm.agent.phrases.old_names import ordered_renamings, places_of_old
from localllm.agent.phrases.ordered_options import has_option, ordered_options
from localllm.agent.phrases.ordered_targets import (
    OrderedName,
    OrderedValue,
    names_in_ranges,
    ordered_names,
    ordered_values,
)
from localllm.agent.phrases.phrase_search import sentences_in
from localllm.base.directory_walk import ProjectListing
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import AssistantMessage, ToolMessage
from localllm.safety.path_names import shown
from localllm.text.numerals import fold
from localllm.text.sanitising import shorten
from localllm.tools.tool_system import ToolSystem

_HEDGED = late_pattern(
    r"(?i)\b(?:not|never|no|cannot|left|leave|leaving|kept|keep|keeping|still|remain\w*|stays?|only|except|already|skip\w*"
    r"|until|to do|open|missing|would|could|should|might|unless|if|instead of|failed|lacks?|wrong|called)\b|n't\b|\?$"
    r"|ません|ない|なかった|まだ|残|そのまま|のまま|元から|もともと|すでに|既に|以外|だけ|のみ|代わり|失敗|必要|か[。？?]?$|未"
)
"""Matches a sentence that may tell of something as not done, or done in another way."""
_ALL = late_pattern(
    r"(?i)\b(?:all|both|every|each|done|finished|complete\w*|everything"
    r"|(?:two|three|four|five|six|\d{1,2}) \w+ (?:are|were|have))\b"
    r"|両方|すべて|全て|全部|それぞれ|とも|完了|\d ?つの|[二三四五]つの"
)
_COMPUTED = late_pattern(
    r"[\w)\]] ?(?:[-+*/%]|\*\*|//|<<) ?\d|\d[a-z%]{0,3} ?(?:[-+*/]|<<) ?[\w(]|\{\w[^};\n]{0,40}\}|%[sd]"
)
"""Matches what may give a value that is not written."""
_MANY = late_pattern(r"\*\.?\w|/\*|\*\"|\b(?:find|xargs|grep -\w*[rR]|git (?:grep|ls-files)|ls)\b| \.(?:[ /\"]|$)")
"""Matches a command for more files than it names."""
_SECRET = late_pattern(r"(?i)pass|secret|token|key|credential|パスワード|暗証")
_LONGEST_LITERAL = 40  # cells
_PROSE_IN = late_pattern(r"\.(?:md|txt|rst|adoc|csv|org)$", re.IGNORECASE)
_MOST_SHOWN, _MOST_FILES, _LONGEST_FILE = 5, 50, 500_000
_KNOWN = frozenset(
    {"edit_file", "write_file", "create_file", "read_file", "search_files", "list_files", "analyze_code"}
)
"""Tools that change files, or only look at them."""


class Unmet(msgspec.Struct, frozen=True):
    """What was ordered and stands nowhere: in words for the model, and for the user."""

    what: str
    reason: Phrase
    is_claimed: bool
    """Whether the answer says clearly that it was done, against what can be seen."""


class Written(msgspec.Struct, frozen=True):
    """What a run has written: the texts of the files that it changed or that the request names, the lines that it
    added to them, and the commands and outputs in which something may have been done elsewhere."""

    texts: Mapping[str, str]
    added: Mapping[str, Sequence[str]]
    changed: frozenset[str]
    new: frozenset[str]
    elsewhere: str


def unmet_orders(
    tools: ToolSystem, listing: ProjectListing, state: RunState, answer: str, *, has_claimed: bool
) -> list[Unmet]:
    """Return what the request orders and stands nowhere in what was written in this conversation. Reads files.
    `has_claimed`: whether the answer says that something was changed."""
    request = state.goal
    options = ordered_options(request)
    if not (options or ordered_values(request) or ordered_names(request)):
        return []
    written = _written(tools, listing, state)
    if written is None:
        return []

    def still_has_old(name: str) -> bool:
        renamings = (one for one in ordered_renamings(request) if one.new == name)
        return any(places_of_old(listing, one, tools.readable_text) for one in renamings)

    found = unmet(request, answer, written, says_changed=has_claimed, still_has_old=still_has_old)
    return [*found, *_unmet_options(options, answer, written)]


def _unmet_options(options: Iterable[str], answer: str, written: Written) -> Iterator[Unmet]:
    """Yield the options that no file has, unless the answer tells of one as left."""
    missing = [one for one in options if not any(has_option(text, one) for text in written.texts.values())]
    said = sentences_in(answer)
    missing = [one for one in missing if not any(_HEDGED.search(part) and has_word(part, one) for part in said)]
    told = [one for one in missing if f"--{one}" in answer]
    if missing:
        yield _nowhere([f"--{one}" for one in missing], is_claimed=bool(told))


def is_hedged(said: str) -> bool:
    """Return whether a sentence may tell of something as not done, or done in another way."""
    return bool(_HEDGED.search(said))


def claims_all(answer: str) -> bool:
    """Return whether an answer says that all is done, and nothing is left."""
    return any(_ALL.search(one) and not _HEDGED.search(one) for one in sentences_in(answer))


def unseen_files(tools: ToolSystem, state: RunState, answer: str) -> list[str]:
    """Return the files of a list in the request that the run has neither read nor changed, nor any call has named,
    unless the answer tells of them as left. One command for many files may have looked at all of them."""
    files = [path for path in listed_files(state.goal) if f"@{path}" not in state.goal]
    if not files:
        return []
    shown_by = "\n".join(_shown(state))
    if _MANY.search(shown_by):
        return []
    said = sentences_in(answer)
    return [
        path
        for path in files
        if path.rpartition("/")[2] not in shown_by
        and tools.unread_text(path.removeprefix("./")) is not None
        and not any(_HEDGED.search(one) and path in one for one in said)
    ]


def _shown(state: RunState) -> Iterator[str]:
    """Yield the arguments of all calls, and the outputs of those that may show several files."""
    for one in state.history.messages:
        if isinstance(one, AssistantMessage):
            yield from (call.arguments for call in one.tool_calls if call.name != "list_files")
        elif isinstance(one, ToolMessage) and one.name in ("search_files", "run_command", "command_output"):
            yield one.text


def _written(tools: ToolSystem, listing: ProjectListing, state: RunState) -> Written | None:
    """Return what was written; None if some of it cannot be read, or not by the model."""
    diffs = {one.path: one for one in tools.changes.diffs_since(0)}
    changed = [path for path in tools.changes.changed_since(0) if path in diffs]
    if len(changed) > _MOST_FILES:
        return None
    added = {
        path: [line[1:] for line in diffs[path].diff.splitlines() if line[:1] == "+" and line[:4] != "+++ "]
        for path in changed
    }
    texts: dict[str, str] = {}
    for path in dict.fromkeys((*changed, *_named(state.goal, listing))):
        text = tools.readable_text(path)
        if text is None and path in changed and (tools.root / path).exists():
            return None
        if text is not None:
            texts[path] = text[:_LONGEST_FILE]
    new = (path for path in changed if path in texts and len(added[path]) >= len(texts[path].splitlines()))
    return Written(texts, added, frozenset(changed), frozenset(new), "\n".join(_elsewhere(state)))


def _named(request: str, listing: ProjectListing) -> Iterator[str]:
    """Yield the files of the project that a request names."""
    for named in paths_in(" ".join(re.split(r"([!-~]+)", request))):
        path = named.removeprefix("./")
        if (listing.root / path).is_file():
            yield path
            continue
        try:
            found = [one.path for one in listing.entries if one.path.rpartition("/")[2] == path]
        except OSError:
            found = []
        yield from found if len(found) == 1 else ()


def _elsewhere(state: RunState) -> Iterator[str]:
    """Yield the arguments and outputs of calls by which something may be done elsewhere than in files."""
    ids: set[str] = set()
    for one in state.history.messages:
        if isinstance(one, AssistantMessage):
            calls = [call for call in one.tool_calls if call.name not in _KNOWN]
            ids |= {call.id for call in calls}
            yield from (call.arguments for call in calls)
        elif isinstance(one, ToolMessage) and one.call_id in ids:
            yield one.text


def unmet(
    request: str,
    answer: str,
    written: Written,
    *,
    says_changed: bool,
    still_has_old: Callable[[str], bool] = lambda _name: False,
) -> list[Unmet]:
    """Return the ordered values and names that stand nowhere, though the answer says, or says not that it is otherwise,
    that they are done. `still_has_old`: whether a name is the new one for another that stands somewhere, which is said
    of that."""
    said = [fold(one) for one in sentences_in(answer)]
    found: list[Unmet] = []
    is_whole = any(_ALL.search(one) and not _HEDGED.search(one) for one in said)
    says_changed = says_changed or is_whole
    values = ordered_values(request)
    for value in values:
        others = [one.key for one in values if one.key.lower() != value.key.lower()]
        place = _unmet_place(value, others, written)
        mentions = ValueSearch(value.value)
        if place == () or _is_hedged(said, value.key, mentions):
            continue
        is_told = any(mentions(one) or (value.is_new and has_word(one, value.key)) for one in said)
        if place:
            if is_told or (not value.is_plain and says_changed):
                path, literal = place
                found.append(_otherwise(value, path, literal, is_claimed=is_told or is_whole))
        elif is_told:
            name = f"{value.key} = {value.value}" if value.is_new else value.value
            found.append(_nowhere([name], is_claimed=value.is_new))
    is_prose = all(map(_PROSE_IN.search, written.changed))  # a text may be the name of a feature, in code
    names = [one for one in ordered_names(request) if not _is_written(one, written) and (is_prose or not one.is_text)]
    ranges = names_in_ranges(answer)
    told = {one.name for one in names if one.name in ranges or any(has_word(said_, one.name) for said_ in said)}
    left = [
        one.name
        for one in names
        if (one.name in told or (says_changed and not one.is_text))
        and not any(_HEDGED.search(said_) and has_word(said_, one.name) for said_ in said)
        and not still_has_old(one.name)
    ]
    return [*found, *([_nowhere(left, is_claimed=any(one in told for one in left))] if left else [])]


def _otherwise(value: OrderedValue, path: str, literal: str, *, is_claimed: bool) -> Unmet:
    now = "***" if _SECRET.search(value.key) else shorten(literal, _LONGEST_LITERAL)
    params = {"key": value.key, "now": now, "path": shown(path), "value": value.value}
    return Unmet(
        f"{value.key} is {now} in {path}, not {value.value}",
        Phrase("{key} is {now} in {path}, not {value}", **params),
        is_claimed,
    )


def _nowhere(names: list[str], *, is_claimed: bool) -> Unmet:
    listed = ", ".join(names[:_MOST_SHOWN])
    return Unmet(
        f"the changed files do not contain {listed}",
        Phrase("the changed files do not contain {names}", names=listed),
        is_claimed,
    )


# Values.


def _unmet_place(value: OrderedValue, others: Iterable[str], written: Written) -> tuple[str, str] | tuple[()] | None:
    """Return the file in which something has another value, and that; None if the ordered one stands nowhere at all;
    () if it is there, or may be. A plain word may be written in another way, but not where nothing was changed."""
    is_in, key = ValueSearch(value.value), key_pattern(value.key)
    named = [path for path in written.texts if any(_is_same(path, one) for one in value.paths)]
    scope = named or [path for path in written.texts if path in written.changed]
    other_keys = [pattern for other in others if (pattern := key_pattern(other))]
    wrong: list[tuple[str, str]] = []
    for path in scope:
        if key is None:
            break
        lines = [line for line in written.texts[path].splitlines() if key.search(line)]
        added = [line for line in written.added.get(path, ()) if not any(one.search(line) for one in other_keys)]
        literals, new = [literal_in(line, key, path) for line in lines], written.added.get(path, ())
        is_trusted = value.is_plain and any(map(key.search, added))
        found = zip(lines, literals, strict=True)
        may_be = any(literal is None and (value.is_plain or line in new) for line, literal in found)
        if is_trusted or may_be or any(map(is_in, ("\n".join(lines), "\n".join(added)))):
            if not named:
                return ()
        elif path not in written.new:
            wrong += [(path, literal) for literal in literals if literal]
    if value.is_new and key and not any(map(key.search, _all_of(written))):
        return None
    if wrong:
        return wrong[0] if named or not is_in(written.elsewhere) else ()
    is_prose = any(_PROSE_IN.search(path) and key and key.search(written.texts[path]) for path in scope)
    added = [line for lines in written.added.values() for line in lines]
    if (value.is_plain and not is_prose) or is_in(written.elsewhere) or any(map(_COMPUTED.search, added)):
        return ()
    return () if any(map(is_in, (*(written.texts[path] for path in scope), "\n".join(added)))) else None


def _is_same(path: str, named: str) -> bool:
    return path == named.removeprefix("./") or path.rpartition("/")[2] == named


def _is_hedged(said: Iterable[str], key: str, is_in: ValueSearch) -> bool:
    found, doubtful = key_pattern(key), [one for one in said if _HEDGED.search(one)]
    return any(is_in(one) or (found and found.search(one)) or (key and key in one) for one in doubtful)


# Names.


def _is_written(name: OrderedName, written: Written) -> bool:
    if name.is_text or len(name.name) >= 4:
        letters = plain(name.name)
        return not letters or any(letters in plain(text) for text in _all_of(written))
    return any(has_word(text, name.name) for text in _all_of(written))


def _all_of(written: Written) -> Iterator[str]:
    yield from written.texts.values()
    yield "\n".join(written.changed)
    yield written.elsewhere
    yield from ("\n".join(lines) for lines in written.added.values())
