"""Sessions that last, as a person has them: continued, resumed, forked, exported, killed."""

import json
import os
import re
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from localllm.sessions.entries import Ended, Titled
from localllm.sessions.log import SessionLog, read_session
from tests.e2e.test_forced_end import wait_for
from tests.e2e.test_oneshot import EDIT, FIX, RUN_TESTS, configure, kept_sessions, localllm, start
from tests.support.session_logs import Holder
from tests.support.wire_server import WireServer, calls, says

SAID = "".join(f"{word} " for word in ("The", "discount", "is", "subtracted."))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "prices.py").write_text("def total(prices, discount=0.0):\n    return sum(prices) * discount\n")
    (root / "test_prices.py").write_text(
        "import unittest\nfrom prices import total\n\n\nclass T(unittest.TestCase):\n"
        "    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n"
    )
    return root


def logs(root: Path) -> list[Path]:
    """The one that was begun first before the others."""
    return sorted(kept_sessions(root), key=began)


def began(log: Path) -> str:
    """When, as its first line says; the names of two that were begun in one second do not."""
    found = re.search(r'"time":([\d.]+)', log.read_text(encoding="utf-8", errors="replace"))
    return found[1] if found else ""


def around_messages(body: bytes) -> tuple[bytes, bytes, bytes]:
    """A request's bytes before its messages, the messages without the closing bracket, and what follows."""
    whole = json.loads(body)
    encoded = json.dumps(whole["messages"], ensure_ascii=False, separators=(",", ":")).encode()
    assert encoded in body, "the messages are written compactly"
    before, after = body.split(encoded)
    return before, encoded[:-1], after


def goes_on(earlier: bytes, later: bytes) -> bool:
    """Whether a server that has read `earlier` can go on with it in `later`."""
    first, second = around_messages(earlier), around_messages(later)
    return second[1].startswith(first[1]) and (first[0], first[2]) == (second[0], second[2])


class TestContinuing:
    def test_the_first_request_begins_with_the_bytes_of_the_last_one(self, project: Path) -> None:
        with WireServer([*FIX, says(SAID)]) as server:
            configure(project, server.url)
            localllm(project, "-p", "Fix the failing test 割引", "--yes")
            done = localllm(project, "--continue", "-p", "What did you do?")
        assert done.stdout.strip() == SAID.strip()
        assert "Continuing" in done.stderr
        assert "Fix the failing test 割引" in done.stderr
        assert "interrupted" not in done.stderr
        assert all(goes_on(one, other) for one, other in zip(server.requests, server.requests[1:], strict=False))
        assert len(logs(project)) == 1
        assert isinstance(read_session(logs(project)[0]).entries[-1], Ended)

    def test_with_the_prompt_it_began_with(self, project: Path) -> None:
        with WireServer([says("one"), says("two")]) as server:
            configure(project, server.url)
            localllm(project, "-p", "first")
            (log,) = logs(project)
            text = log.read_text()
            assert "You are localllm" in text
            log.write_text(text.replace("You are localllm", "You were localllm"))
            localllm(project, "-c", "-p", "second")
        assert server.bodies()[-1]["messages"][0]["content"].startswith("You were localllm")

    def test_a_log_that_came_with_the_project_has_no_say(self, project: Path) -> None:
        with WireServer([says("one"), says("two")]) as server:
            configure(project, server.url)
            localllm(project, "-p", "first")
            (log,) = logs(project)
            log.write_text(re.sub('"seal":"[0-9a-f]+"', '"seal":"00"', log.read_text()).replace("You are", "You were"))
            done = localllm(project, "-c", "-p", "second")
        assert server.bodies()[-1]["messages"][0]["content"].startswith("You are localllm")
        assert "not trusted" in done.stderr

    def test_the_newest_or_the_one_that_is_named(self, project: Path) -> None:
        with WireServer([says("one"), says("two"), says("three"), says("four")]) as server:
            configure(project, server.url)
            localllm(project, "-p", "the first")
            localllm(project, "-p", "the second")
            first, second = logs(project)
            assert first.stem != second.stem
            localllm(project, "--resume", first.stem, "-p", "again")
            assert said(server) == ["the first", "again"]
            listed = localllm(project, "history", "list").stdout.splitlines()
            assert [line.split()[0] for line in listed] == [first.stem, second.stem]
            localllm(project, "-c", "-p", "and again")
            assert said(server) == ["the first", "again", "and again"]
        assert len(logs(project)) == 2

    def test_what_is_not_there_or_open_elsewhere_is_said(self, project: Path) -> None:
        with WireServer([says("one")]) as server:
            configure(project, server.url)
            done = localllm(project, "-c", "-p", "x")
            assert (done.returncode, "E1752" in done.stderr) == (2, True)
            localllm(project, "-p", "x")
            (log,) = logs(project)
            done = localllm(project, "--resume", "nope", "-p", "x")
            assert (done.returncode, "E1750" in done.stderr) == (2, True)
            with Holder(log.parent, log.stem):
                done = localllm(project, "-c", "-p", "x")
            assert (done.returncode, "E1753" in done.stderr) == (2, True)
            assert localllm(project, "-c", "--resume", "x", "-p", "x").returncode == 2
            assert len(server.requests) == 1

    def test_two_at_once_in_one_folder(self, project: Path) -> None:
        with WireServer([says("ok")]) as server:
            configure(project, server.url)
            both = [start(project, "-p", f"request {number}") for number in range(2)]
            assert [process.communicate(timeout=50) and process.returncode for process in both] == [0, 0]
        assert len(logs(project)) == 2


