"""What a check has found out about an answer."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from localllm.base.i18n import Phrase
from localllm.text.sanitising import shorten

LONGEST_COMMAND = 120


class Finding(msgspec.Struct, frozen=True):
    """A finding about a run's answer: `name` of the remark for the model, None if only shown to the user; `reason` for
    the user; whether it `contradicts` the answer, or what was requested."""

    name: str | None
    reason: Phrase
    contradicts: bool
    params: Mapping[str, str] = MappingProxyType({})


def short_command(command: str, width: int = LONGEST_COMMAND) -> str:
    """Return a command on one line of at most `width` cells."""
    return shorten(" ".join(command.split()), width)
