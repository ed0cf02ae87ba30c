"""The root of the command line."""

import pytest

from localllm.cli.main import run


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["init", "--lang", "ja"], "--lang goes before the command: localllm --lang … init"),
        (["config", "show", "--debug"], "--debug goes before the command: localllm --debug … config show"),
        (["init", "--serv"], "No such option '--serv'"),
    ],
)
def test_an_option_at_the_wrong_place(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert said in capsys.readouterr().err
