"""The real program in a real terminal: what an edit and a command did is taken back, and a session goes back and on."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.tmux import TMUX, Tmux

pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")

BUG = "def total(prices, discount):\n    result = sum(prices)  \n    return result * discount\n"
SCRIPT = r"""
[[turn]]
calls = [{ name = "edit_file", arguments = { file_path = "prices.py", old_string = "  result = sum(prices)\n  return result * discount", new_string = "  result = sum(prices)\n  return result * (1 - discount)" } }]
[[turn]]
text = "Mended."
[[turn]]
calls = [{ name = "run_command", arguments = { command = "rm prices.py; echo hi > out.txt" } }]
[[turn]]
text = "Removed."
"""  # noqa: E501 - a script is read as it is


@pytest.fixture
def project() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "shop"
        root.mkdir()
        (root / "prices.py").write_text(BUG)
        (root.parent / "script.toml").write_text(SCRIPT)
        yield root


def opened(project: Path, language: str) -> Tmux:
    """The chat in the project."""
    command = [sys.executable, "-m", "localllm", "--provider", "scripted", "--script", "../script.toml"]
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(project.parent / "home"),
        "LANG": "C.UTF-8",
        "LOCALLLM_UI_LANGUAGE": language,
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    return Tmux(project, command, environ=environ, columns=110, rows=40)


@pytest.mark.parametrize(
    ("language", "told"),
    [
        (
            "en",
            ("Checkpoint 2 “good”", "before “fix it”", "the previous version is restored", "is back at checkpoint 2"),
        ),
        ("ja", ("2 番「good」", "「fix it」の前", "変更前の内容に戻しました", "会話を 2 番の時点に戻しました")),
    ],
)
def test_undo_checkpoint_and_rewind(project: Path, language: str, told: tuple[str, ...]) -> None:
    checkpoint, listed, undone, rewound = told
    chat = opened(project, language)
    file = project / "prices.py"
    try:
        chat.wait(" · scripted · ")
        chat.say("fix it")
        chat.wait("[y]", last="  ›")
        chat.say("y")
        chat.wait("Mended.", " · scripted · ")
        fixed = file.read_text()
        assert fixed == BUG.replace("* discount", "* (1 - discount)")
        chat.say("/checkpoint good")
        chat.wait(checkpoint)
        chat.say("remove it")
        chat.wait("rm prices.py", last="  ›")
        chat.say("y")
        chat.wait("Removed.", " · scripted · ")
        assert not file.exists()
        chat.say("/rewind")
        chat.wait(listed, "out.txt, prices.py")
        chat.say("/undo")
        chat.wait(undone)
        assert file.read_text() == fixed
        assert not (project / "out.txt").exists()
        chat.say("/rewind good")
        chat.wait(rewound)
        chat.press("C-d")
        chat.wait("[left with 0]")
    finally:
        chat.close()


@pytest.mark.parametrize(
    ("language", "asks", "left", "nothing"),
    [
        ("en", "Undo it?", "Nothing was undone.", "There is nothing to undo."),
        ("ja", "取り消しますか？", "何も取り消していません。", "取り消す変更がありません。"),
    ],
)
def test_undo_asks_before_it_reaches_behind_the_session(
    project: Path, language: str, asks: str, left: str, nothing: str
) -> None:
    chat = opened(project, language)
    try:
        chat.wait(" · scripted · ")
        chat.say("/init")
        chat.wait("localllm.toml", "LOCALLLM.md", " · scripted · ")
        chat.say("fix it")
        chat.wait("[y]", last="  ›")
        chat.say("y")
        chat.wait("Mended.", " · scripted · ")
        chat.press("C-d")
        chat.wait("[left with 0]")
    finally:
        chat.close()
    assert "prices.py" in (project / "LOCALLLM.md").read_text(), "the record of the session"
    chat = opened(project, language)
    try:
        chat.wait(" · scripted · ")
        chat.say("/undo")
        chat.wait("prices.py (edit_file, ", asks, last="  ›")
        chat.say("n")
        chat.wait(left)
        assert (project / "prices.py").read_text() != BUG
        for named in ("prices.py (edit_file, ", "LOCALLLM.md (/init, "):
            chat.say("/undo")
            chat.wait(named, asks, last="  ›")
            chat.say("y")
            chat.wait(" · scripted · ")
        chat.say("/undo")
        chat.wait(nothing)
        assert (project / "prices.py").read_text() == BUG
        assert not [path.name for path in project.iterdir() if "localllm." in path.name.lower()]
    finally:
        chat.close()
