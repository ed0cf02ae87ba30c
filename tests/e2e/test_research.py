"""`localllm research` as a user runs it: its report, its exit codes, what it says to people and to programs."""

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.research_cli import PATIENCE, ResearchWorld, research_world

FAST = ("--preset", "fast", "--max-search", "4")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ResearchWorld]:
    with research_world(tmp_path) as world:
        yield world


def test_piped_it_prints_the_report_and_nothing_moves(world: ResearchWorld) -> None:
    run = world.run("research", world.question.text, *FAST)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("# ")
    assert "[1]" in run.stdout
    assert "\x1b" not in run.stdout + run.stderr
    assert len(run.stderr.splitlines()) == 2, "how it ended, and where the report is"
    [report] = world.work.glob("history/*/report-*.md")
    assert report.read_text("utf-8") == run.stdout
    assert str(report) in run.stderr


def test_the_report_as_json_and_the_run_as_events(world: ResearchWorld) -> None:
    whole = world.json("research", world.question.text, *FAST, "--output", "json")
    assert (whole["success"], whole["status"], whole["id"][4:]) == (True, "success", "-0001")
    assert Path(whole["report"]).is_file()
    lines = world.run("research", world.question.text, *FAST, "--output", "stream-json").stdout.splitlines()
    events = [json.loads(line) for line in lines]
    kinds = [event["type"] for event in events]
    assert kinds[0] == "Forecast"
    assert events[0]["most_seconds"] > 0, "the first run has shown how fast this model is"
    assert [event["stage"] for event in events if event["type"] == "StageBegun"][:3] == [
        "normalise",
        "queries",
        "search",
    ]
    assert kinds[-2:] == ["Finished", "Report"]
    assert events[-1]["id"] == events[1]["run"]


@pytest.mark.parametrize(("ending", "beginning"), [("html", "<!DOCTYPE html>"), ("json", "{"), ("md", "# ")])
def test_it_is_exported_in_the_format_of_the_files_name(world: ResearchWorld, ending: str, beginning: str) -> None:
    run = world.run("research", "--prompt", world.question.text, *FAST, "--export", f"out.{ending}", "--output", "json")
    exported = (world.project / f"out.{ending}").read_text("utf-8")
    assert exported.lower().startswith(beginning.lower())
    assert json.loads(run.stdout)["exported"] == f"out.{ending}"
    again = world.run("research", "--prompt", world.question.text, *FAST, "--export", f"out.{ending}")
    assert (again.returncode, "E7012" in again.stderr) == (2, True)
    assert len(list(world.work.glob("history/*"))) == 1, "nothing is begun whose report has no place"


def test_it_is_interrupted_and_gone_on_with(world: ResearchWorld) -> None:
    world.hold(6)
    process = world.begin("research", world.question.text, *FAST)
    assert world.is_holding.wait(PATIENCE)
    process.send_signal(signal.SIGINT)
    _out, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    asked = len(world.model.bodies)
    [run] = re.findall(r"localllm research --resume (\d{4}-\d{4})", said)
    world.release()
    unfinished = world.json("history", "list", "--json")["reports"]
    assert [(one["id"], one["status"]) for one in unfinished] == [(run, "unfinished")]
    resumed = world.json("research", "--resume", run, "--output", "json")
    assert (resumed["id"], resumed["status"]) == (run, "success")
    prompts = [body["messages"] for body in world.model.bodies]
    assert prompts[asked - 1] in prompts[asked:], "what was under way is asked again"
    assert not any(prompt in prompts[asked:] for prompt in prompts[: asked - 1]), "what was answered is not"


def test_without_a_model_nothing_is_searched(world: ResearchWorld) -> None:
    for arguments in (("--api", "http://127.0.0.1:9/v1"), ("--api", "http://127.0.0.1:9/api/chat")):
        run = world.run("research", "Anything", *arguments, "--output", "json")
        assert run.returncode == 5, run.stderr
        assert json.loads(run.stdout)["error"]["code"].startswith("E2")
    assert not world.web.queries
    assert not world.work.joinpath("history").exists()


def test_what_is_masked_is_said_before_the_search(world: ResearchWorld) -> None:
    world.web.down.clear()
    plan = world.run("research", "--plan", "Who is taro@example.com of Norrick?", *FAST)
    assert plan.returncode == 0, plan.stderr
    queries = plan.stdout.splitlines()
    assert len(queries) == 2
    assert not any("taro" in query for query in queries)
    assert not world.web.queries, "a plan searches for nothing"
    run = re.findall(r"--resume (\d{4}-\d{4})", plan.stderr)[0]
    assert world.run("research", "--resume", run).returncode == 0
    assert sorted(dict.fromkeys(world.web.queries))[:2] == sorted(queries)


def test_offline_only_what_is_kept_and_folders_are_searched(world: ResearchWorld) -> None:
    (world.project / "docs").mkdir()
    text = "\n".join(world.question.queries)
    (world.project / "docs" / "notes.md").write_text(f"# Notes\n\n{text}. It is said to be so.\n")
    run = world.run("--offline", "research", world.question.text, *FAST, "--docs", "docs", "--output", "json")
    assert run.returncode in (0, 3), run.stderr
    assert json.loads(run.stdout)["sources"] == 1
    assert not world.web.queries
    assert not world.web.asked


