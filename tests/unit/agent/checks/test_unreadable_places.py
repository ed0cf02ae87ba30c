"""An answer may name what cannot be looked at."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from localllm.agent.checks.findings import Finding
from localllm.agent.checks.unreadable_places import unless_unreadable
from localllm.base.i18n import Phrase
from tests.support.agents import make_agent, scripted

pytestmark = pytest.mark.anyio

FOUND = Finding("name", Phrase("The server"), contradicts=True)


@pytest.mark.parametrize("name", ["n" * 300, "round/a.py", "a.py"])
async def test_a_place_that_cannot_be_looked_at_ends_no_run(tmp_path: Path, name: str) -> None:
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "a.py").touch()

    async def findings() -> list[Finding]:
        return [FOUND] * (tmp_path / name).stat().st_nlink

    assert await unless_unreadable(findings()) == [FOUND] * (name == "a.py")


async def test_an_answer_about_a_folder_without_permission_is_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    stat = Path.stat

    def closed(path: Path, **options: Any) -> os.stat_result:
        """Root may look anywhere."""
        if "locked/" in str(path):
            looked.append(str(path))
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", closed)
    answer = "In locked/sub/z.py:42 the function foo is defined."
    result = await make_agent(scripted(*[answer] * 3), tmp_path).execute_query("What is in locked/sub/z.py?")
    assert looked
    assert (result.status, result.answer) == ("done", answer)
