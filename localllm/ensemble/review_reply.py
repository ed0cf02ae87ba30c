"""Parse a reviewer's reply into its comment and the final answer, in any form a model may give it.

The requested form has two headings, or is one JSON object if the server constrains output. A reply with neither is the
final answer as a whole.
"""

import re

import msgspec

from localllm.base.lazy_patterns import late_pattern
from localllm.ensemble.answer_text import without_thinking
from localllm.ensemble.records import Review
from localllm.ensemble.review_headings import BOLD, INLINE, RULE, Heading, closing_tag, headings
from localllm.ensemble.review_json import Labels, read_json_review, workers_of
from localllm.ensemble.review_leftovers import is_undecided, without_scores
from localllm.text.lexer import plain

_OPENED_THOUGHT = late_pattern(r"\A\s*(?:<(?:think|thinking|thought|reasoning)>|\[THINK\]|◁think▷)", re.IGNORECASE)
_FINAL_CHANNEL = late_pattern(r"<\|channel\|>final\s*(?:<\|[^|]{1,20}\|>\w*)?<\|message\|>")
_END_OF_CHANNEL = late_pattern(r"<\|(?:end|return|start|call)\|>")
_BARE_CHANNELS = late_pattern(r"\Aanalysis(?=\S).*assistantfinal", re.DOTALL)
_OUTER_FENCE = late_pattern(
    r"\A(`{3,}|~{3,})[ \t]*+(?:(?:markdown|md|text|txt|plaintext)[ \t]*+)?\n(.*)\n\1[ \t]*\Z", re.DOTALL
)

_SHORT_PREFACE = 300
"""Longest text before the evaluation that is treated as a courtesy ("Here is my review:")."""

_EARLY = 300
"""An evaluation without a final answer counts as one if its heading is among so many first characters."""

_PLACEHOLDER = late_pattern(
    r"\s*[(\[<]\s*(?:(?:write|put|insert|place|your|the)\b[^()\[\]<>]{0,80}(?:evaluation|review|answer)[^()\[\]<>]{0,40}"
    r"|ここに[^()\[\]<>]{0,60}|[^()\[\]<>]{0,60}(?:を記述|を書く|を書いてください|を記入))\s*[)\]>]\s*",
    re.IGNORECASE,
)
_CLOSING_TAG = late_pattern(
    r"\s?</(?:evaluation|review|comment|final[ _-]?answer|answer|評価|最終回答)>\s?\Z", re.IGNORECASE
)
_SPEAKS_OF_REVIEW = late_pattern(
    r"\b(?:this|the|above|my)\s+(?:\w+\s+){0,2}(?:final|merged|integrated|combined)\s+(?:answer|response)\b.{0,40}"
    r"\b(?:combin|integrat|merg|synthesi|incorporat|draw|correct|takes?|is based|was (?:built|made))"
    r"|\b(?:answers?|workers?|agents?|responses?)\s+(?:[A-Z]\b|were\b)"
    r"|(?:この|上記の?|以上の)(?:最終|統合)?回答は.{0,60}(?:統合|組み合わせ|基に|もとに|踏まえ|まとめ)|回答\s?[A-Z](?![A-Za-z])",
    re.IGNORECASE,
)
_INLINE_FINAL = late_pattern(
    r"(?:(?<=[.!?。！？\])])\s{0,8}|\n[ \t]{0,8})(?:\*\*)?(?:Final [Aa]nswer|FINAL ANSWER|最終回答)"
    r"(?:\*\*)?\s?[:：](?:\*\*)?\s{0,8}"
)
_SCORE = (
    r"(?:^|[^\w])(?:answer|response|worker|回答|応答)?[ \t]{{0,3}}"
    r"[*_(\[【「]{{0,6}}(?P<label>{labels})[*_)\]】」]{{0,6}}"
    r"(?:[^\w\n]|score|rating|点数|スコア|評価|は){{0,12}}"
    r"(?P<score>\d{{1,3}}(?:\.\d{{1,3}})?)\s{{0,3}}(?:/\s{{0,3}}(?P<of>\d{{1,3}})|点|points?\b)"
)
_BEST = (
    r"(?:^|[^\w])(?:base|best(?:\s+answer)?|winner|ベース|基礎|土台|最良(?:の回答)?|最も優れ(?:た|ている)(?:回答)?)"
    r"(?:[^\w\n]|は|is\b|answer|回答){{0,10}}(?P<label>{labels})(?!\w)"
)


