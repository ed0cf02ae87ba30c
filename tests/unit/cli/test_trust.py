"""Trust in a project's settings: asked for before a chat, given and taken back on the command line."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from localllm.base import i18n
from localllm.cli.config import config
from localllm.cli.trust import settle
from localllm.config.loader import Loaded, load
from localllm.config.trust import Answers


class Desk:
    """A project one works in, whose settings want more than it may decide."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "project" / "localllm.toml"
        self.file.parent.mkdir()
        self.file.write_text('[llm.openai]\nbase_url = "http://gpu:8080"\n')
        self.state = folder / "state"
        self.environ = {
            "LOCALLLM_CONFIG_DIR": str(folder / "user"),
            "LOCALLLM_STATE_DIR": str(self.state),
            "HOME": str(folder),
            "LC_ALL": "C",
        }

    def ok(self, *arguments: str) -> str:
        result = CliRunner().invoke(config, arguments, env=self.environ)
        assert result.exception is None, result.exception
        return result.output


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    for name in [name for name in os.environ if name.startswith("LOCALLLM_")]:
        monkeypatch.delenv(name)
    desk = Desk(tmp_path)
    monkeypatch.chdir(desk.file.parent)
    yield desk
    i18n.set_language("en")


class Terminal:
    """A person who gives one answer, or is not there."""

    def __init__(self, answer: bool | None, *, is_attended: bool = True) -> None:
        self.is_attended = is_attended
        self.asked: list[dict[str, Any]] = []
        self.told: list[str] = []
        self._answer = answer

    def ask_trust(self, _file: Path, values: dict[str, Any]) -> bool | None:
        self.asked.append(values)
        return self._answer

    def remark(self, text: str, level: str = "info") -> None:
        self.told.append(f"{level}: {text}")


class TestBeforeAChat:
    def settled(self, desk: Desk, terminal: Terminal) -> Loaded:
        """The settings after the question, where one is asked."""

        def load_here(believed: str = "") -> Loaded:
            return load(desk.file.parent, environ=desk.environ, believed=believed)

        person: Any = terminal
        return settle(desk.file.parent, load_here(), person, load_here, Answers(desk.state / "trusted.json"))

    @pytest.mark.parametrize("answer", [True, False])
    def test_the_answer_holds_and_is_remembered(self, desk: Desk, answer: bool) -> None:
        for times in (1, 0):
            terminal = Terminal(answer)
            loaded = self.settled(desk, terminal)
            assert (loaded.settings.llm.openai.base_url == "http://gpu:8080") is answer
            assert terminal.asked == [{"llm.openai.base_url": "http://gpu:8080"}] * times

    def test_no_answer_is_not_remembered(self, desk: Desk) -> None:
        for _ in range(2):
            terminal = Terminal(None)
            assert self.settled(desk, terminal).withheld == ("llm.openai.base_url",)
            assert len(terminal.asked) == 1

    def test_nobody_is_asked_where_nobody_is(self, desk: Desk) -> None:
        terminal = Terminal(True, is_attended=False)
        assert self.settled(desk, terminal).withheld == ("llm.openai.base_url",)
        assert terminal.asked == []

    def test_an_answer_that_cannot_be_kept_holds_for_now(self, desk: Desk) -> None:
        desk.state.write_text("a file")
        terminal = Terminal(True)
        assert self.settled(desk, terminal).settings.llm.openai.base_url == "http://gpu:8080"
        assert terminal.told[0].startswith("warning: Your answer applies only this time.")

    def test_what_has_changed_since_it_was_shown_is_not_believed(self, desk: Desk) -> None:
        shown = load(desk.file.parent, environ=desk.environ)
        desk.file.write_text('[llm.openai]\nbase_url = "http://evil:8080"\n')
        person: Any = Terminal(True)
        loaded = settle(
            desk.file.parent,
            shown,
            person,
            lambda digest: load(desk.file.parent, environ=desk.environ, believed=digest),
            Answers(desk.state / "trusted.json"),
        )
        assert loaded.settings.llm.openai.base_url == "http://localhost:8080"


def test_trust_shows_and_believes_until_the_file_changes(desk: Desk) -> None:
    assert desk.ok("get", "llm.openai.base_url") == "http://localhost:8080\n"
    shown = desk.ok("trust")
    assert 'llm.openai.base_url = "http://gpu:8080"' in shown
    assert "config untrust revokes it" in shown
    assert desk.ok("get", "llm.openai.base_url") == "http://gpu:8080\n"
    assert "Nothing" in desk.ok("trust")
    desk.file.write_text('[llm.openai]\nbase_url = "http://other:8080"\n')
    assert desk.ok("get", "llm.openai.base_url") == "http://localhost:8080\n"


def test_untrust_forgets(desk: Desk) -> None:
    assert "There are no answers" in desk.ok("untrust")
    desk.ok("trust")
    assert "forgotten" in desk.ok("untrust")
    assert desk.ok("get", "llm.openai.base_url") == "http://localhost:8080\n"


def test_what_cannot_be_kept_is_an_error(desk: Desk) -> None:
    desk.state.write_text("a file")
    result = CliRunner().invoke(config, ["trust"], env=desk.environ)
    assert getattr(result.exception, "code", "") == "E1006"
