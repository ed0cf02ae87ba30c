"""The strategy `best`: return one worker's answer verbatim, chosen by the reviewer among those that pass the check."""

from collections.abc import Sequence

import msgspec

from localllm.base.errors import EnsembleError, LocalLLMError
from localllm.base.i18n import _, sentences
from localllm.ensemble.agreement import Agreement, AnswerGroup
from localllm.ensemble.answer_checks import CHECK_OUTPUT, Checked
from localllm.ensemble.choice_reply import read_choice
from localllm.ensemble.review import (
    NO_ANSWER,
    ask_about,
    names_of,
    note_judgement,
    noted_agreement,
    prompt_about,
    weights_of,
)
from localllm.ensemble.run import Outcome, Run


async def best(run: Run) -> Outcome:
    """Ask the workers and return the best of their answers verbatim."""
    await run.ask_workers()
    agreement = noted_agreement(run)
    if not agreement.groups:
        return NO_ANSWER
    groups, remark = await _that_hold(run, agreement.groups)
    if len(groups) > 1:
        return await _chosen(run, msgspec.structs.replace(agreement, groups=tuple(groups)), remark)
    return _handed_on(run, groups[0].workers[0], remark or _("There was one answer to choose from."))


async def _that_hold(run: Run, groups: Sequence[AnswerGroup]) -> tuple[Sequence[AnswerGroup], str]:
    """Return the answers that pass the check, with a remark; all if none passes or the check cannot be run."""
    if not run.settings.check:
        return groups, ""
    try:
        checked = await run.checks.check(run.settings.check, [group.text for group in groups])
    except EnsembleError as error:
        run.runtime["check"] = {"error": error.what}
        return groups, sentences(error.what, error.why)
    holding = [group for group, one in zip(groups, checked, strict=True) if one.holds]
    _record_check(run, groups, checked)
    if not holding:
        return groups, _("None of the answers passes the check.")
    names = ", ".join(run.answers[worker].agent for group in holding for worker in group.workers)
    return holding, _("Answers that pass the check: {names}.", names=names)


def _record_check(run: Run, groups: Sequence[AnswerGroup], checked: Sequence[Checked]) -> None:
    holds: dict[str, object] = {}
    output: dict[str, object] = {}
    for group, one in zip(groups, checked, strict=True):
        for name in map(str, names_of(run, group.workers)):
            holds[name] = {"holds": one.holds}
            if not one.holds:
                output[name] = one.remark
    run.runtime["check"] = holds
    if output:
        run.runtime[CHECK_OUTPUT] = output


async def _chosen(run: Run, agreement: Agreement, remark: str) -> Outcome:
    """Return the answer the reviewer chooses; if it chooses none, the one most workers gave, by weight."""
    prompt = prompt_about(run, agreement, "choose")
    comment = remark
    try:
        answer = await ask_about(run, prompt)
        read = read_choice(answer.text, prompt.labels)
        comment = f"{remark}\n\n{prompt.with_names(read.comment)}".strip()
        if read.best is None:
            raise EnsembleError("ensemble_no_choice", agent=run.reviewer.name)
    except LocalLLMError as error:
        weights = weights_of(run)
        given = max(agreement.groups, key=lambda group: sum(weights[worker] for worker in group.workers))
        run.runtime["fallback"] = run.answers[given.workers[0]].agent
        return _handed_on(run, given.workers[0], comment, error)
    note_judgement(run, read.scores, read.best)
    return _handed_on(run, read.best, comment)


def _handed_on(run: Run, worker: int, comment: str, error: LocalLLMError | None = None) -> Outcome:
    answer = run.answers[worker]
    if error is None:
        run.runtime["best"] = answer.agent
    return Outcome(
        final_answer=answer.text, review_comment=comment, reviewer_error=error, finish_reason=answer.finish_reason
    )
