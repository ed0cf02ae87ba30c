"""Session logs for tests: whole conversations as the program writes them, and whoever holds one."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from localllm.base.events import MessageCompleted, RunFinished, RunStarted, ToolCall, ToolFinished, ToolStarted
from localllm.llm.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from localllm.sessions.entries import Changed, Ended, Entry, Kept, Pointed, Profiled
from localllm.sessions.log import Seal, SessionLog, new_session_id
from localllm.sessions.store import Sessions


def head() -> list[Entry]:
    return [Profiled(name="standard"), Kept(message=SystemMessage("You are an assistant."))]


def turn(
    query: str, answer: str, *, number: int = 1, command: str = "", changes: str = "", ok: bool = True
) -> list[Entry]:
    """A request that runs `command` if there is one, changes a file if one is named, and is answered."""
    point = Pointed(number=number, name=query, by_hand=False, time=1e9 + number, messages=1, generation=0, position=0)
    entries: list[Entry] = [point, RunStarted(session_id="s", query=query, provider="p", model="m")]
    entries += [Kept(message=UserMessage(query), words=query)]
    if command:
        call = ToolCall("c1", "run_command", f'{{"command": "{command}"}}')
        entries += [
            Kept(message=AssistantMessage("", (call,))),
            MessageCompleted(text="", tool_calls=(call,), model="m"),
            ToolStarted(call_id="c1", name="run_command", arguments={"command": command}),
            *([Changed(path=changes, before="a", after="b")] if changes else []),
            ToolFinished(call_id="c1", name="run_command", success=ok, summary="ran", payload={"stdout": "x" * 5000}),
            Kept(message=ToolMessage("c1", "run_command", "x" * 5000)),
        ]
    elif changes:
        entries += [Changed(path=changes, before="a", after="b")]
    return [
        *entries,
        Kept(message=AssistantMessage(answer)),
        MessageCompleted(text=answer, model="m"),
        RunFinished(status="done", answer=answer, steps=1),
    ]


def sessions(folder: Path) -> Sessions:
    """Those of a project whose user is the one of this test."""
    return Sessions(folder / "sessions", seal(folder), outputs=[folder / "tool-output"])


def seal(folder: Path) -> Seal:
    """That user's."""
    return Seal(folder / "state" / "session.key")


def keep(store: Sessions, entries: Sequence[Entry], *, ended: bool = True) -> str:
    """A session with these entries; its name."""
    log = begin(store, entries)
    if ended:
        log.append(Ended(time=1.0))
    log.close()
    return log.file.stem


def new(store: Sessions) -> SessionLog:
    session_id = new_session_id()
    return SessionLog(store.folder, session_id, seal_of(store).begin(session_id))


def seal_of(store: Sessions) -> Seal:
    return Seal(store.folder.parent / "state" / "session.key")


def begin(store: Sessions, entries: Sequence[Entry]) -> SessionLog:
    log = new(store)
    for entry in (*head(), *entries):
        log.append(entry)
    assert log.failure is None
    return log


HOLDER = """
import sys
from pathlib import Path
from localllm.sessions.log import SessionLog, new_session_id
log = SessionLog.resume(Path(sys.argv[1]), sys.argv[2])
print("held", flush=True)
sys.stdin.read()
"""


class Holder:
    """Another program that has a session open, for a `with` block."""

    def __init__(self, folder: Path, session_id: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(folder), session_id], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"held\n"

    def __enter__(self) -> "Holder":
        return self

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def __exit__(self, *_: object) -> None:
        self.kill()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