def said(server: WireServer) -> list[str]:
    """What the person has said in the conversation of the last request."""
    users = [message["content"] for message in server.bodies()[-1]["messages"] if message["role"] == "user"]
    return [text.split("\n")[0] for text in users]


def is_valid(messages: list[dict[str, object]]) -> bool:
    """Whether every server takes it: calls answered at once, users and answers in turn."""
    open_calls: set[str] = set()
    previous = ""
    for message in messages:
        role = str(message["role"])
        if role == "tool":
            if message["tool_call_id"] not in open_calls:
                return False
            open_calls.remove(str(message["tool_call_id"]))
        elif open_calls or (role == previous == "user") or (role == "assistant" and previous not in ("user", "tool")):
            return False
        open_calls |= {call["id"] for call in message.get("tool_calls", ())}  # type: ignore[attr-defined]
        previous = role
    return not open_calls


def kill_when(process: subprocess.Popen[str], root: Path, text: str) -> None:
    """Kill a program as soon as its log has this."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not any(text in log.read_text(errors="replace") for log in logs(root)):
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=20)


class TestKilled:
    def test_in_the_middle_of_a_command(self, project: Path) -> None:
        (project / "LOCALLLM.md").write_text("# Notes\n")
        slow = calls(("run_command", {"command": "sleep 20", "timeout": 30}))
        with WireServer([calls(EDIT), slow, says("Going on.")]) as server:
            configure(project, server.url)
            process = start(project, "-p", "Fix it", "--yes")
            kill_when(process, project, '"arguments":{"command":"sleep 20"')
            done = localllm(project, "-c", "-p", "Go on")
            assert "(“Fix it”) was interrupted while running `sleep 20`" in done.stderr
            assert done.returncode == 0
            assert goes_on(server.requests[-2], server.requests[-1])
            assert is_valid(server.bodies()[-1]["messages"])
        assert "changed: prices.py" in (project / "LOCALLLM.md").read_text()

    def test_what_it_had_changed_and_its_record_are_its_own(self, project: Path) -> None:
        (project / "LOCALLLM.md").write_text("# Notes\n")
        slow = calls(("run_command", {"command": "touch half.txt; sleep 20", "timeout": 30}))
        with WireServer([calls(EDIT), slow, says("Hello."), says("Going on.")]) as server:
            configure(project, server.url)
            process = start(project, "-p", "Fix it", "--yes")
            wait_for(project / "half.txt", process)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate(timeout=20)
            localllm(project, "-p", "Hello")
            (record,) = re.findall(r"- .* Fix it \(.*\)\n(?:  - .*\n)+", (project / "LOCALLLM.md").read_text())
            assert "changed: prices.py\n" in record
            localllm(project, "--resume", logs(project)[0].stem, "-p", "Go on")
            assert "Last session" not in json.dumps(server.bodies()[-1])
        assert "changed: prices.py, half.txt\n" in (project / "LOCALLLM.md").read_text()

    def test_while_the_answer_came(self, project: Path) -> None:
        with WireServer([replace(says(SAID), hold_before=2), says("Going on.")]) as server:
            configure(project, server.url)
            process = start(project, "-p", "Explain")
            kill_when(process, project, '"type":"Kept","message":{"role":"user"')
            server.released.set()
            done = localllm(project, "-c", "-p", "Go on")
        assert "while the model was answering" in done.stderr
        assert is_valid(server.bodies()[-1]["messages"])
        assert said(server) == ["Explain", "Go on"]

    def test_the_next_start_leaves_its_record(self, project: Path) -> None:
        (project / "LOCALLLM.md").write_text("# Notes\n")
        slow = calls(("run_command", {"command": "sleep 20", "timeout": 30}))
        with WireServer([calls(EDIT), slow, says("Hello.")]) as server:
            configure(project, server.url)
            process = start(project, "-p", "Fix it", "--yes")
            kill_when(process, project, '"command":"sleep 20"')
            localllm(project, "-p", "Something else")
            localllm(project, "-p", "And again")
        text = (project / "LOCALLLM.md").read_text()
        assert text.count("Fix it") == 1
        assert "broken off" in text
        assert "Something else" not in text


class TestRecords:
    def test_work_leaves_one_and_a_question_none(self, project: Path) -> None:
        (project / "LOCALLLM.md").write_text("# Notes\n")
        with WireServer([*FIX, says("Nothing.")]) as server:
            configure(project, server.url)
            localllm(project, "-p", "Fix the failing test", "--yes")
            localllm(project, "-p", "What is new?")
        text = (project / "LOCALLLM.md").read_text()
        assert text.startswith("# Notes\n")
        assert re.search(r"- \d{4}-\d\d-\d\d \d\d:\d\d Fix the failing test \(.*\)\n", text)
        assert "changed: prices.py" in text
        assert f"`{RUN_TESTS[1]['command']}` passed" in text
        assert "What is new" not in text

    def test_no_file_is_made(self, project: Path) -> None:
        with WireServer(FIX) as server:
            configure(project, server.url)
            localllm(project, "-p", "Fix the failing test", "--yes")
        assert not (project / "LOCALLLM.md").exists()


class TestChat:
    """The chat through a pipe: each line is a request or a command."""

    def chat(self, root: Path, *lines: str, arguments: tuple[str, ...] = ()) -> str:
        done = localllm(root, *arguments, given="\n".join(lines) + "\n")
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def test_listed_resumed_renamed_forked_and_exported(self, project: Path) -> None:
        with WireServer([says("One."), says("Two."), says("Three."), says("Four.")]) as server:
            configure(project, server.url)
            shown = self.chat(
                project,
                "/sessions",
                "first words",
                "/rename 割引の 修理",
                "/export html out.html",
                "/export md out.html",
            )
            assert "No sessions yet" in shown
            assert "割引の 修理" in shown
            assert "E1758" in shown, "the file is there"
            assert "first words" in (project / "out.html").read_text(encoding="utf-8")
            shown = self.chat(project, "/sessions", "/resume 1", "second words", "/fork", "third words", "/resume nope")
            assert "割引の 修理: first words" in shown
            assert "Continuing 割引の 修理" in shown
            assert "E1750" in shown
            assert said(server) == ["first words", "second words", "third words"]
            assert len(logs(project)) == 2
            shown = self.chat(project, "/sessions third", "/fork")
            assert shown.count("割引の 修理") == 1
            assert "E1756" in shown
        assert goes_on(server.requests[0], server.requests[1])
        assert goes_on(server.requests[1], server.requests[2])

    def test_a_checkpoint_of_a_session_that_was_resumed(self, project: Path) -> None:
        with WireServer([calls(EDIT), says("Done."), says("Two.")]) as server:
            configure(project, server.url)
            localllm(project, "-p", "Fix it", "--mode", "auto-edit", "--yes")
            assert "(1 - discount)" in (project / "prices.py").read_text()
            shown = self.chat(project, "/rewind", "/rewind 1", "Start over", arguments=("-c",))
        assert "prices.py" in shown
        assert "(1 - discount)" not in (project / "prices.py").read_text()
        assert said(server) == ["Start over"]

    def test_fork_from_a_checkpoint(self, project: Path) -> None:
        with WireServer([says("One."), says("Two."), says("Three.")]) as server:
            configure(project, server.url)
            self.chat(project, "first", "second", "/fork 2", "other")
        assert said(server) == ["first", "other"]
        assert len(logs(project)) == 2

    def test_clear_ends_a_session_and_leaves_its_record(self, project: Path) -> None:
        (project / "LOCALLLM.md").write_text("# Notes\n")
        with WireServer([calls(EDIT), says("Done."), says("Two.")]) as server:
            configure(project, server.url)
            self.chat(project, "Fix it", "/clear", "Another", arguments=("--mode", "auto-edit"))
        assert "Fix it" in (project / "LOCALLLM.md").read_text()
        assert all(isinstance(read_session(log).entries[-1], Ended) for log in logs(project))


class TestHistory:
    def test_list_show_export_and_delete(self, project: Path) -> None:
        with WireServer([says("Eins."), says("Zwei.")]) as server:
            configure(project, server.url)
            localllm(project, "-p", "login page")
            localllm(project, "-p", "消費税")
        first, second = (log.stem for log in logs(project))
        assert localllm(project, "history", "list", "消費税").stdout.startswith(second)
        listed = json.loads(localllm(project, "history", "list", "--json").stdout)["sessions"]
        assert {one["id"]: one["turns"] for one in listed} == {first: 1, second: 1}
        shown = localllm(project, "history", "show", first).stdout
        assert "> login page" in shown
        assert "Eins." in shown
        assert localllm(project, "history", "export", second, "a.html").returncode == 0
        assert "消費税" in (project / "a.html").read_text(encoding="utf-8")
        again = localllm(project, "history", "export", second, "a.html")
        assert (again.returncode, "E1758" in again.stderr) == (2, True)
        assert "--force" in again.stderr
        assert localllm(project, "history", "delete", first).returncode == 2, "nobody is there to be asked"
        with Holder(logs(project)[1].parent, second):
            done = localllm(project, "history", "delete", first, second, "--yes")
        assert (done.returncode, "E1763" in done.stderr) == (2, True)
        assert [log.stem for log in logs(project)] == [second]


class TestKeeping:
    def test_old_sessions_go_and_named_ones_stay(self, project: Path) -> None:
        with WireServer([says("ok")]) as server:
            configure(project, server.url)
            for number in range(3):
                localllm(project, "-p", f"request {number}")
            for log in logs(project):
                os.utime(log, (1_700_000_000, 1_700_000_000))
            named = SessionLog.resume(logs(project)[0].parent, logs(project)[0].stem)
            named.append(Titled(title="keep me"))
            named.close()
            localllm(project, "-p", "after months", LOCALLLM_SESSIONS_KEEP_DAYS="30")
            assert len(logs(project)) == 4, "few are kept whatever their age"
            localllm(project, "-p", "today", LOCALLLM_SESSIONS_KEEP_COUNT="1")
        assert len(logs(project)) == 2

    def test_what_an_earlier_version_kept_in_the_project_is_met_by_no_command(self, project: Path) -> None:
        look = calls(("run_command", {"command": "grep -rl marmalade . || echo nowhere"}))
        with WireServer([says("the marmalade shed"), look, says("Two."), says("Three.")]) as server:
            configure(project, server.url)
            localllm(project, "-p", "paint it")
            (log,) = logs(project)
            old = project / ".localllm" / "sessions"
            old.mkdir()
            log.rename(old / log.name)
            done = localllm(project, "-p", "look around", "--yes")
            assert done.returncode == 0, done.stderr
            assert json.loads(server.requests[2])["messages"][-1]["content"].startswith("nowhere")
            done = localllm(project, "--resume", log.stem, "-p", "and now?")
        assert "Continuing" in done.stderr
        assert not old.exists()

    def test_a_file_where_the_folder_should_be_is_said_once(self, project: Path) -> None:
        (project / ".localllm").write_text("")
        with WireServer([says("One."), says("Two.")]) as server:
            configure(project, server.url)
            done = localllm(project, given="first\nsecond\n")
        assert done.returncode == 0
        assert "One." in done.stdout
        assert "Two." in done.stdout
        assert (done.stdout + done.stderr).count(".localllm cannot be used here") == 1
        assert "first" in localllm(project, "history", "list").stdout