def test_a_report_made_offline_says_so_and_of_no_failure(world: ResearchWorld) -> None:
    world.configure(engines='["duckduckgo", "searxng"]')
    (world.project / "docs").mkdir()
    (world.project / "docs" / "notes.md").write_text(f"# Notes\n\n{world.question.text}\n")
    for language, said in (("en", "as this run was offline"), ("ja", "オフラインで実行したため")):
        options = (*FAST, "--docs", "docs", "--language", language)
        report = world.run("--offline", "research", world.question.text, *options).stdout
        assert (said in report, "could not be searched" in report, "検索できません" in report) == (True, False, False)
    refused = world.run("--offline", "research", world.question.text, *FAST)
    assert (refused.returncode, "E7009" in refused.stderr, "--docs" in refused.stderr) == (2, True, True)


def test_a_run_whose_budget_ends_is_partial(world: ResearchWorld) -> None:
    run = world.run("research", world.question.text, "--max-tokens", "1500", "--output", "json")
    assert (run.returncode, json.loads(run.stdout)["partial"]) == (3, True)


def test_in_japanese(tmp_path: Path) -> None:
    with research_world(tmp_path, make=lambda folder, web: ResearchWorld(folder, web, "ja_JP.UTF-8")) as world:
        run = world.run("research", world.japanese_question.text, *FAST)
        assert run.returncode == 0, run.stderr
        assert "レポート" in run.stderr
        assert world.run("research").stderr.startswith("localllm: E7001")


def test_the_log_and_one_stage_alone(world: ResearchWorld) -> None:
    run = world.json("research", world.question.text, *FAST, "--output", "json")["id"]
    lines = world.run("log", "--category", "web").stdout.splitlines()
    assert lines
    assert all(re.match(r"\d{4}-\d\d-\d\dT[\d:.]+Z \[[A-Z]+\] \[WEB\] ", line) for line in lines)
    asked = len(world.model.bodies)
    draft = world.json("debug", "draft", "--from", run)
    assert draft["sections"]
    assert len(world.model.bodies) == asked, "its answers are known"
    assert world.json("debug", "queries", world.question.text, "--query", "4")["queries"][3]
    assert len(world.json("history", "list", "--json")["reports"]) == 1, "nothing of that is kept"


def test_one_stage_alone_works_where_no_command_writes(world: ResearchWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = world.project / "tmp"
    temporary.mkdir()
    untouched = temporary.stat().st_mtime_ns
    environment = {**world.environment(), "TMPDIR": str(temporary)}
    monkeypatch.setattr(world, "environment", lambda: environment)
    assert world.json("debug", "normalise", world.question.text)["brief"]
    assert temporary.stat().st_mtime_ns == untouched


def test_history_shows_exports_and_deletes(world: ResearchWorld) -> None:
    first, second = (
        world.json("research", text, *FAST, "--output", "json")["id"]
        for text in (world.question.text, "How are herring smoked?")
    )
    shown = world.run("history", "show", first)
    assert shown.stdout.startswith("# ")
    assert json.loads(world.run("history", "show", first, "--format", "json").stdout)
    assert world.run("history", "export", first, "r.pdf").returncode == 0
    assert (world.project / "r.pdf").read_bytes().startswith(b"%PDF-")
    assert world.run("history", "export", first, "r.html").returncode == 0
    assert (world.project / "r.html").is_file()
    [found] = world.json("history", "list", "smoked", "--json")["reports"][:1]
    assert found["id"] == second
    assert world.run("history", "delete", first, "--yes").returncode == 0
    assert [one["id"] for one in world.json("history", "list", "--json")["reports"]] == [second]
    third = world.json("research", world.question.text, *FAST, "--output", "json")["id"]
    assert third not in (first, second)
    assert world.run("history", "show", first).returncode == 2


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="POSIX")
def test_a_broken_settings_file_is_told_before_anything_else(world: ResearchWorld) -> None:
    world.configure("[research]\nmin_validation = 5\n")
    run = world.run("research", "Anything")
    assert (run.returncode, "research.max_validation (3)" in run.stderr) == (2, True)
    assert world.run("research", "Anything", "--clear", "--max-search", "1", "--output", "json").returncode in (0, 3)


def test_a_report_that_cannot_be_exported_is_in_the_history(world: ResearchWorld) -> None:
    folder = world.project / "out"
    folder.mkdir()
    world.hold(3)
    run = world.begin("research", world.question.text, *FAST, "--export", "out/report.md", "--output", "json")
    assert world.is_holding.wait(PATIENCE)
    folder.rmdir()
    world.release()
    out, said = run.communicate(timeout=PATIENCE)
    told = json.loads(out)
    assert (run.returncode, told["success"], told["exported"], told["error"]["code"]) == (2, True, None, "E1757"), said
    assert Path(told["report"]).is_file()
