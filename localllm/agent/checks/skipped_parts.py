"""Find the parts of a request that a run has skipped and its answer claims: files that were to be read, items that were
to be noted, and content for which a line stands in the file."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from localllm.agent.checks.command_kinds import command_kind
from localllm.agent.checks.findings import Finding
from localllm.agent.checks.plan_checks import orders_note
from localllm.agent.checks.run_facts import RunFacts
from localllm.agent.middleware import RunState
from localllm.agent.phrases import answer_phrases as phrases
from localllm.agent.phrases.claimed_files import paths_in
from localllm.agent.phrases.phrase_search import sentences_in
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import AssistantMessage, Message, ToolMessage, UserMessage, arguments_in
from localllm.safety.path_names import shown, some_of
from localllm.tools.tool_system import ToolSystem

_FEWEST = 2
"""Files or items in a request of which one may be skipped."""
_MOST_NAMED = 20

# Files that were to be read.

_READS = late_pattern(
    r"(?i)\b(?:merg|combin|join|concat\w*|consolidat|convert|compar|summari[sz]|aggregat|analy[sz]|translat|review|read)"
    r"(?:e|es|ed|ing)?\b|まとめ|統合|結合|合わせ|変換|比較|比べ|要約|集計|分析|翻訳|訳して|レビュー|読んで"
)
"""Matches requests for what nobody can do without having read each file that is named."""
_WHOLE = late_pattern(
    r"\*\.\w|\*\*/|/\*|\[[^\]\n]{1,20}\]\.\w|\{[^}\n]{1,80}\}|glob|listdir|iterdir|scandir|readdir|os\.walk|\brg\b"
    r"|\bgrep -\w*[rR]|\bfor \w+ in [^;:\n()]{1,200}[;\n] *do\b|\bgit\b"
)
"""Matches what may read files without their names."""
_EVERY_FILE = late_pattern(r"\s\*(?=\s|[;&|)]|\Z)")
"""Matches, in a command, a `*` alone."""
_READS_UNSEEN = frozenset({"explore"})
"""Tools of which only the result is seen, and not what they have read for it."""
_ONLY_NAMES = late_pattern(r"\s*(?:ls|tree|find|file|du)\b[^|;&\n]*")
_NEGATED = late_pattern(
    r"(?i)\b(?:not|no|never|without|skip\w*|unchanged|untouched|left|missing|only|except|but)\b|n't\b"
    r"|ません|ない|ず|未|以外|のみ|だけ|そのまま|省"
)


def unread_files(request: str, answer: str, messages: Sequence[Message], root: Path, known: set[str]) -> list[str]:
    """Return the files that the request and the answer name as read, and that nothing did: no call names them, nor
    does what one has printed. `known`: files that were changed in the session, whose programs are seen."""
    if not _READS.search(request):
        return []
    asked = [path for path in paths_in(request)[:_MOST_NAMED] if (root / path).is_file() and path not in known]
    if len(asked) < _FEWEST:
        return []
    said = "\n".join(one for one in sentences_in(answer) if not _NEGATED.search(one))
    claimed = [path for path in asked if path.rpartition("/")[2] in said]
    return _not_looked_at(claimed, messages, root, {*known, *asked}) if claimed else []


_RENDERS = late_pattern(
    r"(?i)\b(?:convert|turn|translat|summari[sz]|export|extract|list|tabulat|transform|document|writ|put|sav|collect)"
    r"(?:e|s)?\b|にして|変換|まとめ|書[いき]|保存|抽出|一覧|要約|訳し|出力"
)


def unread_source(request: str, messages: Sequence[Message], root: Path, known: set[str], written: set[str]) -> str:
    """Return the file from which the request orders to make another one, if that was `written` by the tools for files,
    and nothing that was read names it; "" otherwise."""
    if not _RENDERS.search(request):
        return ""
    paths = [*_named(request, root)][:_MOST_NAMED]
    made = [path for path in paths if path.removeprefix("./") in written]
    sources = [path for path in paths if path not in made and (root / path).is_file()]
    if len(sources) != 1 or len(made) != 1 or sources[0] in known:
        return ""
    source, target = (rf"[`「'\"]?{re.escape(path)}[`」'\"]?" for path in (sources[0], made[0]))
    is_order = re.search(
        r"(?i)\b(?:of|from|in|convert|translate|turn|summari[sz]e|export|document|list) (?:the )?(?:\w{1,20} )?"
        rf"{source}[^\n]{{0,80}}?\b(?:to|into|as|in) (?:an? |the )?(?:\w{{1,20}} ){{0,2}}{target}"
        rf"|{source} ?(?:の|を|から)[^\n]{{1,80}}?{target} ?[にへ]",
        request,
    )
    return sources[0] if is_order and _not_looked_at(sources, messages, root, {*known, *written}) else ""


_PATH = late_pattern(r"[^\s`'\"「」『』（）()、。,]{1,200}\.[A-Za-z](?a:\w{0,7})(?!(?a:\w)|\.(?a:\w))")
_GLUE = late_pattern(r"(?<=[をのにへはとがも])")


def _named(request: str, root: Path) -> Iterator[str]:
    """Yield the files that a request names, also in Japanese letters and without a blank before them."""
    for found in _PATH.findall(request):
        parts = _GLUE.split(found)
        ends = ("".join(parts[first:]) for first in range(len(parts)))
        yield next((one for one in ends if (root / one).is_file()), found)


def _not_looked_at(claimed: Sequence[str], messages: Sequence[Message], root: Path, seen: set[str]) -> list[str]:
    """Return the files that no call names, nor does what one has printed. `seen`: files whose programs are seen."""
    if any("<file " in one.text or "<stdin>" in one.text for one in _of_user(messages)):
        return []
    calls = [call for one in messages if isinstance(one, AssistantMessage) for call in one.tool_calls]
    written = {call.id: (call.name, arguments_in(call.arguments)) for call in calls}
    texts = ["\n".join(map(str, arguments.values())) for _name, arguments in written.values()]
    commands = [str(arguments.get("command") or "") for _name, arguments in written.values()]
    if any(call.name in _READS_UNSEEN for call in calls) or any(map(_WHOLE.search, texts)):
        return []
    if any(_EVERY_FILE.search(one) or _runs_unseen(one, root, seen) for one in commands if one):
        return []
    for one in messages:
        if isinstance(one, ToolMessage) and one.name != "list_files":
            _name, arguments = written.get(one.call_id, ("", {}))
            if not _ONLY_NAMES.fullmatch(str(arguments.get("command") or "")):
                texts.append(one.text)
    return [path for path in claimed if not any(_names(text, path) for text in texts)]


def _of_user(messages: Sequence[Message]) -> Iterator[UserMessage]:
    return (one for one in messages if isinstance(one, UserMessage))


def _runs_unseen(command: str, root: Path, seen: set[str]) -> bool:
    """Return whether a command runs what may read any file: a test, a build, or a script of the project."""
    if command_kind(command) in ("test", "build"):
        return True
    return any(path not in seen and (root / path).is_file() for path in paths_in(command))


def _names(text: str, path: str) -> bool:
    """Return whether a text names a file, its name without the ending in quotes, or a module that is imported."""
    name = path.rpartition("/")[2]
    stem = re.escape(name.rpartition(".")[0] or name)
    return name in text or bool(
        re.search(rf"""["'`]{stem}["'`]|\b(?:import|from) (?:[\w.]{{1,99}}\.)?{stem}\b""", text)
    )


