"""Run git in the sandbox, or outside it on a verified repository.

A repository can name programs for git to run: hooks, filters, a file system monitor, diff drivers. In the sandbox they
may run, with no more access than any command. Outside none of them does: only the settings of the user and the machine
count. So it is in the sandbox where a rule closes something to reading: git sees that, and the answers are shown.
"""

import asyncio
import os
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from shlex import join, quote
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import Phrase
from localllm.base.paths import find_program, passed_over, search_path
from localllm.safety.path_names import shown
from localllm.sandbox.command_runner import CommandRunner
from localllm.sandbox.git_programs import is_chosen_there, runs_from_folder

if TYPE_CHECKING:
    from subprocess import Popen

LARGEST_OUTPUT = 4_000_000
"""Maximum bytes of output kept."""

_SECONDS = 60.0
_CHUNK = 1 << 16

ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # fetch nothing, not even missing objects of a partial clone
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",  # show and judge what is actually stored and pushed
    "LC_ALL": "C.UTF-8",
}

SETTINGS = {
    "core.commitGraph": "false",  # git believes these two unchecked, and a command may have forged them
    "core.multiPackIndex": "false",
    "core.fsmonitor": "false",
    "core.quotePath": "false",
    "core.safecrlf": "false",
    "diff.ignoreSubmodules": "dirty",  # entering a submodule would obey its configuration
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "log.showSignature": "false",
    "log.showRoot": "true",
    "i18n.commitEncoding": "UTF-8",
    "safe.bareRepository": "explicit",  # a tracked folder can imitate a bare repository
}

WITHOUT_HOOKS = {"core.hooksPath": os.devnull}

_HARMLESS = re.compile(
    r"(?:advice|apply|author|branch|color|column|commit|committer|extensions|feature|fetch|format|gc|i18n|include|includeif"
    r"|index|init|log|maintenance|merge|notes|pack|pull|push|rebase|receive|remote|rerere|sparse|splitindex|stash|status"
    r"|submodule|tag|transfer|url|user|versionsort|worktree)\..*"
    r"|core\.(?:abbrev|autocrlf|bare|bigfilethreshold|checkstat|commentchar|commitgraph|compression|deltabasecachelimit|eol"
    r"|filemode|fscache|fsync|fsyncmethod|fsyncobjectfiles|hidedotfiles|ignorecase|ignorestat|logallrefupdates|longpaths"
    r"|loosecompression|multipackindex|notesref|packedgitlimit|packedgitwindowsize|precomposeunicode|preloadindex"
    r"|protecthfs|protectntfs|repositoryformatversion|sharedrepository|sparsecheckout|sparsecheckoutcone|splitindex"
    r"|symlinks|trustctime|unsetenvvars|untrackedcache|usereplacerefs|warnambiguousrefs|whitespace|worktree)"
    r"|diff\.(?:(?!external|orderfile)[a-z]+|.*\.(?:algorithm|binary|funcname|wordregex|xfuncname))"
    r"|lfs\.(?:repositoryformatversion|.*\.(?:access|locksverify))|annex\.(?:uuid|version)"
    r"|gpg\.(?:format|mintrustlevel)|filter\..*\.extrakeys"
)
"""Settings of a repository that git, and the user's filters, may use outside the sandbox."""

_NEUTRAL = (
    (re.compile(r"filter\..*\.required|merge\..*\.driver|gpg\.(?:.*\.)?program|gpg\.ssh\.defaultkeycommand"), "false"),
    (re.compile(r"diff\..*\.(?:command|textconv)|diff\.external|core\.pager|pager\..*"), "cat"),
    (re.compile(r"hook\..*\.command"), "true"),
    (re.compile(r"core\.(?:attributesfile|excludesfile)|diff\.orderfile|mailmap\.file"), os.devnull),
    (_HARMLESS, None),
)
"""Overrides for non-empty settings made only by the repository. None: unchanged."""

_MOST_OVERRIDES = 100_000
"""Maximum bytes of overridden settings, which are passed as environment variables."""

_WITHOUT_RERERE = {"rerere.enabled": "false"}  # a commit would copy files named in MERGE_RR from anywhere

_FILTER = re.compile(r"filter\.(.*)\.(clean|smudge|process|required)", re.DOTALL)

