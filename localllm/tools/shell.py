"""The tool run_command, in the foreground and in the background."""

import asyncio
import re
import signal
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Notice
from localllm.base.i18n import N_, Phrase, _, plural
from localllm.base.lazy_patterns import late_pattern
from localllm.base.own_folders import reopened_notice
from localllm.safety.journal import Journal, JournalEntry, digest
from localllm.safety.path_names import shown, some_of
from localllm.safety.rules import line_of
from localllm.safety.tool_definition import Preview, Risk, ToolOutput
from localllm.sandbox.background import EXCESS, BackgroundCommand
from localllm.text.sanitising import shorten
from localllm.text.terminal_output import fold_repeats, plain_output
from localllm.tools.context import ToolContext
from localllm.tools.live_output import LiveOutput
from localllm.tools.registry import tool
from localllm.tools.results import cap

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

_TOO_MUCH = Phrase(
    "[There is too much here to check for git settings, editor tasks and the like. Tell the "
    "user before they open or use what the command made.]"
)

_FIRST_LOOK = 1.0  # seconds: most failures occur by then, and servers have printed their address
_END = 5.0  # maximum seconds for stopping


async def begin(context: ToolContext, command: str, folder: str) -> ToolOutput:
    """Start `command` in the background and report its first output. Raises like `BackgroundCommands.start`."""
    begun = await context.background.start(context.runner, command, cwd=context.root.path / folder)
    await begun.wait(_FIRST_LOOK)
    if not begun.is_running:
        return _report(context, begun, [], working_dir=folder)
    remarks = [
        f"[In the background with id {begun.number}: command_output reads and stops it. It ends with the session.]"
    ]
    told = Phrase("runs in the background as {id}", id=begun.number)
    if begun.level != "none":
        remarks.append(
            "[Ports it opens are the sandbox's own: other commands, the user and browsers cannot reach them.]"
        )
        told = Phrase("runs in the background as {id}; your browser cannot reach its ports", id=begun.number)
    return msgspec.structs.replace(_report(context, begun, remarks, working_dir=folder), summary=told)


@tool(risk=Risk.SAFE)
async def command_output(context: ToolContext, id: int, stop: bool = False) -> ToolOutput:  # noqa: A002 - the model's word
    """Read the new output of a background command, or stop it."""
    command = context.background.get(id)
    if stop:
        command.ask_to_end()
        await command.wait(_END)
    return _report(context, command, [])


def note_end(journal: Journal, command: BackgroundCommand) -> None:
    """Write a separate journal entry for the end of a background command."""
    code = command.outcome.return_code if command.outcome else None
    entry = JournalEntry(
        tool="background",
        arguments=digest({"id": command.number, "command": command.command}),
        outcome="ok" if code == 0 or command.was_stopped else command.error.code if command.error else "failed",
        target=command.command,
        sandbox=command.level,
        overlooked=command.outcome.overlooked if command.outcome else False,
    )
    journal.note(entry)


def _report(context: ToolContext, command: BackgroundCommand, remarks: list[str], **metadata: str) -> ToolOutput:
    """Report the output since the last time and the state; raise the command's error if it was not run."""
    if command.error and not command.was_stopped:
        raise command.error
    known = command.encoding
    text, dropped = command.read()
    state = Phrase("[{id}: {state}, {seconds:.0f} s]", id=command.number, state=command.state, seconds=command.seconds)
    if dropped:
        remarks = [
            (f"[{dropped:,} {plural(dropped, 'byte of its middle was', 'bytes of its middle were')} dropped]"),
            *remarks,
        ]
    if command.encoding != known:
        remarks = [*remarks, _of_encoding(command.encoding)]
    if command.outcome and command.outcome.reopened:
        context.emit(Notice(text=reopened_notice(command.outcome.reopened), level="warning"))
    if command.outcome and command.outcome.overlooked:
        _warn_of_overlooked(context)
        remarks = [*remarks, _TOO_MUCH.english]
    if command.reverted:
        remarks = [*remarks, *(remark.english for remark in _remarks_on_reverted(command.reverted))]
    plain = fold_repeats(plain_output(text).rstrip("\n"))
    written = cap(plain, context, "command_output", faults=True) if plain.strip() else "[no new output]"
    code = command.outcome.return_code if command.outcome else None
    return ToolOutput(
        payload={
            "id": command.number,
            "running": command.is_running,
            "output": text,
            "return_code": code,
            "metadata": {"sandbox": command.level, "reverted": list(command.reverted), **metadata},
        },
        for_model="\n".join([state.english, written, *remarks]),
        summary=state,
        success=command.is_running or code == 0 or command.was_stopped,
    )


