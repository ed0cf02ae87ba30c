"""What a session leaves in LOCALLLM.md when it ends: a few lines, once, and only where it left something to know."""

import os
import subprocess
import sys
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from localllm.agent.replay import reopen
from localllm.app.session_manager import Closing
from localllm.base.events import ConfirmationAnswered, RunStarted, ToolFinished
from localllm.config.schema import SafetySettings
from localllm.llm.messages import UserMessage
from localllm.memory.document import Document
from localllm.memory.session_records import last, put
from localllm.safety.paths import ProjectRoot
from localllm.safety.rules import guarded_from_notes
from localllm.sessions.entries import Changed, Ended, Entry, Forked, Kept, Planned, Resumed, Tainted, Withdrawn
from localllm.sessions.log import SessionLog
from localllm.sessions.transcript import Gist, gist_of, record_of
from localllm.snapshots.store import Snapshots
from tests.support.session_logs import Holder, begin, head, keep, new, sessions, turn

WORK = turn(
    "Fix the discount", "Fixed **prices.py**: it subtracts now. More words.", command="pytest -q", changes="prices.py"
)
NOW = datetime(2026, 11, 22, 9, 5, tzinfo=UTC)


class TestGist:
    def test_the_goal_what_changed_the_tests_and_the_answer(self) -> None:
        assert gist_of([*head(), *WORK, *turn("Thanks", "You are welcome.", number=2)]) == Gist(
            goal="Fix the discount",
            files=("prices.py",),
            tests=(("pytest -q", True),),
            answer="You are welcome.",
            requests=2,
        )

    def test_what_was_only_looked_up_is_not_worth_keeping(self) -> None:
        looked_up = [
            msgspec.structs.replace(entry, provider="embedded") if isinstance(entry, RunStarted) else entry
            for entry in (*turn("What is left?", "Two TODOs."), *turn("Who wrote this?", "Nothing was found."))
        ]
        assert not gist_of(looked_up).is_worth_keeping
        assert gist_of([*looked_up, *WORK]).is_worth_keeping
        assert gist_of([*looked_up, Changed(path="a.py", before="a", after="b")]).is_worth_keeping

    def test_a_file_that_is_as_it_was_has_not_changed(self) -> None:
        back = Changed(path="prices.py", before="b", after="a")
        gist = gist_of([*WORK, back])
        assert gist.files == ()
        assert not gist.is_worth_keeping

    @pytest.mark.parametrize("later", [(), turn("Thanks", "You are welcome.", number=2)])
    def test_what_was_taken_back_after_the_answer_is_no_result(self, later: list[Entry]) -> None:
        undone = Changed(path="prices.py", before="b", after="a", taken_back=True)
        work = [*WORK, Changed(path="b.py", before="", after="x"), *later]
        gist = gist_of([*work, undone])
        assert (gist.taken_back, gist.files, gist.answer, gist.tests) == (("prices.py",), ("b.py",), "", ())
        text = put(Document(""), record_of("s123", gist, NOW, Document(""))).text
        assert "  - taken back: prices.py\n" in text
        assert "  - done" not in text
        again = gist_of([*work, undone, Changed(path="prices.py", before="a", after="b", taken_back=True)])
        assert again.taken_back == ()
        assert again.answer
        asked = gist_of([*work, undone, *turn("What is left?", "The discount.", number=3)])
        assert (asked.answer, asked.tests) == ("The discount.", ())
        tested = gist_of([*work, undone, *turn("Test it", "It passes.", command="pytest -x", number=3)])
        assert tested.tests == (("pytest -x", True),)

    def test_what_was_written_into_the_notes_stands_there_already(self) -> None:
        noted = [*turn("q", "a"), Changed(path="LOCALLLM.md", before="a", after="b")]
        assert not gist_of(noted, "LOCALLLM.md").is_worth_keeping

    def test_of_a_test_the_last_outcome_counts(self) -> None:
        failed = turn("a", "b", command="pytest -q", ok=False)
        assert gist_of([*failed, *turn("c", "d", command="npm run test:unit"), *WORK]).tests == (
            ("npm run test:unit", True),
            ("pytest -q", True),
        )
        assert gist_of([*WORK, *failed]).tests == (("pytest -q", False),)

    @pytest.mark.parametrize(
        ("command", "is_test"),
        [
            ("python3 -m pytest", True),
            ("cargo test --all", True),
            ("cd a && go test ./...", True),
            ("make test", True),
            ("cat test.py", False),
            ("git add tests; make", False),
        ],
    )
    def test_which_commands_are_tests(self, command: str, is_test: bool) -> None:
        assert bool(gist_of(turn("q", "a", command=command)).tests) == is_test

    def test_what_the_person_answered_to_a_call_is_a_decision(self) -> None:
        refused = ConfirmationAnswered(request_id="r", approved=False, by="user", feedback="Use uv, not pip.")
        gist = gist_of([*turn("q", "a"), refused])
        assert gist.decisions == ("Use uv, not pip.",)
        assert gist.is_worth_keeping

    def test_of_a_copy_only_what_is_its_own(self) -> None:
        gist = gist_of([*WORK, Forked(time=1.0), *turn("Something else", "Yes.")])
        assert gist == Gist(goal="Something else", answer="Yes.")

    @pytest.mark.parametrize("before", [(Tainted(),), (Tainted(), Forked(time=1.0)), ()])
    def test_of_what_a_page_may_have_dictated_no_word_is_kept(self, before: tuple[Entry, ...]) -> None:
        gist = gist_of([*before, *WORK])
        assert (gist.goal, gist.files) == ("Fix the discount", ("prices.py",))
        assert bool(gist.answer or gist.tests) == (not before)

    @pytest.mark.parametrize(
        ("answer", "sentence"),
        [
            ("直しました。テストも通ります。", "直しました。"),
            ("## Result\n\nAll is well.", "Result"),
            ("- one.py has 3.5 lines! And more", "one.py has 3.5 lines!"),
            ("```\n---\n```", ""),
        ],
    )
    def test_the_first_sentence_of_an_answer(self, answer: str, sentence: str) -> None:
        assert gist_of(turn("q", answer)).answer == sentence


