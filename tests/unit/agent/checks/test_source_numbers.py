"""The numbers of a summary, translation, extract or conversion stand in the texts that it is made of."""

import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from localllm.agent.checks.source_numbers import miscounted, rendering, strange_numbers
from tests.support.each import each

CASES: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("source_numbers.toml").read_text())["case"]


@pytest.mark.parametrize("case", CASES, ids=[f"{case['path']}-{case['kind']}" for case in CASES])
def test_numbers_of_texts_that_are_made_of_others(case: dict[str, Any]) -> None:
    sources = {case["path"]: case["source"]}
    found = {text: strange_numbers(text, sources, case["kind"], "") for text in [*case["true"], *case["false"]]}
    assert {text: one for text, one in found.items() if one and text in case["true"]} == {}
    assert [text for text, one in found.items() if not one and text in case["false"]] == []


@each(
    ("request", "kind"),
    [
        ("議事録.md を3行で要約して", "summary"),
        ("kakei.csv の内容をまとめて", "summary"),
        ("tl;dr of meeting.md please", "summary"),
        ("Give me the gist of docs/guide.md", "summary"),
        ("meeting.md を英語に訳して", "translation"),
        ("Translate a.md into Japanese as a.ja.md", "translation"),
        ("Summarise a.md and translate it", "summary"),
        ("議事録.md から宿題だけ todo.md に抜き出して", "extract"),
        ("Extract the tasks of meeting.md into todo.md", "extract"),
        ("kakei.csv を JSON に変換して", "extract"),
        ("議事録.md の宿題を表にして", "extract"),
        # what is made may have other numbers
        ("議事録.md の次回の予定を抜き出して、準備の案も付けて", ""),
        ("meeting.md を要約して、費用をドルに換算して", ""),
        ("Summarise meeting.md and suggest next steps", ""),
        ("Translate recipe.md to English with US units", ""),
        ("Convert the prices in a.csv to dollars", ""),
        ("Summarise this:\n```\n1\n```", ""),
        ("Fix the rounding in a.py", ""),
        ("この関数を説明して", ""),
    ],
)
def test_requests_for_what_has_no_other_numbers(request: str, kind: str) -> None:
    assert rendering(request) == kind


def test_sums_of_tables_by_any_column() -> None:
    rows = [
        f"2026-{month:02d}-{day:02d},{'food' if day % 2 else 'rent'},{month * 100 + day}"
        for month in (1, 2)
        for day in range(1, 9)
    ]
    table = "\n".join(["date,kind,amount", *rows])
    food = sum(month * 100 + day for month in (1, 2) for day in range(1, 9, 2))
    january = sum(100 + day for day in range(1, 9))
    said = f"Food: {food:,} yen. January: {january:,} yen."
    assert strange_numbers(said, {"a.csv": table}, "summary", "") == []
    assert strange_numbers(f"Food: {food + 90:,} yen.", {"a.csv": table}, "summary", "") == [f"{food + 90:,} yen"]
    marked = "\n".join(f"| {row.replace(',', ' | ')} |" for row in table.splitlines())
    assert strange_numbers(said, {"a.md": marked}, "summary", "") == []


def test_a_sum_of_a_table_that_is_too_large_to_reckon_is_believed() -> None:
    """Each entry of each column makes a group of each other column: 300 columns took half a minute."""
    for columns, found in ((30, ["7,654,321 yen"]), (300, [])):
        table = "\n".join(",".join(f"{100 + (row * at) % 900}" for at in range(columns)) for row in range(40))
        assert strange_numbers("The sum is 7,654,321 yen.", {"a.csv": table}, "summary", "") == found


def test_long_texts_are_read_in_time_that_grows_with_them() -> None:
    spent: list[float] = []
    for count in (300, 2_400):
        table = "\n".join(f"2026-11-{n % 28 + 1:02d},kind {n % 40},{n * 7}" for n in range(count))
        begun = time.process_time()
        strange_numbers("The sum is 3 yen. It is 7.7 %.", {"a.csv": table}, "extract", "")
        spent.append(time.process_time() - begun)
    assert spent[1] < 24 * spent[0]


@each(
    ("answer", "written", "found"),
    [
        ("3件の宿題を書き出しました。", "# 宿題\n\n- 佐藤\n- 田中\n", ("3件", 2)),
        ("Extracted all 3 tasks into `todo.md`.", "# Tasks\n\n1. Sato\n2. Tanaka\n", ("all 3 tasks", 2)),
        ("2件の宿題を書き出しました。", "# 宿題\n\n- 佐藤\n- 田中\n", None),
        ("Extracted 2 tasks.", "- [ ] Sato\n  - by 8 April\n- [x] Tanaka\n", None),
        ("2件書き出しました。3件目は期限がありません。", "- 佐藤\n- 田中\n", None),
        ("5件のうち2件を書き出しました。", "- 佐藤\n- 田中\n", None),
        ("3件の宿題を書き出しました。", "佐藤、田中、鈴木\n", None),
        ("Wrote 4 rows.", "| a | b |\n|---|---|\n| 1 | 2 |\n- note\n", None),
        ("書き出しました。", "- 佐藤\n", None),
        ("3件を抜き出しました。", "# 宿題\n- 佐藤\n- 田中\n- 鈴木\n# 備考\n- 山本は欠席\n", None),
    ],
)
def test_the_items_of_a_list_are_counted(answer: str, written: str, found: tuple[str, int] | None) -> None:
    assert miscounted(answer, written) == found


def test_a_full_stop_is_no_part_of_a_date() -> None:
    assert strange_numbers("It is due on 5 April.", {"a.md": "Due on 6 May."}, "summary", "") == ["5 April"]


@pytest.mark.parametrize(
    "source", ["It ends on 9999-12-31. The call is next Monday.", "Last seen on 0001-01-01. It took 5 minutes."]
)
def test_the_first_and_the_last_day_of_all_are_no_days_to_reckon_from(source: str) -> None:
    assert strange_numbers("It was on 5 April 2024.", {"a.md": source}, "summary", "") == ["5 April 2024"]
