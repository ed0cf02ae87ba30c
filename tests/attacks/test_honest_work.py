"""Honest work: what a coding assistant does all day must keep working inside the sandbox.

The pieces of work are in `honest/*.toml`. Each runs at every level the machine offers, and at "off" (a bare
subprocess), which shows that the work itself can be done here. Only the outcome is judged: the exit code, what was
printed, the files that stand there afterwards, and what a second look from outside the sandbox finds. As root, those
marked `user` run a second time with the whole runner as an ordinary user.

Keys of a case:

- `name`; `command` (bash); `then`, a second command of the same session; `timeout` in seconds (30)
- `needs`: programs, absolute paths or `python:module`; a case whose needs are not met is skipped
- `where`: the project's folder in the home (`project`)
- `files`, `home`: files by path in the project and in the (fake) home, `#!` makes one executable; `path`: folders of
  the home to put on PATH; `copy`: Python distributions to put into the project's folder `deps`
- `setup`, `look`: commands run outside the sandbox before and after
- judged: `code` (0), `out` / `err` (each a part of it), `out_is` / `err_is` (all of it, stripped), `out_not`,
  `made` (path to a part of its text), `gone`, `count` (folder to its number of files), `look_out`, `timed_out`
- `quick`: in the unit run too, at the default level; `user`: also as an ordinary user

`limits.toml` has the work that a level is known not to do, and why. Such a case must fail there: once it works, the
line goes.
"""

import contextlib
import importlib.metadata
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from _pytest.mark import ParameterSet

from localllm.sandbox.runner import SandboxRunner

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(150)]

HERE = Path(__file__).parent / "honest"
LIMITS = HERE / "limits.toml"
REPOSITORY = Path(__file__).parents[2]
LEVELS = ("off", "namespaces", "bubblewrap", "landlock")
ORDINARY_USER = 65534


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One piece of work and what must have come of it."""

    name: str
    command: str
    then: str = ""
    where: str = "project"
    timeout: float = 30
    needs: list[str] = []
    files: dict[str, str] = {}
    home: dict[str, str] = {}
    path: list[str] = []
    copy: list[str] = []
    setup: str = ""
    look: str = ""
    code: int = 0
    out: list[str] = []
    err: list[str] = []
    out_is: str | None = None
    err_is: str | None = None
    out_not: list[str] = []
    made: dict[str, str] = {}
    gone: list[str] = []
    count: dict[str, int] = {}
    look_out: list[str] = []
    timed_out: bool = False
    quick: bool = False
    user: bool = False


class Outcome(NamedTuple):
    """What a command gave, from the sandbox or from the bare shell."""

    stdout: str
    stderr: str
    code: int
    timed_out: bool
    level: str


class Pipe(threading.Thread):
    """Reads what a process writes; the writing end belongs to the process's user, who may open it by name."""

    def __init__(self, user: int | None) -> None:
        super().__init__(daemon=True)
        self._parts: list[bytes] = []
        self._read, self.end = os.pipe()
        if user is not None:
            os.fchown(self.end, user, user)

    def start(self) -> None:
        os.close(self.end)
        super().start()

    def run(self) -> None:
        while part := os.read(self._read, 1 << 16):
            self._parts.append(part)
        os.close(self._read)

    def text(self) -> str:
        self.join(10)
        return b"".join(self._parts).decode("utf-8", "replace")