def read_review(text: str, labels: Labels) -> Review:
    """Parse the reply to a review prompt with these labels; see `_read`. A section of scores behind the final answer
    belongs to the comment, and a final answer that nothing was decided is none."""
    review = _read(text, labels)
    answer, scores = without_scores(review.final_answer, labels, numbered=not review.scores)
    if is_undecided(answer):
        answer = ""
    comment = "\n\n".join(filter(None, (review.comment, scores)))
    given = scores_in(scores, labels) if scores else {}
    return msgspec.structs.replace(
        review, comment=comment, final_answer=answer, scores={**given, **review.scores} if given else review.scores
    )


def _read(text: str, labels: Labels) -> Review:
    """Parse the reply to a review prompt with these labels.

    Never fails: a reply in no recognised form is the final answer as a whole, with `is_parsed` False. A review without
    a final answer has an empty one, since its comment is no answer.

    Of several final answers, the one under the strongest heading counts, and among equals the last that is not empty,
    as models correct themselves; a weaker heading after a stronger one (bold after a Markdown heading, a line such as
    "Final answer: 14" after the working) is part of that answer.
    """
    said = _without_fence(said_aloud(text))
    if said[:1] in ("{", "[") and (review := read_json_review(said, labels)):
        return _without_headings(review)
    found = _read_parts(said) or _read_inline(said)
    if found:
        comment, final = found
        return Review(
            comment=comment, final_answer=final, scores=scores_in(comment, labels), best=best_in(comment, labels)
        )
    if review := read_json_review(said, labels):
        return _without_headings(review)
    return Review(comment="", final_answer=said, is_parsed=False)


def _without_headings(review: Review) -> Review:
    """Strip headings of the text form from the strings of a JSON review."""
    texts = [
        _clean(lines, found[0], len(lines)) if (found := headings(lines[:2])) and found[0].line == 0 else text
        for text, lines in ((text, text.split("\n")) for text in (review.comment, review.final_answer))
    ]
    return msgspec.structs.replace(review, comment=texts[0], final_answer=texts[1])


def said_aloud(text: str) -> str:
    """Strip reasoning, closed or not, and channel tokens."""
    said = text.replace("\r\n", "\n")
    if _FINAL_CHANNEL.search(said):
        said = _END_OF_CHANNEL.split(_FINAL_CHANNEL.split(said)[-1])[0]
    said = _BARE_CHANNELS.sub("", said)
    return without_thinking(said)[0].strip() or _OPENED_THOUGHT.sub("", said).strip()


def _without_fence(text: str) -> str:
    """Strip a fence around the whole reply, if its content has the form of a review."""
    found = _OUTER_FENCE.match(text)
    return found[2].strip("\n") if found and headings(found[2].split("\n")) else text


def _read_parts(text: str) -> tuple[str, str] | None:
    """Split a reply into comment and final answer by headings; None if there are none."""
    lines = text.split("\n")
    found = headings(lines)
    evaluations = [one for one in found if one.part == "evaluation"]
    finals = _surest([one for one in found if one.part == "final"])
    if not finals:
        return _only_evaluation(lines, evaluations)
    final, end = _last_filled(finals, lines)
    before = [one for one in evaluations if one.line < finals[0].line]
    comments = [_comment(lines[: finals[0].line], before[0] if before else None)]
    after = [] if before else [one for one in evaluations if one.line > final.line and _ends_answer(one, final)]
    if after:
        end = min(end, after[0].line)
        comments.append(_clean(lines, after[0], len(lines)))
    answer, remark = _without_remark(_clean(lines, final, end))
    return "\n\n".join(filter(None, [*comments, remark])), answer


def _surest(finals: list[Heading]) -> list[Heading]:
    """Return the strongest headings of final answers; see read_review."""
    finals = [one for one in finals if not one.is_doubtful] or finals
    strongest = max((one.strength for one in finals), default=0)
    return [one for one in finals if one.strength == strongest]


