"""The paper's strategy `review`: a reviewer reads all answers and writes the final one."""

import random
import re
from collections.abc import Mapping, Sequence

import msgspec

from localllm.base.errors import EnsembleError, LocalLLMError
from localllm.base.events import Json
from localllm.base.i18n import _
from localllm.ensemble.agreement import Agreement, AnswerGroup, find_agreement, medoid
from localllm.ensemble.answers import Answer
from localllm.ensemble.budget import Room
from localllm.ensemble.records import Review
from localllm.ensemble.review_leftovers import names_label, without_references
from localllm.ensemble.review_prompt import ReviewPrompt, Task, language_of, review_prompt
from localllm.ensemble.review_reply import read_review
from localllm.ensemble.run import Outcome, Run
from localllm.llm.messages import AssistantMessage, Message, SystemMessage, UserMessage
from localllm.text.scripts import is_chinese

_IN_JAPANESE = "最終回答が中国語になっています。同じ内容の最終回答だけを、いま日本語で書いてください。"
_OF_CHINESE = "中国|中文|漢文|訳"

NO_ANSWER = Outcome(final_answer="")
"""The outcome if no worker has answered."""


async def review(run: Run) -> Outcome:
    """Ask the workers, then have the reviewer merge their answers."""
    await run.ask_workers()
    agreement = noted_agreement(run)
    return await merge(run, agreement) if agreement.groups else NO_ANSWER


async def merge(run: Run, agreement: Agreement) -> Outcome:
    """Have the reviewer merge the answers in `agreement`; if it fails, fall back to one of them."""
    prompt = prompt_about(run, agreement)
    read = Review(comment="", final_answer="")
    try:
        answer = await ask_about(run, prompt)
        read = read_review(answer.text, prompt.labels)
        if not read.final_answer:
            answer, read = await _asked_for_final(run, prompt, answer, read)
        elif not run.question.stream:  # what was sent cannot be revoked
            answer, read = await _in_japanese(run, prompt, answer, read)
            answer, read = await _without_labels(run, prompt, answer, read)
    except LocalLLMError as error:
        return stand_in(run, error, best=read.best, comment=prompt.with_names(read.comment))
    note_judgement(run, read.scores, read.best)
    comment = prompt.with_names(read.comment)
    if not read.is_parsed:
        comment = _("The reviewer did not follow the format: its whole answer is used as the final one.")
    return Outcome(final_answer=read.final_answer, review_comment=comment, finish_reason=answer.finish_reason)


def prompt_about(run: Run, agreement: Agreement, task: Task = "review") -> ReviewPrompt:
    """Build the reviewer's prompt on the answers in `agreement`, and record its labels in `runtime`."""
    prompt = review_prompt(
        run.question,
        run.answers,
        agreement,
        random.Random(f"{run.run_id} {task}"),  # noqa: S311 - an order, no secret
        anonymous=run.settings.anonymous,
        language=run.settings.review_language,
        constrained=_may_be_json(run, agreement.groups),
        task=task,
    )
    labels = {**prompt.labels, **prompt.failed}
    run.runtime["labels"] = {label: names_of(run, workers) for label, workers in labels.items()}
    run.runtime["reviewer"] = run.reviewer.name
    return prompt


def stand_in(run: Run, error: LocalLLMError, *, best: int | None = None, comment: str = "") -> Outcome:
    """Fall back to one answer if the reviewer fails: the one it called best, else the medoid, named in
    `runtime.fallback`."""
    index = medoid(run.answers, weights_of(run)) if best is None else best
    if index is None:
        return msgspec.structs.replace(NO_ANSWER, reviewer_error=error)
    answer = run.answers[index]
    run.runtime["fallback"] = answer.agent
    return Outcome(
        final_answer=answer.text, review_comment=comment, reviewer_error=error, finish_reason=answer.finish_reason
    )


def noted_agreement(run: Run) -> Agreement:
    """Compute the agreement, and record duplicates and a consensus in `runtime`."""
    agreement = find_agreement(run.answers)
    if repeated := [names_of(run, group.workers) for group in agreement.groups if len(group.workers) > 1]:
        run.runtime["duplicates"] = repeated
    if shared := agreement.consensus:
        total = sum(not answer.has_failed for answer in run.answers)
        run.runtime["consensus"] = {"answer": shared.value, "workers": names_of(run, shared.workers), "of": total}
    return agreement