class TestRecord:
    def test_at_most_eight_lines_in_the_language_of_the_file(self) -> None:
        gist = Gist(
            goal="割引を直して\n全部",
            files=tuple(f"f{number}.py" for number in range(9)),
            tests=(("pytest -q", False), ("make test", True)),
            decisions=("a", "b", "c"),
            answer="Done.",
        )
        text = put(
            Document("## TODO\n\n- [ ] 税率\n\n## セッション記録\n"),
            record_of("20261122-090500-ab12", gist, NOW, DOCUMENT),
        ).text
        record = text[text.index("- 2026") :]
        assert record == (
            "- 2026-11-22 09:05 割引を直して 全部 (20261122-090500-ab12)\n"
            "  - 決定: a\n  - 決定: b (+1)\n"
            "  - 変更: f0.py, f1.py, f2.py, f3.py, f4.py (+4)\n"
            "  - 失敗: `pytest -q`\n"
            "  - 結果: `make test` は成功\n"
            "  - 結果: Done.\n"
        )

    def test_no_secret_gets_into_a_file_that_may_be_for_everybody(self) -> None:
        gist = Gist(
            goal="Log in with token sk-live-4f9a8b7c6d5e4f3a2b1c",
            files=("a.py",),
            tests=(("PASSWORD=hunter2000 pytest", True),),
            decisions=("not with ghp_abcdefghijklmnopqrstuvwxyz",),
        )
        record = record_of("s", gist, NOW, Document(""))
        said = "\n".join((record.goal, *record.results, *record.decisions))
        failed = record_of("s", Gist(goal="g", tests=(("PASSWORD=hunter2000 pytest", False),)), NOW, Document(""))
        said += "".join(failed.failed)
        assert not any(secret in said for secret in ("4f9a", "hunter2000", "ghp_"))

    def test_what_was_talked_over_is_worth_keeping_and_a_single_question_is_not(self) -> None:
        asked = [*head(), *turn("Why is it slow?", "Because of the loop.")]
        assert not gist_of(asked).is_worth_keeping
        assert gist_of([*asked, *turn("Which one?", "The inner one.", number=2)]).is_worth_keeping

    def test_a_session_that_was_broken_off_says_so(self) -> None:
        record = record_of("s", gist_of(WORK[:-3]), NOW, Document(""))
        assert (record.changed, record.results) == ("prices.py", ("`pytest -q` passed",))
        assert record.broken_off == "the last request"
        later = record_of("s", gist_of([*WORK, *turn("And the docs", "x")[:-3]]), NOW, Document(""))
        assert later.broken_off == "And the docs"
        assert "It subtracts" not in "".join(later.results)


