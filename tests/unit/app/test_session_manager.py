"""What becomes of sessions: what the log has at once, what is told of one that is gone on with or was broken off."""

import os
from pathlib import Path

import pytest

from localllm.base.errors import ConfigurationError
from localllm.base.paths import session_key_file
from localllm.sessions.entries import Changed, Ended
from localllm.sessions.log import Seal, SessionLog, new_session_id
from tests.support.session_logs import head, turn
from tests.support.wire_server import WireServer, calls, says
from tests.unit.app.test_app import Nobody, app_over, played, state

__all__ = ["state"]

pytestmark = pytest.mark.anyio


async def test_an_undo_is_in_the_log_before_the_program_can_be_killed(tmp_path: Path) -> None:
    with WireServer([says("one")]) as server:
        async with app_over(tmp_path, server.url) as app:
            await played(app, "hello")
            app.set_mode("auto-edit")
            for name in ("a.txt", "b.txt"):
                assert (await app.tool_system.execute_tool("write_file", file_path=name, content="new"))["success"]
            (tmp_path / "b.txt").write_text("mine")
            app.changes.undo(turn=True)
            assert not (tmp_path / "a.txt").exists()
            entries = app.keeping.sessions.read(app.session_id).entries
            assert [entry.path for entry in entries if isinstance(entry, Changed)] == ["a.txt", "b.txt", "a.txt"]
            app.changes.redo()
            assert (tmp_path / "a.txt").exists()
            entries = app.keeping.sessions.read(app.session_id).entries
            assert [entry.path for entry in entries if isinstance(entry, Changed)][3:] == ["a.txt"]


