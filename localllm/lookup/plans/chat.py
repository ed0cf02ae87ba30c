"""What can be answered without looking: a greeting, thanks, and what would need a model."""

from localllm.lookup.calls import Plan, names
from localllm.lookup.conversation import Talk
from localllm.lookup.wording import say


def tell(talk: Talk, key: str) -> Plan:
    """The text `key`; where the project is known to be empty, that."""
    yield from ()
    return say(talk.japanese, key)


def empty_or(talk: Talk, plan: Plan) -> Plan:
    """`plan`, unless there is no file in the project: then that."""
    if talk.project.told and talk.project.top:
        return (yield from plan)
    (result,) = yield (names(),)
    if not result.error and result.text.startswith("[") and "\n" not in result.text:
        return say(talk.japanese, "empty")
    return (yield from plan)
