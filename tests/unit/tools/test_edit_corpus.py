"""Edits as small models make them: applied where they were meant, or answered with the text that was meant.

A case of tests/fixtures/edits/*.jsonl has `file` (the content), `call` (the arguments) and either `expect` (the
content afterwards) or `miss`: texts the answer must hold (unless `says` is false), while nothing is changed.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from localllm.base.errors import ToolExecutionError
from localllm.tools.edit import edit_file
from tests.support.each import each
from tests.support.tools import make_context, put, use

pytestmark = pytest.mark.anyio

FOLDER = Path(__file__).parents[2] / "fixtures" / "edits"
CASES = [json.loads(line) for file in sorted(FOLDER.glob("*.jsonl")) for line in file.read_text("utf-8").splitlines()]


@each("case", CASES, ids=lambda case: case["id"])
async def test_an_edit_is_made_where_it_was_meant_or_not_at_all(tmp_path: Path, case: dict[str, Any]) -> None:
    root = tmp_path / case["id"]
    file = put(root / case["call"]["file_path"], case["file"].encode())
    context = make_context(root)
    if "expect" in case:
        await use(edit_file, context, **case["call"])
        assert file.read_bytes().decode() == case["expect"]
        return
    with pytest.raises(ToolExecutionError) as caught:
        await use(edit_file, context, **case["call"])
    assert file.read_bytes().decode() == case["file"]
    wanted = case["miss"] if isinstance(case["miss"], list) else [case["miss"]]
    assert not case.get("says", True) or all(text in str(caught.value) for text in wanted), str(caught.value)


def test_there_are_enough_cases_and_traps() -> None:
    assert len(CASES) >= 150
    assert sum("miss" in case for case in CASES) >= 40
