"""Report how a command ended, for the model and the user: its output, exit codes, and what they do not show."""

import re
import signal
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from localllm.base.i18n import N_, Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.safety.path_names import shown, some_of
from localllm.safety.rules import line_of
from localllm.sandbox.background import EXCESS
from localllm.text.sanitising import shorten
from localllm.text.terminal_output import fold_repeats, plain_output

if TYPE_CHECKING:
    from localllm.sandbox.runner import CommandResult

_EXCESS = {
    "output": "Killed: it wrote without end.",
    "processes": "Killed: it started too many processes.",
    "memory": "Killed: it used too much memory.",
    "disk": "Killed: it filled the disk.",
    "files": "Killed: it made too many files.",
    "time": "Killed: it ran too long.",
    "replaced": "Killed: while it ran, a file that commands must not read or change was saved or replaced outside the "
    "sandbox, which laid it open. What it had written is not shown. It can be run again.",
    "protected": "Killed: it kept writing what is protected.",
}

TOO_MUCH = Phrase(
    "[There is too much here to check for git settings, editor tasks and the like. Tell the "
    "user before they open or use what the command made.]"
)

MOST_SECONDS = 600.0  # maximum seconds a model may request
_LONGEST_NAMED = 60  # characters of a named part of a command

_DENIED = late_pattern(
    r"permission denied|operation not permitted|read-only file system|resource busy|network is unreachable"
    r"|could not resolve|name or service not known|temporary failure in name resolution|permissionerror"
    r"|\b(?:eacces|eperm|eai_again|enotfound|enetunreach)\b"  # not within ModuleNotFoundError
    r"|getaddrinfo|no matching distribution found|module lookup disabled by goproxy=off"
    r"|in offline mode|because network access is disabled|network connectivity is disabled"
    r"|could not transfer artifact|could not (?:get|head) 'https?:|unknown ?host|for offline mode",
    re.IGNORECASE,
)
"""Messages of programs about what the sandbox has denied."""

NOT_EXECUTABLE = late_pattern(r"^\S{0,99}sh: (?:line \d+: |\d+: )?(\S{1,999}): Permission denied$", re.MULTILINE)

_INSTALLS = late_pattern(
    r"\b(?:npm|pnpm|yarn|bun|pip3?|pipx|uv|poetry|conda|mamba|gem|bundle|composer|cargo|go|apt|apt-get|apk|dnf|brew)\b"
    r"[^\n;|&]*\b(?:install|i|ci|add|get|download|update|upgrade|sync|fetch|mod|create|init|require)\b"
    r"|\b(?:npx|curl|wget|git (?:clone|fetch|pull|push))\b"
)
"""Commands that need the network; checked after a timeout, at their beginning: the pattern is quadratic."""
_BEGINNING = 2_000  # characters
_LONGEST_PATH = 200  # cells of a path that was put back

_ANSWER_NO = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "diff", "cmp", "git diff", "git grep", "test", "["})
"""Programs whose exit status 1 is an answer, not a failure."""

_STASHED = (
    "[git stash -a takes .localllm too, which is always there: it stops half-way, as does git stash pop. Use git stash "
    "push -a -- . ':!.localllm'. What is gone comes back by: git restore --overlay --source='stash@{0}^3' -- . "
    "':!.localllm']"
)

_BROKEN_PIPE = late_pattern(r"broken ?pipe|EPIPE", re.IGNORECASE)
_SIGPIPE = 128 + 13


def payload_of(result: "CommandResult", folder: str) -> dict[str, object]:
    """Return the result as structured data; `folder`: where the command ran."""
    return {
        "stdout": result.stdout,
        "stderr": result.stderr,
        "return_code": result.return_code,
        "execution_time": round(result.execution_time, 3),
        "timed_out": result.timed_out,
        "truncated": result.truncated,
        "metadata": {
            "sandbox": result.level,
            "working_dir": folder,
            "reverted": [shown(path) for path in result.reverted],
            **({"overlooked": True} if result.overlooked else {}),
            **_network(result),
        },
    }


def _network(result: "CommandResult") -> dict[str, object]:
    """Return the network contacts, for the journal; usually empty."""
    contacts = {contact.host: msgspec.to_builtins(contact) for contact in result.contacts}
    return {"network": contacts} if contacts else {}


