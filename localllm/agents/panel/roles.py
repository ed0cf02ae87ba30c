"""Who is on the panel, with which character."""

from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

Role = Literal["conservative", "progressive", "judge", "boss"]

ROLES: tuple[Role, ...] = ("conservative", "progressive", "judge", "boss")


class Character(NamedTuple):
    """How a member thinks, and what it looks at."""

    name: str
    personality: str
    focus: str


AGENT_ROLES: dict[Role, Character] = {
    "conservative": Character(
        "conservative adviser",
        "you weigh the risks, and safety comes first.",
        "point out what is wrong, judge the risks, propose the careful way.",
    ),
    "progressive": Character(
        "progressive adviser",
        "you look for the chance, and what works best comes first.",
        "propose what would be better, simpler or quite different.",
    ),
    "judge": Character(
        "judge",
        "you are balanced and objective.",
        "weigh everything, decide, and make one plan of it.",
    ),
    "boss": Character(
        "boss",
        "you are experienced and see the whole.",
        "solve what is hard, choose the strategy, have the last word.",
    ),
}

_BY_HAND = "\nA person asks, and reads the answer: write in the language of the goal."


@cache
def instructions(role: Role, *, by_hand: bool = False) -> str:
    """What a member is told of its part."""
    character = AGENT_ROLES[role]
    text = _prompt(role if role in ("judge", "boss") else "adviser")
    for word, value in {**character._asdict(), "form": _prompt("verdict")}.items():
        text = text.replace(f"{{{word}}}", value)
    return text + (_BY_HAND if by_hand else "")


def _prompt(name: str) -> str:
    return (Path(__file__).parents[1] / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()
