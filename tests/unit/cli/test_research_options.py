"""The options of a research run: bounds, presets, and what gives way to what."""

import os
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from localllm.base import i18n
from localllm.base.errors import ResearchUsageError
from localllm.cli.main import run
from localllm.cli.research_options import given_options
from localllm.config.research_settings import ResearchSettings
from localllm.research.options import options_for
from tests.support.each import each


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"LOCALLLM_{name}_DIR", str(tmp_path / name.lower()))
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.chdir(tmp_path)
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        yield
    i18n.set_language("en")


@each(
    "arguments, named",
    [
        (["--query", "0"], "1<=x<=10"),
        (["--query", "11"], "1<=x<=10"),
        (["--min-search", "0"], "1<=x<=20"),
        (["--min-search", "21"], "1<=x<=20"),
        (["--max-search", "0"], "1<=x<=50"),
        (["--max-search", "51"], "1<=x<=50"),
        (["--min-validation", "-1"], "0<=x<=10"),
        (["--min-validation", "11"], "0<=x<=10"),
        (["--max-validation", "11"], "0<=x<=10"),
        (["--retry", "11"], "0<=x<=10"),
        (["--max-minutes", "-1"], "x>=0"),
        (["--max-tokens", "-1"], "x>=0"),
        (["--max-pages", "x"], "x"),
        (["--language", "fr"], "ja"),
        (["--preset", "slow"], "standard"),
        (["--format", "doc"], "md"),
        (["--min-validation", "3", "--max-validation", "2"], "--max-validation 2 is less than --min-validation 3"),
        (["--min-search", "9", "--max-search", "8"], "--max-search 8 is less than --min-search 9"),
        (["--sites", "not a host"], "not a host"),
        (["--exclude-sites", "-"], "exclude-sites"),
        (["--api", "ftp://x"], "neither http nor https"),
        (["--force"], "--export"),
        (["--resume", "2026-0001", "--query", "2"], "--query"),
        (["--resume", "2026-0001", "--no-cache"], "--no-cache"),
        (["--task-id", "2026-0001", "--task-all"], "only one of"),
        (["--prompt", "and another"], "only one of"),
    ],
)
def test_wrong_values_are_errors_of_usage_that_name_the_bound(
    capsys: pytest.CaptureFixture[str], arguments: list[str], named: str
) -> None:
    words = [] if {"--resume", "--task-id"} & {*arguments} else ["Why?"]
    assert run(["research", *words, *arguments]) == 2
    assert named in " ".join(capsys.readouterr().err.split())


@each("arguments", [[], ["   "], ["--prompt", ""]])
def test_an_empty_question(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert run(["research", *arguments]) == 2
    assert "E7001" in capsys.readouterr().err


@each(
    "preset, given, expected",
    [
        ("", {}, (3, 1, 3)),
        ("fast", {}, (2, 0, 1)),
        ("standard", {}, (3, 1, 3)),
        ("high", {}, (5, 2, 5)),
        ("high", {"query_count": 1}, (1, 2, 5)),
        ("", {"max_validation": 0}, (3, 0, 0)),
        ("", {"min_validation": 7}, (3, 7, 7)),
        ("high", {"max_validation": 1}, (5, 1, 1)),
    ],
)
def test_presets_and_what_gives_way(preset: str, given: dict[str, object], expected: tuple[int, ...]) -> None:
    options = options_for(ResearchSettings(), preset, **given)
    assert (options.query_count, options.min_validation, options.max_validation) == expected


def test_settings_that_exclude_each_other_are_told() -> None:
    with pytest.raises(ResearchUsageError) as caught:
        options_for(ResearchSettings(min_search=9, max_search=5))
    assert caught.value.key == "research_bounds"
    assert options_for(ResearchSettings(min_validation=5, max_validation=3), "fast").max_validation == 1


def test_hosts_and_folders() -> None:
    given = given_options({"sites": ("a.example, https://B.example/page", "a.example"), "docs": (Path("docs"),)})
    assert given == {"sites": ("a.example", "b.example"), "docs": (str(Path("docs").absolute()),)}
    with pytest.raises(click.UsageError):
        given_options({"sites": ("localhost",)})
