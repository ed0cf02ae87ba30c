"""Build the review prompt: the question, every answer or error under a neutral label, and the criteria.

Foreign text is framed by lines with a random mark, so that nothing in it can close its frame, and control tokens of
chat templates in it are broken up.
"""

import random
import string
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from localllm.base.errors import EnsembleError
from localllm.base.events import Json
from localllm.base.lazy_patterns import late_pattern
from localllm.ensemble.agreement import Agreement
from localllm.ensemble.budget import Room, cut
from localllm.ensemble.labels import choose_labels, with_names
from localllm.ensemble.records import Question, WorkerAnswer
from localllm.ensemble.review_json import Decision, Labels, review_schema
from localllm.llm.messages import AssistantMessage
from localllm.text.model_orders import without_template_marks
from localllm.text.sanitising import shorten
from localllm.text.scripts import is_in_language

Language = Literal["en", "ja"]

Task = Literal["review", "choose", "rank"]
"""What to do with the answers: merge them, choose one, or rank all."""

_KANA = late_pattern(r"[\u3041-\u309f\u30a1-\u30fa]")
_MARK_LENGTH = 6
_LONGEST_ERROR = 300
"""Columns of an error's text in the prompt."""

_LONGEST_VALUE = 200
_SHARE_OF_HISTORY = 4
"""The conversation history takes at most a quarter of the room: the answers already take it into account."""


class ReviewPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt for the reviewer. `labels`: the workers behind each label; `failed`: the same for failed workers.
    `schema`: the JSON schema of the answer, None for text."""

    question: Question
    answers: tuple[WorkerAnswer, ...]
    agreement: Agreement
    language: Language
    mark: str
    labels: Labels
    failed: Labels
    is_anonymous: bool
    task: Task = "review"
    schema: dict[str, Json] | None = None

    def text(self, room: Room, window: int) -> str:
        """Format the prompt with equal shares of `room` for the answers, dropping the oldest turns first. Raises
        EnsembleError if the shares are too small; `window`: of the model, for the error's text."""
        texts = [without_template_marks(self.answers[workers[0]].text) for workers in self.labels.values()]
        without = self._filled([""] * len(texts), "")
        fixed = room.estimate(without)
        history = self._history(room, max(0, room.tokens - fixed) // _SHARE_OF_HISTORY)
        beside = fixed + (room.estimate(history) if history else 0)
        if not room.holds(texts, beside):
            raise EnsembleError("ensemble_no_room", window=window)
        return self._filled(room.shares(texts, beside), history)

    @property
    def request_for_final(self) -> str:
        """Return the request for a missing final answer."""
        return self._part("only_final")

    def with_names(self, text: str) -> str:
        """Replace the labels in the reviewer's text by the workers' names."""
        if not self.is_anonymous:
            return text
        between = "、" if self.language == "ja" else ", "
        names = {
            label: between.join(self.answers[worker].agent for worker in workers)
            for label, workers in {**self.labels, **self.failed}.items()
        }
        return with_names(text, names)

    def _filled(self, texts: Sequence[str], history: str) -> str:
        framed = [
            self._framed(self._head(label, workers), text)
            for (label, workers), text in zip(self.labels.items(), texts, strict=True)
        ]
        framed += [self._framed(self._called(label), self._error(workers[0])) for label, workers in self.failed.items()]
        filling = {
            "mark": self.mark,
            "context": history + self._instructions(),
            "question": self._framed(self._part("question"), without_template_marks(self.question.prompt)),
            "answers": "\n\n".join(framed),
            "consensus": self._consensus(),
            "format": self._format(),
        }
        return _PLACE.sub(lambda found: filling[found[1]], _template(self.task, self.language))

    def _framed(self, head: str, text: str) -> str:
        return f"--- {head} [{self.mark}]\n{text}\n--- {self._part('end')} [{self.mark}]"

    def _called(self, label: str) -> str:
        return self._part("answer" if self.is_anonymous else "named", label=label)

    def _head(self, label: str, workers: Sequence[int]) -> str:
        notes = [self._part("given_by", count=len(workers))] if len(workers) > 1 else []
        notes += [self._part("cut_off")] if self.answers[workers[0]].finish_reason == "length" else []
        called = self._called(label)
        return f"{called} ({'; '.join(notes)})" if notes else called

    def _error(self, worker: int) -> str:
        error = self.answers[worker].error
        what = shorten(without_template_marks(" ".join(error.what.split())), _LONGEST_ERROR) if error else ""
        return self._part("failed", error=what)

    def _instructions(self) -> str:
        if not self.question.system.strip():
            return ""
        framed = self._framed(self._part("rules"), without_template_marks(self.question.system.strip()))
        return f"{self._part('instructions')}\n\n{framed}\n\n"

    def _history(self, room: Room, most: int) -> str:
        """Return the newest turns that fit into `most` tokens; the newest one may be truncated."""
        told: list[str] = []
        for turn in reversed(self.question.history):
            who = self._part("assistant" if isinstance(turn, AssistantMessage) else "user")
            text = f"{who}: {without_template_marks(turn.text)}"
            size = room.estimate(text)
            if size > most and not told and most > _MARK_LENGTH:
                text, size = cut(text, most, size), most
            if size > most:
                break
            told.insert(0, text)
            most -= size
        if not told:
            return ""
        framed = self._framed(self._part("earlier"), "\n\n".join(told))
        return f"{self._part('history')}\n\n{framed}\n\n"

    def _consensus(self) -> str:
        shared = self.agreement.consensus
        if shared is None:
            return ""
        labels = [label for label, workers in self.labels.items() if not set(workers).isdisjoint(shared.workers)]
        total = sum(not answer.has_failed for answer in self.answers)
        value = shorten(without_template_marks(" ".join(shared.value.split())), _LONGEST_VALUE)
        said = self._part(
            "agreement" if value else "same_words",
            count=len(shared.workers),
            total=total,
            labels=", ".join(labels),
            value=value,
        )
        return f"{said}\n{self._part('only_dissent')}\n\n"

    def _part(self, name: str, **params: object) -> str:
        return _parts(self.language)[name].format(**params).strip()

    def _format(self) -> str:
        if self.schema is None:
            return self._part(f"{self.task}_format")
        scores = ", ".join(f'"score_{label}": 0' for label in self.labels)
        return self._part(f"{self.task}_json", scores=scores)


def review_prompt(
    question: Question,
    answers: Sequence[WorkerAnswer],
    agreement: Agreement,
    rng: random.Random,
    *,
    anonymous: bool = True,
    language: Literal["auto", "en", "ja"] = "auto",
    constrained: bool = False,
    task: Task = "review",
) -> ReviewPrompt:
    """Build the prompt on these answers.

    Args:
        question: The question to the workers.
        answers: Their answers, in the order of the workers; failed ones are listed last.
        agreement: Their agreement: answers with the same wording are listed once.
        rng: Shuffles the answers and generates the mark of their frames.
        anonymous: Whether to use labels and random order, or the workers' names in their order.
        language: Of the prompt; "auto" is Japanese for a Japanese question.
        constrained: Whether to request JSON, because the server supports schemas.
        task: What to do with the answers.
    """
    groups = [group.workers for group in agreement.groups]
    failed = [(index,) for index, answer in enumerate(answers) if answer.has_failed]
    texts = [question.prompt, *(answer.text for answer in answers)]
    if anonymous:
        rng.shuffle(groups)
        rng.shuffle(failed)
        names = choose_labels(len(groups) + len(failed), texts, rng)
    else:
        names = [answers[workers[0]].agent for workers in (*groups, *failed)]
    labels = dict(zip(names[: len(groups)], groups, strict=True))
    return ReviewPrompt(
        question=question,
        answers=tuple(answers),
        agreement=agreement,
        language=language_of(question.prompt) if language == "auto" else language,
        mark=_unused_mark(rng, [*texts, question.system, *(turn.text for turn in question.history)]),
        labels=labels,
        failed=dict(zip(names[len(groups) :], failed, strict=True)),
        is_anonymous=anonymous,
        task=task,
        schema=review_schema(list(labels), *_DECISIONS[task]) if constrained else None,
    )


def language_of(question: str) -> Language:
    """Detect Japanese by kana, or by kanji alone; everything else is English."""
    return "ja" if _KANA.search(question) or (not question.isascii() and is_in_language(question, "ja")) else "en"


_DECISIONS: dict[Task, tuple[Decision, ...]] = {"review": ("best", "final_answer"), "choose": ("best",), "rank": ()}
_PLACE = late_pattern(r"\{(mark|context|question|answers|consensus|format)\}")


def _unused_mark(rng: random.Random, texts: Sequence[str]) -> str:
    while True:
        mark = "".join(rng.choices(string.ascii_lowercase + string.digits, k=_MARK_LENGTH))
        if not any(mark in text for text in texts):
            return mark


@cache
def _template(task: Task, language: Language) -> str:
    return _file(f"{task}.{language}.md").decode().strip()


@cache
def _parts(language: Language) -> Mapping[str, str]:
    return msgspec.toml.decode(_file("review_parts.toml"), type=dict[str, dict[str, str]])[language]


def _file(name: str) -> bytes:
    return (Path(__file__).parent / "prompts" / name).read_bytes()
