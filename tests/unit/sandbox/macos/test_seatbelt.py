"""The profile for macOS, as text: nothing here runs on a Mac."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from localllm.sandbox.backend import Surroundings
from localllm.sandbox.environment import Visibility
from localllm.sandbox.macos.seatbelt import PROGRAM, Rules, SeatbeltConfinement, profile, protected_pattern
from localllm.sandbox.scratch import Scratch

ROOT = "/Users/me/my (project)"
RULES = Rules(
    writable=[ROOT, "/private/tmp/scratch"],
    hidden=["/Users/me", "/private/tmp"],
    shown=["/Users/me/.cargo"],
    pinned=[f"{ROOT}/.git/hooks"],
    held=[f"{ROOT}/.git"],
)


def rule(text: str, parameters: dict[str, str], begins: str) -> list[tuple[int, list[str]]]:
    """Where the rules stand that begin so, and the paths in each."""
    return [
        (number, [parameters[name] for name in re.findall(r'\(param "(P\d+)"\)', line)])
        for number, line in enumerate(text.splitlines())
        if line.startswith(f"({begins} ")
    ]


def test_everything_is_denied_that_is_not_allowed() -> None:
    text, _ = profile(RULES)
    assert text.splitlines()[:2] == ["(version 1)", "(deny default)"]
    assert text.count("(") == text.count(")")


def test_what_is_hidden_and_what_is_shown_all_the_same() -> None:
    text, parameters = profile(RULES)
    [(hidden_at, hidden), _] = rule(text, parameters, "deny file-read*")
    [(shown_at, shown)] = rule(text, parameters, "allow file-read*")
    assert hidden == ["/Users/me", "/private/tmp"]
    assert shown == ["/Users/me/.cargo", ROOT, "/private/tmp/scratch"]
    assert text.splitlines().index("(allow file-read*)") < hidden_at < shown_at


def test_what_is_hidden_among_what_is_shown() -> None:
    inner = "/Users/me/.pyenv/pip.conf"
    rules = Rules(writable=[ROOT], hidden=["/Users/me", inner], shown=["/Users/me/.pyenv"])
    text, parameters = profile(rules)
    [_, (denied_at, denied), _] = rule(text, parameters, "deny file-read*")
    [(shown_at, _)] = rule(text, parameters, "allow file-read*")
    assert denied == [inner]
    assert shown_at < denied_at


def test_writing_and_what_is_protected_of_it() -> None:
    text, parameters = profile(RULES)
    [(write_at, writable)] = rule(text, parameters, "allow file-write*")
    assert writable == [ROOT, "/private/tmp/scratch"]
    assert '(deny file-read* file-write* (regex #"^/dev/(tty|cu|pty)"))' in text  # other terminals of the user's
    pinned, by_name = rule(text, parameters, "deny file-write*")
    assert pinned[1] == [f"{ROOT}/.git/hooks"]
    [(held_at, held)] = rule(text, parameters, "deny file-write-unlink")
    assert held == [f"{ROOT}/.git", ROOT]
    assert write_at < pinned[0] < by_name[0] < held_at


@pytest.mark.parametrize(
    "path",
    [
        *(".git/hooks", ".git/hooks/pre-commit", "sub/.git/config", ".GIT/Hooks/x", ".envrc", "a/b/.VSCode/tasks.json"),
        *("localllm.toml", ".github/workflows/new.yml", "a/.newtool/mcp.json"),
    ],
)
def test_protected_names_in_any_case_and_at_any_depth(path: str) -> None:
    assert re.fullmatch(protected_pattern(ROOT), f"{ROOT}/{path}")


@pytest.mark.parametrize(
    "path", ["src/a.py", ".github/x", ".git/objects/x", "xgit/hooks", "notlocalllm.toml", ".envrc2", "a/mcp.json"]
)
def test_what_is_not(path: str) -> None:
    assert not re.fullmatch(protected_pattern(ROOT), f"{ROOT}/{path}")
    assert not re.fullmatch(protected_pattern(ROOT), f"/elsewhere/{path}")


def test_the_network() -> None:
    text, _ = profile(RULES)
    assert text.endswith("(deny network*)")
    assert "network-outbound" not in text
    with_proxy, _ = profile(Rules(writable=[ROOT], proxy_port=3128))
    assert with_proxy.endswith('(deny network*)\n(allow network-outbound (remote ip "localhost:3128"))')


def test_a_path_is_a_parameter_and_never_a_part_of_the_profile() -> None:
    evil = '/Users/me/x")(allow default)("'
    text, parameters = profile(Rules(writable=["/p"], hidden=[evil]))
    assert "allow default" not in text
    assert evil in parameters.values()
    root = 'my "odd" (project)\\'
    assert "odd" in profile(Rules(writable=[f"/Users/{root}"]))[0]
    for odd in ('"', "(p", "\\"):
        assert odd not in protected_pattern(f"/Users/{root}").partition("/(.*/)")[0]
    assert re.fullmatch(protected_pattern(f"/Users/{root}"), f"/Users/{root}/.envrc")


def test_the_command_line(tmp_path: Path) -> None:
    visibility = Visibility(homes=(), hidden=(Path("/Users/me"),), shown=(), toolchains={})
    with Scratch({}) as scratch:
        surroundings = Surroundings(pinned=(f"{tmp_path}/.envrc",), held=())
        launch = SeatbeltConfinement(tmp_path, visibility).launch("echo $HOME", tmp_path, scratch, {}, surroundings)
    program, *rest = launch.arguments
    assert program == PROGRAM
    assert rest[-1] == "echo $HOME"
    assert rest[-7:-2][:4] == ["/bin/bash", "--noprofile", "--norc", "-c"]
    given = dict(value.split("=", 1) for flag, value in pairwise(rest) if flag == "-D")
    assert f"{tmp_path}/.envrc" in given.values()
    assert launch.environment["HOME"] == str(scratch.home)
    launch.close()
