"""Fit text that was piped into the program beside a request into the window."""

import asyncio

from localllm.base.events import Emit, Notice
from localllm.base.i18n import _
from localllm.llm.client import LLMClient
from localllm.tools.tool_system import ToolSystem

_BEGINS, _ENDS = "<stdin>\n", "\n</stdin>"
_SHARE = 0.4
"""Maximum share of the window."""


async def fitted(piped: str, client: LLMClient, tools: ToolSystem, emit: Emit) -> str:
    """Return the framed text; of one that does not fit, its beginning, end and error lines, with the file in which the
    whole is kept for the tools."""
    before, begins, rest = piped.partition(_BEGINS)
    text, ends, after = rest.rpartition(_ENDS)
    tokens = await asyncio.to_thread(client.estimate_tokens, text) if ends else 0
    most = int(_SHARE * client.context_window)
    if tokens <= most:
        return piped
    emit(
        Notice(
            text=_(
                "The piped text is too long for the window ({count:,} characters): the model reads its beginning and "
                "end, and can search the rest.",
                count=len(text),
            ),
            level="warning",
        )
    )
    shorter = await asyncio.to_thread(tools.beginning_and_end, text, "stdin", int(len(text) * most / tokens))
    return f"{before}{begins}{shorter}{ends}{after}"