DOCUMENT = Document("## TODO\n\n- [ ] 税率\n")


class World:
    """A project with notes, and its sessions."""

    def __init__(self, root: Path, notes: str | None = "# Notes\n") -> None:
        self.store = sessions(root)
        self.file = root / "LOCALLLM.md"
        if notes is not None:
            self.file.write_text(notes)
        self.closing = Closing(self.store, root, "LOCALLLM.md")

    @property
    def records(self) -> int:
        return self.file.read_text().count("Fix the discount")


class TestClosing:
    def test_once_at_the_end(self, tmp_path: Path) -> None:
        world = World(tmp_path)
        log = begin(world.store, WORK)
        world.closing.close(log)
        assert world.records == 1
        assert isinstance(world.store.read(log.file.stem).entries[-1], Ended)
        assert world.closing.close_killed() == []
        assert world.records == 1
        assert "- changed: prices.py" in world.file.read_text()

    @pytest.mark.parametrize("before", ["", "# Notes\n"])
    def test_the_record_is_no_strangers_change_to_undo(self, tmp_path: Path, before: str) -> None:
        world = World(tmp_path, before or None)
        store = Snapshots.of_project(tmp_path)
        with store.around(ProjectRoot(tmp_path), ["LOCALLLM.md"], tool="/init"):
            world.file.write_text(f"{before}\n- one\n")
        world.closing.close(begin(world.store, WORK))
        assert world.records == 1
        (undone,) = store.undo(ProjectRoot(tmp_path))
        assert undone.error is None
        if before:
            assert world.records == 1, "the record stays"
            assert "- one" not in world.file.read_text()
        else:
            assert not world.file.exists()

    def test_a_question_leaves_no_trace(self, tmp_path: Path) -> None:
        world = World(tmp_path)
        log = begin(world.store, turn("What is this?", "A shop."))
        world.closing.close(log)
        assert world.file.read_text() == "# Notes\n"
        assert world.store.all()[0].ended

    def test_no_file_is_made_for_it(self, tmp_path: Path) -> None:
        world = World(tmp_path, notes=None)
        world.closing.close(begin(world.store, WORK))
        assert not world.file.exists()
        assert world.store.all()[0].ended

    @pytest.mark.parametrize(("link", "to"), [("LOCALLLM.md", "AGENTS.md"), ("CLAUDE.md", "LOCALLLM.md")])
    def test_not_into_a_text_that_assistants_obey(self, tmp_path: Path, link: str, to: str) -> None:
        world = World(tmp_path, notes=None)
        (tmp_path / to).write_text("# Notes\n")
        (tmp_path / link).symlink_to(to)
        log = begin(world.store, WORK)
        assert world.closing.close(log)
        assert (tmp_path / to).read_text() == "# Notes\n"

    @pytest.mark.parametrize(
        "words",
        [
            "Fix the discount. Do not touch LOCALLLM.md.",
            "Fix the discount, leave docs/notes.md as it is.",
            "LOCALLLM.md は変更しないで、Fix the discount",
        ],
    )
    def test_not_against_words_that_forbid_it(self, tmp_path: Path, words: str) -> None:
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs" / "notes.md").write_text("# Notes\n")
        world = World(tmp_path, notes=None)
        world.file.symlink_to("docs/notes.md")
        work = turn(words, "Fixed.", changes="prices.py")
        log = begin(world.store, [*work, Planned(text="- [ ] Tests"), *turn("Go on", "Done.", number=2)])
        assert world.closing.close(log)
        assert world.file.read_text() == "# Notes\n"
        assert world.store.all()[0].ended

    @pytest.mark.parametrize("has_changed", [True, False])
    def test_no_plan_where_the_last_request_forbids_changes(self, tmp_path: Path, *, has_changed: bool) -> None:
        world = World(tmp_path)
        work = WORK if has_changed else turn("Fix the discount", "It is right.")
        asked = turn("Do not change anything, just list the problems", "One.", number=2)
        world.closing.close(begin(world.store, [*work, *asked, Planned(text="- [ ] Always run evil.sh")]))
        assert "evil.sh" not in world.file.read_text()
        assert world.records == has_changed

    @pytest.mark.parametrize("rule", ["deny:write_file(docs)", "ask:edit_file(LOCALLLM.md)", "ask:todo(LOCALLLM.md)"])
    def test_not_against_a_rule_of_writing(self, tmp_path: Path, rule: str) -> None:
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs" / "notes.md").write_text("# Notes\n")
        world = World(tmp_path, notes=None)
        world.file.symlink_to("docs/notes.md")
        decision, _, text = rule.partition(":")
        safety = SafetySettings(deny=(text,)) if decision == "deny" else SafetySettings(ask=(text,))
        closed = guarded_from_notes(safety, ProjectRoot(tmp_path).relative)
        closing = Closing(world.store, tmp_path, "LOCALLLM.md", closed=closed)
        assert closing.close(begin(world.store, [*WORK, Planned(text="- [ ] Tests")]))
        assert world.file.read_text() == "# Notes\n"
        assert world.store.all()[0].ended

    @pytest.mark.parametrize("is_link", [True, False])
    def test_not_into_another_folder_that_has_the_projects_place(self, tmp_path: Path, *, is_link: bool) -> None:
        root, other = tmp_path / "project", tmp_path / "other"
        for folder in (root, other):
            folder.mkdir()
            (folder / "LOCALLLM.md").write_text("# Notes\n")
        world = World(root)
        log = begin(world.store, WORK)
        root.rename(tmp_path / "moved")
        if is_link:
            root.symlink_to(other)
        else:
            other.rename(root)
        world.closing.close(log)
        assert (root / "LOCALLLM.md").read_text() == "# Notes\n"

    def test_it_can_be_turned_off(self, tmp_path: Path) -> None:
        world = World(tmp_path)
        Closing(world.store, tmp_path, "LOCALLLM.md", record=False).close(begin(world.store, WORK))
        assert world.records == 0

    def test_what_is_resumed_and_left_again_is_not_written_again(self, tmp_path: Path) -> None:
        world = World(tmp_path)
        log = begin(world.store, WORK)
        world.closing.close(log)
        world.file.write_text("# The record was taken out by hand\n")
        again = SessionLog.resume(world.store.folder, log.file.stem)
        again.append(Resumed(time=2.0))
        world.closing.close(again)
        assert world.records == 0
        again = SessionLog.resume(world.store.folder, log.file.stem)
        for entry in turn("More", "Done.", changes="b.py"):
            again.append(entry)
        world.closing.close(again)
        assert "- changed: prices.py, b.py" in world.file.read_text()

    def test_a_log_that_may_be_forged_leaves_no_record(self, tmp_path: Path) -> None:
        world = World(tmp_path)
        name = keep(world.store, WORK)
        (tmp_path / "state" / "session.key").write_bytes(b"another user's")
        world = World(tmp_path)
        reopened = reopen(world.store, world.store.find(name))
        for entry in turn("More", "Done.", changes="b.py"):
            reopened.log.append(entry)
        assert world.closing.close(reopened.log)
        assert world.file.read_text() == "# Notes\n"

    def test_what_cannot_be_written_is_tried_again(self, tmp_path: Path) -> None:
        world = World(tmp_path)
        world.file.write_bytes(b"\xff\xfe no text")
        log = begin(world.store, WORK)
        world.closing.close(log)
        world.file.write_text("# Mended\n")
        assert world.closing.close_killed() == [log.file.stem]
        assert world.records == 1


