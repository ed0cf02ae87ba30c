"""Do without a check of an answer where the file system does not let it look."""

from collections.abc import Coroutine
from typing import Any

from localllm.agent.checks.findings import Finding
from localllm.base import logs


async def unless_unreadable(findings: Coroutine[Any, Any, list[Finding]]) -> list[Finding]:
    """Return the findings; none if a place that the answer names cannot be looked at, such as one in a folder of
    another user, or a link that leads to itself: that is no reason to end the run."""
    try:
        return await findings
    except (OSError, RuntimeError, ValueError) as error:
        logs.of("AGENT").warning("an answer was not checked: %s", error)
        return []