def note_judgement(run: Run, scores: Mapping[int, float], best: int | None) -> None:
    """Record the reviewer's scores and its best answer in `runtime`."""
    if scores:
        run.runtime["scores"] = {run.answers[worker].agent: score for worker, score in sorted(scores.items())}
    if best is not None:
        run.runtime["best"] = run.answers[best].agent


def weights_of(run: Run) -> list[float]:
    """Return the weights of the workers, by index."""
    weights = {agent.name: agent.config.weight for agent in run.workers}
    return [weights.get(answer.agent, 1.0) for answer in run.answers]


async def ask_about(run: Run, prompt: ReviewPrompt) -> Answer:
    """Send a prompt to the reviewer. Raises LocalLLMError."""
    return await run.ask_reviewer(lambda room: _messages(run, prompt, room), schema=prompt.schema)


def _messages(run: Run, prompt: ReviewPrompt, room: Room) -> list[Message]:
    before: list[Message] = [SystemMessage(run.reviewer.config.system)] if run.reviewer.config.system else []
    return [*before, UserMessage(prompt.text(room, run.reviewer.endpoint.assumed_window))]


async def _asked_for_final(
    run: Run, prompt: ReviewPrompt, answer: Answer, read: Review, request: str = ""
) -> tuple[Answer, Review]:
    """Request the final answer once more if the review lacks it, or with another `request`. Raises LocalLLMError."""
    request = request or prompt.request_for_final

    def messages(room: Room) -> list[Message]:
        beside = room.estimate(answer.text) + room.estimate(request)
        smaller = Room(max(0, room.tokens - beside), room.estimate)
        said = AssistantMessage(answer.text), UserMessage(request)
        return [*_messages(run, prompt, smaller), *said]

    again = await run.ask_reviewer(messages)
    final = read_review(again.text, prompt.labels).final_answer
    if not final:
        raise EnsembleError("ensemble_no_final_answer", agent=run.reviewer.name)
    return again, msgspec.structs.replace(read, final_answer=final)


async def _in_japanese(run: Run, prompt: ReviewPrompt, answer: Answer, read: Review) -> tuple[Answer, Review]:
    """Request a final answer in Chinese once more if the question is in Japanese and does not speak of Chinese; keep it
    as it is if that does not help."""
    question = run.question.prompt
    if not is_chinese(read.final_answer) or language_of(question) != "ja" or re.search(_OF_CHINESE, question):
        return answer, read
    try:
        again, other = await _asked_for_final(run, prompt, answer, read, _IN_JAPANESE)
    except LocalLLMError:
        return answer, read
    return (answer, read) if is_chinese(other.final_answer) else (again, other)


async def _without_labels(run: Run, prompt: ReviewPrompt, answer: Answer, read: Review) -> tuple[Answer, Review]:
    """Drop references to the labels of the review from the final answer; request it once more if it still speaks of
    one, and keep it as it is if that does not help."""
    read = msgspec.structs.replace(read, final_answer=without_references(read.final_answer, prompt.labels))
    if not names_label(read.final_answer, prompt.labels):
        return answer, read
    try:
        again, other = await _asked_for_final(run, prompt, answer, read)
    except LocalLLMError:
        return answer, read
    final = without_references(other.final_answer, prompt.labels)
    is_better = not names_label(final, prompt.labels)
    return (again, msgspec.structs.replace(other, final_answer=final)) if is_better else (answer, read)


def _may_be_json(run: Run, groups: Sequence[AnswerGroup]) -> bool:
    """Whether to request the review as JSON: the server constrains output, the review is not streamed, and there is no
    code, which models write worse in strings."""
    has_code = any("```" in text for text in (run.question.prompt, *(group.text for group in groups)))
    return run.reviewer.endpoint.constrains and not run.question.stream and not has_code


def names_of(run: Run, workers: Sequence[int]) -> list[Json]:
    """Return the names of workers by index."""
    return [run.answers[worker].agent for worker in workers]
