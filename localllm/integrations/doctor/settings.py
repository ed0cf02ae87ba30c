"""The settings: can they be read, and does everything in them count?"""

from collections.abc import Iterator

from localllm.base.config.loading import RESERVED_VARIABLES, left_out_notice
from localllm.base.i18n import tr
from localllm.integrations.doctor.finding import Finding, note, of_error, ok, warning
from localllm.integrations.doctor.surroundings import Surroundings
from localllm.tools.builtin import ALL_TOOLS
from localllm.tools.guard.rules import still_showing, usable_rules


def settings(here: Surroundings) -> Iterator[Finding]:
    """Files, faults in them, variables that name no setting, and what waits for trust."""
    if here.fault is not None:
        yield of_error("settings", here.fault)
        return
    files = ", ".join(str(file) for file in here.loaded.files.values())
    yield ok("settings", tr("doctor.settings_files", files=files) if files else tr("doctor.settings_none"))
    for remark in here.loaded.remarks:
        yield warning("settings", str(remark), tr("doctor.settings_variable_mend"))
    safety, faulty_rules = usable_rules(here.loaded.settings.safety, here.loaded.unchecked, ALL_TOOLS)
    for error in (*here.loaded.left_out, *faulty_rules):
        yield warning("settings", left_out_notice(error), tr("doctor.left_out_mend"))
    if here.loaded.withheld:
        keys = ", ".join(here.loaded.withheld)
        yield note("trust", tr("doctor.withheld", keys=keys), tr("doctor.withheld_mend"))
    if unsent := here.loaded.unsent_keys(here.environ):
        yield note("trust", tr("start.keyless", variables=", ".join(unsent)), tr("doctor.withheld_mend"))
    if showing := ", ".join(still_showing(safety)):
        yield warning("rules", tr("doctor.only_read_file", tools=showing), tr("doctor.only_read_file_mend"))


def folders_moved(here: Surroundings) -> Iterator[Finding]:
    """Variables that put our folders elsewhere: easily forgotten."""
    moved = [name for name in sorted(RESERVED_VARIABLES) if here.environ.get(name)]
    if moved:
        yield note("settings", tr("doctor.folders_moved", variables=", ".join(moved)))