# Items that were to be noted.

_QUOTED = late_pattern(
    r"「([^「」\n]{3,80})」|『([^『』\n]{3,80})』|“([^“”\n]{3,80})”|\"([^\"\n]{3,80})\"|(?<!\w)'([^'\n]{3,80})'"
)


def unnoted_items(request: str, answer: str, noted: str) -> list[str]:
    """Return the quoted items that the request orders to be noted and the answer repeats, of which `noted` has only
    others."""
    if not orders_note(request):
        return []
    quoted = list(dict.fromkeys(found[found.lastindex or 0] for found in _QUOTED.finditer(request)))
    plain, said = _plain(noted), _plain(answer)
    missing = [one for one in quoted if _plain(one) not in plain]
    return [one for one in missing if _plain(one) in said] if 0 < len(missing) < len(quoted) else []


def _plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


# Content for which a line stands.

_MEANT = late_pattern(
    r"(?i)\b(?:placeholders?|templates?|skeletons?|stubs?|scaffold\w*|outline|boilerplate|example|sample)\b"
    r"|雛形|ひな形|ひな型|雛型|骨組み|スケルトン|テンプレート|見本|サンプル|例を|(?-i:TODO)"
)
_IS_TOLD = late_pattern(
    r"(?i)\b(?:placeholders?|omitted|abbreviated|shortened|template|skeleton|stub|excerpt|partial\w*"
    r"|(?:to|must|should|can) be (?:added|filled|completed|written)|(?:add|fill in|write|complete) the"
    r" (?:rest|remaining|others?)|first (?:few|\d+)|only \d+|the rest)\b"
    r"|省略|略して|雛形|ひな形|一部|途中|残り|だけ|まで|のみ|プレースホルダ"
)
_NOTHING_MEANT = late_pattern(
    r"(?i)\b(?:abstract|interfaces?|protocols?|no-?ops?|hooks?|dumm(?:y|ies)|mocks?|fakes?|callbacks?|signatures?)\b"
    r"|(?:does?|do) nothing|not (?:yet )?implement|unimplemented|empty|NotImplementedError"
    r"|抽象|インターフェ|ダミー|モック|空の|何もしない|未実装|実装していません|シグネチャ"
)
"""Matches what orders, or admits, functions that do nothing."""


