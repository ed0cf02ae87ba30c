"""Route a request: classify the question and apply the rule for it."""

import posixpath
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from localllm.base.paths import open_storage
from localllm.llm.messages import CompletionRequest
from localllm.lookup import answers, overview, passage_quotes
from localllm.lookup.conversation import Call, Talk, read_talk
from localllm.lookup.index import ProjectIndex
from localllm.lookup.orders import git_calls, next_call, order_in, report
from localllm.lookup.questions import Question, understand
from localllm.lookup.readable_files import reads_of
from localllm.lookup.tracebacks import has_frames, pasted_error

_CACHE = "lookup.sqlite"


def next_step(request: CompletionRequest, root: Path, environ: Mapping[str, str]) -> tuple[Call, ...] | str:
    """Return the next tool calls, or the answer."""
    talk = read_talk(request)
    if passage_quotes.is_asked(talk):
        return passage_quotes.next_step(talk)
    if talk.calls and all(call.result is not None for call in talk.calls):
        return "\n\n".join(report(talk, root, call) for call in talk.calls)
    order = order_in(talk.question)
    question = understand(talk.question)
    if order is None and question.kind in ("greeting", "thanks", "needs_model"):
        return talk.say(question.kind)
    reads = reads_of(root, environ)
    if order is None and question.kind in ("commits", "status", "diff"):
        return git_calls(talk, question.kind, question.subject)
    cache = open_storage(root, environ).cache_file(_CACHE)
    with closing(ProjectIndex(root, cache, reads.exclude, reads.closed)) as index:
        if order is not None:
            if order.kind in ("replace", "append") and index.is_closed(posixpath.normpath(order.path)):
                return talk.say("no_path", path=order.path)  # the call would quote it, and stay in the log
            tests = overview.command_of_tests(index, reads.memory, order.path) if order.kind == "tests" else ""
            call = next_call(talk, root, order, tests)
            return call if isinstance(call, str) else (call,)
        index.refresh()
        if has_frames(f"{talk.question}\n{talk.pasted}"):
            return pasted_error(talk, index, f"{talk.question}\n{talk.pasted}")
        return _answer(talk, index, question, reads.memory)


def _answer(talk: Talk, index: ProjectIndex, question: Question, memory: str) -> str:  # noqa: C901 - a table
    if not index.size():
        return talk.say("empty")
    if question.kind == "path" and "/" not in question.subject and not overview.real_path(index, question.subject):
        question = Question("concept")
    match question.kind:
        case "define" | "explain" | "value" if question.subject:
            return answers.symbol(talk, index, question)
        case "value":
            return answers.concept(talk, index, prefer="constant")
        case "uses" if question.subject:
            return answers.uses(talk, index, question)
        case "subclasses" if question.subject:
            return answers.subclasses(talk, index, question)
        case "imports":
            return answers.imports(talk, index, question)
        case "message":
            return answers.message(talk, index, question.subject)
        case "tests":
            return answers.tests_for(talk, index, question.subject)
        case "project":
            return overview.project(talk, index)
        case "path":
            return overview.path_described(talk, index, question)
        case "howto":
            return overview.how_to(talk, index, memory)
        case "list" | "count":
            return overview.listed(talk, index, question)
        case "todo":
            return overview.left_to_do(talk, index, memory)
        case "decided" | "preferred" | "before":
            return overview.noted(talk, index, question.kind, memory)
        case _:
            return answers.concept(talk, index)
