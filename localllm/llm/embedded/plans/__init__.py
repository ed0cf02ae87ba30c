"""Which plan answers a request."""

from localllm.llm.embedded.calls import Plan
from localllm.llm.embedded.conversation import Talk
from localllm.llm.embedded.followups import resolved
from localllm.llm.embedded.orders import order_in
from localllm.llm.embedded.plans import history, listing, overview
from localllm.llm.embedded.plans.actions import carry_out
from localllm.llm.embedded.plans.chat import empty_or, tell
from localllm.llm.embedded.plans.concept import concept
from localllm.llm.embedded.plans.howto import howto
from localllm.llm.embedded.plans.message import message
from localllm.llm.embedded.plans.noted import last_session, noted
from localllm.llm.embedded.plans.pasted import frames_in, pasted_error
from localllm.llm.embedded.plans.symbol import symbol
from localllm.llm.embedded.plans.testing import run_tests
from localllm.llm.embedded.plans.usage import imports, subclasses, uses
from localllm.llm.embedded.questions import Question, understand


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
