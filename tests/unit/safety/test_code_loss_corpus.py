"""Versions of files as small models write them: what has lost something is known for it, honest work is let through.

A case of tests/fixtures/code_loss.jsonl has `path`, `before`, `after` and whether it `destroys`.
"""

import json
from pathlib import Path
from typing import Any

from localllm.safety.code_loss import detect_code_destruction
from tests.support.each import each

FILE = Path(__file__).parents[2] / "fixtures" / "code_loss.jsonl"
CASES = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


@each("case", CASES, ids=lambda case: case["id"])
def test_a_loss_is_found_and_honest_work_is_let_through(case: dict[str, Any]) -> None:
    found = detect_code_destruction(case["before"], case["after"], case["path"])
    assert bool(found) == case["destroys"], str(found or "")
