"""The log of requests on the command line: a list, one request whole, statistics; as text and as JSON."""

import json
from pathlib import Path

import click
import pytest

from localllm.base.errors import RequestLogError
from localllm.cli import serve_log
from localllm.cli.serve_log import print_history, print_statistics
from localllm.ensemble.records import Question
from localllm.ensemble.request_log import MOST_CHARACTERS, RequestLog
from localllm.text.sanitising import display_width
from tests.support.ensemble_runs import answer, failed, refused, result


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A log of three requests."""
    first = result("r1", [answer("a", "x" * (MOST_CHARACTERS + 1)), failed("b")])
    second = result("r2", runtime={"best": "b"}, reviewer_error=refused(), seconds=61.0)
    log = RequestLog(tmp_path / "x.sqlite", clock=lambda: 1_800_000_000.0)
    log.add(Question(prompt="first\n\x1b[31mred"), first)
    log.add(Question(prompt="首都はどこですか。" * 20), second)
    log.add(Question(prompt="third"), result("123456789012", [failed("a"), failed("b")], final_answer=""))
    log.close()
    return tmp_path / "x.sqlite"


def test_the_newest_requests_are_listed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert print_history("2", json=False, file=file) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[2] for line in lines] == ["123456789012", "r2"]
    assert "0/2" in lines[0]
    assert "2/2" in lines[1]
    assert "61.0 s" in lines[1]


def test_the_list_fits_the_terminal(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve_log, "_columns", lambda: 80)
    print_history("9", json=False, file=file)
    print_statistics(json=False, file=file)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(display_width, lines)) <= 80
    assert "\x1b" not in "".join(lines)


def test_a_request_is_shown_whole(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_history("r2", json=False, file=file)
    shown = capsys.readouterr().out
    for text in ("首都はどこですか。" * 20, "It is Paris.", "Both are right.", str(refused())):
        assert text in shown
    print_history("r1", json=False, file=file)
    shown = capsys.readouterr().out
    assert "x" * MOST_CHARACTERS in shown
    assert f"{MOST_CHARACTERS + 1:,}" in shown
    assert "\x1b" not in shown


def test_an_id_of_digits_is_no_number(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_history("123456789012", json=False, file=file)
    assert "third" in capsys.readouterr().out


def test_the_beginning_of_an_id_will_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = RequestLog(tmp_path / "x.sqlite")
    for name in ("0a" * 16, "0b" * 16):
        log.add(Question(prompt=f"about {name}"), result(name))
    log.close()
    print_history("2", json=False, file=tmp_path / "x.sqlite")
    shown = capsys.readouterr().out.split()
    assert "0b0b0b0b0b0b" in shown
    print_history("0a0a0a0a0a0a", json=False, file=tmp_path / "x.sqlite")
    assert f"about {'0a' * 16}" in capsys.readouterr().out


def test_the_log_as_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_history("9", json=True, file=file)
    whole = json.loads(capsys.readouterr().out)
    assert whole["file"] == str(file)
    third, second, first = whole["runs"]
    assert (third["outcome"], second["outcome"], first["outcome"]) == ("all_failed", "reviewer_failed", "answered")
    assert (second["best"], second["at"]) == ("b", "2027-01-15T08:00:00.000Z")
    assert second["runtime"] == {"best": "b"}
    assert [one["agent"] for one in second["answers"]] == ["a", "b"]
    assert first["prompt"] == "first\n\x1b[31mred"
    print_history("r2", json=True, file=file)
    assert json.loads(capsys.readouterr().out) == second


def test_statistics(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_statistics(json=False, file=file)
    shown = capsys.readouterr().out
    (row,) = [line.split() for line in shown.splitlines() if line.startswith("b ")]
    assert row == ["b", "b:8b", "3", "1", "2", "0", "1.0", "s", "1.0", "s", "1/1"]
    assert f"{refused().code} × 2" in shown
    print_statistics(json=True, file=file)
    whole = json.loads(capsys.readouterr().out)
    assert (whole["runs"], whole["since"]) == (3, "2027-01-15T08:00:00.000Z")
    assert [one["agent"] for one in whole["workers"]] == ["a", "b"]


def test_a_request_that_was_broken_off_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = RequestLog(tmp_path / "x.sqlite")
    log.add(Question(prompt="long"), result("r1", [answer("a"), failed("b")], final_answer="", is_broken_off=True))
    log.close()
    print_history("9", json=False, file=tmp_path / "x.sqlite")
    print_history("r1", json=False, file=tmp_path / "x.sqlite")
    print_statistics(json=False, file=tmp_path / "x.sqlite")
    listed, *_ = lines = capsys.readouterr().out.splitlines()
    assert "1/2  (cancelled) long" in listed
    assert any(line.startswith("r1 ") and line.endswith("cancelled") for line in lines)
    assert any("cancelled 1" in line for line in lines)


def test_an_empty_log_is_said_beside_an_empty_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.sqlite"
    assert print_history("20", json=False, file=file) == 0
    assert print_statistics(json=False, file=file) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert str(file) in captured.err
    print_history("20", json=True, file=file)
    assert json.loads(capsys.readouterr().out)["runs"] == []
    print_statistics(json=True, file=file)
    assert json.loads(capsys.readouterr().out)["workers"] == []


def test_what_cannot_be_shown(file: Path) -> None:
    with pytest.raises(RequestLogError) as caught:
        print_history("nowhere", json=False, file=file)
    assert caught.value.key == "request_log_no_run"
    for wrong in ("0", "-3", ""):
        with pytest.raises(click.UsageError):
            print_history(wrong, json=False, file=file)
