"""Two assistants, hundreds of edits of the same files at once: nothing is lost, stale edits are refused."""

import json
import subprocess
import sys
from pathlib import Path

from tests.support.busy_editor import FILES, HEAD

_EDITS = 150
_CHANGED_SINCE = "E8028"
_CHANGED_WHILE_ASKED = "E8007"  # the rare edit of the other that falls between the question and the yes


def test_every_edit_of_both_is_there(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for name in FILES:
        (project / name).write_text(HEAD + "end\n")
    command = [sys.executable, "-m", "tests.support.busy_editor", str(project)]
    both = [
        subprocess.Popen([*command, name, str(_EDITS)], stdout=subprocess.PIPE, text=True) for name in ("ann", "bob")
    ]
    told = [json.loads(process.communicate(timeout=120)[0]) for process in both]
    lines = [line for name in FILES for line in (project / name).read_text().splitlines()]
    expected = [f"{name} {number}" for name in ("ann", "bob") for number in range(_EDITS)]
    assert sorted(lines) == sorted([*expected, *(["# head", "end"] * len(FILES))])
    refused = {code: sum(one["refused"].get(code, 0) for one in told) for one in told for code in one["refused"]}
    assert set(refused) <= {_CHANGED_SINCE, _CHANGED_WHILE_ASKED}
    assert refused[_CHANGED_SINCE] > 0
    assert not list(project.rglob("*.tmp"))
