"""Parse the answers of judge and boss in any form, and format them as a plan for the agent."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from localllm.agent.panel.dossier import cut_end
from localllm.base.events import Json, Opinion
from localllm.llm.tool_calling.json_repair import object_in

_PARTS = {
    "verdict": "Verdict:",
    "next_action": "Next:",
    "avoid": "Avoid:",
    "check": "Check:",
    "unjudged": "No judge could weigh these opinions; they may contradict each other:",
}

PLAN_TOKENS = 400
"""Maximum estimated tokens of a plan, the only part of a consultation that enters the history."""

SURE = 0.5
"""Confidence from which the boss need not be asked."""

_SHARES = {"verdict": 110, "next_action": 150, "avoid": 60, "check": 50}
"""Maximum tokens of each part of a plan, without labels."""

_ALSO = {
    "verdict": ("judgement", "judgment", "diagnosis", "cause", "conclusion"),
    "next_action": ("next", "next_step", "next_steps", "action", "plan", "recommendation"),
    "avoid": ("what_to_avoid", "do_not", "dont"),
    "check": ("proof", "test", "verification", "verify"),
    "confidence": ("certainty", "score"),
}
"""Alternative field names that models use if the schema is not enforced."""

_FIELD = re.compile(r'"(\w+)"\s*:\s*"((?:[^"\\]|\\.)*)"')

_WORDS = {"high": 0.8, "certain": 0.9, "medium": 0.5, "moderate": 0.5, "low": 0.2, "高": 0.8, "中": 0.5, "低": 0.2}


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A decision. `confidence` is between 0 and 1; 0 if not stated."""

    verdict: str = ""
    next_action: str = ""
    avoid: str = ""
    check: str = ""
    confidence: float = 0.0


def verdict_schema() -> dict[str, Json]:
    """Return the JSON schema of a verdict."""
    properties: dict[str, Json] = {name: {"type": "string"} for name in _SHARES}
    properties["confidence"] = {"type": "number"}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_verdict(text: str) -> Verdict:
    """Parse a verdict. An answer that is no JSON becomes the verdict text, without confidence."""
    fields = _fields(text)
    if fields is None:
        return Verdict(verdict=text.strip())
    texts = {name: _text(fields.get(name)) for name in _SHARES}
    return Verdict(**texts, confidence=_confidence(fields.get("confidence")))


def parts_of(verdict: Verdict) -> dict[str, str]:
    """Return the parts of a plan by name; empty if the verdict was no JSON."""
    if not (verdict.next_action or verdict.avoid or verdict.check):
        return {}
    return {name: cut_end(text, most) for name, most in _SHARES.items() if (text := getattr(verdict, name))}


def plan_of(verdict: Verdict) -> str:
    """Format the verdict in a few lines, at most PLAN_TOKENS; one that was no JSON as its text."""
    lines = [f"{_PARTS[name]} {text}" for name, text in parts_of(verdict).items()]
    return "\n".join(lines) or cut_end(verdict.verdict, PLAN_TOKENS)


def plan_without_judge(opinions: Sequence[Opinion]) -> str:
    """Format the opinions as the plan, with a note that nobody has weighed them."""
    share = (PLAN_TOKENS - 40) // max(len(opinions), 1) - 10
    told = [f"{opinion.role}: {cut_end(opinion.text, share)}" for opinion in opinions]
    return "\n\n".join(["No judge could weigh these opinions; they may contradict each other:", *told])


def _fields(text: str) -> dict[str, Json] | None:
    """Return the known fields of the object in `text` under their canonical names; None if it has none."""
    found = _object_in(text)
    named = {key.strip().lower().replace(" ", "_").replace("-", "_"): value for key, value in found.items()}
    fields: dict[str, Json] = {}
    for name, others in _ALSO.items():
        for key in (name, *others):
            if named.get(key) is not None:
                fields[name] = named[key]
                break
    return fields if fields.keys() & _SHARES.keys() else None


def _object_in(text: str) -> Mapping[str, Json]:
    """Return the object in `text`; of a truncated one, the complete strings."""
    start, end = text.find("{"), text.rfind("}")
    candidates = [text, text[start : end + 1] if 0 <= start < end else "", text[start:] if start >= 0 else ""]
    if (found := object_in(candidates)) is not None:
        return found
    return dict(_FIELD.findall(text[start:])) if start >= 0 else {}


def _text(value: Json) -> str:
    match value:
        case None:
            return ""
        case str():
            return value.strip()
        case list():
            return "; ".join(filter(None, map(_text, cast("list[Json]", value))))
        case dict():
            return "; ".join(f"{key}: {_text(one)}" for key, one in cast("dict[str, Json]", value).items())
        case _:
            return str(value)


def _confidence(value: Json) -> float:
    """Parse a confidence: a number, percentage, fraction of ten, or word; 0 if unknown."""
    match value:
        case bool() | None:
            return 0.0
        case int() | float():
            return _scaled(float(value))
        case str():
            return _confidence_said(value)
        case _:
            return 0.0


def _confidence_said(text: str) -> float:
    told = re.search(r"(\d+(?:\.\d+)?)\s*(%|/\s*(\d+))?", text)
    if told is None:
        return next((value for word, value in _WORDS.items() if word in text.lower()), 0.0)
    number = float(told[1])
    if told[3]:
        return min(1.0, number / max(float(told[3]), 1.0))
    return min(1.0, number / 100) if told[2] else _scaled(number)


def _scaled(number: float) -> float:
    if not math.isfinite(number) or number < 0:
        return 0.0
    return number if number <= 1 else min(1.0, number / (10 if number <= 10 else 100))
