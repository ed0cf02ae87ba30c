"""Check the ensemble configured in this folder: whether a server would start, and its agents answer."""

from collections.abc import Iterator, Sequence
from contextlib import aclosing

from localllm.base import offline
from localllm.base.errors import ConfigurationError
from localllm.base.i18n import _
from localllm.ensemble.agents import AgentPool, check_agents
from localllm.ensemble.config_file import CONFIG_FILE, parse_config, read_config_text
from localllm.ensemble.config_reach import refuse_far_reach
from localllm.ensemble.hosts import HostReport
from localllm.ensemble.server.packages import check_packages
from localllm.integrations.doctor.inputs import Finding, Surroundings, of_error, ok, warning

_MARKS = ('"reviewer_agent"', '"worker_agents"')


async def ensemble(here: Surroundings) -> list[Finding]:
    """Check what `localllm serve` would load here; nothing if config.json is missing or another program's."""
    file = (here.folder or here.project) / CONFIG_FILE
    try:
        text = read_config_text(file)
    except ConfigurationError:
        return []
    if not any(mark in text for mark in _MARKS):
        return []
    environ = here.loaded.allowed_environ(here.environ)
    try:
        config = parse_config(text, file)
        refuse_far_reach(config, file)  # it may have come with the project: naming it starts the server
        check_agents(config, environ, file.parent)
        check_packages()
    except ConfigurationError as error:
        return [of_error("ensemble", error, "warning" if error.key == "ensemble_config_unnamed" else "problem")]
    with offline.own_network_only():
        async with aclosing(AgentPool(environ, file.parent)) as pool:
            found = list(_faults(await pool.report(config)))
    count = len(config.worker_agents)
    said = _("The ensemble: {reviewer} reviews, workers: {count}.", reviewer=config.reviewer_agent.name, count=count)
    return found or [ok("ensemble", said)]


def _faults(reports: Sequence[HostReport]) -> Iterator[Finding]:
    """Yield the hosts that do not answer, and the models they lack."""
    for report in reports:
        names = ", ".join(report.agents)
        if report.error is not None:
            what = _("The ensemble's {agents}: {reason}", agents=names, reason=report.error.what)
            yield warning("ensemble", what, report.error.fix)
        for model in report.models:
            if model.is_there is False:
                place = {"model": model.name, "host": report.address}
                what = _("The ensemble's {agents}: there is no model “{model}” at {host}.", agents=names, **place)
                yield warning("ensemble", what, _("Load it there, or correct it in {file}.", file=CONFIG_FILE))
