"""`localllm doctor`, as a user would type it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.base import i18n
from localllm.cli.doctor import listing
from localllm.cli.main import run
from localllm.config.schema import SECRET_VARIABLES
from localllm.integrations.doctor.inputs import Finding, note, ok, problem, warning
from localllm.text.sanitising import display_width
from localllm.tui.theme import Theme

SECRET = "sk-secret-do-not-show"

FINDINGS = [
    problem("model", "The server at http://127.0.0.1:1/v1 refused the key (HTTP 401).", "Set the right key."),
    warning("sandbox", "コマンドを守れません。" * 9, "Linux 6.2 以降を使ってください。" * 5),
    note("git", "This is \x1b[31mnot\x1b[0m a repository."),
    ok("program", "x" * 200),
]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in [name for name in os.environ if name.startswith("LOCALLLM_") or name in SECRET_VARIABLES.values()]:
        monkeypatch.delenv(name)
    for name, value in {"HOME": tmp_path, "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "LC_ALL": "C"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("COLUMNS", "80")
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield folder
    i18n.set_language("en")


@pytest.mark.parametrize("width", [80, 61, 40])
@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_listing_fits_and_leaves_nothing_out(width: int, language: str) -> None:
    i18n.set_language(language)
    lines = list(listing(FINDINGS, Path("/a/project"), width, Theme(plain=True)))
    assert max(map(display_width, lines)) <= width
    joined = "".join("".join(lines).split())
    for finding in FINDINGS[1], FINDINGS[3]:
        assert "".join(finding.what.split()) in joined
        assert "".join(finding.fix.split()) in joined.replace("→", "")
    assert "\x1b" not in "".join(lines)


def test_colours_only_where_they_are_wanted() -> None:
    coloured = "\n".join(listing(FINDINGS, Path("/p"), 80, Theme(plain=False)))
    assert "\x1b[1;31mproblem\x1b[0m" in coloured
    assert "\x1b[31mnot" not in coloured


@pytest.mark.parametrize(
    ("findings", "last"),
    [([], "Everything is as it should be."), (FINDINGS, "Problems: 1, warnings: 1.")],
)
def test_the_end_says_how_it_stands(findings: list[Finding], last: str) -> None:
    assert list(listing(findings, Path("/p"), 80, Theme(plain=True)))[-1].startswith(last)


def test_json_of_a_machine_on_which_it_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--provider", "embedded", "doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is True
    assert told["version"]
    names = {finding["name"] for finding in told["findings"]}
    assert {"model", "settings", "folder", "space", "sandbox", "git", "project", "terminal", "program"} <= names


def test_a_broken_settings_file_is_found_and_not_the_end(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "localllm.toml").write_text("[llm]\nmodle = 1\n")
    assert run(["--trust-project", "doctor"]) == 1
    told = capsys.readouterr().out
    assert "localllm.toml:2" in "".join(told.split())
    assert "llm.model" in told
    assert "\nok " in told


def test_secrets_are_never_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for variable in SECRET_VARIABLES.values():
        monkeypatch.setenv(variable, SECRET)
    monkeypatch.setenv("LOCALLLM_LLM_OPENAI_API_KEY", SECRET)
    for arguments in (["doctor"], ["doctor", "--json"], ["--base-url", "http://127.0.0.1:1", "doctor"]):
        run(arguments)
        told = capsys.readouterr()
        assert "LOCALLLM_LLM_OPENAI_API_KEY" in told.out
        assert SECRET not in told.out + told.err


def test_nothing_is_changed(project: Path) -> None:
    run(["--provider", "embedded", "doctor"])
    assert list(project.iterdir()) == []
    assert [path.name for path in project.parent.iterdir()] == ["project"]
