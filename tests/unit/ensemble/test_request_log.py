"""Finished runs are logged whole, without secrets; what goes wrong is said once, and no request fails for it."""

import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from localllm.base.errors import LLMConnectionError, LocalLLMError
from localllm.ensemble.log_database import LoggedRun, LogLimits, find_run, read_runs
from localllm.ensemble.records import EnsembleResult, Question, Turn
from localllm.ensemble.request_log import MOST_CHARACTERS, RequestLog
from localllm.llm.messages import AssistantMessage, UserMessage
from tests.support.ensemble_runs import QUESTION, answer, failed, refused, result

PASSWORD = "hunter22"


class Failures(list[LocalLLMError]):
    """What a log has reported."""

    @property
    def keys(self) -> list[str]:
        return [one.key for one in self]


def logged(file: Path, *results: EnsembleResult, question: Question = QUESTION, **options: Any) -> Failures:
    """Log runs and end; what was reported."""
    failures = Failures()
    log = RequestLog(file, on_failure=failures.append, **options)
    for one in results:
        log.add(question, one)
    log.close()
    return failures


def soon(holds: Callable[[], object]) -> None:
    """Return once it holds; the time limit of the test is for what never does."""
    while not holds():
        threading.Event().wait(0.01)


def only(file: Path) -> LoggedRun:
    (run,) = read_runs(file, 10)
    return run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "ensemble" / "requests.sqlite"


def test_a_run_is_kept_whole(file: Path) -> None:
    history: tuple[Turn, ...] = (UserMessage("Hello"), AssistantMessage("Hello!"))
    late = failed("c", refused(), is_cancelled=True, seconds=3.0)
    whole = result(
        "r7",
        [answer("a", "Paris."), answer("b", "Lyon.\0\n日本語"), late],
        runtime={"strategy": "rank", "best": 1, "consensus": 0.5},
    )
    assert logged(file, whole, question=Question(prompt="首都は？", history=history), clock=lambda: 1_000.0) == []
    run = find_run(file, "r7")
    assert (run.at, run.outcome, run.strategy, run.seconds, run.best) == (1_000.0, "answered", "rank", 2.0, 1)
    assert (run.prompt, run.final_answer, run.review_comment) == ("首都は？", "It is Paris.", "Both are right.")
    assert (run.turns, run.prompt_tokens, run.completion_tokens) == (2, 20, 10)
    assert run.runtime == '{"strategy":"rank","best":1,"consensus":0.5}'
    assert [(one.agent, one.model, one.text) for one in run.answers] == [
        ("a", "a:8b", "Paris."),
        ("b", "b:8b", "Lyon.\0\n日本語"),
        ("c", "c:8b", ""),
    ]
    assert (run.answers[2].error_code, run.answers[2].error, run.answers[2].is_cancelled) == (
        refused().code,
        str(refused()),
        True,
    )
    assert (run.answers[0].prompt_tokens, run.answers[0].completion_tokens, run.answers[0].error) == (10, 5, "")


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"reviewer_error": refused()}, "reviewer_failed"),
        ({"answers": [failed("a"), failed("b")], "final_answer": ""}, "all_failed"),
    ],
)
def test_what_has_failed_is_logged_as_such(file: Path, fields: dict[str, Any], outcome: str) -> None:
    logged(file, result(**fields))
    assert only(file).outcome == outcome
    assert only(file).error_code == ("" if outcome == "all_failed" else refused().code)


@pytest.mark.parametrize(("said", "best"), [("b", 1), (0, 0), ("nobody", None), (None, None), (True, None)])
def test_the_best_is_known_by_name_or_by_place(file: Path, said: object, best: int | None) -> None:
    logged(file, result(runtime={"best": said}))
    assert only(file).best == best


def test_what_is_long_is_cut_and_its_length_kept(file: Path) -> None:
    long = "x" * (MOST_CHARACTERS + 5)
    logged(file, result(answers=[answer("a", long)], final_answer=long), question=Question(prompt=long))
    run = only(file)
    assert {len(text) for text in (run.prompt, run.final_answer, run.answers[0].text)} == {MOST_CHARACTERS}
    assert run.characters == {"prompt": len(long), "final_answer": len(long)}
    assert run.answers[0].characters == len(long)


