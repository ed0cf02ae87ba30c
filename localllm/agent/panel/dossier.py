"""Build a dossier: select what the panel sees of a stuck run, and truncate it to the window."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from localllm.agent.panel.records import Attempt, Dossier, MainPrompt, merge_equal
from localllm.base.events import ToolCall
from localllm.base.jsontext import encode_json
from localllm.llm.messages import (
    AssistantMessage,
    Message,
    ToolMessage,
    ToolSpec,
    UserMessage,
    arguments_in,
    path_of,
)
from localllm.llm.tokens import BYTES_PER_TOKEN, estimate_tokens
from localllm.text.nearest_region import closest_region

_TELLS_ERROR = (
    r"error|exception|fail|fatal|panic|traceback|assert|abort|undefined|unexpected|invalid|not found|no such"
    r"|cannot|can't|could not|denied|refused|timed? ?out|exit code|expected|^E\s"
    r"|エラー|例外|失敗|見つか|できません|ありません|終了コード|タイムアウト"
)
_LAST_LINES = 6
_NEIGHBOURS = 2
_NOTE_TOKENS = 12
"""Tokens of the note on a gap."""


def excerpt(text: str, most: int) -> str:
    """Truncate `text` to about `most` tokens, with notes at the gaps.
    Kept are the first line, lines with errors (equal ones once) and the last lines, in this order of importance."""
    if estimate_tokens(text) <= most:
        return text
    lines = [cut_middle(line, max(most // 2, 1)) for line in text.rstrip().split("\n")]
    kept: set[int] = set()
    room = most
    for number in _by_importance(lines):
        cost = estimate_tokens(lines[number]) + (0 if {number - 1, number + 1} & kept else _NOTE_TOKENS)
        if number not in kept and cost <= room:
            kept.add(number)
            room -= cost
    return "\n".join(_with_notes(lines, sorted(kept)))


def cut_middle(text: str, most: int) -> str:
    """Truncate `text` in the middle to about `most` tokens, with a note."""
    if estimate_tokens(text) <= most:
        return text
    room = max(int(len(text) * most / estimate_tokens(text)) - int(_NOTE_TOKENS * BYTES_PER_TOKEN), 3)
    head, tail = _ends(text, room)
    while room > 3 and estimate_tokens(head) + estimate_tokens(tail) + _NOTE_TOKENS > most:
        room = room * 9 // 10  # wide characters may be anywhere in it
        head, tail = _ends(text, room)
    return f"{head} [… {len(text) - len(head) - len(tail)} characters left out …] {tail}"


def cut_end(text: str, most: int) -> str:
    """Truncate `text` to about `most` tokens, at the end of a sentence or line if there is a late one."""
    if (size := estimate_tokens(text)) <= most:
        return text
    head = text[: int(len(text) * most / size) - 2]
    while head and estimate_tokens(head) >= most:  # wide characters may be anywhere in it
        head = head[: len(head) * 9 // 10]
    end = max(head.rfind(mark) for mark in (". ", "。", "\n")) + 1
    return (head[:end] if end > len(head) // 2 else head).rstrip() + " …"


def _ends(text: str, room: int) -> tuple[str, str]:
    return text[: room * 2 // 3], text[len(text) - room // 3 :]


def _by_importance(lines: Sequence[str]) -> Iterator[int]:
    """Yield the line numbers by importance, some repeatedly: the errors from both ends, as compilers report the cause
    first and tracebacks last."""
    first_of: dict[str, int] = {}
    for number, line in enumerate(lines):
        if re.search(_TELLS_ERROR, line, re.IGNORECASE):
            first_of.setdefault(line.strip(), number)
    errors = list(first_of.values())
    yield 0
    for early, late in zip(errors, reversed(errors), strict=True):
        yield from (late, early)
    yield from range(len(lines) - 1, max(len(lines) - 1 - _LAST_LINES, 0), -1)
    for number in errors:
        yield from range(max(number - _NEIGHBOURS, 0), min(number + _NEIGHBOURS + 1, len(lines)))


def _with_notes(lines: Sequence[str], kept: Sequence[int]) -> Iterator[str]:
    before = -1
    for number in (*kept, len(lines)):
        if gap := number - before - 1:
            yield f"[… {gap} lines left out …]"
        if number < len(lines):
            yield lines[number]
        before = number


_CHANGING = ("edit_file", "write_file")
_CHANGE_TOKENS = 150
_RANGE = re.compile(r"\((?:lines |全 \d+ 行中 )(\d+)-(\d+)")
_REFERENCE = re.compile(r'^<file path="([^"\n]+)">\n((?>(?:(?!</file>$|<file path=").*+\n)*))</file>$', re.MULTILINE)
_MOST_FILES = 3
_MOST_LINES = 120
_LEAST = 80
"""Minimum useful tokens of a file excerpt."""


Read = Callable[[str], str | None]
"""Returns the current text of a file; None if it has none."""


class ShownFile(msgspec.Struct, frozen=True):
    """What the model saw of a file: `lines`, the first of which has the number `first`; empty if pruned since.
    `change`: the result of the tool that changed it since, if any."""

    path: str
    lines: tuple[str, ...]
    first: int = 1
    change: str = ""


class Work(msgspec.Struct, frozen=True):
    """Work on files: a call and its result."""

    call: ToolCall
    result: str


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What excerpts are selected by:
    `works`, and files named in `about`. `failures` are results of calls that changed nothing."""

    works: tuple[Work, ...] = ()
    about: str = ""
    failures: frozenset[str] = frozenset()


