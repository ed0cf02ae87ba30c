"""The strategy `rank`: rank the answers and merge only the top ones, so that weak answers do no harm."""

import msgspec

from localllm.base.errors import LocalLLMError
from localllm.base.events import Json
from localllm.base.i18n import _
from localllm.ensemble.choice_reply import read_ranking
from localllm.ensemble.review import (
    NO_ANSWER,
    ask_about,
    merge,
    note_judgement,
    noted_agreement,
    prompt_about,
    stand_in,
)
from localllm.ensemble.run import Outcome, Run

_MOST_MERGED = 3
"""Most answers to merge, as in LLM-Blender (Jiang and others, 2023)."""

_FEWEST_RANKED = 3
"""Fewer answers are all merged without a ranking."""


async def rank(run: Run) -> Outcome:
    """Ask the workers, have the reviewer rank their answers, and merge the better half, three at most."""
    await run.ask_workers()
    agreement = noted_agreement(run)
    if not agreement.groups:
        return NO_ANSWER
    if len(agreement.groups) < _FEWEST_RANKED:
        return await merge(run, agreement)
    prompt = prompt_about(run, agreement, "rank")
    try:
        answer = await ask_about(run, prompt)
    except LocalLLMError as error:
        return stand_in(run, error)
    ranking = read_ranking(answer.text, prompt.labels)
    if not ranking.order:
        outcome = await merge(run, agreement)
        remark = _("The reviewer gave no ranking: all answers were merged.")
        return msgspec.structs.replace(outcome, review_comment=f"{remark}\n\n{outcome.review_comment}".strip())
    workers = [prompt.labels[label][0] for label in ranking.order]
    order: list[Json] = [run.answers[worker].agent for worker in workers]
    run.runtime["ranking"] = order
    note_judgement(run, ranking.scores, workers[0])
    count = min(_MOST_MERGED, max(2, (len(workers) + 1) // 2))
    top = set(workers[:count])
    groups = tuple(group for group in agreement.groups if group.workers[0] in top)
    outcome = await merge(run, msgspec.structs.replace(agreement, groups=groups, consensus=None))
    told = _("Ranking: {names}", names=" > ".join(map(str, order)))
    comments = [told, prompt.with_names(ranking.comment), outcome.review_comment]
    return msgspec.structs.replace(outcome, review_comment="\n\n".join(filter(None, comments)))