_LONGEST = 600.0  # maximum seconds a model may request
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

_NOT_EXECUTABLE = late_pattern(r"^\S{0,99}sh: (?:line \d+: |\d+: )?(\S{1,999}): Permission denied$", re.MULTILINE)

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

_BROKEN_PIPE = late_pattern(r"broken ?pipe|EPIPE", re.IGNORECASE)
_SIGPIPE = 128 + 13


def _preview(
    context: ToolContext,
    command: str,
    working_dir: str = "",
    timeout: float = 0,
    background: bool = False,
) -> Preview:
    from localllm.safety.terminal_programs import waiting  # the shell parser is imported with the first command

    if found := waiting(line_of(command).script, background=background):
        raise ToolExecutionError("command_needs_terminal", program=found.program, instead=found.instead)
    folder = working_dir or "."
    in_time = _("Run in {folder} (at most {seconds:g} s)", folder=folder, seconds=_seconds(context, timeout))
    summary = _("Run in {folder}, in the background", folder=folder) if background else in_time
    return Preview(summary=summary, detail=command, kind="command")


@tool(risk=Risk.HIGHEST, preview=_preview, runs_programs=True, rare=("working_dir", "background"))
async def run_command(
    context: ToolContext,
    command: str,
    working_dir: str = "",
    timeout: float = 0,  # noqa: ASYNC109 - an argument of the model's
    background: bool = False,
) -> ToolOutput:
    """Run a bash command in the project root, /tmp anew each time. No input, no network.

    timeout: seconds
    background: for what takes long; read it with command_output
    """
    if not command.strip():
        raise ToolExecutionError("command_failed_to_start", reason=Phrase("the command is empty"))
    folder = context.root.relative(working_dir) if working_dir else "."
    if background:
        return await begin(context, command, folder)
    seconds = _seconds(context, timeout)
    parts = line_of(command).script.pipeline
    cwd = context.root.path / folder
    from localllm.tools.merge_state import state_before, taken_with_markers
    from localllm.tools.repository_marks import marks_of  # not needed at the start

    merge = await asyncio.to_thread(state_before, context.root.path, command)
    marks = await asyncio.to_thread(marks_of, context.root.path)
    try:
        async with LiveOutput(context.emit) as live:
            result = await context.runner.run(
                command, cwd=cwd, timeout=seconds, statuses=bool(parts), on_output=live.add
            )
    except asyncio.CancelledError as interrupt:
        if interrupt.args:
            if interrupt.args[0].overlooked:
                _warn_of_overlooked(context)
            raise asyncio.CancelledError(_printed(context, interrupt.args[0])) from None
        raise
    report = cap(_result(result, seconds), context, "run_command", whole=not result.truncated, faults=True)
    failed = _failed_parts(parts, result)
    payload = _payload(result, folder)
    if failed:
        payload["failed_parts"] = [{"command": part, "return_code": status} for part, status, _ in failed]
    output = f"{result.stdout}\n{result.stderr}"
    if taken := await asyncio.to_thread(taken_with_markers, context.root, merge, output):
        payload["conflict_markers"] = list(taken.files)
        context.emit(Notice(text=str(taken.phrase), level="warning"))
    from localllm.tools.command_files import missing_files, not_executable, other_encoding, remarks_for_user

    root = context.root.path.resolve()
    told = await asyncio.to_thread(remarks_for_user, context.root.path, command, folder, result, merge, marks)
    for remark in told:
        context.emit(Notice(text=str(remark), level="warning"))
    if result.overlooked:
        _warn_of_overlooked(context)
    if result.reverted:
        text = _("Put back as it was, because commands must not change it: {paths}", paths=some_of(result.reverted))
        context.emit(Notice(text=text, level="warning"))
    if result.reopened:
        context.emit(Notice(text=reopened_notice(result.reopened), level="warning"))
    script = await asyncio.to_thread(not_executable, _NOT_EXECUTABLE, cwd, root, result)
    remarks = [
        *([f"[{script} is not executable: name its interpreter, or run chmod +x {script} first.]"] if script else []),
        *_how_it_went(command, folder, failed, result),
        *await asyncio.to_thread(lambda: list(other_encoding(command, cwd, root, result))),
        *_lost(command, result),
        *await asyncio.to_thread(lambda: list(missing_files(command, cwd, root, result))),
        *([f"[{taken.phrase.english} Resolve these, and add the files again.]"] if taken else []),
        *(f"[{remark.english} Tell the user.]" for remark in told),
        *(remark.english for remark in remarks_on(result, command, explained=bool(script))),
    ]
    return ToolOutput(
        payload=payload,
        for_model="\n".join([report, *remarks]),
        summary=_summary(result, failed),
        success=result.return_code == 0,
    )