def snippets(messages: Sequence[Message], subject: Subject, room: int, read: Read | None = None) -> tuple[str, ...]:
    """Return excerpts, in about `room` tokens, of the files the subject is about. They are taken around the place
    worked on, from the current text by `read` (else as last read). The newest come first."""
    told = [*map(_mention, subject.works), subject.about]
    shown = reversed(shown_files(messages, subject.failures))
    meant = (file for file in shown if _is_meant(file.path, told))
    current = (_now(file.path, read) if read else file for file in meant)
    chosen = list(islice((file for file in current if file and file.lines), _MOST_FILES))
    pieces: list[str] = []
    for left, file in zip(range(len(chosen), 0, -1), chosen, strict=True):
        share = room // left
        if share < _LEAST:
            break
        piece = _piece(file, _place(file, subject.works), share)
        room -= estimate_tokens(piece)
        pieces.append(piece)
    return tuple(pieces)


def _now(path: str, read: Read) -> ShownFile | None:
    text = read(path)
    return None if text is None else ShownFile(path, tuple(text.removesuffix("\n").split("\n")))


def shown_files(messages: Iterable[Message], failures: Collection[str] = ()) -> list[ShownFile]:
    """Return the latest content of every file shown by read_file or attached by the user, newest last.
    Each has the last change since, which is one without a result in `failures`."""
    found: dict[str, ShownFile] = {}
    asked: dict[str, ToolCall] = {}
    for message in messages:
        match message:
            case AssistantMessage(tool_calls=calls):
                asked = {call.id: call for call in calls}
            case ToolMessage(call_id=call_id, text=text) if call_id in asked:
                _note(found, asked[call_id], text, failures)
            case UserMessage(text=text) if '<file path="' in text:
                for path, content in _REFERENCE.findall(text):
                    _keep(found, path, content.removesuffix("\n"))
            case _:
                pass
    return list(found.values())


def _note(found: dict[str, ShownFile], call: ToolCall, text: str, failures: Collection[str]) -> None:
    """Record what a result says about a file: its content, or that it was changed."""
    path = path_of(call)
    if call.name == "read_file" and path:
        _keep(found, path, text)
    elif call.name in _CHANGING and path in found and not any(map(text.startswith, failures)):
        found[path] = msgspec.structs.replace(found.pop(path), change=text)


def _keep(found: dict[str, ShownFile], path: str, text: str) -> None:
    """Record the file in a result of read_file, unless that is an error."""
    title, _, rest = (text := text.removesuffix("\n")).partition("\n")
    if not rest and title.startswith("["):
        found[path] = ShownFile(path, ())
        return
    if not rest and path in title:
        return
    found.pop(path, None)
    if title.startswith(path) and (place := _RANGE.search(title)):
        found[path] = ShownFile(path, tuple(rest.split("\n")), int(place[1]))
    else:
        found[path] = ShownFile(path, tuple(text.split("\n")))


def _mention(work: Work) -> str:
    return f"{work.call.arguments}\n{work.result}"


