"""Compare an answer with what the model has read: files, their names, lines and long numbers, pictures."""

from collections.abc import Iterable, Iterator

from localllm.agent.checks.findings import Finding
from localllm.agent.checks.run_facts import RunFacts
from localllm.agent.middleware import RunState
from localllm.agent.phrases import answer_phrases as phrases
from localllm.agent.phrases import request_phrases
from localllm.agent.phrases.phrase_search import without_code
from localllm.agent.system_prompt import remark
from localllm.base.directory_walk import ProjectListing
from localllm.base.i18n import N_, Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import AssistantMessage, UserMessage
from localllm.safety.path_names import shown
from localllm.tools.tool_system import ToolSystem

_UNREAD = late_pattern(
    r"(?i)\b(?:can(?:no|')t|can not|could ?n[o']t|could not|unable|not (?:readable|a text|text)|binary|encrypted"
    r"|damaged|corrupt\w*|scan\w*|password)\b|読(?:め|み取れ|むこと)|開け|テキスト(?:ファイル)?では|バイナリ|破損|壊れ|スキャン|暗号|パスワード"
)
_IS_ABSENT = late_pattern(
    r"(?i)\b(?:no|not|n't|never|missing|absent|unknown|would|could|might|may|should|if|typically|usually)\b|n't\b"
    r"|ません|ない|なかった|無い|不明|もし|通常|一般"
)
_USUAL_NAMES = frozenset(
    "__init__.py conftest.py manage.py settings.py setup.py main.py package.json tsconfig.json pyproject.toml"
    " Cargo.toml index.html index.js README.md CHANGELOG.md requirements.txt pom.xml go.mod docker-compose.yml".split()
)
_NOT_READ = N_("{path} was not read")
_UNSEEN = N_("{path} was not seen: the model cannot see pictures")
_PICTURES = (".png", ".jp", ".gif", ".webp", ".bmp")
_NUMBER = late_pattern(r"(?<![\w.-])(?>\d+(?:[.,]\d+)*)(?![\w-]{0,40}\.\w)")
_IN_CODE = late_pattern(r"`[^`\n]*`")
_SUPPOSED = late_pattern(
    r"(?i)\b(?:would|could|if|for example|e\.g\.|not|unable|can't|cannot|refused"
    r"|permi\w+|allow\w*|confirm\w*|need\w*)\b"
    r"|n't\b|例え?ば|たとえば|ません|なかった|できず|拒否|許可|確認が"
)
_CITES = late_pattern(r"\.\w{1,5}(?:[:#]L?\d|`?」? ?の ?\d{1,6} ?行目)")
_FEWEST_NUMBERS = 2
_MOST_NAMED = 20
"""Names in a request that are looked for in the project."""
_TELLING_LINE = 8  # characters
_NUMBERED = late_pattern(r"^(?:[^\s:]{1,200}:)?\d{1,7}[:|\t-]\s*")