def _last_filled(finals: list[Heading], lines: list[str]) -> tuple[Heading, int]:
    """Return the last heading with an answer under it, and where the answer ends."""
    end = len(lines)
    for final in reversed(finals):
        if _clean(lines, final, end):
            return final, end
        end = final.line
    return finals[-1], len(lines)


def _ends_answer(one: Heading, final: Heading) -> bool:
    """Whether an evaluation after the final answer is not part of it."""
    return not one.is_doubtful and one.strength >= min(final.strength, BOLD)


def _only_evaluation(lines: list[str], evaluations: list[Heading]) -> tuple[str, str] | None:
    """Parse a review without a final answer, if it clearly is one."""
    sure = [one for one in evaluations if not one.is_doubtful and one.strength > INLINE]
    if not sure or len("\n".join(lines[: sure[0].line])) > _EARLY:
        return None
    return _comment(lines, sure[0]), ""


def _comment(lines: list[str], evaluation: Heading | None) -> str:
    """Return the comment without its heading and a courtesy before it."""
    if evaluation is None:
        return "\n".join(lines).strip()
    preface = "\n".join(lines[: evaluation.line]).strip().strip("-*_ \n")
    inside = _clean(lines, evaluation, len(lines))
    return f"{preface}\n\n{inside}".strip() if len(preface) > _SHORT_PREFACE else inside


def _clean(lines: list[str], heading: Heading, end: int) -> str:
    """Return the text under a heading, without surrounding rules, the form's placeholder and the closing tag."""
    rest = _CLOSING_TAG.sub("", heading.rest)
    inside = [*([rest] if rest else []), *lines[heading.end : end]]
    first, last = 0, len(inside)
    while first < last and _is_border(inside[first]):
        first += 1
    if first < last and _PLACEHOLDER.fullmatch(plain(inside[first])):
        first += 1
    while first < last and (_is_border(inside[last - 1]) or closing_tag(inside[last - 1])):
        last -= 1
    return "\n".join(inside[first:last]).strip()


def _is_border(line: str) -> bool:
    return not line.strip() or RULE.fullmatch(line) is not None


def _without_remark(answer: str) -> tuple[str, str]:
    """Split an answer from a last paragraph, after a rule, that comments on the review."""
    lines = answer.split("\n")
    rules = [index for index, line in enumerate(lines) if RULE.fullmatch(line)]
    if not rules or rules[-1] == 0:
        return answer, ""
    remark = "\n".join(lines[rules[-1] + 1 :]).strip()
    if "\n\n" in remark or not _SPEAKS_OF_REVIEW.search(remark):
        return answer, ""
    return "\n".join(lines[: rules[-1]]).strip(), remark


def _read_inline(text: str) -> tuple[str, str] | None:
    """Parse a reply with "Final answer:" only within a line, after a headed evaluation."""
    found = headings(text.split("\n")[:1])
    if not found or found[0].part != "evaluation":
        return None
    parts = _INLINE_FINAL.split(text)
    if len(parts) < 2 or not parts[-1].strip():
        return None
    return _comment(_INLINE_FINAL.split(text)[0].split("\n"), found[0]), parts[-1].strip()


def scores_in(comment: str, labels: Labels) -> dict[int, float]:
    """Parse the scores in a comment, such as "Answer A: 8/10" or 回答A（8点）, scaled to 0..10; the first per label."""
    scores: dict[int, float] = {}
    for found in _labelled(_SCORE, labels).finditer(plain(comment)):
        of = float(found["of"] or 10)
        score = float(found["score"]) * 10 / of if of else 11.0
        if 0 <= score <= 10:
            for worker in workers_of(found["label"], labels):
                scores.setdefault(worker, round(score, 2))
    return scores


def best_in(comment: str, labels: Labels) -> int | None:
    """Return the answer a comment calls the best, or the base of the final one; the last mention counts."""
    found = list(_labelled(_BEST, labels).finditer(plain(comment)))
    workers = workers_of(found[-1]["label"], labels) if found else ()
    return workers[0] if workers else None


def _labelled(pattern: str, labels: Labels) -> re.Pattern[str]:
    names = "|".join(map(re.escape, sorted(labels, key=len, reverse=True))) or r"(?!)"
    return re.compile(pattern.format(labels=f"(?-i:{names})"), re.IGNORECASE | re.MULTILINE)
