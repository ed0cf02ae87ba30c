"""The form of the message that stands for the older part of a conversation: whoever writes or reads it asks here."""

import re

BEGINNING = "[Summed up to make room: the conversation until here.]"
NOW = "[Now the user says:]"
STATE_BEGINS, STATE_ENDS = "<state>\n", "\n</state>"

_STATE = re.compile(r"<state>\n(.*?)(?:\n</state>|\Z)", re.DOTALL)
_SAID = re.compile(r"<said>\n(.*?)\n</said>", re.DOTALL)
_SITUATION = re.compile(r"^\[Project [^\n]*\]$", re.MULTILINE)


def is_summed_up(text: str) -> bool:
    """Whether this is such a message."""
    return text.startswith(BEGINNING)


def state_in(text: str) -> str:
    """The state of the work it tells of."""
    found = _STATE.search(text)
    return found[1] if found else ""


def newest_request(text: str) -> str:
    """What is to be answered, with where and when that is: the new request in it, else what the user said last."""
    before, now, request = text.partition(f"{NOW}\n\n")
    said = _SAID.findall(before)
    asked = request if now else said[-1] if said else ""
    found = _SITUATION.search(before)
    return f"{asked}\n\n{found[0]}" if found else asked