def failed_parts(parts: Sequence[str], result: "CommandResult") -> list[tuple[str, int, str]]:
    """Return the failed parts of the last pipeline whose exit status is hidden: each as written, its status, and the
    next program. Without those that failed by a broken pipe."""
    if len(parts) != len(result.statuses) or _BROKEN_PIPE.search(result.stderr):
        return []
    found: list[tuple[str, int, str]] = []
    for at, status in enumerate(result.statuses[:-1]):
        program, _, rest = parts[at].strip().partition(" ")
        names = {program, f"{program} {rest.partition(' ')[0]}"}
        if status not in (0, _SIGPIPE) and not (status == 1 and names & _ANSWER_NO):
            found.append((_in_brief(parts[at]), status, next(iter(parts[at + 1].split(None, 1)), "")))
    return found


def _in_brief(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_NAMED else f"{line[: _LONGEST_NAMED - 2]} …"


def remarks_on_exit(
    command: str, folder: str, failed: Sequence[tuple[str, int, str]], result: "CommandResult"
) -> Iterator[str]:
    """Yield what exit status and output do not reveal."""
    if result.encoding:
        yield remark_on_encoding(result.encoding)
    for part, status, behind in failed:
        yield f"[{part} exited with {status} (its output was piped into {behind})]"
    if "stash" in command and (".localllm/" in result.stderr or any(".localllm/" in path for path in result.reverted)):
        yield _STASHED
    line = line_of(command)
    if folder == "." and any(f"cd: {path}: No such" in result.stderr for path in line.folders if path.startswith("/")):
        yield "[Commands start in the project root: leave out the cd.]"
    apart = [_in_brief(text) for text in line.script.apart]
    if result.left and apart and not result.timed_out:
        yield f"[Ended with the command: {'; '.join(apart)}. Put what needs it into the same command.]"


def remark_on_encoding(encoding: str) -> str:
    """Return the remark that the output is in another encoding than UTF-8."""
    return f"[Printed in {encoding}, not UTF-8: code that opens such a file must name it.]"


def remarks_on_lost(command: str, result: "CommandResult") -> Iterator[str]:
    """Yield what the next command will not find, if this one made no other use of it: its folder, a file in /tmp."""
    from localllm.sandbox.backend import BACKENDS

    script = line_of(command).script
    if script.commands and all(one.words[0].text == "cd" for one in script.commands):
        yield f"[The next command starts in the project root again: write {_in_brief(command)} && … as one command.]"
    used = {word.text for one in script.commands for word in one.words} | {word.text for word in script.reads}
    unused = [word.text for word in script.writes if word.text not in used]
    files = [path for path in unused if path.startswith("/tmp/")]  # noqa: S108 - the model's, in the sandbox
    if files and result.level in BACKENDS and BACKENDS[result.level].has_namespaces:
        yield f"[Gone with this command: {some_of(files)}. Use it in the same command, or write into the project.]"


def text_of(result: "CommandResult", seconds: float) -> str:
    """Format the output for the model: how it ended, if not well; stdout; labelled stderr."""
    parts = [_ending(result, seconds), fold_repeats(plain_output(result.stdout).rstrip("\n"))]
    if errors := plain_output(result.stderr).rstrip("\n"):
        parts += ["stderr:", fold_repeats(errors)]
    return "\n".join(filter(None, parts)) or "[done, without output]"


def _ending(result: "CommandResult", seconds: float) -> str:
    if result.timed_out:
        return (
            f"Killed: not done after {seconds:g} s. timeout can be up to {MOST_SECONDS:g}. "
            "A server: start it with & and use it in the same command."
        )
    if result.excess:
        return _EXCESS[result.excess]
    if result.return_code < 0:
        return f"Ended by signal {-result.return_code} ({_signal_name(-result.return_code)})."
    return f"Exit code {result.return_code}." if result.return_code else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def remarks_on_reverted(paths: tuple[str, ...]) -> list[Phrase]:
    """Return remarks on protected files that were put back."""
    from localllm.sandbox.protect.path_programs import is_program_of_system

    said = Phrase(
        "[Put back as it was, because commands must not change it: {paths}. Ask the user if it has to be changed.]",
        paths=some_of([shorten(path, _LONGEST_PATH) for path in paths]),
    )
    remarks = [said]
    if settings := [path for path in paths if f"/{path}".endswith(("/.git/config", "/.git"))]:
        remarks.append(
            Phrase(
                "[{paths}: a repository's settings and remotes are the user's to set: tell them the command. A new "
                "repository may have remotes only in the project and at hosts in safety.network_hosts.]",
                paths=some_of([shorten(path, _LONGEST_PATH) for path in settings]),
            )
        )
    if programs := [path for path in paths if is_program_of_system(path)]:
        remarks.append(
            Phrase(
                "[{paths}: in the user's shell a program of this name would run instead of the system's. If a "
                "package brings it, the package is incomplete now: uninstall it, or the user reinstalls it in a shell "
                "of their own (conda install --force-reinstall).]",
                paths=some_of(programs),
            )
        )
    return remarks


def remark_on_aside(names: tuple[str, ...]) -> Phrase:
    """Return the remark on files that were moved to protected names, and were too large for the quarantine."""
    return Phrase(
        "Files from before that were moved to a protected name, and are too large to be taken away, have other names "
        "now: {paths}",
        paths=some_of(names),
    )


def remarks_on(result: "CommandResult", command: str = "", *, explained: bool = False) -> list[Phrase]:
    """Return remarks for model or user besides the output. `explained`: why something was denied is known."""
    remarks: list[Phrase] = []
    if result.reverted:
        remarks += remarks_on_reverted(result.reverted)
    if result.aside:
        remarks.append(remark_on_aside(result.aside))
    if result.reopened:
        remarks.append(
            Phrase(
                "[It had closed what localllm itself works with (chmod), which is open again: {paths}]",
                paths=some_of(result.reopened),
            )
        )
    if result.overlooked:
        remarks.append(TOO_MUCH)
    unlinked = [path for path in result.unlinked if "/.git/objects/" not in f"/{path}"]
    if unlinked:
        remarks.append(
            Phrase(
                N_(
                    "[{count} file that was also one outside the project (a hard link) is a copy now: {path}]",
                    "[{count} files that were also files outside the project (hard links) are copies now, e.g. {path}]",
                ),
                count=len(unlinked),
                path=shown(unlinked[0]),
            )
        )
    output = f"{result.stderr}\n{result.stdout}" if result.return_code else result.stderr
    output = NOT_EXECUTABLE.sub("", output) if explained else output
    is_denied = _DENIED.search(output) or (result.timed_out and _INSTALLS.search(command[:_BEGINNING]))
    if result.level != "none" and is_denied:
        remarks.append(
            Phrase(
                N_(
                    "[Sandbox: no writing outside the project, no reading of the home folder, no "
                    "network, no local servers. Do it another way, or ask the user to.]"
                )
                if result.level == "landlock"
                else N_(
                    "[Sandbox: no writing outside the project or to protected files in it, no reading of "
                    "the home folder, no network. Do it another way, or ask the user to.]"
                )
            )
        )
        if result.network == "not possible":
            remarks.append(
                Phrase(
                    "[safety.network_hosts has no effect here: the sandbox level {level} cannot tell hosts apart.]",
                    level=result.level,
                )
            )
    if refused := tuple(contact.host for contact in result.contacts if contact.refused):
        remarks.append(
            Phrase(
                "[Network: only the hosts in the user's safety.network_hosts can be reached, not "
                "{hosts}. Do without, or ask the user to.]",
                hosts=some_of(refused),
            )
        )
    return remarks


def summary_of(result: "CommandResult", failed: Sequence[tuple[str, int, str]]) -> Phrase:
    """Summarise the result in one line for the user."""
    if result.timed_out:
        return Phrase("killed after {seconds:.1f} s", seconds=result.execution_time)
    if result.excess:
        return Phrase("{why}, {seconds:.1f} s", why=Phrase(EXCESS[result.excess]), seconds=result.execution_time)
    if failed:
        parts = "; ".join(f"{part}: {status}" for part, status, _ in failed)
        text = N_("exit {code} (in the pipe {parts}), {seconds:.1f} s")
        return Phrase(text, code=result.return_code, parts=parts, seconds=result.execution_time)
    return Phrase("exit {code}, {seconds:.1f} s", code=result.return_code, seconds=result.execution_time)
