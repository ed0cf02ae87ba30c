"""The sessions of a project: listed without being read again, found, searched, copied, pruned; one's own are known."""

import os
import shutil
import stat
import sys
import time
from datetime import date
from functools import partial
from pathlib import Path

import msgspec
import pytest

from localllm.base.errors import ConfigurationError
from localllm.base.events import ConfirmationAnswered, Consulted, RunFinished, RunStarted, Steered
from localllm.llm.messages import SystemMessage
from localllm.memory.search import MemoryEntry, Recall
from localllm.sessions.entries import Adopted, Began, Entry, Forked, Kept, OneShot, Resumed, Tainted, Titled
from localllm.sessions.log import INDEX, Seal, SessionLog, read_session
from localllm.sessions.store import DAY, Pruned, Sessions
from tests.support.read_only import read_only
from tests.support.session_logs import Holder, begin, head, keep, new, seal, sessions, turn

NOTHING = Pruned([], [], [])


def recalled(store: Sessions, words: str) -> list[MemoryEntry]:
    """What is found, best first."""
    return [one.entry for one in Recall().search(words, store.entries(), today=date(2026, 1, 1))]


def age(store: Sessions, session_id: str, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(store.folder / f"{session_id}.jsonl", (then, then))


class TestListing:
    def test_what_is_told_of_a_session(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        one = keep(store, [*turn("直して\nください", "ok"), *turn("また", "ok", number=2), Titled(title="修理")])
        (session,) = store.all()
        assert (session.id, session.turns, session.first, session.title) == (one, 2, "直して ください", "修理")
        assert session.ended
        assert store.is_ours(session)
        assert session.began == pytest.approx(time.time(), abs=60)

    def test_the_last_worked_in_comes_first(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        names = [keep(store, turn(f"q{number}", "a")) for number in range(3)]
        for days, name in zip((2, 0, 1), names, strict=True):
            age(store, name, days)
        assert [one.id for one in store.all()] == [names[1], names[2], names[0]]
        assert store.newest().id == names[1]

    def test_a_log_is_read_once_and_then_what_was_added(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        log = begin(store, turn("one", "a"))
        assert [one.turns for one in store.all()] == [1]
        size = log.file.stat().st_size
        with log.file.open("r+b") as file:  # who read it again would find no request there
            file.write(b" " * (size - 1))
        for entry in turn("two", "b", number=2):
            log.append(entry)
        log.close()
        again = sessions(tmp_path)
        (session,) = again.all()
        assert (session.turns, session.first, session.said) == (2, "one", "one\ntwo")

    def test_a_lost_or_broken_index_is_made_anew(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        keep(store, turn("one", "a"))
        before = store.all()
        assert stat.S_IMODE((store.folder / INDEX).stat().st_mode) == 0o600
        (store.folder / INDEX).write_bytes(b"\x93nonsense")
        assert sessions(tmp_path).all() == before

    def test_a_line_that_is_still_being_written_counts_when_it_is_whole(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        name = keep(store, [*turn("one", "a"), *turn("two", "b")])
        file = store.folder / f"{name}.jsonl"
        whole = file.read_bytes()
        at = whole.rindex(b'{"type":"RunStarted"') + 10
        file.write_bytes(whole[:at])
        assert [one.turns for one in store.all()] == [1]
        file.write_bytes(whole)
        assert [one.turns for one in store.all()] == [2]

    def test_what_is_no_log_is_passed_over(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        name = keep(store, turn("one", "a"))
        folder = store.folder
        os.mkfifo(folder / "20260101-000000-aaaa.jsonl")
        (folder / "20260101-000000-bbbb.jsonl").symlink_to("/dev/zero")
        (folder / "20260101-000000-cccc.jsonl").mkdir()
        (folder / "evil\x1b[2J.jsonl").write_bytes((folder / f"{name}.jsonl").read_bytes())
        (folder / "notes.txt").write_text("x")
        assert [one.id for one in store.all()] == [name]

    def test_a_folder_that_is_a_link_is_none_of_ours(self, tmp_path: Path) -> None:
        elsewhere = sessions(tmp_path / "elsewhere")
        keep(elsewhere, turn("one", "a"))
        (tmp_path / "sessions").symlink_to(elsewhere.folder)
        store = sessions(tmp_path)
        assert store.all() == []
        log = new(store)
        for entry in (*head(), *turn("one", "a")):
            log.append(entry)
        assert isinstance(log.failure, OSError)
        assert len(elsewhere.all()) == 1

    def test_no_folder_is_no_session(self, tmp_path: Path) -> None:
        assert sessions(tmp_path).all() == []
        with pytest.raises(ConfigurationError, match="no session to continue"):
            sessions(tmp_path).newest()


class TestFinding:
    def test_by_its_name_the_beginning_of_it_or_its_title(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        for name in ("20260101-000000-aaaa", "20260101-000000-bbbb", "20260202-000000-cccc"):
            keep_as(store, name, [*turn("q", "a"), Titled(title=f"t{name[-1]} Login work")])
        assert store.find("20260101-000000-b").id == "20260101-000000-bbbb"
        assert store.find("20260101-000000-aaaa").id == "20260101-000000-aaaa"
        assert store.find("tc Login work").id == "20260202-000000-cccc"
        assert store.find("TC login").id == "20260202-000000-cccc"
        for wanted, key in {
            "20260101": "session_ambiguous",
            "t": "session_ambiguous",
            "9": "session_unknown",
            "": "session_unknown",
        }.items():
            with pytest.raises(ConfigurationError) as caught:
                store.find(wanted)
            assert caught.value.key == key

    def test_a_misspelt_name_is_answered_with_the_nearest(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        keep_as(store, "20260101-000000-aaaa", [*turn("q", "a"), Titled(title="Login work")])
        keep_as(store, "20260202-000000-cccc", turn("q", "a"))
        for wanted, near in (("20260202-00000-c", "“20260202-000000-cccc”"), ("lgoin", "“Login work”")):
            with pytest.raises(ConfigurationError) as caught:
                store.find(wanted)
            assert near in caught.value.fix
        for wanted in ("zzzz", ""):
            with pytest.raises(ConfigurationError) as caught:
                store.find(wanted)
            assert "“" not in caught.value.fix

    def test_of_many_that_could_be_meant_some_are_named(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        for number in range(6):
            keep_as(store, f"20260101-000000-aaa{number}", turn("q", "a"))
            with pytest.raises(ConfigurationError) as caught:
                store.find("2026" if number else "2025")
            if number > 3:
                names = str(caught.value)
                assert (names.count("20260101-"), "…" in names) == (5, number == 5)
        assert len(store.search("q")) == 6
        assert len(store.search("q", 2)) == 2

    def test_by_what_was_asked_for(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        login = keep(store, turn("fix the login page", "done"))
        tax = keep(store, turn("消費税の計算を直して", "done"))
        assert [one.id for one in store.search("login")] == [login]
        assert [one.id for one in store.search("消費税")] == [tax]
        assert store.search("kubernetes") == []
        assert all(one is other for one, other in zip(store.entries(), store.entries(), strict=True))

    def test_what_was_answered_is_found_by_its_passage(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        long = "It waits a little longer each time. " * 20
        answer = f"Exponential backoff.\n\n{long}\n\nペリカンの設定は config.toml にあります。\n\n{long}"
        keep(store, turn("How does the pelican retry?", answer))
        (found, *_) = recalled(store, "ペリカン")
        assert found.kind == "answer"
        assert "ペリカンの設定は config.toml" in found.text
        assert len(found.text) <= 240
        kinds = {entry.kind: entry for entry in reversed(recalled(store, "pelican backoff"))}
        assert kinds["conversation"].text == "How does the pelican retry?"
        assert kinds["answer"].heading == "How does the pelican retry?"
        assert kinds["answer"].text.startswith("Exponential backoff.")

    def test_an_answer_that_came_after_the_last_look_is_found(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        *begun, finished = turn("How does the pelican retry?", "Exponential backoff.")
        log = begin(store, begun)
        assert recalled(store, "backoff") == []
        log.append(finished)
        log.close()
        assert [entry.text for entry in recalled(sessions(tmp_path), "backoff")] == ["Exponential backoff."]

    def test_an_answer_belongs_to_its_own_request(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        broken_off = turn("the first", "never said")[:-1]
        looked_up = [
            msgspec.structs.replace(entry, provider="embedded") if isinstance(entry, RunStarted) else entry
            for entry in turn("the second", "what stands in the project")
        ]
        keep(store, [*broken_off, *looked_up, *turn("the third", "the zebra")])
        answered = [entry for entry in store.entries() if entry.kind == "answer"]
        assert [(entry.heading, entry.text) for entry in answered] == [("the third", "the zebra")]

    def test_of_all_answers_the_newest_are_kept_and_searched(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        turns = [turn(f"q{number}", f"fact{number} " + "filling " * 1_000) for number in range(10)]
        first = keep(store, [entry for each in turns for entry in each])
        assert recalled(store, "fact9")
        assert not recalled(store, "fact0")
        age(store, first, 2)
        for number in range(30):
            age(store, keep(store, [entry for each in turns for entry in each]), (number + 1) / 100)
        entries = store.entries()
        of_first = [entry for entry in entries if entry.id.startswith(first)]
        assert [entry.kind for entry in of_first] == ["conversation"]
        assert sum(len(entry.text) for entry in entries if entry.kind == "answer") <= 400_000

    def test_what_strangers_may_have_said_is_marked(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        keep(store, turn("zebra", "plain"))
        keep(store, [*turn("zebra", "from the web"), Tainted()])
        keep(store, [*turn("zebra", "from a project"), Adopted()])
        marked = {entry.text: entry.untrusted for entry in store.entries() if entry.kind == "answer"}
        assert marked == {"plain": False, "from the web": True, "from a project": True}

        copied = sessions(tmp_path / "elsewhere")
        shutil.copytree(store.folder, copied.folder)
        assert all(entry.untrusted for entry in copied.entries())


class TestForking:
    def test_a_copy_has_all_that_was_said_and_is_a_session_of_its_own(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        entries = [*turn("one", "a"), *turn("two", "b", number=2)]
        old = keep(store, [*entries, Titled(title="mine")])
        copy = store.fork(old)
        read = store.read(copy).entries
        assert isinstance(read[0], Began)
        assert (read[0].session_id, read[0].forked_from) == (copy, old)
        assert list(read[1:-3]) == [*head(), *entries]
        assert isinstance(read[-2], Forked)
        there = store.find(copy)
        assert (there.turns, there.title, there.ended) == (2, "mine (2)", True)
        assert store.is_ours(there)
        assert stat.S_IMODE((store.folder / f"{copy}.jsonl").stat().st_mode) == 0o600

    def test_copies_of_a_session_with_a_name_are_told_apart(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        old = keep(store, [*turn("one", "a"), Titled(title="mine")])
        copy = store.fork(old)
        copies = [copy, store.fork(old), store.fork(copy)]
        assert [store.read(one).entries[-3].title for one in copies] == ["mine (2)", "mine (3)", "mine (4)"]
        assert [store.find("mine").id, *(store.find(f"mine ({number})").id for number in (2, 3, 4))] == [old, *copies]

    def test_as_it_was_at_a_checkpoint(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        old = keep(store, [*turn("one", "a"), *turn("two", "b", number=2)])
        assert store.find(store.fork(old, 2)).said == "one"
        with pytest.raises(ConfigurationError, match="no checkpoint “7”"):
            store.fork(old, 7)
        with pytest.raises(ConfigurationError, match="Nothing was said before checkpoint 1"):
            store.fork(old, 1)

    def test_while_another_program_writes_the_original(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        old = keep(store, turn("one", "a"))
        with Holder(store.folder, old):
            assert store.find(store.fork(old)).turns == 1


class TestDeleting:
    def test_what_is_open_stays(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        name = keep(store, turn("one", "a"))
        with Holder(store.folder, name), pytest.raises(ConfigurationError, match="open in another program"):
            store.delete(name)
        store.delete(name)
        assert store.all() == []
        with pytest.raises(ConfigurationError, match="no session"):
            store.delete(name)

    def test_old_ones_and_the_oldest_of_too_many_but_never_what_has_a_name_or_is_open(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        names = [keep(store, [*turn(f"q{days}", "a")]) for days in range(8)]
        named = keep(store, [*turn("kept", "a"), Titled(title="keep me")])
        for days, name in enumerate(names):
            age(store, name, days * 10)
        age(store, named, 500)
        with Holder(store.folder, names[7]):
            age(store, names[7], 70)
            assert store.prune(keep_days=60, keep_count=0) == NOTHING, "the newest stay, whatever their age"
            fresh = [keep(store, turn("new", "a")) for _ in range(20)]
            assert store.prune(keep_days=60, keep_count=25) == Pruned([], [names[5], names[6]], [])
        assert {one.id for one in store.all()} == {*fresh, *names[:5], names[7], named}
        assert store.prune(keep_days=0, keep_count=0) == NOTHING

    def test_one_shots_that_were_never_continued_go_before_chats(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        chats = [keep(store, turn(f"chat {number}", "a")) for number in range(2)]
        continued = keep(store, [OneShot(), *turn("q", "a"), Resumed(time=2.0), *turn("and now?", "b", number=2)])
        shots = [keep(store, [OneShot(), *turn(f"q{number}", "a")]) for number in range(23)]
        for days, name in enumerate((*shots, continued, *chats)):
            age(store, name, days)
        assert store.prune(keep_days=0, keep_count=24) == Pruned([], [shots[21], shots[22]], [])
        assert store.prune(keep_days=0, keep_count=16) == Pruned([], shots[13:21], [])
        assert store.prune(keep_days=0, keep_count=4) == Pruned([], [chats[1], *shots[2:13]], [])
        assert [one.id for one in store.all()] == [*shots[:2], continued, chats[0]]
        copy = store.fork(shots[0])
        assert {one.id: one.is_one_shot for one in store.all()} == {
            **dict.fromkeys(shots[:2], True),
            **dict.fromkeys((copy, continued, chats[0]), False),
        }

    def test_what_came_with_the_project_is_not_ours_to_delete(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        keep_as(store, "20200101-000000-aaaa", turn("theirs", "a"), seal="")
        age(store, "20200101-000000-aaaa", 500)
        new, own = keep(store, turn("new", "a")), keep(store, turn("mine", "a"))
        age(store, own, 500)
        assert store.prune(keep_days=60, keep_count=1) == Pruned([], [own], [])
        assert {one.id for one in store.all()} == {new, "20200101-000000-aaaa"}

    def test_after_a_jump_of_the_clock_the_newest_stay(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        names = [keep(store, turn(f"q{number}", "a")) for number in range(22)]
        for number, name in enumerate(names):
            age(store, name, number)
        in_2030 = partial(float, time.time() + 1200 * DAY)
        assert store.prune(keep_days=90, keep_count=200, now=in_2030) == Pruned(names[20:], [], [])

    def test_what_was_worked_in_while_the_clock_was_ahead_is_not_the_newest_until_then(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        theirs = "20200101-000000-aaaa"
        keep_as(store, theirs, turn("theirs", "a"), seal="")
        before, ahead, further = (keep(store, turn(query, "a")) for query in ("before", "ahead", "further"))
        for name, days in ((before, 1), (ahead, -500), (further, -900), (theirs, -2)):
            age(store, name, days)
        store.correct_future()
        now = keep(store, turn("now", "a"))
        assert [one.id for one in store.all()] == [theirs, now, further, ahead, before]


class TestWithoutAWord:
    def test_it_is_not_listed_and_goes_after_a_day(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        silent = keep(store, [RunFinished(status="error", answer="")])
        (store.folder / "20260101-000000-torn.jsonl").write_bytes(b'{"type":"Beg')
        (store.folder / "measured.jsonl").write_bytes(b'{"type": "somebody else\'s"}')
        keep_as(store, "20260101-000000-aaaa", [RunFinished(status="error", answer="")], seal="")
        named = keep(store, [Titled(title="x"), RunFinished(status="error", answer="")])
        kept = keep(store, turn("q", "a"))
        assert [one.id for one in store.all()] == [kept]
        assert store.prune(keep_days=0, keep_count=0) == NOTHING
        for name in (silent, named, kept, "20260101-000000-torn", "20260101-000000-aaaa", "measured"):
            age(store, name, 2)
        assert set(store.prune(keep_days=0, keep_count=0).empty) == {silent, "20260101-000000-torn"}

    def test_a_question_to_the_panel_is_one(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        asked = Consulted(kind="panel", question="Which database?", opinions=(), plan="sqlite", by_hand=True)
        name = keep(store, [asked])
        assert [(one.id, one.turns, one.first) for one in store.all()] == [(name, 0, "Which database?")]
        assert [one.id for one in store.search("database")] == [name]
        of_an_agent = Consulted(kind="panel", question="Why?", opinions=(), plan="so")
        keep(store, [of_an_agent])
        assert len(store.all()) == 1


class TestTwoFolders:
    """Logs in the project, where commands could change them, beside those where sessions are kept."""

    def test_both_are_looked_into_and_what_lies_in_the_project_never_counts_for_more(self, tmp_path: Path) -> None:
        there, here = sessions(tmp_path), Sessions(tmp_path / "sessions", seal(tmp_path), tmp_path / "other")
        name, own = keep(there, turn("old", "a")), keep(there, turn("own", "a"))
        shutil.copytree(tmp_path / "sessions", tmp_path / "other")
        (tmp_path / "sessions" / f"{name}.jsonl").unlink()
        log = SessionLog.resume(tmp_path / "other", own)
        for entry in turn("newer", "b", number=2):
            log.append(entry)
        log.close()
        age(there, own, 1)
        assert {(one.id, one.turns) for one in here.all()} == {(name, 1), (own, 1)}
        assert [here.is_ours(here.find(one)) for one in (name, own)] == [False, True]
        assert len(here.read(own).events) == len(there.read(own).events)
        for one in (name, own):
            here.delete(one)
        assert here.all() == there.all() == []

    def test_what_can_only_be_read_is_gone_on_with_in_a_copy(self, tmp_path: Path) -> None:
        name = keep(sessions(tmp_path), turn("q", "a"))
        original = (tmp_path / "sessions" / f"{name}.jsonl").read_bytes()
        script = """
import sys
from pathlib import Path
from tests.support.session_logs import seal, turn
from localllm.sessions.store import Sessions
top, name = Path(sys.argv[1]), sys.argv[2]
store = Sessions(top / "new", seal(top), top / "sessions")
log = store.open_log(name)
for entry in turn("more", "b", number=2):
    log.append(entry)
log.close()
print(log.failure, log.file.parent.name, *(one.turns for one in store.all()))
try:
    store.delete(name)
except Exception as error:
    print(error.code, error.why)
"""
        done = read_only(tmp_path / "sessions", [sys.executable, "-c", script, str(tmp_path), name])
        assert done.stdout.splitlines() == ["None new 2", "E1763 Read-only file system."], done.stderr
        assert (tmp_path / "sessions" / f"{name}.jsonl").read_bytes() == original


class TestSearching:
    """What the person said is found, wherever he said it."""

    def test_words_at_the_end_of_a_long_request_and_of_a_long_session(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        filler = " ".join(f"word{number}" for number in range(1000))
        log = begin(store, turn(f"{filler} marmalade", "a"))
        assert [one.id for one in store.search("marmalade")] == [log.file.stem]
        for number in range(2, 6):
            for entry in turn(f"{filler} {number}", "a", number=number):
                log.append(entry)
        for entry in turn("半年前の請求書を探す", "a", number=7):
            log.append(entry)
        log.append(Steered(text="and the kumquat"))
        refusal = ConfirmationAnswered(request_id="1", approved=False, by="user", feedback="never touch tamarind")
        log.append(refusal)
        log.close()
        for words in ("請求書", "kumquat", "tamarind", "marmalade", "word999"):
            assert [one.id for one in store.search(words)] == [log.file.stem], words
        assert store.search("durian") == []

    def test_a_word_the_beginning_cuts(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        name = keep(store, turn("x " * 997 + "marmalade and more", "a"))
        (session,) = store.all()
        assert session.said.endswith("marmal")
        assert [one.id for one in store.search("marmalade")] == [name]

    def test_what_is_kept_for_it_is_bounded_and_a_paste_leaves_room_for_what_comes_after(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        log = begin(store, [])
        for paste in range(3):
            many = " ".join(f"p{paste}n{number}" for number in range(20_000))
            for entry in turn(f"{'A' * 100_000} {many}", "a", number=paste + 1):
                log.append(entry)
        for entry in turn("grapefruit", "a", number=4):
            log.append(entry)
        log.close()
        (session,) = store.all()
        assert [one.id for one in store.search("grapefruit")] == [log.file.stem]
        assert 25_000 < len(session.words) <= 40_000

    def test_a_word_is_kept_once(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        keep(store, [*turn("x " * 1_000 + "marmalade plum " * 9, "a"), *turn("plum fig " * 9, "a", number=2)])
        (session,) = store.all()
        assert sorted(session.words.split()) == ["fig", "marmalade", "plum"]


class TestSeal:
    def test_a_log_that_came_with_a_project_is_not_ones_own(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        keep_as(store, "20260101-000000-aaaa", turn("evil", "a"), seal="00" * 32)
        keep_as(store, "20260101-000000-bbbb", turn("evil", "a"), seal="")
        own = keep(store, turn("q", "a"))
        assert {one.id for one in store.all() if store.is_ours(one)} == {own}
        copy = store.find(store.fork("20260101-000000-aaaa"))
        assert not store.is_ours(copy)

    def test_another_users_key_makes_another_seal(self, tmp_path: Path) -> None:
        one, other = Seal(tmp_path / "a" / "key"), Seal(tmp_path / "b" / "key")
        assert one.of("s") != other.of("s")
        assert not other.holds("s", one.of("s"))
        assert Seal(tmp_path / "a" / "key").holds("s", one.of("s"))
        assert stat.S_IMODE((tmp_path / "a" / "key").stat().st_mode) == 0o600
        assert [file.name for file in (tmp_path / "a").iterdir()] == ["key"]

    def test_without_a_key_nothing_is_ones_own(self, tmp_path: Path) -> None:
        (tmp_path / "state").write_text("no folder")
        seal = Seal(tmp_path / "state" / "key")
        assert seal.of("s") == ""
        assert not seal.holds("s", "")


def keep_as(store: Sessions, name: str, entries: list[Entry], seal: str = "") -> None:
    log = SessionLog(store.folder, name, Began(session_id=name, time=1.0, version="0", seal=seal))
    for entry in (Kept(message=SystemMessage("s")), *entries):
        log.append(entry)
    log.close()
    assert read_session(log.file).entries


class TestWhatComesWithAProject:
    def test_an_index_that_is_a_link_leads_nowhere(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        theirs = tmp_path / "profile"
        theirs.write_text("mine\n")
        store.folder.mkdir()
        (store.folder / INDEX).symlink_to(theirs)
        keep(store, turn("one", "a"))
        assert [one.first for one in store.all()] == ["one"]
        assert theirs.read_text() == "mine\n"
        assert not (store.folder / INDEX).is_symlink()

    def test_an_index_that_is_a_pipe_holds_nobody_up(self, tmp_path: Path) -> None:
        store = sessions(tmp_path)
        store.folder.mkdir()
        os.mkfifo(store.folder / INDEX)
        keep(store, turn("one", "a"))
        assert [one.first for one in store.all()] == ["one"]


def test_a_log_in_whose_place_a_shorter_one_came_is_read_anew(tmp_path: Path) -> None:
    store = sessions(tmp_path)
    long, short = (keep(store, turn(query, "yes")) for query in ("Where is the retry logic? " * 20, "Hello?"))
    assert len({one.first for one in sessions(tmp_path).all()}) == 2
    shutil.copyfile(store.folder / f"{short}.jsonl", store.folder / f"{long}.jsonl")
    assert {one.first for one in sessions(tmp_path).all()} == {"Hello?"}
