"""Run all checks; the failure of one does not affect the others."""

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from subprocess import SubprocessError

from localllm.base.errors import LocalLLMError
from localllm.base.i18n import _
from localllm.integrations.doctor.browser import browser
from localllm.integrations.doctor.ensemble_setup import ensemble
from localllm.integrations.doctor.inputs import STATUSES, Finding, Surroundings, of_error, problem
from localllm.integrations.doctor.machine import git, journal, network, program, ripgrep, sandbox, terminal
from localllm.integrations.doctor.model import model
from localllm.integrations.doctor.project import folders_moved, memory, settings, size, space, writable
from localllm.integrations.doctor.web_search import web

Check = Callable[[Surroundings], Iterable[Finding]]

CHECKS: tuple[Check, ...] = (
    settings,
    folders_moved,
    writable,
    space,
    memory,
    sandbox,
    network,
    journal,
    git,
    size,
    ripgrep,
    terminal,
    program,
)
"""Checks that contact no server."""

_FAULTS = (OSError, LocalLLMError, SubprocessError)


async def examine(here: Surroundings, checks: Sequence[Check] = CHECKS) -> list[Finding]:
    """Return the findings of all checks, the most important first. Servers are contacted first, while the
    processor is otherwise idle: they have only tenths of a second to answer."""
    found: list[Finding] = []
    for name, look in (("model", model), ("web", web), ("browser", browser), ("ensemble", ensemble)):
        try:
            found += await look(here)
        except _FAULTS as error:
            found.append(_failed(name, error))
    for check in checks:
        found += await asyncio.to_thread(_run, check, here)  # so that the run can be interrupted
    return sorted(found, key=lambda finding: STATUSES.index(finding.status))


def _run(check: Check, here: Surroundings) -> list[Finding]:
    """Return what one check finds, including its own failure."""
    found: list[Finding] = []
    try:
        found.extend(check(here))  # a list keeps the findings before a failure
    except _FAULTS as error:
        found.append(_failed(getattr(check, "__name__", "check"), error))
    return found


def _failed(name: str, error: Exception) -> Finding:
    if isinstance(error, LocalLLMError):
        return of_error(name, error)
    reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
    return problem(
        name,
        _("This could not be checked: {reason}.", reason=reason),
        _("Check the folder or program in question; localllm --debug doctor may tell more."),
    )
