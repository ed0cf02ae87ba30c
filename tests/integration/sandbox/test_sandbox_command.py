"""`localllm sandbox`: one command as the assistant would run it, and the table of what holds."""

import json
import os
import signal
import subprocess
import sys
import time
import unicodedata
from pathlib import Path
from typing import Literal

import pytest


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    return project


def start(project: Path, *arguments: str) -> "subprocess.Popen[str]":
    home = next(home for above in project.resolve().parents if (home := above / "home").is_dir())
    variables = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "MY_API_KEY": "secret"}
    return subprocess.Popen(
        [sys.executable, "-m", "localllm", *arguments],
        cwd=project,
        env={**variables, "PYTHONPATH": str(Path(__file__).parents[3])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(project: Path, *arguments: str) -> tuple[int, str, str]:
    process = start(project, *arguments)
    out, err = process.communicate("typed\n", timeout=60)
    return process.returncode, out, err


def test_a_program_with_its_arguments(project: Path) -> None:
    assert run(project, "sandbox", "--", "printf", "%s\\n", "a  b", "$HOME") == (0, "a  b\n$HOME\n", "")


def test_a_line_for_bash_its_streams_and_its_exit_code(project: Path) -> None:
    code, out, err = run(project, "sandbox", "--", "echo out; echo err >&2; env; cat; exit 7")
    assert code == 7
    assert out.startswith("out\n")
    assert "secret" not in out
    assert "typed" not in out
    assert err == "err\n"


def test_it_runs_in_the_folder_one_is_in(project: Path) -> None:
    (project / "sub").mkdir()
    assert run(project / "sub" / "..", "sandbox", "--", "pwd")[1] == f"{project}\n"


def test_what_the_rules_of_the_user_close_is_closed(project: Path) -> None:
    (project / "key.txt").write_text("hunter2")
    settings = project.parent / "home/.config/localllm/localllm.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[safety]\ndeny = ["read_file(key.txt)"]\n')
    assert "hunter2" not in run(project, "sandbox", "--", "cat", "key.txt")[1]


def test_a_project_that_is_not_trusted_closes_nothing_outside(project: Path) -> None:
    (project / "system").symlink_to("/usr")
    rules = ["read_file(system)", "*(/usr)", "write_file(../..)", "read_file(key)"]
    (project / "localllm.toml").write_text(f"[safety]\ndeny = {json.dumps(rules)}\n")
    (project / "key").write_text("closed")
    code, out, err = run(project, "sandbox", "--", "echo ran; cat key")
    assert (code, out) == (1, "ran\n")
    assert all(rule in err for rule in rules[:3])
    code, out, err = run(project, "--trust-project", "sandbox", "--", "echo ran")
    assert (code, out) == (2, "")
    assert "*(/usr)" in err


def test_a_rule_of_the_user_closes_what_its_link_leads_to(project: Path) -> None:
    (project / "system").symlink_to("/usr")
    (project / "localllm.toml").write_text('[safety]\ndeny = ["read_file(system)"]\n')
    code, out, err = run(project, "--trust-project", "sandbox", "--", "echo ran")
    assert (code, out) == (125, "")
    assert "E8066" in err
    assert "read_file(system)" in err


@pytest.mark.parametrize("typed", ["NFC", "NFD"])
def test_a_rule_closes_a_name_however_its_letters_are_written(project: Path, typed: Literal["NFC", "NFD"]) -> None:
    forms: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
    for form in forms:
        for tool, name in (("read", "パスワード/é.txt"), ("write", "ガイド/ü.txt")):
            path = project / unicodedata.normalize(form, name)
            path.parent.mkdir()
            path.write_text(f"{tool} {form}\n")
    (project / unicodedata.normalize("NFD", "パス") / "ü").mkdir(parents=True)
    (project / unicodedata.normalize("NFD", "パス") / "ü/key").write_text("read mixed\n")
    rules = ["read_file(パスワード/)", "write_file(ガイド)", "read_file(パス/ü)"]
    rules = [unicodedata.normalize(typed, rule) for rule in rules]
    (project / "localllm.toml").write_text(f"[safety]\ndeny = {json.dumps(rules, ensure_ascii=False)}\n", "utf-8")
    _, out, _ = run(project, "sandbox", "--", "for f in */*.txt */*/key; do cat $f; echo more >> $f; done")
    assert sorted(out.splitlines()) == ["write NFC", "write NFD"]
    assert "more" not in "".join(file.read_text() for file in project.rglob("*.txt"))


@pytest.mark.parametrize("rule", ["read_file(.)", "*(.)", "read_file(./)", "read_file(sub/..)", "read_file(all)"])
def test_where_a_rule_closes_the_whole_project_nothing_is_run(project: Path, rule: str) -> None:
    (project / "sub").mkdir()
    (project / "all").symlink_to(".")
    (project / "key").write_text("hunter2")
    (project / "localllm.toml").write_text(f"[safety]\ndeny = [{json.dumps(rule)}]\n")
    code, out, err = run(project, "sandbox", "--", "cat key; echo more >> key")
    assert (code, out) == (125, "")
    assert "E9027" in err
    assert rule in err
    assert (project / "key").read_text() == "hunter2"


def test_in_a_folder_of_localllms_own_nothing_is_run(project: Path) -> None:
    home = project.parent / "home"
    (home / ".local/state").mkdir(parents=True)
    refused = [".local/state/localllm/sessions", ".cache/localllm", ".config/localllm"]
    refused += [".local/state/localllm", ".local/share/localllm/collections/c"]
    for name in refused:
        folder = home / name
        folder.mkdir(parents=True, exist_ok=True)
        code, out, err = run(folder, "sandbox", "--", "echo x > trusted.json; cat *")
        assert (code, out, "E9029" in err) == (125, "", True), name
        assert str(folder) in err
        assert not (folder / "trusted.json").exists()
    for name in (".local/share/localllm/reports", ".config/localllm/skills"):
        (home / name).mkdir(parents=True)
        assert run(home / name, "sandbox", "--", "echo x > made; cat made")[:2] == (0, "x\n"), name


def test_what_it_may_not_do_is_said(project: Path) -> None:
    code, _, err = run(project, "sandbox", "--", "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; touch /etc/x")
    assert code == 1
    assert "[Sandbox:" in err
    assert not (project / ".git/hooks/pre-commit").exists()


def test_too_long_and_killed(project: Path) -> None:
    code, _, err = run(project, "sandbox", "--timeout", "0.3", "--", "sleep", "60")
    assert (code, "still running after 0.3 s" in err) == (124, True)
    assert run(project, "sandbox", "--", "kill -9 $$")[0] == 137


def test_not_run_at_all(project: Path) -> None:
    (project.parent / "home" / ".git").mkdir()
    code, _, err = run(project.parent / "home", "sandbox", "--", "true")
    assert (code, "E9020" in err) == (125, True)


@pytest.mark.parametrize(
    "arguments", [(), ("--json", "--", "true"), ("--probe", "--", "true"), ("--timeout", "0", "true")]
)
def test_usage(project: Path, arguments: tuple[str, ...]) -> None:
    assert run(project, "sandbox", *arguments)[0] == 2


def test_an_interrupt_ends_it(project: Path) -> None:
    process = start(project, "sandbox", "--", "echo begun > begun; sleep 60; echo done > done")
    deadline = time.monotonic() + 30
    while not (project / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert not (project / "done").exists()


def test_the_table(project: Path) -> None:
    code, out, _ = run(project, "sandbox", "--probe", "--json")
    told = json.loads(out)
    assert code == int(not all(attempt["ok"] for attempt in told["attempts"]))
    assert told["network"] == "off"
    assert {attempt["name"] for attempt in told["attempts"]} >= {"write", "read", "tcp", "unix", "survivors", "files"}
    for language, word in (("en", "Tried; must be blocked"), ("ja", "試したこと")):
        _, out, _ = run(project, "--lang", language, "sandbox", "--probe")
        assert word in out
