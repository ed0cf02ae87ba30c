"""What the shell completes, as it asks the program for it."""

import pytest

from localllm.cli.main import COMPLETE_VARIABLE, LATE_COMMANDS, run
from tests.support.each import each

COMPLETED = {
    "localllm rag ": "chat delete describe eval ingest list optimize reindex search show status",
    "localllm rag --": "--help",
    "localllm res": "research",
    "localllm --mode ": "plan ask auto-edit auto",
    "localllm --mo": "--mode --model",
    "localllm --provider o": "ollama openai",
    "localllm config set llm.mod": "llm.model",
    "localllm completion ": "bash zsh fish",
    "localllm --script a": "file:a",
    "localllm -m ": "file:",
    "localllm sandbox -- cat re": "file:re",
    "localllm rag search 'an unfinished": "",
    "localllm -p x ": " ".join(sorted(LATE_COMMANDS)),
}


def answer(shell: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setenv(COMPLETE_VARIABLE, f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    with pytest.raises(SystemExit) as left:
        run([])
    printed = capsys.readouterr()
    assert (left.value.code, printed.err) == (0, "")
    return printed.out


@each("words, names", COMPLETED.items())
def test_what_is_completed(
    words: str, names: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [line.partition(",") for line in answer("bash", words, monkeypatch, capsys).split()]
    assert " ".join(name if kind == "plain" else f"{kind}:{name}" for kind, _, name in found) == names


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_by_the_variable_that_the_program_reads(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(COMPLETE_VARIABLE, raising=False)
    assert run(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"{COMPLETE_VARIABLE}={shell}_complete" in script
    assert "localllm" in script


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "csh"]) == 2
    assert "fish" in capsys.readouterr().err
