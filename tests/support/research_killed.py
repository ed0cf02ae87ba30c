"""Research runs of the real program that are killed again and again, and what has to hold of them at the end."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.research_web.dataset import load
from tests.research_web.played_models import HonestModel
from tests.research_web.report_checker import check
from tests.research_web.whole_run import Ended, Event, ResearchProgram, without_times

MOST_STARTS = 60
MOST_PAGES_AT_ONCE = 8
"""`research.max_search`: the pages of a round that are read at the same time."""


class Outcome(NamedTuple):
    """What a run has come to: its report and metadata without times, how often it was killed, and how many pages and
    requests of the model were asked for again after that."""

    report: str
    metadata: str
    kills: int
    pages_again: int
    requests_again: int


def run_to_the_end(
    folder: Path,
    topic: str,
    *arguments: str,
    kill: Callable[[Event], bool] = lambda _: False,
    prepare: Callable[[ResearchProgram], None] = lambda _: None,
) -> Outcome:
    """Answer a topic's question, killed where `kill` says so of an event or as `prepare` sets it up before each start,
    and resumed until it is done. Nothing that was stored is asked for again, and each citation holds."""
    question = load().questions[topic]
    with ResearchProgram(folder, HonestModel()) as program:
        prepare(program)
        ended = program.start(question.text, "--language", question.language, *arguments, kill=kill)
        run = _run_of(ended)
        for _ in range(MOST_STARTS):
            if ended.code != -9:
                break
            prepare(program)
            again = ("--resume", run) if run else (question.text, "--language", question.language, *arguments)
            ended = program.start(*again, kill=kill)
            run = run or _run_of(ended)
        assert ended.code == 0, ended.errors
        assert ended.errors == "" or "Traceback" not in ended.errors, ended.errors
        requests, pages = _again(program)
        report = program.report(run)
        assert check(report) == []
        metadata = report.with_name(f"{report.stem}.meta.yaml").read_text("utf-8")
        return Outcome(
            without_times(report.read_text("utf-8")), without_times(metadata), program.kills, pages, requests
        )


def _run_of(ended: Ended) -> str:
    """The id of the run that a start told of; empty where it was killed before."""
    return next((event["run"] for event in ended.events if event.get("run")), "")


def _again(program: ResearchProgram) -> tuple[int, int]:
    """The requests and the pages that were asked for again: no more than can have been under way at the kills."""
    requests = sum(times - 1 for times in program.asked.values())
    pages = sum(times - 1 for times in program.pages.values())
    assert requests <= program.kills, f"{requests} requests again after {program.kills} kills"
    assert pages <= program.kills * MOST_PAGES_AT_ONCE, f"{pages} pages again after {program.kills} kills"
    return requests, pages


class EachStage:
    """Says of the first time that each stage of each round begins that the program is to be killed."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, int]] = set()

    def __call__(self, event: Event) -> bool:
        stage = (event.get("stage", ""), event.get("round", 0))
        if event["type"] != "StageBegun" or stage in self.seen:
            return False
        self.seen.add(stage)
        return True
