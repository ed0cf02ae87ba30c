"""The review as a JSON object: the schema for servers that constrain output, and a tolerant parser."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Literal, cast

import msgspec

from localllm.base.events import Json
from localllm.base.lazy_patterns import late_pattern
from localllm.ensemble.records import Review
from localllm.llm.tool_calling.json_repair import object_in, repair_json

Labels = Mapping[str, Sequence[int]]
"""The indices of the workers behind each label in the review prompt; several if they gave the same answer."""

_COMMENT = ("comment", "evaluation", "review_comment", "review", "assessment", "analysis", "critique", "評価")
_FINAL = ("final_answer", "finalanswer", "final", "final_response", "merged_answer", "最終回答")
_BEST = ("best", "best_answer", "base", "winner")
_SCORE = "score_"
_MOST = 10.0
"""The best score."""

_FENCE = late_pattern(r"^[ \t]{0,8}```[a-zA-Z0-9]*[ \t]*$", re.MULTILINE)
_KEY = late_pattern(rf'"({"|".join((*_COMMENT, *_FINAL, *_BEST))}|score_[^"\\\n]{{1,60}})"\s{{0,8}}:\s{{0,8}}')
_EARLY = 300
"""An invalid object must begin within so many first characters."""


Decision = Literal["best", "final_answer"]


def review_schema(labels: Sequence[str], *decisions: Decision) -> dict[str, Json]:
    """Build the review's JSON schema: flat, and ordered so that errors are listed before scores, and both before the
    decision."""
    decided: dict[Decision, Json] = {
        "best": {"type": "string", "enum": list(labels)},
        "final_answer": {"type": "string"},
    }
    properties: dict[str, Json] = {"comment": {"type": "string"}}
    properties |= {f"{_SCORE}{label}": {"type": "integer"} for label in labels}
    properties |= {name: decided[name] for name in decisions}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_json_review(text: str, labels: Labels) -> Review | None:
    """Parse a review from an object, also in a fence, within text, invalid or truncated; None if there is none. An
    object without a final answer, or with nothing else, is the answer the user asked for."""
    if "{" not in text:
        return None
    named, is_whole = _object_in(text)
    final, comment = _first(named, _FINAL), _first(named, _COMMENT)
    judges = any(name in _BEST or name == "scores" or name.startswith(_SCORE) for name in named)
    if comment is None and (final is None or not judges):
        return None
    if final is None and is_whole and not judges:
        return None
    return Review(
        comment=_text(comment).strip(),
        final_answer=_text(final).strip(),
        scores=_scores(named, labels),
        best=_best(_first(named, _BEST), labels),
    )


def _object_in(text: str) -> tuple[dict[str, Json], bool]:
    """Return the members of the first object by lower-case name, and whether it was valid; of an invalid one, the
    strings found."""
    found = object_in(_candidates(text))
    return (_salvaged(text), False) if found is None else (_named(found), True)


def _candidates(text: str) -> list[str]:
    start, end = text.find("{"), text.rfind("}")
    fenced = [inside for inside in _FENCE.split(text)[1::2] if inside.lstrip()[:1] in ("{", "[")]
    whole = text.strip() if text.lstrip()[:1] in ("{", "[") else ""
    return [whole, *fenced, text[start : end + 1] if start < end else ""]


def _named(value: Mapping[str, Json]) -> dict[str, Json]:
    """Convert member names to lower case with underscores; labels after `score_` keep their case."""
    named: dict[str, Json] = {}
    for key, one in value.items():
        name = key.strip()
        lower = name.lower().replace(" ", "_").replace("-", "_")
        named.setdefault(_SCORE + name[len(_SCORE) :] if lower.startswith(_SCORE) else lower, one)
    return named


def _salvaged(text: str) -> dict[str, Json]:
    """Recover the strings of a truncated or invalid object by key: each up to the next key, or the end."""
    start = text.find("{")
    if start < 0 or start > _EARLY:
        return {}
    keys = list(_KEY.finditer(text, start))
    if not keys:
        return {}
    ends = [*(key.start() for key in keys[1:]), len(text)]
    found: dict[str, Json] = {}
    for key, end in zip(keys, ends, strict=True):
        raw = text[key.end() : end].strip()
        raw = raw.removesuffix("```").rstrip().removesuffix("}").rstrip() if end == len(text) else raw
        raw = raw.removesuffix(",").rstrip()
        found.setdefault(key[1], _unescaped(raw[1:].removesuffix('"')) if raw[:1] == '"' else raw)
    return found


_ESCAPE_OR_QUOTE = late_pattern(r'\\.|"', re.DOTALL)


def _unescaped(body: str) -> str:
    """Return the text of a string whose quotes may not be escaped, as in code."""
    quoted = _ESCAPE_OR_QUOTE.sub(lambda found: '\\"' if found[0] == '"' else found[0], body)
    fixed = repair_json(f'["{quoted}"]')
    if fixed is None:
        return body
    value: list[Json] = msgspec.json.decode(fixed)
    return str(value[0])


def _first(named: Mapping[str, Json], keys: Sequence[str]) -> Json:
    return next((named[key] for key in keys if named.get(key) is not None), None)


def _text(value: Json) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case list():
            return "\n".join(map(_text, cast("list[Json]", value)))
        case dict():
            return "\n".join(f"{key}: {_text(one)}" for key, one in cast("dict[str, Json]", value).items())
        case _:
            return msgspec.json.encode(value).decode()


def _scores(named: Mapping[str, Json], labels: Labels) -> dict[int, float]:
    given: dict[str, Json] = {key[len(_SCORE) :]: one for key, one in named.items() if key.startswith(_SCORE)}
    listed = named.get("scores")
    if isinstance(listed, dict):
        given |= cast("dict[str, Json]", listed)
    scores: dict[int, float] = {}
    for key, one in given.items():
        workers, score = workers_of(key, labels), _number(one)
        if score is not None:
            scores |= dict.fromkeys(workers, score)
    return scores


def _number(value: Json) -> float | None:
    """Parse a score and clamp it to 0..10; None if it is no number."""
    if isinstance(value, str):
        found = re.search(r"\d+(?:\.\d+)?", value)
        value = float(found[0]) if found else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return min(max(float(value), 0.0), _MOST)


def _best(value: Json, labels: Labels) -> int | None:
    workers = workers_of(value, labels) if isinstance(value, str) else ()
    return workers[0] if workers else None


def workers_of(written: str, labels: Labels) -> Sequence[int]:
    """Return the workers a label stands for, also in the form "Answer A"; empty if it is no label."""
    plain = written.strip().strip("\"'`*[]()【】「」").strip()
    if plain in labels:
        return labels[plain]
    last = re.split(r"[\s_:：]+|(?<=回答)", plain)[-1].strip("*[]()")
    return labels.get(last, labels.get(last.upper(), ()))
