"""Check the machine: sandbox, git, ripgrep, the terminal and the program itself."""

import platform
import shutil
from collections.abc import Iterator

from localllm import __version__
from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import N_, _, language, ngettext, sentences
from localllm.base.paths import find_program, passed_over
from localllm.integrations.doctor.inputs import Finding, Screen, Surroundings, note, of_error, ok, warning
from localllm.llm.offline_servers import reachable_offline
from localllm.safety.journal import check
from localllm.sandbox.backend import BACKENDS
from localllm.sandbox.probe import landlock_remedy, remedies
from localllm.tools.git_repository import examine_repository

_LEAST_COLUMNS, _LEAST_LINES = 60, 15


def sandbox(here: Surroundings) -> Iterator[Finding]:
    """Check whether commands can be confined."""
    if here.sandbox.level == "none":
        what = _(
            "Commands cannot be sandboxed on this machine ({reason}; kernel {kernel}): each has to be allowed by hand.",
            reason=here.sandbox.reason.rstrip("。."),
            kernel=here.kernel,
        )
        yield warning("sandbox", what, _sandbox_fix(here.kernel))
        return
    what = _(
        "Commands are sandboxed by the kernel ({level}, {system} {kernel}).",
        level=here.sandbox.level,
        system=platform.system(),
        kernel=here.kernel,
    )
    if here.sandbox.level == "landlock":
        failed = "; ".join(f"{level}: {reason}" for level, reason in here.sandbox.failed_levels.items())
        fixes = [
            *map(str, remedies(here.sandbox.failed_levels, here.kernel)),
            _better_levels(),
        ]
        yield note(
            "sandbox",
            _(
                "{what} Permissions and times of files outside can still be changed, and local servers do "
                "not work: the better levels are not available here ({failed}).",
                what=what,
                failed=failed,
            ),
            sentences(*fixes),
        )
    elif here.sandbox.level == "seatbelt":
        yield note(
            "sandbox",
            what,
            _("This level is experimental, as we have not tried it on a Mac: localllm sandbox --probe attacks it."),
        )
    else:
        yield ok("sandbox", what)
    if not BACKENDS[here.sandbox.level].opens_hosts and here.loaded.settings.command_hosts:
        what = _(
            "Network: off. safety.network_hosts has no effect: the level {level} cannot tell hosts apart",
            level=here.sandbox.level,
        )
        yield note(
            "network",
            f"{what}.",
            _better_levels(),
        )


def network(here: Surroundings) -> Iterator[Finding]:
    """Report whether the program is offline."""
    if here.loaded.settings.offline:
        yield note(
            "network",
            reachable_offline(),
            _("To go back online: leave out --offline, and localllm config set offline false."),
        )


def _sandbox_fix(kernel: str) -> str:
    if platform.system() != "Linux":
        return _("A Linux virtual machine, or WSL 2 on Windows, has the sandbox.")
    return str(landlock_remedy(kernel))


def _better_levels() -> str:
    if platform.system() != "Linux":
        return _("A Linux virtual machine has levels that can.")
    return _(
        "Install bubblewrap (sudo apt install bubblewrap, sudo dnf install bubblewrap). "
        "Within a container or another sandbox this is as good as it gets."
    )


def journal(here: Surroundings) -> Iterator[Finding]:
    """Check whether the journal of tool calls is unchanged."""
    file = here.state / "journal.jsonl"
    checked = check(file)
    if checked.broken:
        what = _(
            "The journal was changed by something else: line {broken} of {file} does not follow from the line before.",
            broken=checked.broken[0],
            file=file,
        )
        yield warning(
            "journal",
            what,
            _("Check that line, and move the file elsewhere if you need it: it can no longer be trusted."),
        )
    elif checked.lines:
        yield ok(
            "journal",
            ngettext(
                "The journal is intact ({lines} entry).",
                "The journal is intact ({lines} entries).",
                checked.lines,
                lines=f"{checked.lines:,}",
            ),
        )


