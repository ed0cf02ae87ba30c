"""Which plan answers a request."""

from localllm.lookup.calls import Plan
from localllm.lookup.conversation import Talk
from localllm.lookup.followups import resolved
from localllm.lookup.orders import order_in
from localllm.lookup.plans import history, listing, overview
from localllm.lookup.plans.actions import carry_out
from localllm.lookup.plans.chat import empty_or, tell
from localllm.lookup.plans.concept import concept
from localllm.lookup.plans.howto import howto
from localllm.lookup.plans.message import message
from localllm.lookup.plans.noted import last_session, noted
from localllm.lookup.plans.pasted import frames_in, pasted_error
from localllm.lookup.plans.symbol import symbol
from localllm.lookup.plans.testing import run_tests
from localllm.lookup.plans.usage import imports, subclasses, uses
from localllm.lookup.questions import Question, understand


def plan_for(talk: Talk) -> Plan:
    """The plan for the request of `talk`."""
    if order := order_in(talk.question):
        return run_tests(talk, order) if order.kind == "tests" else carry_out(talk, order)
    text = f"{talk.question}\n{talk.pasted}"
    if len(frames_in(text)) > 1:
        return pasted_error(talk, text)
    talk = resolved(talk)
    question = understand(talk.question)
    match question.kind:
        case "greeting" | "thanks" | "needs_model":
            return tell(talk, question.kind)
        case _:
            return empty_or(talk, _answering(talk, question))


def _answering(talk: Talk, question: Question) -> Plan:  # noqa: C901 - a table
    match question.kind:
        case "define" | "explain" if question.subject:
            return symbol(talk, question)
        case "value":
            return symbol(talk, question) if question.subject else concept(talk, prefer="constant")
        case "uses" if question.subject:
            return uses(talk, question)
        case "subclasses" if question.subject:
            return subclasses(talk, question)
        case "imports":
            return imports(talk, question)
        case "message":
            return message(talk, question)
        case "commits":
            return history.commits(talk, question)
        case "diff":
            return history.diff(talk, question)
        case "status":
            return history.status(talk)
        case "project":
            return overview.project(talk)
        case "path":
            return overview.described(talk, question)
        case "howto":
            return howto(talk)
        case "list":
            return listing.listed(talk, question)
        case "count":
            return listing.counted(talk, question)
        case "tests":
            return listing.tests_for(talk, question.subject)
        case "todo":
            return listing.todo(talk, question)
        case "decided" | "preferred":
            return noted(talk, question.kind)
        case "before":
            return last_session(talk)
        case "people":
            return listing.people(talk)
        case _:
            return concept(talk)