class StatedChecks:
    """Compares an answer with what was read in a run."""

    def __init__(self, tools: ToolSystem, facts: RunFacts, listing: ProjectListing) -> None:
        self._tools = tools
        self._facts = facts
        self._listing = listing
        self._own_remarks: set[str] = set()
        self._elsewhere: dict[str, str] = {}

    def findings(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield what the answer states and the model has not seen, the most urgent first. Reads files."""
        yield from self._of_queries(state, text)
        yield from self._of_unread(state, text)
        yield from self._of_parts(state, text)
        yield from self._of_pictures(state, text)
        yield from self._of_refused(state, text)
        yield from self._of_absent(state, text)
        yield from self._of_unreadable(state, text)
        yield from self._of_evidence(state, text)
        yield from self._of_paths(state, text)

    def _of_queries(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield what the answer says against the newest query of a database, unless files were edited, and that
        every row was changed."""
        facts = self._facts
        if facts.query is None and not facts.every_row:
            return
        from localllm.agent.checks import query_checks  # few runs query a database

        own = self._own_remarks
        known = [one.text for one in state.history.messages if not isinstance(one, AssistantMessage)]
        known = [one for one in known if one not in own]
        query = None if facts.edited else facts.query
        if (
            query
            and not query.is_sql
            and (facts.calls > 1 or facts.changed or request_phrases.asks_for_change(state.goal))
        ):
            query = None  # the number may be of something else
        for one in query_checks.findings(query, facts.every_row, state.goal, text, known):
            own.add(remark(one.name, **one.params) if one.name else "")
            yield one

    def _of_unread(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield the file that a question is about, if the model called no tool and no message has held a line of it.
        Where a change was asked for, that it was not made is said instead."""
        request, given = (
            state.query,
            [one.text for one in state.history.messages if not isinstance(one, AssistantMessage)],
        )
        if self._facts.calls or not any(tool.name == "read_file" for tool in state.tools):
            return
        paths = phrases.named_files(request)[:_MOST_NAMED]
        if not paths or request_phrases.asks_for_change(request) or not request_phrases.asks_about_content(request):
            return
        if any("<stdin>" in one for one in given) or phrases.admits_failure(text) or phrases.asks_user(text):
            return
        for path in paths:
            name = path.removeprefix("./")
            is_attached = f"@{path}" in request or f"＠{path}" in request
            content = None if is_attached else self._tools.unread_text(name)
            if content is not None and not _shares_line(content, given):
                reason = Phrase("{path} was not read", path=shown(name))
                yield Finding("not_read", reason, contradicts=False, params={"path": name})
                return

    def _of_parts(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield the lines that were not read of files that were to be read as a whole."""
        if not self._facts.calls or state.history.generation or not phrases.named_files(state.query):
            return
        from localllm.agent.checks import partly_read  # few requests name a file to be read as a whole

        if phrases.admits_failure(text):
            return
        if unread := partly_read.partly_read(state.query, text, state.history.messages, self._tools.root):
            listed = ", ".join(map(shown, unread))
            reason = Phrase("{path} was not read", path=listed)
            yield Finding("partly_read", reason, contradicts=False, params={"paths": listed})

    def _of_pictures(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield the picture that the answer describes and that no call has named."""
        if state.tools and any(ending in state.query.lower() for ending in _PICTURES):
            from localllm.agent.checks import unseen_pictures  # few requests name one

            yield from unseen_pictures.findings(state, text, self._tools, self._facts, self._listing)

    def _of_refused(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield that the answer states numbers, though calls were refused and none has given a result."""
        facts = self._facts
        if not facts.was_refused or facts.has_result or len(state.history.words) > 1:
            return
        asked = [one.text for one in state.history.messages if isinstance(one, UserMessage)]
        if any("<stdin>" in one or "<file " in one for one in asked) or phrases.admits_failure(text):
            return
        if _states_numbers(text, state.query):
            yield Finding("nothing_read", Phrase("nothing was read: every call was refused"), contradicts=False)

    def _of_absent(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield a file that a question is about, if nothing has its name and the answer tells of it as if it were
        there. Files with usual names may be meant in general; those of an earlier version are seen by commands."""
        facts, request = self._facts, state.query
        if facts.has_run or facts.has_changed or len(state.history.words) > 1 or "." not in request:
            return
        if "\n" in request.strip() or "Error" in request:  # which may name files of libraries
            return
        if request_phrases.asks_for_change(request) or not request_phrases.asks_about_content(request):
            return
        from localllm.agent.phrases import claimed_files as files  # few questions are about a file

        asked = [one.text for one in state.history.messages if isinstance(one, UserMessage)]
        if any("<stdin>" in one or "<file " in one for one in asked) or not state.tools:
            return
        said = without_code(text)
        for path in files.paths_in(request)[:_MOST_NAMED]:
            name = path.rpartition("/")[2]
            is_general = not facts.calls and (name in _USUAL_NAMES or not (self._tools.root / path).parent.is_dir())
            if is_general or name not in said or _IS_ABSENT.search(text) or phrases.admits_failure(text):
                continue
            if files.is_missing(self._listing, path):
                reason = Phrase("{path} does not exist", path=shown(path))
                yield Finding("not_here", reason, contradicts=False, params={"path": path})
                return

    def _of_unreadable(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield the file that the request names and that could not be read, if nothing else was found out since and the
        answer does not say so."""
        path, picture = self._facts.unreadable, self._facts.unseen
        if not path or path.rpartition("/")[2] not in state.query:
            return
        if picture:
            from localllm.agent.checks.unseen_pictures import admits_blindness

            is_told = admits_blindness(text)
        else:
            is_told = bool(_UNREAD.search(text)) or phrases.admits_failure(text)
        is_of_size = any(str(size) in text for size in (picture.get("width"), picture.get("height")) if size)
        if not (is_told or is_of_size or phrases.asks_user(text)):
            name, reason = ("unseen", _UNSEEN) if picture else ("unreadable", _NOT_READ)
            yield Finding(name, Phrase(reason, path=shown(path)), contradicts=False, params={"path": path})

    def _of_evidence(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield the files, lines and long numbers of an answer to a question that nothing has. Where files were, or are
        to be, changed, an answer may speak of what is not there yet; numbers come from outputs also where a program
        may have written files that are not tracked."""
        facts, messages = self._facts, state.history.messages
        if not facts.calls:
            yield from self._of_memory(state, text)
            return
        if facts.changed or request_phrases.asks_for_change(state.goal):
            return
        from localllm.agent.checks import answer_evidence as evidence  # most answers of other runs state nothing of it

        own = self._own_remarks
        known = [one.text for one in messages if not isinstance(one, AssistantMessage) and one.text not in own]
        if facts.searches:
            from localllm.rag.citations import references_in

            known += references_in(text)  # they are compared with the passages
        found: list[evidence.Unfounded] = []
        if not facts.has_changed:
            found = evidence.missing_places(text, known, self._listing, self._tools.readable_text, state.goal)
        name = "not_there"
        if not found and facts.has_run and not facts.searches and not state.history.generation:
            written = [
                call.arguments for one in messages if isinstance(one, AssistantMessage) for call in one.tool_calls
            ]
            found, name = evidence.unfounded_numbers(text, [*known, *written]), "no_such_number"
        what = "; ".join(one.what for one in found)
        if found:
            own.add(remark(name, what=what))  # which names what nothing else does
        for one in found:
            yield Finding(name, one.reason, contradicts=False, params={"what": what})

    def _of_memory(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield the lines of files that are not there, of an answer to the first request before which nothing was
        looked at."""
        is_first = len(state.history.words) == 1 and bool(state.tools)
        if not is_first or not _CITES.search(text) or request_phrases.asks_for_change(state.goal):
            return
        from localllm.agent.checks import answer_evidence as evidence  # few answers without a call cite a line

        known = [one.text for one in state.history.messages if not isinstance(one, AssistantMessage)]
        known = [one for one in known if one not in self._own_remarks]
        found = evidence.places_from_memory(text, known, self._listing, state.goal)
        what = "; ".join(one.what for one in found)
        if found:
            self._own_remarks.add(remark("not_there", what=what))
        for one in found:
            yield Finding("not_there", one.reason, contradicts=False, params={"what": what})

    def _of_paths(self, state: RunState, text: str) -> Iterator[Finding]:
        """Yield a file that the answer names, that is not there and that nothing in the conversation has named, while
        one of that name is somewhere else: the model has guessed. Not where files were, or are to be, changed."""
        if self._facts.has_changed or not state.tools or request_phrases.asks_for_change(state.goal):
            return
        paths = phrases.named_paths(text)
        if not self._facts.calls:  # these may stand for those of any project
            paths = [path for path in paths if path.rpartition("/")[2] not in _USUAL_NAMES]
        if not paths:
            return
        from localllm.agent.checks.answer_evidence import elsewhere  # most answers name no file

        known = [one.text for one in state.history.messages if not isinstance(one, AssistantMessage)]
        for path in paths:
            if path not in self._elsewhere:
                is_known = any(path in one for one in known)
                self._elsewhere[path] = "" if is_known else elsewhere(self._listing, path)
            if there := self._elsewhere[path]:
                reason = Phrase("the answer names {path}, which does not exist", path=shown(path))
                yield Finding("no_such_file", reason, contradicts=False, params={"path": path, "there": there})
                return


def _shares_line(content: str, texts: Iterable[str]) -> bool:
    """Return whether a line of a file, not one of a few characters, stands in a text, maybe behind its number."""
    lines = {line.strip() for line in content.splitlines()} - {""}
    lines = {line for line in lines if len(line) >= _TELLING_LINE} or lines
    shown = (line.strip() for text in texts for line in text.splitlines())
    return any(line in lines or _NUMBERED.sub("", line) in lines for line in shown)


def _states_numbers(answer: str, request: str) -> bool:
    """Return whether the answer states two numbers or more that the request does not have, and as found out."""
    plain = _IN_CODE.sub(" ", without_code(answer))
    asked = {*_NUMBER.findall(request)}
    numbers = {number for number in _NUMBER.findall(plain) if number not in asked}
    return len(numbers) >= _FEWEST_NUMBERS and not _SUPPOSED.search(plain)