_REFUSED = re.compile(r"(?i)lfs\.(?:extension\..*|storage)")
"""Settings without which the committed content, or its location, would be wrong."""

_REFS_ELSEWHERE = ("extensions.refstorage", "://")
"""A setting, and the mark of a URL in it: newer git stores branches in the folder it names."""


class Question(NamedTuple):
    """A git command. Exit codes other than 0 and `also_good` are failures. `literal`: paths are not patterns."""

    arguments: tuple[str, ...]
    stdin: bytes = b""
    also_good: tuple[int, ...] = ()
    literal: bool = True


class Answer(NamedTuple):
    """The result; `output` is truncated at LARGEST_OUTPUT bytes."""

    code: int
    output: bytes
    errors: str


class Git(Protocol):
    """Runs read-only git commands on the project's repository."""

    async def ask(self, questions: Sequence[Question]) -> list[Answer]:
        """Return the answers, in order. Raises ToolExecutionError."""
        ...


class SandboxedGit:
    """Git in the sandbox, on a read-only view of the project, with one launch for all questions.

    `is_guarded`: some of what it sees must not be shown, so that no program runs that the project could influence.
    """

    def __init__(self, root: Path, top: Path, runner: CommandRunner, *, is_guarded: bool = False) -> None:
        self._root = root
        self._top = top
        self._runner = runner
        self._settings = {**SETTINGS, **WITHOUT_HOOKS, "lfs.storage": "$TMPDIR/lfs"}
        self._variables = ENVIRONMENT | no_further_than(top)
        self._is_ready = not is_guarded

    async def ask(self, questions: Sequence[Question]) -> list[Answer]:
        if not self._is_ready:
            [listed] = await self._ask([LIST_SETTINGS])
            if listed.code:
                return [listed for _ in questions]
            trusted, own = settings_by_scope(listed.output, self._root)
            self._settings |= _believed(self._root, self._top, trusted, own, self._settings)
            self._variables |= _without_programs_of(self._root)
            self._is_ready = True
        return await self._ask(questions)

    async def _ask(self, questions: Sequence[Question]) -> list[Answer]:
        lines = [
            *exported(self._variables | configured(self._settings)),
            _ASK.replace("@git@", quote(program_of(self._root))),
        ]
        for number, question in enumerate(questions):
            pathspecs = "" if question.literal else "GIT_LITERAL_PATHSPECS=0 "
            lines.append(f"{pathspecs}ask {number} {join(question.arguments)}")
        files = {f"{number}.in": question.stdin for number, question in enumerate(questions)}
        results = [f"{number}.{what}" for number in range(len(questions)) for what in _RESULTS]
        inspected = await self._runner.inspect("\n".join(lines), files=files, results=results, timeout=_SECONDS)
        if inspected.timed_out:
            raise too_slow()
        return [_answer(inspected.files, number) for number in range(len(questions))]


_RESULTS = ("code", "out", "err")
_STATUS = re.compile(rb"[0-9]{1,3}\n")

_ASK = """export GIT_LITERAL_PATHSPECS=1
ask() {
    local file="$TMPDIR/$1"
    shift
    @git@ "$@" <"$file.in" >"$file.out" 2>"$file.err"
    echo "$?" >"$file.code"
}"""


def _answer(files: Mapping[str, bytes], number: int) -> Answer:
    code, output, errors = (files.get(f"{number}.{what}", b"") for what in _RESULTS)
    status = int(code) if _STATUS.fullmatch(code) else -1  # a program of the project may have written the file
    return Answer(status, output[:LARGEST_OUTPUT], errors.decode("utf-8", "replace"))


def exported(variables: Mapping[str, str]) -> list[str]:
    """Return bash lines that set variables; `$TMPDIR` in a value is the command's temporary folder."""
    return [f"export {name}={quote(value).replace('$TMPDIR', TEMPORARY)}" for name, value in variables.items()]


TEMPORARY = "'\"$TMPDIR\"'"
"""$TMPDIR within a single-quoted string."""


def no_further_than(top: Path) -> dict[str, str]:
    """Return the variable that keeps git from searching above `top`, the verified repository."""
    return {"GIT_CEILING_DIRECTORIES": str(top.parent)}