def test_no_secret_is_in_the_file(file: Path) -> None:
    key, token, known = "topsecretkey", "the-server-token", "sk-live-4f9a8b7c6d5e4f3a2b1c"
    error = LLMConnectionError("llm_idle", url=f"http://me:{PASSWORD}@host/{token}", seconds=1.0, provider="ollama")
    border = "y" * (MOST_CHARACTERS - len(key) // 2) + key  # a cut through it would leave a half
    everywhere = result(
        answers=[answer("a", f"{key} {known}"), answer(f"b {token}", border), failed("c", error)],
        final_answer=token,
        review_comment=known,
        reviewer_error=error,
        runtime={"x": f"{key} http://me:{PASSWORD}@host/"},
    )
    logged(file, everywhere, question=Question(prompt=f"{key} {token} {known}"), secrets=(key, token, "x"))
    data = b"".join(one.read_bytes() for one in file.parent.iterdir())
    for secret in (key, key[: len(key) // 2], token, known, PASSWORD):
        assert secret.encode() not in data
    assert only(file).prompt == "*** *** ***"
    assert only(file).answers[1].text.endswith("y***")


def test_odd_numbers_and_halves_of_characters_cost_no_run(file: Path) -> None:
    odd = result(answers=[answer("a\ud800", "x\udfff")])
    usage = odd.usage.__class__(prompt_tokens=10**30, completion_tokens=-1)
    assert logged(file, result("r0"), result("r1", odd.answers, usage=usage)) == []
    run = find_run(file, "r1")
    assert (run.prompt_tokens, run.completion_tokens, run.answers[0].text) == (1 << 53, 0, "x?")


def test_the_file_is_for_its_owner_alone(file: Path) -> None:
    old = os.umask(0)
    try:
        log = RequestLog(file)
        log.add(QUESTION, result())
        soon(lambda: file.exists() and read_runs(file, 1))
        modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in file.parent.iterdir()}
        log.close()
    finally:
        os.umask(old)
    assert "requests.sqlite-wal" in modes
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_run_can_be_read_while_the_log_is_open(file: Path) -> None:
    log = RequestLog(file)
    for number in range(3):
        log.add(QUESTION, result(f"r{number}"))
        soon(lambda number=number: file.exists() and len(read_runs(file, 10)) == number + 1)
    log.close()
    assert [run.run_id for run in read_runs(file, 2)] == ["r2", "r1"]


def test_a_damaged_file_is_put_aside(file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_bytes(b"this is no database" * 500)
    failures = logged(file, result())
    assert failures.keys == ["request_log_put_aside"]
    assert only(file).run_id == "r1"
    assert file.with_name("requests.damaged.sqlite").read_bytes().startswith(b"this is no database")


def test_a_file_that_is_damaged_while_it_is_used_is_put_aside(file: Path) -> None:
    failures = Failures()
    log = RequestLog(file, on_failure=failures.append)
    log.add(QUESTION, result("before"))
    soon(lambda: file.exists() and read_runs(file, 1))
    with closing(sqlite3.connect(file)) as db, db:  # what was written so far goes into the file itself
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    with file.open("r+b") as opened:
        opened.seek(4096)
        opened.write(b"\xff" * (file.stat().st_size - 4096))
    for number in range(3):
        log.add(QUESTION, result(f"after{number}"))
    soon(lambda: failures.keys == ["request_log_put_aside"])
    log.close()
    assert {run.run_id for run in read_runs(file, 10)} == {"after0", "after1", "after2"}


def test_a_file_that_is_deleted_is_made_anew(file: Path) -> None:
    log = RequestLog(file)
    log.add(QUESTION, result("before"))
    soon(lambda: file.exists() and read_runs(file, 1))
    for one in file.parent.iterdir():
        one.unlink()
    log.add(QUESTION, result("after"))
    log.close()
    assert only(file).run_id == "after"


@pytest.mark.parametrize("whose", ["another program", "a later version"])
def test_a_file_that_is_not_ours_is_left_as_it_is(file: Path, whose: str) -> None:
    logged(file, result())
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("PRAGMA user_version=99" if whose == "a later version" else "PRAGMA application_id=7")
    db.close()
    failures = logged(file, result("r2"), result("r3"))
    assert failures.keys == ["request_log_newer" if whose == "a later version" else "request_log_unusable"]
    with closing(sqlite3.connect(file)) as db, db:
        assert db.execute("SELECT run_id FROM runs").fetchall() == [("r1",)]
    db.close()


@pytest.mark.parametrize("place", ["a file", "a folder", "a link"])
def test_what_cannot_be_opened_is_said_once(tmp_path: Path, place: str) -> None:
    file = tmp_path / "below" / "requests.sqlite"
    match place:
        case "a file":
            file.parent.write_text("in the way")
        case "a folder":
            file.mkdir(parents=True)
        case _:
            file.parent.mkdir()
            file.symlink_to(tmp_path / "elsewhere")
    assert logged(file, *(result(f"r{number}") for number in range(5))).keys == ["request_log_unusable"]
    assert not (tmp_path / "elsewhere").exists()


def test_it_is_tried_again_after_a_rest(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localllm.ensemble.request_log._REST", 0.0)
    file.parent.parent.mkdir()
    file.parent.write_text("in the way")
    failures = Failures()
    log = RequestLog(file, on_failure=failures.append)
    soon(lambda: failures)
    log.add(QUESTION, result("lost"))
    soon(lambda: len(failures) and not log._waiting)
    file.parent.unlink()
    log.add(QUESTION, result("kept"))
    log.close()
    assert failures.keys == ["request_log_unusable"]
    assert "kept" in {run.run_id for run in read_runs(file, 10)}


def test_runs_that_wait_are_bounded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk hangs: another has the file's lock."""
    monkeypatch.setattr("localllm.ensemble.request_log._MOST_WAITING", 5)
    logged(file)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    failures = Failures()
    log = RequestLog(file, on_failure=failures.append)
    for number in range(30):
        log.add(QUESTION, result(f"r{number}"))
    soon(lambda: failures)
    other.rollback()
    other.close()
    log.close()
    assert failures.keys == ["request_log_behind"]
    assert 5 <= len(read_runs(file, 100)) < 30


def test_texts_that_wait_are_bounded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localllm.ensemble.request_log._MOST_CHARACTERS_WAITING", 100)
    failures = logged(file, result("large", [answer("a", "x" * 200)]), result("small"))
    assert failures.keys == ["request_log_behind"]
    assert only(file).run_id == "small"


def test_limits_are_those_that_are_given(file: Path) -> None:
    logged(file, *(result(f"r{number}") for number in range(5)), limits=LogLimits(runs=2))
    assert [run.run_id for run in read_runs(file, 10)] == ["r4", "r3"]
