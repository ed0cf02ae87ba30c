"""Making a dossier: choosing and cutting what goes into it, and writing it out."""

from collections.abc import Sequence

import msgspec

from localllm.agents.panel.dossier import Attempt, Dossier
from localllm.agents.panel.excerpts import cut_end, cut_middle, excerpt
from localllm.agents.panel.snippets import Subject, Work, snippets
from localllm.base.events import ToolCall
from localllm.base.jsontext import encode_json
from localllm.llm.messages import Message
from localllm.llm.tokens import estimate_tokens
from localllm.llm.tool_calls import arguments_in, path_of

MOST_TOKENS = 3_000
"""Tokens of a whole dossier, as estimated."""

_GOAL = 800
_PROBLEM = 200
_ATTEMPTS = 1_400
_ONE_ATTEMPT = 700
_LEAST_FOR_ATTEMPT = 60
_ARGUMENT = 120
_HEADINGS = 60
"""Tokens each part may take. What is not used of one goes to the pieces of files, the last part."""


def make_dossier(
    goal: str,
    problem: str,
    attempts: Sequence[Attempt],
    messages: Sequence[Message],
    *,
    unsolved: bool = False,
) -> Dossier:
    """The dossier on `problem`: of `attempts` the failed ones (all, where none has failed), equal ones once; of the
    files shown in `messages`, the pieces these attempts are about. `unsolved`: of the failed ones only those that have
    not succeeded since.

    The goal and every error text stay as they are, unless one alone would take the room of all others: then its middle,
    and of a result the lines that tell no error, are left out, with a note.
    """
    goal, problem = cut_middle(goal, _GOAL), cut_middle(problem, _PROBLEM)
    failed = [attempt for attempt in attempts if attempt.failed]
    distinct = _counted(_unsolved(attempts) if unsolved else failed or attempts)
    kept = _fitting(distinct)
    without = Dossier(goal=goal, problem=problem, attempts=kept, left_out=len(distinct) - len(kept))
    room = MOST_TOKENS - estimate_tokens(_written(without)) - _HEADINGS
    subject = Subject(
        works=tuple(Work(attempt.call, attempt.result) for attempt in distinct),
        about=f"{goal}\n{problem}",
        failures=frozenset(attempt.result for attempt in failed),
    )
    return msgspec.structs.replace(without, snippets=snippets(messages, subject, room))


def dossier_text(dossier: Dossier, room: int = 0) -> str:
    """All of a dossier, as others read it; with `room`, what fits so many tokens: the pieces of files give way first,
    then the oldest attempts."""
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
        parts.append("\n\n".join(["## From the files, as last read", *dossier.snippets]))
    return "\n\n".join(parts)


def _pieces_in(snippets: Sequence[str], room: int) -> tuple[str, ...]:
    """The first ones that fit, the last of them cut."""
    kept: list[str] = []
    for piece in snippets:
        if room < _LEAST_FOR_ATTEMPT:
            break
        kept.append(cut_end(piece, room))
        room -= estimate_tokens(kept[-1])
    return tuple(kept)


def _unsolved(attempts: Sequence[Attempt]) -> list[Attempt]:
    """What has failed, and has not succeeded since: the same command, or the same tool on the same file."""
    solved: set[tuple[str, str]] = set()
    failed: list[Attempt] = []
    for attempt in reversed(attempts):
        work = (attempt.call.name, path_of(attempt.call) or attempt.call.arguments)
        if not attempt.failed:
            solved.add(work)
        elif work not in solved:
            failed.insert(0, attempt)
    return failed


def _counted(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Equal ones once, where they came last."""
    found: dict[tuple[str, str, str], Attempt] = {}
    for attempt in attempts:
        key = (attempt.call.name, attempt.call.arguments, attempt.result)
        before = found.pop(key, None)
        count = attempt.count + (before.count if before else 0)
        found[key] = msgspec.structs.replace(attempt, count=count)
    return list(found.values())


def _fitting(attempts: Sequence[Attempt], room: int = _ATTEMPTS) -> tuple[Attempt, ...]:
    """The newest that fit, oldest first, their results cut where they are long."""
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
    """The arguments as JSON, each long text cut in its middle."""
    if not (arguments := arguments_in(call.arguments)):
        return cut_middle(call.arguments or "{}", 2 * _ARGUMENT)
    short = {name: cut_middle(text, _ARGUMENT) if isinstance(text, str) else text for name, text in arguments.items()}
    return cut_middle(encode_json(short).decode(), 3 * _ARGUMENT)
