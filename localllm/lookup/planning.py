"""The next step of a conversation. A plan is played from its beginning each time, with the results there are: what it
asks for that has no result yet is the next step."""

from localllm.llm.messages import CompletionRequest
from localllm.lookup.calls import NOT_OFFERED, Call, Plan
from localllm.lookup.conversation import Talk, read_talk
from localllm.lookup.plan_choice import plan_for
from localllm.lookup.wording import say

_MOST_STEPS = 14
"""Plans take 2 to 6 steps. One that takes this many goes round in a circle."""


def next_step(request: CompletionRequest) -> tuple[Call, ...] | str:
    """The calls to make next, or the answer."""
    talk = read_talk(request)
    if talk.steps >= _MOST_STEPS:
        return say(talk.japanese, "gave_up")
    return play(plan_for(talk), talk)


def play(plan: Plan, talk: Talk) -> tuple[Call, ...] | str:
    """As far as `plan` comes with the results in `talk`. An answer for which no tool could be asked says so."""
    asked = 0
    without: list[str] = []
    try:
        calls = next(plan)
        while True:
            results = [talk.result(call) for call in calls]
            if missing := tuple(call for call, result in zip(calls, results, strict=True) if result is None):
                return tuple(dict.fromkeys(missing))
            known = [result for result in results if result is not None]
            asked += len(known)
            without += [call.name for call, result in zip(calls, known, strict=True) if result.error == NOT_OFFERED]
            calls = plan.send(known)
    except StopIteration as end:
        if without and len(without) == asked:
            return say(talk.japanese, "no_tool", tool=", ".join(dict.fromkeys(without)))
        return str(end.value)