def configured(settings: Mapping[str, str], first: int = 0) -> dict[str, str]:
    """Return git settings as environment variables, numbered after the user's own `first` ones."""
    variables: dict[str, str] = {}
    for number, (key, value) in enumerate(settings.items(), first):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return {**variables, "GIT_CONFIG_COUNT": str(first + len(settings))}


def _believed(
    root: Path, top: Path, trusted: Mapping[str, str], own: Mapping[str, str], ours: Mapping[str, str]
) -> dict[str, str]:
    """Return overrides, beside `ours`, for the repository's settings that are not harmless (the user's or a neutral
    value), and for the user's filters that might run something of the project. Raises ToolExecutionError."""
    overrides: dict[str, str] = {}
    set_by_us = {key.lower() for key in ours}
    for key, value in own.items():
        if key in set_by_us:
            continue
        if key == _REFS_ELSEWHERE[0] and _REFS_ELSEWHERE[1] in value:
            raise ToolExecutionError("git_setting", path=root, setting=key)
        neutral = next((neutral for pattern, neutral in _NEUTRAL if pattern.fullmatch(key)), "")
        wanted = value if neutral is None else trusted.get(key, neutral)
        if wanted != value:
            if _REFUSED.fullmatch(key):
                raise ToolExecutionError("git_setting", path=root, setting=key)
            overrides[key] = wanted
    folders, is_chosen = dict.fromkeys((str(root), str(top))), cache(is_chosen_there)
    for key, value in trusted.items():
        if (match := _FILTER.fullmatch(key)) and match[2] != "required" and runs_from_folder(value, folders, is_chosen):
            overrides |= {key: "", f"filter.{match[1]}.required": "false"}
    if sum(len(key) + len(value) for key, value in {**ours, **overrides}.items()) > _MOST_OVERRIDES:
        raise ToolExecutionError("git_too_many_settings", path=root)
    return overrides


def _without_programs_of(root: Path) -> dict[str, str]:
    """Return variables that keep the user's filters from running programs, and loading modules, of the project."""
    return {"PYTHONSAFEPATH": "1", "PATH": os.pathsep.join(search_path(root))}


class UnsandboxedGit:
    """Git outside the sandbox, started through GitPython.
    Of that only the process handling is used: its objects would read and cache the repository in this process.

    For a verified repository (see `RepositoryCheck`). No program named only by the repository, or located in the
    project, is run.
    """

    def __init__(self, root: Path, top: Path) -> None:
        self._root = root
        self._top = top
        self._overrides = SETTINGS | WITHOUT_HOOKS | _WITHOUT_RERERE
        self._is_ready = False
        self.switched_off: frozenset[str] = frozenset()
        """Filters that are disabled: only the repository defines them, or they might run programs in it.
        Known after the first question."""

    async def ask(self, questions: Sequence[Question]) -> list[Answer]:
        return await asyncio.to_thread(self.ask_now, questions)

    def ask_now(self, questions: Sequence[Question], *, writes: bool = False) -> list[Answer]:
        """Like `ask`, but blocking. `writes`: git may change the repository."""
        if not self._is_ready:
            place, listed = self._run(_PLACE, writes=False), self._run(LIST_SETTINGS, writes=False)
            if place.code:
                return [place for _ in questions]
            if os.path.realpath(os.fsdecode(place.output).removesuffix("\n")) != str(self._top):
                raise ToolExecutionError("git_not_a_repository", path=self._root)  # git found another repository
            self._is_ready = True
            trusted, own = settings_by_scope(listed.output, self._root)
            self._overrides |= _believed(self._root, self._top, trusted, own, self._overrides)
            replaced = (key for key, value in self._overrides.items() if value != trusted.get(key))
            self.switched_off = frozenset(match[1] for key in replaced if (match := _FILTER.fullmatch(key)))
        return [self._run(question, writes=writes) for question in questions]

    def _run(self, question: Question, *, writes: bool) -> Answer:
        first = int(os.environ.get("GIT_CONFIG_COUNT") or 0)
        environment = {
            **ENVIRONMENT,
            **configured(self._overrides, first),
            **no_further_than(self._top),
            **self._safe_variables,
            "GIT_OPTIONAL_LOCKS": "1" if writes else "0",
            "GIT_LITERAL_PATHSPECS": "1" if question.literal else "0",
        }
        output = _Bounded(LARGEST_OUTPUT)
        with tempfile.TemporaryFile() as stdin:
            stdin.write(question.stdin)
            stdin.seek(0)
            code, errors = _execute(self._root, [self._program, *question.arguments], stdin, output, environment)
        return Answer(code, bytes(output.data), errors)

    @cached_property
    def _program(self) -> str:
        return program_of(self._root)

    @cached_property
    def _safe_variables(self) -> dict[str, str]:
        return _without_programs_of(self._root)


