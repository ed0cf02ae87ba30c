"""The real program in a real terminal: what is to be done is shown at the start, kept by hand and by the model."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.text.sanitising import display_width
from tests.support.tmux import TMUX, Tmux

pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")

SCRIPT = """
[[turn]]
calls = [{ name = "todo", arguments = { action = "start", text = "task 3" } }]
[[turn]]
text = "Begun."
[[turn]]
text = "Nothing to do."
"""
NOTES = {
    "en": "# Mine\n\n## Tasks\n\n" + "".join(f"- [ ] task {n}\n" for n in range(1, 8)) + "\nThe end, without a newline",
    "ja": "# 私の\n\n## やること\n\n"
    + "".join(f"- [予定] task {n} 日本語の作業\n" for n in range(1, 8))
    + "\n終わり（改行なし）",
}
TOLD = {
    "en": (
        "Open TODOs",
        "… and 2 more: /todo",
        "Start the TODO",
        "in progress: task 3",
        "Done:",
        "Noted as a decision",
    ),
    "ja": ("未完了の TODO", "… ほか 2 件: /todo", "に着手", "進行中: task 3", "完了:", "決定事項として記録"),
}
TYPED = {
    "en": ("/todo finish task 1", "/remember decision: use tabs", "use tabs"),
    "ja": ("/todo 完了 task 1", "/remember 決定：タブを使う", "タブを使う"),
}


@pytest.fixture
def project() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "shop"
        root.mkdir()
        (root.parent / "script.toml").write_text(SCRIPT)
        yield root


def opened(project: Path, language: str, name: str) -> Tmux:
    command = [sys.executable, "-m", "localllm", "--provider", "scripted", "--script", "../script.toml"]
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(project.parent / "home"),
        "LANG": "C.UTF-8",
        "LOCALLLM_UI_LANGUAGE": language,
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    chat = Tmux(project, command, environ=environ, rows=50, name=name)
    chat.wait(" · scripted · ")
    return chat


@pytest.mark.parametrize("language", ["en", "ja"])
def test_todos_from_the_start_to_the_end(project: Path, language: str) -> None:
    heading, more, question, left, finished, noted = TOLD[language]
    finish, remember, kept = TYPED[language]
    file = project / "LOCALLLM.md"
    file.write_text(NOTES[language], "utf-8")
    chat = opened(project, language, "first")
    try:
        start = chat.wait(heading, more)
        assert "task 5" in start
        assert "task 6" not in start
        chat.say("go on")
        chat.wait(question, "task 3", last="  ›")
        chat.say("y")
        assert chat.wait("Begun.", left, " · scripted · ").count(left) == 1
        chat.say("and now")
        assert chat.wait("Nothing to do.", " · scripted · ").count(left) == 1
        chat.say(finish)
        chat.wait(finished)
        chat.say(remember)
        shown = chat.wait(noted, kept)
        assert max(map(display_width, shown.splitlines())) <= 80
    finally:
        chat.close()
    text = file.read_text("utf-8")
    lines = NOTES[language].splitlines()
    assert text.splitlines()[:4] == lines[:4]
    assert lines[-1] in text
    assert [line for line in text.splitlines() if "task 7" in line] == [line for line in lines if "task 7" in line]
    assert kept in text
    again = opened(project, language, "second")
    try:
        start = again.wait(heading)
        assert "[~] task 3" in start
        assert "[ ] task 1" not in start
    finally:
        again.close()


def test_where_nothing_is_kept_nothing_is_shown(project: Path) -> None:
    chat = opened(project, "en", "first")
    try:
        assert "TODO" not in chat.screen()
        chat.say("/todo Write the docs")
        chat.wait("LOCALLLM.md was created.", "Write the docs")
        chat.say("/undo")
        chat.wait("removed, as it was not there before")
        assert not (project / "LOCALLLM.md").exists()
    finally:
        chat.close()


PLANNING = """
[[turn]]
calls = [{ name = "todo", arguments = { action = "add", text = "1. read it\\n2. fix it" } }]
[[turn]]
calls = [{ name = "todo", arguments = { action = "start", text = "read" } }]
[[turn]]
text = "Begun."
[[turn]]
text = "Once more."
"""


def test_a_plan_asks_nobody_comes_back_and_is_kept_where_the_person_says_so(project: Path) -> None:
    (project.parent / "script.toml").write_text(PLANNING)
    chat = opened(project, "en", "first")
    try:
        chat.say("go on")
        shown = chat.wait("2 TODOs", "Begun.", "in progress: read it", " · scripted · ")
        assert "Allow" not in shown
        chat.say("/todo")
        chat.wait("The model's plan in this session", "[~] read it", "[ ] fix it")
    finally:
        chat.close()
    assert not (project / "LOCALLLM.md").exists()
    again = opened(project, "en", "second")
    try:
        again.say("/resume 1")
        again.wait("Continuing")
        again.say("/todo keep")
        again.wait("LOCALLLM.md was created.", "2 TODOs were added.")
    finally:
        again.close()
    assert "- [ ] fix it" in (project / "LOCALLLM.md").read_text("utf-8")