class Place(NamedTuple):
    """A fake home with the project in it, and the folders beside it."""

    home: Path
    project: Path
    state: Path
    temp: Path

    def environment(self, case: Case, python: Path) -> dict[str, str]:
        """The environment of the assistant, its home replaced."""
        own = [str(self.home / folder) for folder in case.path]
        kept = {name: text for name, text in os.environ.items() if name in {"USER", "LOGNAME", "SHELL"}}
        search = [*own, str(python.parent), "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]
        return {**kept, "HOME": str(self.home), "TMPDIR": str(self.temp), "LANG": "C.UTF-8", "PATH": ":".join(search)}


def cases() -> list[Case]:
    read = [tomllib.loads(file.read_text("utf-8")) for file in sorted(HERE.glob("*.toml")) if file != LIMITS]
    return [msgspec.convert(case, Case) for file in read for case in file["case"]]


def limits() -> dict[tuple[str, str], str]:
    """The reason by case and level."""
    read = tomllib.loads(LIMITS.read_text("utf-8"))["limit"]
    return {(case, level): limit["why"] for limit in read for level in limit["levels"] for case in limit["cases"]}


CASES = cases()
LIMITED = limits()


def work(chosen: list[Case]) -> pytest.MarkDecorator:
    """Every case at every level; in the long run, except for the quick ones at the default level."""
    rows: list[ParameterSet] = []
    for case in chosen:
        for level in LEVELS:
            marks = [] if case.quick and level == LEVELS[1] else [pytest.mark.long]
            if why := LIMITED.get((case.name, level)):
                marks.append(pytest.mark.xfail(reason=why, strict=True))
            rows.append(pytest.param(case, level, id=f"{case.name}-{level}", marks=marks))
    return pytest.mark.parametrize(("case", "level"), rows)


def interpreter(*, ordinary: bool = False) -> Path:
    """The Python beneath the virtual environment; an ordinary user may not reach into root's home."""
    if ordinary:
        return Path("/usr/bin/python3")
    return Path(sys.base_prefix) / "bin" / "python3"


@pytest.fixture
def place(case: Case) -> Iterator[Place]:
    base = Path(tempfile.mkdtemp(prefix="honest-"))
    made = Place(base / "home", base / "home" / case.where, base / "state", base / "tmp")
    for folder in (made.project, made.state, made.temp):
        folder.mkdir(parents=True)
    yield made
    shutil.rmtree(base, ignore_errors=True)


def lay_out(case: Case, place: Place, environment: dict[str, str], user: int | None) -> None:
    """Write the case's files and run its `setup`, so that the place is as the user has it."""
    for base, files in ((place.project, case.files), (place.home, case.home)):
        for name, text in files.items():
            file = base / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
            if text.startswith("#!"):
                file.chmod(0o755)
    for distribution in case.copy:
        copy_distribution(distribution, place.project / "deps")
    if user is not None:
        subprocess.run(["chown", "-R", f"{user}:{user}", str(place.home.parent)], check=True)
    if case.setup:
        outcome = bare(case.setup, place.project, environment, 60, user)
        assert outcome.code == 0, f"setup failed: {outcome.stdout}{outcome.stderr}"


def copy_distribution(name: str, folder: Path) -> None:
    """Put an installed distribution and what it needs here into a folder, as a vendored or venv package would be."""
    found = importlib.metadata.distribution(name)
    for file in found.files or []:
        source = Path(str(file.locate()))
        if ".." in file.parts or "__pycache__" in file.parts or not source.is_file():
            continue
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    for line in found.requires or []:
        needed = re.split(r"[^\w.-]", line)[0]
        here = list(importlib.metadata.distributions(name=needed))
        if here and "extra ==" not in line and not list(folder.glob(f"{needed}-*.dist-info")):
            copy_distribution(needed, folder)


def skip_without(case: Case, environment: dict[str, str], python: Path, user: int | None) -> None:
    for need in case.needs:
        if need.startswith("python:"):
            asked = [str(python), "-c", f"import {need.removeprefix('python:')}"]
            there = subprocess.run(asked, env=environment, user=user, capture_output=True, check=False).returncode == 0
        elif need.startswith("/"):
            there = Path(need).exists()
        else:
            there = shutil.which(need, path=environment["PATH"]) is not None
        if not there:
            pytest.skip(f"{need} is not here")
    for name in case.copy:
        if not list(importlib.metadata.distributions(name=name)):
            pytest.skip(f"{name} is not installed")


OFFERED = {
    "namespaces": ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--net", "--ipc", "--fork", "true"],
    "bubblewrap": ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"],
    "landlock": ["python3", "-c", "import ctypes; assert ctypes.CDLL(None).syscall(444, None, 0, 1) > 0"],
}


def skip_unless_offered(level: str, user: int | None) -> None:
    """Ask the machine itself, not the runner: a level that is there and is not used is a failure."""
    probe = OFFERED[level]
    if not shutil.which(probe[0]):
        pytest.skip(f"{probe[0]} is not here")
    extra = None if user is None else []
    if subprocess.run(probe, user=user, extra_groups=extra, cwd="/", capture_output=True, check=False).returncode:
        pytest.skip(f"this machine does not offer {level}")


def bare(command: str, cwd: Path, environment: dict[str, str], timeout: float, user: int | None = None) -> Outcome:
    """The command as it runs without any sandbox."""
    process = subprocess.Popen(
        ["/bin/bash", "-c", command],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=(out := Pipe(user)).end,
        stderr=(err := Pipe(user)).end,
        start_new_session=True,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
    )
    out.start()
    err.start()
    try:
        code, late = process.wait(timeout), False
    except subprocess.TimeoutExpired:
        code, late = 0, True
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return Outcome(out.text(), err.text(), code if code >= 0 else 128 - code, late, "off")


async def sandboxed(case: Case, place: Place, level: str) -> list[Outcome]:
    """The commands of a case in one session of the runner."""
    runner = SandboxRunner(place.project, state_folder=place.state, levels=(level,))  # type: ignore[arg-type]  # one of LEVELS
    outcomes: list[Outcome] = []
    try:
        for command in filter(None, (case.command, case.then)):
            done = await runner.run(command, cwd=place.project, timeout=case.timeout)
            outcomes.append(Outcome(done.stdout, done.stderr, done.return_code, done.timed_out, done.level))
        return outcomes
    finally:
        runner.close()


def as_ordinary_user(case: Case, place: Place, level: str, environment: dict[str, str]) -> list[Outcome]:
    """The same with the whole assistant as another user, in a process of its own."""
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    asked = {
        "commands": [command for command in (case.command, case.then) if command],
        "project": str(place.project),
        "state": str(place.state),
        "level": level,
        "timeout": case.timeout,
    }
    done = subprocess.run(
        [str(interpreter(ordinary=True)), str(HERE / "as_user.py")],
        input=json.dumps(asked),
        env={**environment, "PYTHONPATH": f"{REPOSITORY}:{Path(packages).resolve()}", "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
        user=ORDINARY_USER,
        group=ORDINARY_USER,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=140,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [Outcome(*answer) for answer in json.loads(done.stdout)]


def judge(
    case: Case, level: str, place: Place, outcomes: list[Outcome], environment: dict[str, str], user: int | None = None
) -> None:
    """Compare what came of the work with what the case says; every fault at once, with the output."""
    last = outcomes[-1]
    faults = [f"the first command gave {outcome.code}" for outcome in outcomes[:-1] if outcome.code]
    faults += [f"it ran at {outcome.level}" for outcome in outcomes if outcome.level != level]
    if last.timed_out != case.timed_out:
        faults.append(f"timed_out is {last.timed_out}")
    shell_code = last.code if last.code >= 0 else 128 - last.code  # the runner tells of signal N as -N
    if not case.timed_out and shell_code != case.code:
        faults.append(f"exit code {last.code}, not {case.code}")
    faults += [f"stdout lacks {part!r}" for part in case.out if part not in last.stdout]
    faults += [f"stderr lacks {part!r}" for part in case.err if part not in last.stderr]
    faults += [f"stdout has {part!r}" for part in case.out_not if part in last.stdout]
    if case.out_is is not None and last.stdout.strip() != case.out_is.strip():
        faults.append(f"stdout is not {case.out_is.strip()!r}")
    if case.err_is is not None and last.stderr.strip() != case.err_is.strip():
        faults.append(f"stderr is not {case.err_is.strip()!r}")
    faults += in_project(case, place.project)
    if case.look:
        seen = bare(case.look, place.project, environment, 60, user)
        faults += [f"seen from outside: {part!r} is missing" for part in case.look_out if part not in seen.stdout]
        if seen.code:
            faults.append(f"the look from outside gave {seen.code}")
        faults += [f"outside look: {seen.stdout}{seen.stderr}"] if faults else []
    assert not faults, "\n".join([*faults, f"stdout: {last.stdout[-2000:]}", f"stderr: {last.stderr[-2000:]}"])


def in_project(case: Case, project: Path) -> list[str]:
    faults: list[str] = []
    for name, part in case.made.items():
        file = project / name
        if not file.exists():
            faults.append(f"{name} was not made")
        elif part and part not in file.read_bytes().decode("utf-8", "replace"):
            faults.append(f"{name} lacks {part!r}")
    faults += [f"{name} is still there" for name in case.gone if os.path.lexists(project / name)]
    for name, expected in case.count.items():
        found = sum(1 for file in (project / name).rglob("*") if file.is_file())
        if found != expected:
            faults.append(f"{found} files in {name}, not {expected}")
    return faults


def test_there_are_enough_pieces_of_honest_work() -> None:
    names = [case.name for case in CASES]
    assert len(names) >= 55
    assert len(names) == len(set(names))
    assert {name for name, _ in LIMITED} <= set(names)


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_does_forty_pieces_of_honest_work(level: str) -> None:
    assert sum((case.name, level) not in LIMITED for case in CASES) >= 40


@work(CASES)
async def test_honest_work(case: Case, level: str, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = place.environment(case, interpreter())
    skip_without(case, environment, interpreter(), None)
    lay_out(case, place, environment, None)
    if level == "off":
        outcomes = [
            bare(command, place.project, environment, case.timeout) for command in (case.command, case.then) if command
        ]
    else:
        skip_unless_offered(level, None)
        for name in set(os.environ) - set(environment):
            monkeypatch.delenv(name)
        for name, text in environment.items():
            monkeypatch.setenv(name, text)
        outcomes = await sandboxed(case, place, level)
    judge(case, level, place, outcomes, environment)


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@work([case for case in CASES if case.user])
def test_honest_work_of_an_ordinary_user(case: Case, level: str, place: Place) -> None:
    python, user = interpreter(ordinary=True), ORDINARY_USER
    environment = place.environment(case, python)
    reach = subprocess.run(["test", "-r", str(HERE / "as_user.py")], user=user, extra_groups=[], check=False)
    if reach.returncode:
        pytest.skip("the repository is closed to other users")
    skip_without(case, environment, python, user)
    lay_out(case, place, environment, user)
    if level == "off":
        outcomes = [
            bare(command, place.project, environment, case.timeout, user)
            for command in (case.command, case.then)
            if command
        ]
    else:
        skip_unless_offered(level, user)
        outcomes = as_ordinary_user(case, place, level, environment)
    judge(case, level, place, outcomes, environment, user)
