"""Every fault of a small model costs what the table says, and no more: nothing, or one request (README.md)."""

import asyncio
import re
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from tests.integration.small_model_faults.player import Case, Played, Row, played, rows
from tests.support.each import check_each

ROWS = rows()

MOST_LEFT = 3
"""Rows that may cost more than they need."""


@pytest.mark.timeout(300)  # most rows have several cases, one nearly fifty
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.id:02}-{row.fault[:40]}")
def test_a_fault_costs_what_the_table_says(tmp_path: Path, row: Row) -> None:
    without: dict[bytes, Played] = {}

    def check(case: Case) -> None:
        same = msgspec.json.encode(
            [case.files, case.query, case.before, case.right, case.after, case.yes, case.repository]
        )
        if same not in without:
            folder = tmp_path / f"without-{len(without)}"
            without[same] = asyncio.run(played(case, folder, with_fault=False))
            check_faultless(case, without[same])
        faulty = asyncio.run(played(case, tmp_path / f"with-{row.cases.index(case)}", with_fault=True))
        check_faulty(case, faulty, without[same].requests)

    check_each(row.cases, check, named=lambda case: case.name)


def check_faultless(case: Case, run: Played) -> None:
    """Without the fault there is not one request too many."""
    if not case.corrects:
        return
    assert run.requests == len(case.before) + len(case.right) + len(case.after), run.heard
    assert (run.ended.status, run.files) == ("done", case.wanted), run.heard
    assert any(re.search(case.reads, words) for words in ("", *run.heard)), run.heard


def check_faulty(case: Case, run: Played, without: int) -> None:
    heard = "\n---\n".join(run.heard)
    assert run.ended.status == case.ends, f"{run.ended}\n{heard}"
    assert run.files == case.wanted, heard
    assert case.answers in run.ended.answer
    assert any(re.search(case.reads, words) for words in ("", *run.heard)), heard
    assert re.search(case.told, run.told), heard
    assert case.writes or run.at_fault in (run.before_fault, case.wanted), heard
    assert run.asked_on == 0, heard
    assert run.requests - without <= case.cost * len(case.sends), heard


def test_every_row_of_the_table_is_here_once() -> None:
    assert [row.id for row in ROWS] == list(range(1, 56))
    assert all(row.cases for row in ROWS)


def test_few_faults_cost_more_than_they_need() -> None:
    counted = Counter(row.verdict for row in ROWS)
    assert counted == {"M": 19, "1": 36}, "what a fault costs has changed"
    assert counted["W"] + counted["X"] <= MOST_LEFT
    cases = [case for row in ROWS for case in row.cases]
    assert all(case.why for case in cases if case.left)
    assert all(case.cost <= 1 for case in cases if not case.left)