def git(here: Surroundings) -> Iterator[Finding]:
    """Check whether changes have a history, and commits an author."""
    if finding := _passed_over("git", here):
        yield finding
        return
    if not shutil.which("git", path=here.environ.get("PATH")):
        yield note(
            "git",
            _("git is not installed: no history and no git tools. /undo works without."),
            _("Install it: sudo apt install git, sudo dnf install git, or brew install git."),
        )
        return
    try:
        version, top, nameless = examine_repository(here.project)
        yield ok("git", _("git {version}; the repository is {top}.", version=version, top=top))
        if nameless:
            yield _git_fault(here, nameless)
    except ToolExecutionError as error:
        yield _git_fault(here, error)


def _git_fault(here: Surroundings, error: ToolExecutionError) -> Finding:
    match error.key:
        case "git_not_a_repository":
            return note(
                "git",
                _("{project} is not a git repository: no history. /undo works without.", project=here.project),
                _("If you want history: git init"),
            )
        case "git_no_identity":
            return note(
                "git",
                _("git does not know your name, so nothing can be committed."),
                _('git config --global user.name "NAME" and git config --global user.email ADDRESS'),
            )
        case "git_not_owned":
            return warning("git", error.what, error.fix)
        case _:
            return of_error("git", error, "warning")


def _passed_over(program: str, here: Surroundings, topic: str = "") -> Finding | None:
    """Return what to say if a program is on the PATH in projects only, where it is not run."""
    found = passed_over(program, here.project, here.environ)
    if found is None:
        return None
    return note(
        topic or program,
        _(
            "{file} is not used: it lies in a project or repository, leads there, or is a shim of a version manager: "
            "commands may have put it, or chosen what it runs.",
            file=found,
        ),
        _("Install it elsewhere, such as in ~/.local/bin."),
    )


def ripgrep(here: Surroundings) -> Iterator[Finding]:
    """Check whether searching is fast."""
    if finding := _passed_over("rg", here, "ripgrep"):
        yield finding
    elif find_program("rg", here.project, here.environ):
        yield ok("ripgrep", _("ripgrep is installed: searching is fast."))
    else:
        yield note(
            "ripgrep",
            _("ripgrep is not installed: searching works, slower in large projects."),
            _("Install it: sudo apt install ripgrep, sudo dnf install ripgrep, or brew install ripgrep."),
        )


def terminal(here: Surroundings) -> Iterator[Finding]:
    """Check whether the chat can be displayed."""
    screen = here.screen
    yield from _letters(screen)
    if not screen.is_terminal:
        yield note("terminal", _("The output does not go to a terminal, so it cannot be checked."))
        return
    size = {"columns": screen.columns, "lines": screen.lines}
    if screen.columns < _LEAST_COLUMNS or screen.lines < _LEAST_LINES:
        yield warning(
            "terminal", _("The terminal is small: {columns} × {lines}.", **size), _("Make it 80 × 24 or larger.")
        )
    if screen.kind in ("", "dumb"):
        yield note(
            "terminal",
            _("The terminal reports no capabilities (TERM={kind}): no colours, no live display.", kind=screen.kind),
            _("If it can do more: export TERM=xterm-256color"),
        )
        return
    colours = _(N_("with colours") if screen.colours else N_("without colours (NO_COLOR)"))
    yield ok("terminal", _("{kind}, {columns} × {lines}, {colours}.", kind=screen.kind, colours=colours, **size))


def _letters(screen: Screen) -> Iterator[Finding]:
    if screen.encoding.lower().replace("-", "").replace("_", "") != "utf8":
        wanted = "ja_JP.UTF-8" if language() == "ja" else "C.UTF-8"
        what = _(
            "The locale's encoding is {encoding}, not UTF-8: some characters will not show.", encoding=screen.encoding
        )
        yield warning("terminal", what, _("export LANG={locale} (locale -a lists them)", locale=wanted))
    elif screen.is_terminal and screen.kind == "linux" and language() == "ja":
        yield warning(
            "terminal",
            _("The Linux console cannot show Japanese."),
            _("Use a terminal window, ssh or kmscon; or start with --lang en."),
        )


def program(_here: Surroundings) -> Iterator[Finding]:
    """Report versions and the system, for whoever is asked for help."""
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    yield ok(
        "program",
        _(
            "localllm {version}, Python {python}, {system}.",
            version=__version__,
            python=platform.python_version(),
            system=system,
        ),
    )