def _is_meant(path: str, texts: Iterable[str]) -> bool:
    name = path.rpartition("/")[2]
    word = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])")
    return any(word.search(text) for text in texts)


def _place(file: ShownFile, works: Sequence[Work]) -> tuple[int, int]:
    """Return the start and end index of the lines the latest work on the file was about."""
    for work in reversed(works):
        if path_of(work.call) == file.path:
            arguments = arguments_in(work.call.arguments)
            passage = arguments.get("old_string") or arguments.get("old_str")
            region = closest_region("\n".join(file.lines), passage) if isinstance(passage, str) and passage else None
            if region:
                return region.start - 1, region.end
        if line := _line_named(file, work.result):
            return line - file.first, line - file.first + 1
    return 0, 1


def _line_named(file: ShownFile, text: str) -> int:
    """Return the last line of the file named by a traceback, compiler or test run; 0 if none."""
    name = re.escape(file.path.rpartition("/")[2])
    named = [int(number) for number in re.findall(rf'{name}["\']?(?:, line |:|\()(\d+)', text)]
    last = file.first + len(file.lines)
    return next((number for number in reversed(named) if file.first <= number < last), 0)


def _piece(file: ShownFile, place: tuple[int, int], room: int) -> str:
    """Return the lines around `place` that fit, with a heading."""
    heading = f"{file.path}, lines {{}}-{{}}:"
    change = f"\n[It was changed since: {cut_end(file.change, _CHANGE_TOKENS)}]" if file.change else ""
    start, end = _span(file.lines, place, room - estimate_tokens(heading) - estimate_tokens(change) - 4)
    body = "\n".join(file.lines[start:end]) + change
    return f"{heading.format(file.first + start, file.first + max(end, start + 1) - 1)}\n{body}"


def _span(lines: Sequence[str], place: tuple[int, int], room: int) -> tuple[int, int]:
    """Return the start and end index of the lines that fit: the place itself, then as much before as after it."""
    start = end = place[0]
    is_full = False
    while not is_full and end - start < _MOST_LINES:
        is_full = True
        if end < len(lines) and (cost := estimate_tokens(lines[end]) + 1) <= room:
            end, room, is_full = end + 1, room - cost, False
        if end >= place[1] and start > 0 and (cost := estimate_tokens(lines[start - 1]) + 1) <= room:
            start, room, is_full = start - 1, room - cost, False
    return start, end


MOST_TOKENS = 3_000
"""Maximum estimated tokens of a whole dossier."""

_GOAL = 800
_PROBLEM = 200
_ATTEMPTS = 1_400
_ONE_ATTEMPT = 700
_LEAST_FOR_ATTEMPT = 60
_ARGUMENT = 120
_HEADINGS = 60
"""Maximum tokens of each part. What one does not use is left to the file excerpts, the last part."""


def make_dossier(
    goal: str,
    problem: str,
    attempts: Sequence[Attempt],
    messages: Sequence[Message],
    *,
    unsolved: bool = False,
    read: Read | None = None,
    tools: Sequence[ToolSpec] | None = None,
) -> Dossier:
    """Create the dossier on `problem` from failed `attempts` (all, if none failed), equal ones merged. It has excerpts
    of the files in `messages` they are about, with their current text from `read`. `unsolved`: only failures without a
    later success. `tools`: those offered to the agent, if members may be asked at the end of `messages`.

    The goal and all error texts are kept verbatim, unless one alone would take the room of all others: then its middle,
    or a result's lines without errors, are replaced by a note.
    """
    goal, problem = cut_middle(goal, _GOAL), cut_middle(problem, _PROBLEM)
    failed = [attempt for attempt in attempts if attempt.failed]
    distinct = merge_equal(_unsolved(attempts) if unsolved else failed or attempts, by_result=True)
    kept = _fitting(distinct)
    without = Dossier(goal=goal, problem=problem, attempts=kept, left_out=len(distinct) - len(kept))
    room = MOST_TOKENS - estimate_tokens(_written(without)) - _HEADINGS
    subject = Subject(
        works=tuple(Work(attempt.call, attempt.result) for attempt in distinct),
        about=f"{goal}\n{problem}",
        failures=frozenset(attempt.result for attempt in failed),
    )
    main = None if tools is None else MainPrompt(tuple(messages), tuple(tools))
    return msgspec.structs.replace(without, snippets=snippets(messages, subject, room, read), main=main)


