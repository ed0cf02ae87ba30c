"""Orders with values, names or files that commands carry out, in whole or in part."""

from pathlib import Path

import pytest

from tests.support.agents import call
from tests.unit.agent.checks.test_unmet_orders import FILES
from tests.unit.agent.test_run_endings import agent_for, edit, remarks

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    for name, text in FILES.items():
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("request_", "command", "answer"),
    [
        (
            "Add f2, f3, f4 and f5 to a.py",
            "for i in 2 3 4 5; do printf '\\n\\ndef f%s(x):\\n    return x\\n' $i >> a.py; done",
            "I added `f2`, `f3`, `f4` and `f5` to a.py.",
        ),
        (
            "timeout を config.py と conf.yaml の両方で 30 にして",
            "sed -i 's/10/30/' config.py conf.yaml",
            "両方のファイルで timeout を 30 にしました。",
        ),
        ("Create one.txt, two.txt and three.txt", "touch one.txt two.txt three.txt", "The three files are created."),
        (
            "a.py と b.py の全部の関数に docstring を付けて",
            'sed -i \'s/^def \\(.*\\):$/&\\n    """\\1"""/\' [ab]*.py; ls *.py',
            "全部の関数に docstring を付けました。",
        ),
        ("Rename g2 to twice in b.py", "sed -i 's/\\bg2\\b/twice/' b.py", "`g2` is `twice` now."),
        (
            "config.py を config.bak.py にコピーしてから TIMEOUT を 30 にして",
            "cp config.py config.bak.py && sed -i 's/= 10/= 30/' config.py",
            "config.bak.py にコピーし、TIMEOUT を 30 にしました。",
        ),
    ],
)
async def test_what_a_command_has_done_is_not_asked_about(
    project: Path, request_: str, command: str, answer: str
) -> None:
    agent = agent_for(project, call("run_command", command=command), *[answer] * 3)
    result = await agent.execute_query(request_)
    assert remarks(agent) == []
    assert result.status == "done"


async def test_a_command_that_replaces_nothing_has_not_done_it(project: Path) -> None:
    command = "sed -i 's/retry: 3/retry: 5/' conf.yaml; echo '# checked' >> conf.yaml"
    agent = agent_for(project, call("run_command", command=command), *["`retries` is 5 in conf.yaml now."] * 3)
    result = await agent.execute_query("Set retries to 5 in conf.yaml")
    assert "retries is 3 in conf.yaml, not 5" in remarks(agent)[0]
    assert len(remarks(agent)) == 1
    assert result.status == "incomplete"


async def test_what_a_command_has_set_elsewhere_is_not_asked_about(project: Path) -> None:
    turns = [edit("TIMEOUT = 10", "TIMEOUT = 30", "config.py"), call("run_command", command="echo Bob > /dev/null")]
    agent = agent_for(project, *turns, *["The user name is Bob, and TIMEOUT is 30."] * 3)
    await agent.execute_query("Set the user name to 'Bob' and TIMEOUT to 30")
    assert remarks(agent) == []
