"""The strategies `vote` and `self`: a majority vote of the workers, or of one model's samples.

Self-consistency (Wang and others, 2022): an answer that several sampled chains of thought share is right more often
than a single one.
"""

import msgspec

from localllm.base.i18n import _, ngettext
from localllm.ensemble.agreement import AgreeingAnswers, Agreement
from localllm.ensemble.review import NO_ANSWER, merge, names_of, noted_agreement, weights_of
from localllm.ensemble.run import Outcome, Run

SAMPLING_TEMPERATURE = 0.7
"""Default temperature of samples: at 0 all would be equal."""


async def vote(run: Run) -> Outcome:
    """Ask the workers and return the most frequent answer."""
    await run.ask_workers()
    return await _decided(run)


async def sample(run: Run) -> Outcome:
    """Sample the worker with the greatest weight several times; return its most frequent answer, or have its answers
    reviewed."""
    agent = max(run.workers, key=lambda one: one.config.weight)
    count = run.settings.samples
    temperature = agent.config.temperature or SAMPLING_TEMPERATURE
    run.runtime["sampled"] = {"agent": agent.name, "samples": count, "temperature": temperature}
    names = [f"{agent.name} #{number}" for number in range(1, count + 1)]
    await run.ask_workers([agent] * count, names=names, temperature=temperature)
    return await _decided(run)


async def _decided(run: Run) -> Outcome:
    """Return the most frequent answer; the reviewer decides for prose, and between ties."""
    agreement = noted_agreement(run)
    if not agreement.groups:
        return NO_ANSWER
    if not agreement.has_values:
        run.runtime["vote"] = {"decided": "review", "reason": "the answers are no short values that could be counted"}
        return await merge(run, agreement)
    weights = weights_of(run)
    votes = [(sum(weights[worker] for worker in opinion.workers), opinion) for opinion in agreement.opinions]
    votes.sort(key=lambda vote: -vote[0])
    run.runtime["vote"] = {
        "decided": "majority",
        "tally": [
            {"answer": opinion.value, "votes": count, "workers": names_of(run, opinion.workers)}
            for count, opinion in votes
        ],
    }
    tied = [opinion for count, opinion in votes if count >= votes[0][0] - 1e-9]
    tally = "\n".join(_told(run, count, opinion) for count, opinion in votes)
    if len(tied) > 1:
        run.runtime["vote"]["decided"] = "tie"
        outcome = await merge(run, _among(agreement, tied))
        return msgspec.structs.replace(outcome, review_comment=f"{tally}\n\n{outcome.review_comment}".strip())
    winner = max(tied[0].workers, key=lambda worker: (weights[worker], -worker))
    answer = run.answers[winner]
    run.runtime["best"] = answer.agent
    return Outcome(final_answer=answer.text, review_comment=tally, finish_reason=answer.finish_reason)


def _among(agreement: Agreement, opinions: list[AgreeingAnswers]) -> Agreement:
    """Restrict the agreement to these opinions."""
    workers = {worker for opinion in opinions for worker in opinion.workers}
    groups = tuple(group for group in agreement.groups if group.workers[0] in workers)
    return msgspec.structs.replace(agreement, groups=groups, opinions=tuple(opinions), consensus=None)


def _told(run: Run, count: float, opinion: AgreeingAnswers) -> str:
    names = ", ".join(run.answers[worker].agent for worker in opinion.workers)
    votes = ngettext("{count} vote", "{count} votes", f"{count:g}")
    return _("- {answer}: {votes} ({names})", answer=opinion.value or "…", votes=votes, names=names)