def question_only(dossier: Dossier, goal: int = _GOAL) -> Dossier:
    """Return only the goal, in about `goal` tokens, and the problem: for members who see the conversation itself."""
    return Dossier(goal=cut_middle(dossier.goal, goal), problem=dossier.problem)


def dossier_text(dossier: Dossier, room: int = 0) -> str:
    """Format a dossier; with `room`, in that many tokens: file excerpts are dropped first, then the oldest attempts."""
    text = _written(dossier)
    if not room or estimate_tokens(text) <= room:
        return text
    bare = msgspec.structs.replace(dossier, snippets=())
    if (left := room - estimate_tokens(_written(bare)) - _HEADINGS) >= 0:
        return _written(msgspec.structs.replace(dossier, snippets=_pieces_in(dossier.snippets, left)))
    short = Dossier(goal=cut_middle(dossier.goal, room // 3), problem=cut_middle(dossier.problem, room // 6))
    kept = _fitting(dossier.attempts, max(room - estimate_tokens(_written(short)) - _HEADINGS, _LEAST_FOR_ATTEMPT))
    left_out = dossier.left_out + len(dossier.attempts) - len(kept)
    return _written(msgspec.structs.replace(short, attempts=kept, left_out=left_out))


def _written(dossier: Dossier) -> str:
    parts = [f"## Goal\n{dossier.goal}", f"## Problem\n{dossier.problem}"]
    if dossier.attempts:
        tried = [_attempt_text(number, attempt) for number, attempt in enumerate(dossier.attempts, 1)]
        earlier = [f"(earlier ones left out: {dossier.left_out})"] if dossier.left_out else []
        parts.append("\n\n".join(["## What was tried, and the exact results, oldest first", *earlier, *tried]))
    if dossier.snippets:
        parts.append("\n\n".join(["## From the files", *dossier.snippets]))
    return "\n\n".join(parts)


def _pieces_in(snippets: Sequence[str], room: int) -> tuple[str, ...]:
    """Return the first snippets that fit, the last one truncated."""
    kept: list[str] = []
    for piece in snippets:
        if room < _LEAST_FOR_ATTEMPT:
            break
        kept.append(cut_end(piece, room))
        room -= estimate_tokens(kept[-1])
    return tuple(kept)


def _unsolved(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Return the failures without a later success of the same command, or the same tool on the same file."""
    solved: set[tuple[str, str]] = set()
    failed: list[Attempt] = []
    for attempt in reversed(attempts):
        work = (attempt.call.name, path_of(attempt.call) or attempt.call.arguments)
        if not attempt.failed:
            solved.add(work)
        elif work not in solved:
            failed.insert(0, attempt)
    return failed


def _fitting(attempts: Sequence[Attempt], room: int = _ATTEMPTS) -> tuple[Attempt, ...]:
    """Return the newest attempts that fit, oldest first, with long results truncated."""
    kept: list[Attempt] = []
    for attempt in reversed(attempts):
        bare = estimate_tokens(_attempt_text(1, msgspec.structs.replace(attempt, result="")))
        most = min(_ONE_ATTEMPT, room - bare)
        if kept and most < _LEAST_FOR_ATTEMPT:
            break
        fitting = msgspec.structs.replace(attempt, result=excerpt(attempt.result, max(most, _LEAST_FOR_ATTEMPT)))
        room -= bare + estimate_tokens(fitting.result)
        kept.insert(0, fitting)
    return tuple(kept)


def _attempt_text(number: int, attempt: Attempt) -> str:
    times = f" ({attempt.count} times)" if attempt.count > 1 else ""
    return f"{number}. {attempt.call.name} {_arguments_text(attempt.call)}{times}\n{attempt.result}"


def _arguments_text(call: ToolCall) -> str:
    """Format the arguments as JSON, with long texts truncated in the middle."""
    if not (arguments := arguments_in(call.arguments)):
        return cut_middle(call.arguments or "{}", 2 * _ARGUMENT)
    short = {name: cut_middle(text, _ARGUMENT) if isinstance(text, str) else text for name, text in arguments.items()}
    return cut_middle(encode_json(short).decode(), 3 * _ARGUMENT)
