"""The machine: sandbox, git, ripgrep, the terminal and the program itself."""

import platform
import shutil
from collections.abc import Iterator

from localllm import __version__
from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import language, tr
from localllm.integrations.doctor.inputs import Finding, Screen, Surroundings, note, of_error, ok, warning
from localllm.safety.journal import check
from localllm.sandbox.backend import BACKENDS
from localllm.sandbox.probe import landlock_remedy, remedies
from localllm.tools.git_repository import examine_repository

_LEAST_COLUMNS, _LEAST_LINES = 60, 15


def sandbox(here: Surroundings) -> Iterator[Finding]:
    """Whether commands can be held."""
    if here.sandbox.level == "none":
        what = tr("doctor.no_sandbox", reason=here.sandbox.reason.rstrip("。."), kernel=here.kernel)
        yield warning("sandbox", what, _sandbox_fix(here.kernel))
        return
    what = tr("doctor.sandbox", level=here.sandbox.level, kernel=here.kernel)
    if here.sandbox.level == "landlock":
        failed = "; ".join(f"{level}: {reason}" for level, reason in here.sandbox.failed_levels.items())
        fixes = [*map(str, remedies(here.sandbox.failed_levels, here.kernel)), tr("doctor.sandbox_stronger_fix")]
        yield note("sandbox", tr("doctor.sandbox_weaker", what=what, failed=failed), " ".join(fixes))
    else:
        yield ok("sandbox", what)
    if not BACKENDS[here.sandbox.level].opens_hosts and here.loaded.settings.safety.network_hosts:
        what = tr("sandbox.network.not_possible", level=here.sandbox.level)
        yield note("network", f"{what}.", tr("doctor.sandbox_stronger_fix"))


def _sandbox_fix(kernel: str) -> str:
    if platform.system() != "Linux":
        return tr("doctor.sandbox_fix_other")
    return str(landlock_remedy(kernel))


def journal(here: Surroundings) -> Iterator[Finding]:
    """Whether the record of what tools did is as it was written."""
    file = here.state / "journal.jsonl"
    checked = check(file)
    if checked.broken:
        what = tr("doctor.journal_broken", broken=checked.broken[0], file=file)
        yield warning("journal", what, tr("doctor.journal_broken_fix"))
    elif checked.lines:
        yield ok("journal", tr("doctor.journal", lines=f"{checked.lines:,}"))


def git(here: Surroundings) -> Iterator[Finding]:
    """Whether changes have a history, and commits a name."""
    if not shutil.which("git", path=here.environ.get("PATH")):
        yield note("git", tr("doctor.no_git"), tr("doctor.no_git_fix"))
        return
    try:
        version, top, nameless = examine_repository(here.project)
        yield ok("git", tr("doctor.git", version=version, top=top))
        if nameless:
            yield _git_fault(here, nameless)
    except ToolExecutionError as error:
        yield _git_fault(here, error)


def _git_fault(here: Surroundings, error: ToolExecutionError) -> Finding:
    match error.key:
        case "git_not_a_repository":
            return note("git", tr("doctor.not_a_repository", project=here.project), tr("doctor.git_init"))
        case "git_no_identity":
            return note("git", tr("doctor.git_no_identity"), tr("doctor.git_identity_fix"))
        case "git_not_owned":
            return warning("git", error.what, error.fix)
        case _:
            return of_error("git", error, "warning")


def ripgrep(here: Surroundings) -> Iterator[Finding]:
    """Whether searching is fast."""
    if shutil.which("rg", path=here.environ.get("PATH")):
        yield ok("ripgrep", tr("doctor.ripgrep"))
    else:
        yield note("ripgrep", tr("doctor.no_ripgrep"), tr("doctor.no_ripgrep_fix"))


def terminal(here: Surroundings) -> Iterator[Finding]:
    """Whether the chat can be shown."""
    screen = here.screen
    yield from _letters(screen)
    if not screen.is_terminal:
        yield note("terminal", tr("doctor.no_terminal"))
        return
    size = {"columns": screen.columns, "lines": screen.lines}
    if screen.columns < _LEAST_COLUMNS or screen.lines < _LEAST_LINES:
        yield warning("terminal", tr("doctor.terminal_small", **size), tr("doctor.terminal_small_fix"))
    if screen.kind in ("", "dumb"):
        yield note("terminal", tr("doctor.terminal_dumb", kind=screen.kind), tr("doctor.terminal_dumb_fix"))
        return
    colours = tr("doctor.colours" if screen.colours else "doctor.no_colours")
    yield ok("terminal", tr("doctor.terminal", kind=screen.kind, colours=colours, **size))


def _letters(screen: Screen) -> Iterator[Finding]:
    if screen.encoding.lower().replace("-", "").replace("_", "") != "utf8":
        wanted = "ja_JP.UTF-8" if language() == "ja" else "C.UTF-8"
        what = tr("doctor.not_utf8", encoding=screen.encoding)
        yield warning("terminal", what, tr("doctor.not_utf8_fix", locale=wanted))
    elif screen.is_terminal and screen.kind == "linux" and language() == "ja":
        yield warning("terminal", tr("doctor.console_without_japanese"), tr("doctor.console_fix"))


def program(_here: Surroundings) -> Iterator[Finding]:
    """What runs here: for whoever is asked for help."""
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    yield ok("program", tr("doctor.program", version=__version__, python=platform.python_version(), system=system))