async def test_the_model_is_told_once_of_what_the_user_took_back(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("old")
    (tmp_path / "c.txt").write_text("old")
    writes = [("write_file", {"file_path": name, "content": "new"}) for name in ("a.txt", "b.txt", "c.txt")]
    with WireServer([calls(*writes), *map(says, ("one", "two", "three", "four"))]) as server:
        async with app_over(tmp_path, server.url) as app:
            app.set_mode("auto-edit")
            await played(app, "first")
            app.changes.undo(turn=True)
            await played(app, "second")
            await played(app, "third")
            app.changes.redo()
            app.changes.undo()
            await played(app, "fourth")
            app.changes.redo()
            app.changes.rewind("1")
            await played(app, "fifth")
        second, *others = [body["messages"][-1]["content"] for body in server.bodies()][2:]
    assert "a.txt (deleted), b.txt, c.txt. " in second
    assert second.endswith("\n\nsecond")
    assert others[:2] == ["third", "fourth"], "told once, and only where something is other than it was"
    assert "/undo" not in others[2], "the conversation went back with the files"


async def test_what_was_taken_back_before_a_restart_is_told_after_it(tmp_path: Path) -> None:
    writes = [("write_file", {"file_path": name, "content": "new"}) for name in ("a.txt", "b.txt")]
    with WireServer([calls(*writes), *map(says, ("one", "two", "three"))]) as server:
        async with app_over(tmp_path, server.url) as app:
            app.set_mode("auto-edit")
            await played(app, "first")
            app.changes.undo()
        async with app_over(tmp_path, server.url) as app:
            await app.keeping.resume()
            app.changes.undo()
        for request in ("second", "third"):
            async with app_over(tmp_path, server.url) as app:
                await app.keeping.resume()
                await played(app, request)
        second, third = [body["messages"][-1]["content"] for body in server.bodies()][2:]
    assert "a.txt (deleted), b.txt (deleted). " in second
    assert "/undo" not in third, "told once"


async def test_which_sessions_are_deleted_for_their_age_is_said(tmp_path: Path) -> None:
    front_end = Nobody()
    async with app_over(tmp_path, front_end=front_end) as app:
        for _ in range(22):
            session_id = new_session_id()
            log = SessionLog(app.keeping.sessions.folder, session_id, Seal(session_key_file()).begin(session_id))
            for entry in (*head(), *turn("old", "a"), Ended(time=1.0)):
                log.append(entry)
            log.close()
            os.utime(log.file, (1e9, 1e9))
    assert len(app.keeping.sessions.all()) == 20
    assert front_end.notified == ["2 sessions were deleted: not used for 90 days (sessions.keep_days)."]


async def test_what_the_person_notes_is_in_the_log_at_once(tmp_path: Path) -> None:
    with WireServer([says("one")]) as server:
        async with app_over(tmp_path, server.url) as app:
            await played(app, "hello")
            await app.memory.change("/todo", lambda memory: memory.add_todo("ship it"))
            entries = app.keeping.sessions.read(app.session_id).entries
            assert [entry.path for entry in entries if isinstance(entry, Changed)] == ["LOCALLLM.md"]


async def test_where_a_session_stood_that_is_gone_on_with(tmp_path: Path) -> None:
    with WireServer([says("one"), says("two\n\nlines"), says("three")]) as server:
        async with app_over(tmp_path, server.url) as app:
            await played(app, "first")
            await played(app, "second")
        async with app_over(tmp_path, server.url) as app:
            assert app.keeping.stood == ("", "")
            await app.keeping.resume()
            assert app.keeping.stood == ("second", "two\n\nlines")


async def test_the_last_answer_is_that_of_the_conversation(tmp_path: Path) -> None:
    with WireServer([says("one"), says("two\n\nlines")]) as server:
        async with app_over(tmp_path, server.url) as app:
            assert app.last_answer == ""
            await played(app, "first")
            assert app.last_answer == "one"
            await played(app, "second")
        async with app_over(tmp_path, server.url) as app:
            await app.keeping.resume()
            assert app.last_answer == "two\n\nlines"
            app.clear()
            assert app.last_answer == ""


async def test_a_session_that_was_broken_off_is_told_until_it_is_gone_on_with(tmp_path: Path) -> None:
    with WireServer([says("one"), says("two")]) as server:
        async with app_over(tmp_path, server.url) as app:
            await played(app, "first")
            log = app.keeping.sessions.file_of(app.session_id)
        lines = log.read_bytes().splitlines(keepends=True)
        begun = next(number for number, line in enumerate(lines) if line.startswith(b'{"type":"RunStarted"'))
        log.write_bytes(b"".join(lines[: begun + 1]))
        async with app_over(tmp_path, server.url) as app:
            assert app.keeping.broken_off() == "first"
        async with app_over(tmp_path, server.url) as app:  # it was closed meanwhile
            assert app.keeping.broken_off() == "first"
            await app.keeping.resume()
            assert app.keeping.stood == ("", "")
            assert app.keeping.broken_off() == ""
        async with app_over(tmp_path, server.url) as app:
            assert app.keeping.broken_off() == ""
            await played(app, "second")
            other = app.session_id
        log.write_bytes(b"".join(lines[: begun + 1]))
        async with app_over(tmp_path, server.url) as app:
            assert app.keeping.broken_off() == "first"
            await app.keeping.resume(other)
            assert app.keeping.broken_off() == "", "he has chosen another"


async def test_what_the_model_read_it_has_read_when_the_session_goes_on(tmp_path: Path) -> None:
    for name in ("read.md", "unread.md"):
        (tmp_path / name).write_text("".join(f"line {number}\n" for number in range(9)))
    with WireServer([calls(("read_file", {"file_path": "read.md"})), says("nine lines")]) as server:
        async with app_over(tmp_path, server.url) as app:
            await played(app, "first")
        async with app_over(tmp_path, server.url) as app:
            await app.keeping.resume()
            app.set_mode("auto-edit")
            new = "".join(f"new {number}\n" for number in range(9))
            answers = [
                await app.tool_system.execute_tool("write_file", file_path=name, content=new)
                for name in ("read.md", "unread.md")
            ]
    assert [answer["success"] for answer in answers] == [True, False]
    assert answers[1]["code"] == "E8035"


async def test_a_session_that_is_not_kept_says_which_file_and_why(tmp_path: Path) -> None:
    with WireServer([says("one")]) as server:
        async with app_over(tmp_path, server.url) as app:
            with pytest.raises(ConfigurationError) as empty:
                await app.keeping.fork()
            assert empty.value.code == "E1756"
            assert "say something first" in empty.value.fix
            sessions = app.keeping.sessions.folder
            sessions.parent.mkdir()
            sessions.write_text("in the way")
            await played(app, "hello")
            assert app.keeping.failure.startswith(f"{sessions}: ")
            with pytest.raises(ConfigurationError) as unkept:
                await app.keeping.transcript()
            assert unkept.value.code == "E1764"
            assert str(sessions) in unkept.value.why


async def test_the_tokens_in_use_come_back_when_a_rewind_is_taken_back(tmp_path: Path) -> None:
    with WireServer([calls(("write_file", {"file_path": "a.txt", "content": "new"})), says("one")]) as server:
        async with app_over(tmp_path, server.url) as app:
            app.set_mode("auto-edit")
            await played(app, "first")
            used = app.context_used
            assert used > 0
            app.changes.checkpoint("here")
            app.changes.rewind("here")
            assert app.context_used == used, "nothing was said since"
            app.changes.rewind("1")
            assert app.context_used == 0
            app.changes.undo()
            assert app.context_used == used
            name = app.session_id
        async with app_over(tmp_path, server.url) as app:
            await app.keeping.resume(name)
            assert app.context_used == used


async def test_a_session_goes_on_with_the_model_that_was_chosen_in_it(tmp_path: Path) -> None:
    def models(server: WireServer) -> list[str]:
        return [body["model"] for body in server.bodies()]

    with WireServer([says("ok")] * 6, models=("alpha-8b", "beta-8b")) as server:
        async with app_over(tmp_path, server.url) as app:
            await played(app, "first")
            await app.use_model("beta")
            await played(app, "second")
            name = app.session_id
        async with app_over(tmp_path, server.url) as app:
            await app.keeping.resume()
            assert len(app.keeping.welcome) == 1
            await played(app, "third")
            await app.use_provider("lmstudio")
            await played(app, "fourth")
        async with app_over(tmp_path, server.url) as app:
            await app.keeping.resume(name)
            await played(app, "fifth")
        assert models(server) == ["alpha-8b", "beta-8b", "beta-8b", "alpha-8b", "alpha-8b"]


async def test_a_model_that_is_gone_is_said_and_used_again_when_it_is_back(tmp_path: Path) -> None:
    with WireServer([says("ok")] * 3, models=("alpha-8b", "beta-8b")) as server:
        async with app_over(tmp_path, server.url) as app:
            await app.use_model("beta-8b")
            await played(app, "first")
        with WireServer([says("ok")], models=("alpha-8b",)) as other:
            async with app_over(tmp_path, other.url) as app:
                await app.keeping.resume()
                assert "beta-8b" in app.keeping.welcome[1]
                await played(app, "second")
            assert [body["model"] for body in other.bodies()] == ["alpha-8b"]
        async with app_over(tmp_path, server.url) as app:
            await app.keeping.resume()
            await played(app, "third")
        assert [body["model"] for body in server.bodies()] == ["beta-8b", "beta-8b"]


async def test_the_command_line_is_heeded_above_the_model_of_a_session(tmp_path: Path) -> None:
    with WireServer([says("ok")] * 2, models=("alpha-8b", "beta-8b")) as server:
        async with app_over(tmp_path, server.url) as app:
            await app.use_model("beta-8b")
            await played(app, "first")
        async with app_over(tmp_path, server.url, named=True, model="alpha-8b") as app:
            await app.keeping.resume()
            assert len(app.keeping.welcome) == 1
            await played(app, "second")
        assert [body["model"] for body in server.bodies()] == ["beta-8b", "alpha-8b"]


async def test_what_was_forbidden_is_forbidden_to_a_session_that_goes_on(tmp_path: Path) -> None:
    with WireServer([says("one"), says("two")]) as server:
        async with app_over(tmp_path, server.url) as app:
            await played(app, "What is 1 + 1? Do not touch deploy.sh.")
            await played(app, "Go on.")
        async with app_over(tmp_path, server.url) as app:
            await app.keeping.resume()
            assert list(app.tool_system.bans.files) == ["deploy.sh"]
