"""Which files of a project a command line in git's settings may run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from localllm.sandbox.git_config import Setting
from localllm.sandbox.git_programs import named_files, runs_from_folder


def named(line: str, folder: Path) -> list[str]:
    found, is_complete = named_files([Setting("filter", "x", "clean", line)], [str(folder)], "/people/ann", "/nowhere")
    assert is_complete
    return [path.removeprefix(f"{folder}/") for path in found]


def test_a_file_with_a_blank_in_quotation_marks_is_named(tmp_path: Path) -> None:
    assert "dev tools/clean.sh" in named('sh "dev tools/clean.sh" -x', tmp_path)


def test_a_module_is_named_as_file_and_as_package(tmp_path: Path) -> None:
    assert {"json.py", "json"} <= set(named("python3 -m json.tool", tmp_path))


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("python3 -mtool", "tool.py"),
        ("sed -fx.sed", "x.sed"),
        ("cd tools && python3 x.py", "tools/x.py"),
        ("PYTHONPATH=tools:lib python3 -m x", "lib/x.py"),
        ("python3 strip.py", "strip.py"),
    ],
)
def test_what_is_not_there_yet_is_named(tmp_path: Path, line: str, name: str) -> None:
    assert name in named(line, tmp_path)


def test_a_word_that_is_no_file_is_not(tmp_path: Path) -> None:
    assert named("black --quiet strip", tmp_path) == []


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        (Setting("alias", "", "fix", "rebase -x ./x main"), "x"),
        (Setting("alias", "", "fix", "bisect run tools/x"), "tools/x"),
        (Setting("alias", "", "st", "status tools/x"), ""),
        (Setting("lfs", "customtransfer.a", "args", "x.py -v"), "x.py"),
    ],
)
def test_aliases_and_arguments(tmp_path: Path, setting: Setting, name: str) -> None:
    (tmp_path / "x.py").touch()
    found, _ = named_files([setting], [str(tmp_path)], "/people/ann", "/nowhere")
    assert (f"{tmp_path}/{name}" in found) if name else not found


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        (Setting("gpg", "ssh", "allowedsignersfile", ".signers"), ".signers"),
        (Setting("http", "https://example.org/", "sslcainfo", "ca.pem"), "ca.pem"),
        (Setting("core", "", "attributesfile", "{root}/attributes"), "attributes"),
        (Setting("core", "", "excludesfile", "~/ignored"), "/people/ann/ignored"),
        (Setting("core", "", "excludesfile", "ignored"), ""),
        (Setting("blame", "", "ignorerevsfile", ".git-blame-ignore-revs"), ""),
        (Setting("commit", "", "template", "message"), ""),
        (Setting("svn", "", "authorsprog", "./authors"), "authors"),
        (Setting("annex", "", "freezecontent-command", "./freeze %path"), "freeze"),
    ],
)
def test_files_that_git_believes(tmp_path: Path, setting: Setting, name: str) -> None:
    setting = setting._replace(value=setting.value.replace("{root}", str(tmp_path)))
    found, _ = named_files([setting], [str(tmp_path)], "/people/ann", "/nowhere")
    assert (str(tmp_path / name) in found) if name else not found


@pytest.mark.parametrize(
    ("line", "may_run"),
    [
        ("git-lfs clean -- %f", False),
        ("git-lfs filter-process", False),
        ("sed s/a/b/", False),
        ("/usr/bin/python3 /opt/clean.py", False),
        ("nbstripout", False),
        ("python3 -m json.tool", True),
        ("/usr/bin/python3.11 -m nbstripout", True),
        ("python3 clean.py", True),
        ("sh -c cat", True),
        ("make -s clean", True),
        ("npm run clean", True),
        ("sed -f tools/x.sed", True),
        ("sed -ftools/x.sed", True),
        ("sed --file=tools/x.sed", True),
        ("tools/x.sed", True),
        ("{root}/tools/x.sed", True),
        ("{root}/../link", True),
        ("cat; tools/x.sed", True),
        ('cat "', True),
    ],
)
def test_what_may_run_something_of_the_project(tmp_path: Path, line: str, may_run: bool) -> None:
    root = tmp_path / "project"
    (root / "tools").mkdir(parents=True)
    (root / "tools/x.sed").touch()
    (tmp_path / "link").symlink_to(root / "tools/x.sed")
    assert runs_from_folder(line.replace("{root}", str(root)), [str(root)]) is may_run


@pytest.mark.parametrize(
    ("where", "may_run"),
    [
        (["usr"], False),
        (["usr", "shims"], False),
        (["shims"], True),
        (["shims", "usr"], False),  # git finds the second, as its PATH has no shims
        (["linked"], True),
        (["linked", "usr"], True),  # it finds the first
        (["project/bin"], True),
        ([], False),  # what is not installed at all is reported by git itself
    ],
)
def test_a_filter_whose_version_the_project_chooses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: list[str], may_run: bool
) -> None:
    for name in ("usr/jq", "shims/jq", "programs/mise", "project/bin/jq"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/jq").symlink_to("../programs/mise")
    monkeypatch.setenv("PATH", os.pathsep.join(str(tmp_path / name) for name in where))
    root = str(tmp_path / "project")
    assert runs_from_folder("jq -S", [root]) is may_run
    assert runs_from_folder(f"{tmp_path}/shims/jq -S", [root])
    assert runs_from_folder(f"{tmp_path}/linked/jq -S", [root])
    assert not runs_from_folder(f"{tmp_path}/usr/jq -S", [root])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_nobody_waits_for_a_pipe_in_the_place_of_a_program(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "cat", 0o755)
    code = (
        "import sys; from localllm.sandbox.git_programs import runs_from_folder; "
        "print(runs_from_folder('./cat', [sys.argv[1]]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    path = os.pathsep.join(sys.path)
    ran = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, timeout=60, check=True, capture_output=True
    )
    assert ran.stdout.strip() == b"True"


def test_a_library_of_awk_in_the_folder(tmp_path: Path) -> None:
    assert not runs_from_folder("gawk -i inplace {print}", [str(tmp_path)])
    (tmp_path / "inplace.awk").touch()
    assert runs_from_folder("gawk -i inplace {print}", [str(tmp_path)])