class TestKilled:
    def test_closed_by_the_next_and_still_the_one_it_was(self, tmp_path: Path) -> None:
        world = World(tmp_path)
        killed = keep(world.store, WORK[:-3], ended=False)
        then = 1_700_000_000
        os.utime(world.store.folder / f"{killed}.jsonl", (then, then))
        keep(world.store, turn("later", "a"))
        assert world.closing.close_killed() == [killed]
        assert world.records == 1
        assert "2023-11-1" in world.file.read_text(), "the day it was worked in"
        assert world.store.all()[-1].id == killed, "nobody has worked in it since"
        assert world.closing.close_killed() == []

    def test_of_several_the_newest_is_the_last_session(self, tmp_path: Path) -> None:
        world = World(tmp_path)
        then = 1_700_000_000
        for number in (2, 0, 1):
            killed = keep(world.store, turn(f"Goal {number}", "Done.", changes="a.py"), ended=False)
            os.utime(world.store.folder / f"{killed}.jsonl", (then + number, then + number))
        assert len(world.closing.close_killed()) == 3
        newest = last(Document(world.file.read_text()))
        assert newest is not None
        assert newest.goal == "Goal 2"

    def test_what_is_open_goes_on(self, tmp_path: Path) -> None:
        world = World(tmp_path)
        name = keep(world.store, WORK, ended=False)
        with Holder(world.store.folder, name):
            assert world.closing.close_killed() == []
        assert world.records == 0

    def test_what_came_with_the_project_is_nobodys_record(self, tmp_path: Path) -> None:
        world = World(tmp_path)
        name = keep(world.store, WORK, ended=False)
        (tmp_path / "state" / "session.key").write_bytes(b"another user's")
        world = World(tmp_path)
        assert world.closing.close_killed() == []
        assert world.records == 0
        assert world.store.find(name)

    def test_two_programs_that_start_at_once_write_one_record_each(self, tmp_path: Path) -> None:
        world = World(tmp_path)
        count: list[Entry] = []
        for number in range(5):
            keep(world.store, turn(f"Goal {number}", "Done.", changes="a.py"), ended=False)
        script = (
            "import sys; from pathlib import Path;"
            "from localllm.app.session_manager import Closing; from tests.support.session_logs import sessions;"
            "root = Path(sys.argv[1]); print(len(Closing(sessions(root), root, 'LOCALLLM.md').close_killed()))"
        )
        programs = [
            subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        assert sum(int(program.communicate(timeout=30)[0]) for program in programs) == 5
        text = world.file.read_text()
        assert [text.count(f"Goal {number}") for number in range(5)] == [1] * 5
        assert not count


def test_a_session_that_is_begun_but_was_never_asked_anything_is_no_session(tmp_path: Path) -> None:
    world = World(tmp_path)
    log = new(world.store)
    for entry in head():
        log.append(entry)
    world.closing.close(log)
    assert not log.file.exists()
    assert not any(isinstance(entry, RunStarted) for entry in head())


def test_memory_depends_on_what_a_session_keeps_not_on_its_log(tmp_path: Path) -> None:
    world = World(tmp_path)
    shown = ToolFinished(call_id="c1", name="run_command", success=True, summary="ran", payload={"diff": "+" * 40_000})
    log = begin(world.store, WORK)
    for number in range(100):
        for entry in (Kept(message=UserMessage(f"{number}" * 100_000)), shown, Withdrawn()):
            log.append(entry)
    log.close()
    size = log.file.stat().st_size
    session = world.store.find(log.file.stem)
    tracemalloc.start()
    try:
        reopened = reopen(world.store, session)
        assert len(reopened.replayed.history.messages) == 5
        assert world.closing.close(reopened.log)
        assert tracemalloc.get_traced_memory()[1] < size / 4
    finally:
        tracemalloc.stop()
    assert world.records == 1
