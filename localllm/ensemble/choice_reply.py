"""Parse a reviewer's choice or ranking of answers from any form a model may give it."""

import re

import msgspec

from localllm.base.lazy_patterns import late_pattern
from localllm.ensemble.records import Review
from localllm.ensemble.review_json import Labels, read_json_review, workers_of
from localllm.ensemble.review_reply import best_in, read_review, said_aloud, scores_in
from localllm.text.lexer import plain

_HEADING = late_pattern(
    r"^[ \t]{0,3}[\W_]{0,8}(?:\d[.)][ \t])?[\W_]{0,4}"
    r"(?:choice|selection|best[ \t]answer|ranking|final[ \t](?:choice|ranking|decision)"
    r"|選択|選んだ回答|最良の回答|順位|ランキング|結論)[ \t]?[*_】\]#:：]{0,6}[ \t]{0,3}(?P<rest>[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)


class Ranking(msgspec.Struct, frozen=True):
    """A reviewer's ranking: `order` has the labels, best first; empty if there is none."""

    comment: str
    order: tuple[str, ...]
    scores: dict[int, float] = {}


def read_choice(text: str, labels: Labels) -> Review:
    """Parse a choice: under its heading, in a JSON object, in words such as "Best: B", by a unique best score, or as a
    bare label. `best` is None if there is none; the final answer is empty."""
    said = said_aloud(text)
    if found := read_json_review(said, labels):
        best = found.best if found.best is not None else _only_best(found.scores, labels)
        return Review(comment=found.comment, final_answer="", scores=found.scores, best=best)
    evaluation, choice = _parted(said)
    comment, scores = _comment(evaluation, labels), scores_in(evaluation, labels)
    best = best_in(choice, labels)
    if best is None:
        best = _only_label(choice, labels)
    if best is None:
        best = best_in(evaluation, labels)
    if best is None:
        best = _only_best(scores, labels)
    return Review(comment=comment, final_answer="", scores=scores, best=best, is_parsed=best is not None)


def read_ranking(text: str, labels: Labels) -> Ranking:
    """Parse a ranking: under its heading, in a line such as "B > A > C", or by the scores. Labels left out come last,
    in their order."""
    said = said_aloud(text)
    if found := read_json_review(said, labels):
        return Ranking(found.comment, _completed(_by_scores(found.scores, labels), labels), found.scores)
    evaluation, ranking = _parted(said)
    scores = scores_in(evaluation, labels)
    order = _named_in(ranking, labels) if ranking else _named_in(_last_comparison(said), labels)
    if len(order) < 2:
        order = _by_scores(scores, labels) or order
    return Ranking(_comment(evaluation, labels), _completed(order, labels), scores)


def _parted(said: str) -> tuple[str, str]:
    """Split a reply before and after the heading of the decision."""
    found = list(_HEADING.finditer(said))
    if not found:
        return said, ""
    return said[: found[-1].start()].strip(), f"{found[-1]['rest']}\n{said[found[-1].end() :]}".strip()


def _comment(evaluation: str, labels: Labels) -> str:
    read = read_review(evaluation, labels)
    return read.comment if read.is_parsed else evaluation


def _only_label(text: str, labels: Labels) -> int | None:
    """Return the only worker a decision names; None for none or several."""
    named = _named_in(text, labels)
    return labels[named[0]][0] if len(named) == 1 else None


def _only_best(scores: dict[int, float], labels: Labels) -> int | None:
    """Return the worker of the answer with the best score; None for a tie."""
    first, *others = _by_scores(scores, labels) or [""]
    if not first or (others and scores[labels[others[0]][0]] == scores[labels[first][0]]):
        return None
    return labels[first][0]


def _by_scores(scores: dict[int, float], labels: Labels) -> list[str]:
    known = {label: scores[workers[0]] for label, workers in labels.items() if workers[0] in scores}
    return sorted(known, key=lambda label: -known[label])


def _named_in(text: str, labels: Labels) -> list[str]:
    """Return the labels a text names, without duplicates, in order of appearance."""
    names = "|".join(map(re.escape, sorted(labels, key=len, reverse=True))) or r"(?!)"
    pattern = re.compile(rf"(?<![A-Za-z0-9_])(?:{names})(?![A-Za-z0-9_])")
    return list(dict.fromkeys(pattern.findall(plain(text))))


def _last_comparison(text: str) -> str:
    lines = [line for line in text.splitlines() if ">" in line.strip("> ") or "＞" in line]
    return lines[-1] if lines else ""


def _completed(order: list[str], labels: Labels) -> tuple[str, ...]:
    """Append the missing labels to the order; empty if it has none."""
    named = [label for label in dict.fromkeys(order) if workers_of(label, labels)]
    return (*named, *(label for label in labels if label not in named)) if named else ()
