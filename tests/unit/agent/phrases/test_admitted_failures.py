"""An answer says which module or program is missing for which a run ended."""

from pathlib import Path

import pytest

from localllm.agent.phrases.admitted_failures import says_it_is_missing
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import call, make_agent, make_tools, scripted

MODULE = "ModuleNotFoundError: No module named 'nowhere_at_all.plot'"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("nowhere_at_all is not installed here, so chart.png does not exist yet.", MODULE),
        ("plot.py is written. It needs `nowhere_at_all`, which isn't installed.", MODULE),
        ("plot.py を書きました。nowhere_at_all がインストールされていないため、chart.png はまだありません。", MODULE),
        ("The script requires express.", "Error: Cannot find module 'express'"),
        ("make.sh is written; jq is missing here.", "make.sh: line 3: jq: command not found"),
    ],
)
def test_it_is_said(answer: str, error: str) -> None:
    assert says_it_is_missing(answer, error)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("chart.png shows the revenue by store.", MODULE),
        ("plot.py uses nowhere_at_all and works.", MODULE),
        ("The axis labels are missing.", MODULE),
        ("plot.py is not installed.", "ZeroDivisionError: division by zero"),
    ],
)
def test_it_is_not_said(answer: str, error: str) -> None:
    assert not says_it_is_missing(answer, error)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        ("nowhere_at_all is not installed here, so chart.png does not exist yet. Install it and run plot.py.", False),
        ("plot.py draws the revenue by store.", True),
    ],
)
async def test_a_run_without_a_module_is_asked_about_once_unless_it_is_said(
    tmp_path: Path, answer: str, *, asked: bool
) -> None:
    turns = [
        call("write_file", file_path="plot.py", content="import nowhere_at_all\n\nnowhere_at_all.draw()\n"),
        call("run_command", command="python3 plot.py"),
    ]
    tools = make_tools(tmp_path, confirmer=HeadlessConfirmer(approve_all=True))
    agent = make_agent(scripted(*turns, *[answer] * 3), tmp_path, tools=tools)
    await agent.execute_query("Write plot.py, which draws the revenue by store")
    told = [one.text for one in agent.history.messages if "The last run failed" in one.text]
    assert bool(told) is asked
