"""docs/errors.md names codes that exist, and has every code of the design paper."""

import re
from pathlib import Path

from localllm.base.error_texts import ERRORS

DOCUMENT = Path(__file__).parents[3] / "docs" / "errors.md"
PAPER = [
    "E1001",
    "E1002",
    "E1003",
    "E2001",
    "E2002",
    "E2003",
    "E3001",
    "E3002",
    "E4001",
    "E5001",
    "E5002",
    "E6001",
    "E6002",
    "E6003",
    "E7001",
    "E7002",
]


def test_the_paper_codes_and_ours() -> None:
    table = DOCUMENT.read_text("utf-8").partition("## The codes of the design paper")[2]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines() if row.startswith("| E")]
    assert [row[0] for row in rows] == PAPER
    known = {text.code for text in ERRORS.values()}
    ours = {code for row in rows for code in re.findall(r"E\d{4}", row[2])}
    assert ours <= known
    assert len(ours) > 20