_PLACE = Question(("rev-parse", "--show-toplevel"))
LIST_SETTINGS = Question(("config", "--list", "--show-scope", "--null"))


def settings_by_scope(listed: bytes, root: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Parse the answer to LIST_SETTINGS into settings of machine and user, and those of the repository.
    Raises ToolExecutionError if it was truncated."""
    if len(listed) >= LARGEST_OUTPUT:
        raise ToolExecutionError("git_too_many_settings", path=root)
    trusted: dict[str, str] = {}
    own: dict[str, str] = {}
    fields = os.fsdecode(listed).split("\0")
    for scope, entry in zip(fields[:-1:2], fields[1::2], strict=False):
        key, has_value, value = entry.partition("\n")
        if scope != "command":  # those are our own
            (own if scope in ("local", "worktree") else trusted)[key] = value if has_value else "true"
    return trusted, own


class _Bounded:
    """Collects the first `limit` bytes of a stream; the rest is discarded."""

    def __init__(self, limit: int) -> None:
        self.data = bytearray()
        self._limit = limit

    def read(self, stream: IO[bytes]) -> None:
        """Read a stream to its end."""
        while chunk := stream.read(_CHUNK):
            self.data += chunk[: self._limit - len(self.data)]


def _execute(
    root: Path, command: list[str], stdin: IO[bytes], output: _Bounded, environment: dict[str, str]
) -> tuple[int, str]:
    """Run git; return exit code and error text. Raises ToolExecutionError if git is missing or times out."""
    os.environ["GIT_PYTHON_GIT_EXECUTABLE"] = command[0]  # GitPython runs it on import
    try:
        from git import Git as Command
        from git import GitCommandNotFound
    except ImportError as error:  # GitPython searches for the program on import
        raise ToolExecutionError("git_missing") from error
    try:
        running: Any = Command(root).execute(
            command,
            istream=stdin.fileno(),
            as_process=True,
            env=environment,
            shell=False,
            start_new_session=True,
        )
    except GitCommandNotFound as error:
        raise ToolExecutionError("git_missing") from error
    return _communicate(running.proc, output)


def _communicate(process: "Popen[bytes]", output: _Bounded) -> tuple[int, str]:
    """Wait for git; return exit code and error text. On timeout it is killed here, as GitPython would run pgrep or ps
    from the PATH, where a command may have put another program."""
    assert process.stdout  # noqa: S101 - GitPython sets both
    assert process.stderr  # noqa: S101
    errors, is_late = _Bounded(LARGEST_OUTPUT), threading.Event()

    def end() -> None:
        is_late.set()
        if sys.platform == "win32":
            process.kill()
        else:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # it leads its own session

    watchdog = threading.Timer(_SECONDS, end)
    reader = threading.Thread(target=errors.read, args=[process.stderr], daemon=True)
    watchdog.daemon = True
    watchdog.start()
    reader.start()
    try:
        output.read(process.stdout)
        reader.join()
        code = process.wait()
    finally:
        watchdog.cancel()
    if is_late.is_set():
        raise too_slow()
    return code, errors.data.decode("utf-8", "replace").removesuffix("\n")


def program_of(root: Path) -> str:
    """Return the path of git. Raises ToolExecutionError git_missing, git_passed_over."""
    if program := find_program("git", root):
        return program
    if file := passed_over("git", root):
        raise ToolExecutionError("git_passed_over", file=shown(file))
    raise ToolExecutionError("git_missing")


def too_slow() -> ToolExecutionError:
    """Return the error for a git timeout."""
    return ToolExecutionError("git_failed", reason=Phrase("it did not answer within {seconds:.0f} s", seconds=_SECONDS))
