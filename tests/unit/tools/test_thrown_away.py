"""What a command has put into its own /tmp or home is said to be gone, unless it was used there."""

import json
from pathlib import Path
from time import process_time

import pytest

from localllm.base.events import ToolCall
from localllm.config.schema import SafetySettings
from localllm.safety.rules import line_of
from localllm.sandbox.runner import CommandResult
from localllm.tools.thrown_away import put_away
from tests.support.agents import make_tools
from tests.support.each import each
from tests.support.sandbox_world import level_here

ROOT = Path("/srv/shop")
HOME = "/srv/kim"


def told(command: str, root: Path = ROOT, *, stderr: str = "", level: str = "namespaces", code: int = 0) -> str:
    result = CommandResult(return_code=code, stdout="", stderr=stderr, execution_time=0.0, level=level)
    return "".join(phrase.english for phrase in put_away(command, ".", root, result))


GONE = [
    ("mkdir -p /tmp/backup && cp shop/cart.py /tmp/backup/ && rm shop/cart.py", "/tmp/backup/"),
    ("cp shop/cart.py ~/cart.bak", "~/cart.bak"),
    ("cp shop/cart.py ~/cart.bak && ls -l ~/cart.bak", "~/cart.bak"),
    ('cp a.py "$HOME/a.bak" && echo "saved to $HOME/a.bak"', "$HOME/a.bak"),
    ("cp a.py /srv/kim/a.bak", "/srv/kim/a.bak"),
    ("cp -t /tmp/keep a.py b.py", "/tmp/keep"),
    ("rsync -a src/ /var/tmp/src/", "/var/tmp/src/"),
    ("tar -czf ~/shop.tgz .", "~/shop.tgz"),
    ("tar czf /tmp/shop.tgz shop && rm -r shop", "/tmp/shop.tgz"),
    ("zip -r ~/shop.zip .", "~/shop.zip"),
    ("cat a.py | tee /tmp/a.bak > /dev/null", "/tmp/a.bak"),
    ("git config --global user.name Kim", "~/.gitconfig"),
    ("echo alias ll=ls >> ~/.bashrc", "~/.bashrc"),
    ("for f in *.py; do cp $f /tmp/bk/; done", "/tmp/bk/"),
    ("bash -c 'cp a.py ~/a.bak'", "~/a.bak"),
]
KEPT = [
    "cp a.py b.py",
    "cp -r . /tmp/build && cd /tmp/build && make",
    "cp a.py /tmp/a.py; git checkout -q HEAD~1; diff a.py /tmp/a.py",
    "cp data.db /tmp/x.db && sqlite3 /tmp/x.db .dump",
    "cp a.py /tmp/ && cd /tmp && python3 a.py",
    "cp a.py /tmp/t && cp /tmp/t A.py",
    "tar -xzf /tmp/a.tgz",
    "tar -czf shop.tgz .",
    "tar -czf /tmp/s.tgz . && mv /tmp/s.tgz shop.tgz",
    "cp ~/.bashrc bashrc",
    "git config --global --list",
    "git config --global user.name",
    "git config --global user.email k@example.org && git commit -m x",
    "git config user.name Kim",
    "gcc -o /tmp/t t.c && /tmp/t",
    "python3 -m pytest > /tmp/log 2>&1; tail /tmp/log",
    "npm test 2>&1 | tee /tmp/log | tail -3; grep -c ok /tmp/log",
    "cp data.db /tmp/x.db && python3 - <<'END'\nimport sqlite3\nsqlite3.connect('/tmp/x.db')\nEND",
    "cp a.py b.py /tmp/keep/; for f in /tmp/keep/*; do wc -l < $f; python3 $f; done",
    "cp a.py /mnt/share/a.py",
    "echo 'cp a ~/b'",
]


@each("command, path", GONE)
def test_what_was_put_away_is_named(monkeypatch: pytest.MonkeyPatch, command: str, path: str) -> None:
    monkeypatch.setenv("HOME", HOME)
    assert told(command).startswith(f"What was put into {path} is gone: ")


@each("command", KEPT)
def test_what_is_used_or_stays_is_not_named(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("HOME", HOME)
    assert told(command) == ""


def test_a_project_in_the_home_or_in_tmp_is_none_of_these(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", HOME)
    assert told("cp a.py /srv/kim/shop/b.py", Path("/srv/kim/shop")) == ""
    assert told("cp a.py /tmp/shop/b.py", Path("/tmp/shop")) == ""
    assert told("cp a.py ~/shop/b.py", Path("/srv/kim/shop")) == ""


def test_what_could_not_be_put_there_or_is_not_confined_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", HOME)
    assert told("cp a.py /tmp/x/b.py", stderr="cp: cannot create regular file '/tmp/x/b.py'") == ""
    assert told("cp a.py ~/b.py", level="none") == ""
    assert told("make && cp a.out /tmp/a.out", code=2) == ""
    assert told("set -e; make; cp a.out /tmp/a.out", code=2) == ""
    assert told("make || exit 1; cp a.out /tmp/a.out", code=1) == ""
    assert told("cp a.py ~/a.bak; make", code=2)


def test_a_long_script_is_soon_looked_through() -> None:
    def seconds(count: int) -> float:
        line = line_of("; ".join(f"cp a{number} /tmp/b{number}" for number in range(count)))
        assert line.commands
        began = process_time()
        assert told(line.text)
        return process_time() - began

    assert seconds(800) < 8 * seconds(200) + 0.1


@pytest.mark.anyio
@pytest.mark.on_disk
@pytest.mark.skipif(level_here() == "none", reason="nothing confines commands here")
async def test_user_and_model_are_told_of_a_copy_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    tools = make_tools(tmp_path, safety=SafetySettings(mode="auto"))
    told: list[str] = []
    call = ToolCall("1", "run_command", json.dumps({"command": "mkdir -p ~/keep && cp a.py ~/keep && rm a.py"}))
    result = await tools.execute(call, lambda event: told.append(getattr(event, "text", "")))
    assert "[What was put into ~/keep is gone: " in result.for_model
    assert any("put into ~/keep is gone" in text for text in told)