def placeholder_lines(path: str, text: str, diff: str) -> list[int]:
    """Return the lines of a file, from 1, that a run has added and that stand for what was not written."""
    from localllm.safety.unwritten_lines import unwritten_lines  # most files have none

    added = {line[1:] for line in diff.splitlines() if line.startswith("+")}
    return unwritten_lines(path, text, "\n".join(line for line in text.split("\n") if line not in added))


def _lines_without_content(path: str, text: str, diff: str) -> list[int]:
    """Return the lines that stand for what was not written, or the added ones of functions that do nothing."""
    if lines := placeholder_lines(path, text, diff):
        return lines
    from localllm.agent.checks.stub_functions import stub_lines  # imports ast

    added = {line[1:] for line in diff.splitlines() if line.startswith("+")}
    written = text.split("\n")
    return [line for line in stub_lines(path, text) if written[line - 1] in added]


def findings(state: RunState, text: str, tools: ToolSystem, facts: RunFacts, position: int) -> Iterator[Finding]:
    """Yield what was skipped: what was read and what was noted, then what was written since `position`. Reads files."""
    if phrases.admits_failure(text):
        return
    messages, root = state.history.messages, tools.root
    if facts.calls and not state.history.generation:
        known = {made.path for made in tools.changes.made_since(0)} | facts.changed.keys()
        paths = unread_files(state.query, text, messages, root, known)
        if (
            not paths
            and facts.edited
            and (source := unread_source(state.query, messages, root, known, {*facts.edited}))
        ):
            paths = [source]
        if paths:
            listed = some_of(paths)
            reason = Phrase("{path} was not read", path=listed)
            yield Finding("files_not_read", reason, contradicts=False, params={"paths": str(listed)})
    if tools.plan.text and orders_note(state.query):
        noted = tools.plan.text + (tools.readable_text("LOCALLLM.md") or "")
        if items := unnoted_items(state.query, text, noted):
            said = "; ".join(items)
            reason = Phrase("not in the list: {items}", items=said)
            yield Finding("not_noted", reason, contradicts=True, params={"items": said})
    if facts.edited and not (_MEANT.search(state.query) or _IS_TOLD.search(text)):
        is_meant = _NOTHING_MEANT.search(state.query) or _NOTHING_MEANT.search(text)
        yield from _of_placeholders(tools, facts, position, placeholder_lines if is_meant else _lines_without_content)


def _of_placeholders(
    tools: ToolSystem, facts: RunFacts, position: int, find: Callable[[str, str, str], list[int]]
) -> Iterator[Finding]:
    for one in tools.changes.diffs_since(position):
        content = tools.readable_text(one.path) if one.path in facts.edited and one.diff else None
        if content and (lines := find(one.path, content, one.diff)):
            line, path = lines[0], shown(one.path)
            reason = Phrase("line {line} of {path} is a placeholder for what was not written", line=line, path=path)
            yield Finding("unwritten", reason, contradicts=False, params={"path": path, "line": str(line)})
            return
