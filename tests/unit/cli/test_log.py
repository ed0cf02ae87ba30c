"""`localllm log`, as a user would type it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from localllm.base import i18n
from localllm.cli.main import run
from tests.support.each import each

NOW = datetime.now(UTC)


def line(age: timedelta, level: str, category: str, text: str) -> str:
    return f"{(NOW - age).strftime('%Y-%m-%dT%H:%M:%S.%fZ')} [{level}] [{category}] {text}\n"


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LOCALLLM_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("LOCALLLM_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data" / "log"
    folder.mkdir(parents=True)
    (folder / f"localllm.{NOW:%Y-%m-%d}.log").write_text(
        line(timedelta(hours=3), "INFO", "WEB", "old")
        + line(timedelta(minutes=5), "WARNING", "RUN", "\x1b[2Jnew")
        + line(timedelta(minutes=1), "DEBUG", "GGUF", "server")
    )
    yield tmp_path
    i18n.set_language("en")


@each(
    "arguments, shown",
    [
        ([], ["old", "new", "server"]),
        (["--level", "info"], ["old", "new"]),
        (["--category", "ollama"], ["server"]),
        (["--category", "web", "--category", "RUN"], ["old", "new"]),
        (["--since", "1h"], ["new", "server"]),
        (["--since", "1h", "--level", "WARNING"], ["new"]),
        (["-n", "1"], ["server"]),
        (["-n", "0"], ["old", "new", "server"]),
    ],
)
def test_what_is_shown(capsys: pytest.CaptureFixture[str], arguments: list[str], shown: list[str]) -> None:
    assert run(["log", *arguments]) == 0
    out = capsys.readouterr().out
    assert [word for word in ("old", "new", "server") if word in out] == shown
    assert "\x1b" not in out


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "--json", "--category", "web"]) == 0
    [record] = map(json.loads, capsys.readouterr().out.splitlines())
    assert (record["level"], record["category"], record["message"]) == ("INFO", "WEB", "old")


@each("wrong", [["--since", "soon"], ["--since", "25:99"], ["--level", "LOUD"], ["--category", "ALL"], ["-n", "-1"]])
def test_what_cannot_be_meant(wrong: list[str]) -> None:
    assert run(["log", *wrong]) == 2


def test_nothing_there_is_said(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "--work-dir", str(work / "none")]) == 0
    told = capsys.readouterr()
    assert (told.out, "No such records" in told.err) == ("", True)