def _warn_of_overlooked(context: ToolContext) -> None:
    """Tell the user, and not the model alone, that not all could be checked after a command."""
    text = _(
        "After this command there was too much to check for editor tasks, git settings and the like. Until a later "
        "check was complete, open or use nothing that it made in an editor, in git or in a shell."
    )
    context.emit(Notice(text=text, level="warning"))


def _printed(context: ToolContext, result: "CommandResult") -> ToolOutput:
    """Return the output so far of an interrupted command."""
    if not (result.stdout.strip() or result.stderr.strip()):
        return ToolOutput(payload={}, for_model="", summary="", success=False)
    so_far = msgspec.structs.replace(result, return_code=0, timed_out=False, excess="")
    report = cap(_result(so_far, 0), context, "run_command", whole=not result.truncated, faults=True)
    payload: dict[str, object] = {"stdout": result.stdout, "stderr": result.stderr}
    return ToolOutput(payload=payload, for_model=report, summary="", success=False)


def _seconds(context: ToolContext, timeout: float) -> float:
    default = context.settings.safety.command_timeout
    return min(timeout, max(_LONGEST, default)) if timeout > 0 else default


def _payload(result: "CommandResult", folder: str) -> dict[str, object]:
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


def _failed_parts(parts: Sequence[str], result: "CommandResult") -> list[tuple[str, int, str]]:
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


def _how_it_went(
    command: str, folder: str, failed: Sequence[tuple[str, int, str]], result: "CommandResult"
) -> Iterator[str]:
    """Yield what exit status and output do not reveal."""
    if result.encoding:
        yield _of_encoding(result.encoding)
    for part, status, behind in failed:
        yield f"[{part} exited with {status} (its output was piped into {behind})]"
    line = line_of(command)
    if folder == "." and any(f"cd: {path}: No such" in result.stderr for path in line.folders if path.startswith("/")):
        yield "[Commands start in the project root: leave out the cd.]"
    apart = [_in_brief(text) for text in line.script.apart]
    if result.left and apart and not result.timed_out:
        yield f"[Ended with the command: {'; '.join(apart)}. Put what needs it into the same command.]"


def _of_encoding(encoding: str) -> str:
    return f"[Printed in {encoding}, not UTF-8: code that opens such a file must name it.]"


def _lost(command: str, result: "CommandResult") -> Iterator[str]:
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


def _result(result: "CommandResult", seconds: float) -> str:
    """Format the output for the model: how it ended, if not well; stdout; labelled stderr."""
    parts = [_ending(result, seconds), fold_repeats(plain_output(result.stdout).rstrip("\n"))]
    if errors := plain_output(result.stderr).rstrip("\n"):
        parts += ["stderr:", fold_repeats(errors)]
    return "\n".join(filter(None, parts)) or "[done, without output]"


def _ending(result: "CommandResult", seconds: float) -> str:
    if result.timed_out:
        return (
            f"Killed: not done after {seconds:g} s. timeout can be up to {_LONGEST:g}. "
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


def _remarks_on_reverted(paths: tuple[str, ...]) -> list[Phrase]:
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
                "[{paths}: a repository's settings and remotes are the user's to set: tell them the command. Only at "
                "hosts in safety.network_hosts may a new repository have remotes.]",
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


def remarks_on(result: "CommandResult", command: str = "", *, explained: bool = False) -> list[Phrase]:
    """Return remarks for model or user besides the output. `explained`: why something was denied is known."""
    remarks: list[Phrase] = []
    if result.reverted:
        remarks += _remarks_on_reverted(result.reverted)
    if result.reopened:
        remarks.append(
            Phrase(
                "[It had closed what localllm itself works with (chmod), which is open again: {paths}]",
                paths=some_of(result.reopened),
            )
        )
    if result.overlooked:
        remarks.append(_TOO_MUCH)
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
    output = _NOT_EXECUTABLE.sub("", output) if explained else output
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


def _summary(result: "CommandResult", failed: Sequence[tuple[str, int, str]]) -> Phrase:
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
