"""The paper's strategy: a reviewer reads all answers and writes the final one."""

from collections.abc import Sequence

from localllm.base.errors import LocalLLMError
from localllm.ensemble.budget import Room
from localllm.ensemble.records import WorkerAnswer
from localllm.ensemble.review_reply import read_review
from localllm.ensemble.run import Outcome, Run
from localllm.llm.messages import Message, UserMessage


async def review(run: Run) -> Outcome:
    """Ask the workers, and then the reviewer for a review of what they answer."""
    answers = await run.ask_workers()
    if all(answer.has_failed for answer in answers):
        return Outcome(final_answer="")
    return await merge(run, answers)


async def merge(run: Run, answers: Sequence[WorkerAnswer]) -> Outcome:
    """The reviewer's review of the answers, one of which stands in for it where it fails."""
    labels = {chr(ord("A") + index): (index,) for index, answer in enumerate(answers) if not answer.has_failed}

    def prompt(room: Room) -> list[Message]:
        texts = room.shares([answer.text for answer in answers if not answer.has_failed])
        listed = "\n\n".join(f"Answer {label}:\n{text}" for label, text in zip(labels, texts, strict=True))
        asked = f"Question: {run.question.prompt}\n\n{listed}\n\nWrite `## Evaluation` and `## Final answer`."
        return [UserMessage(asked)]

    try:
        answer = await run.ask_reviewer(prompt)
    except LocalLLMError as error:
        first = next(answer for answer in answers if not answer.has_failed)
        run.runtime["fallback"] = first.agent
        return Outcome(final_answer=first.text, reviewer_error=error)
    read = read_review(answer.text, labels)
    return Outcome(final_answer=read.final_answer, review_comment=read.comment, finish_reason=answer.finish_reason)
