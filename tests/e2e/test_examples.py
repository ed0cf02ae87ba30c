"""The examples do what their READMEs say."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from localllm.base.events import Json
from localllm.config.loader import Loaded, load
from localllm.safety.policy import Policy
from tests.support.wire_server import WireServer, says

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_fix_a_bug(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shutil.copytree(EXAMPLES / "fix_a_bug", shop)
    (command,) = re.findall(r"^localllm (.*)$", (shop / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    done = subprocess.run(
        [sys.executable, "-m", "localllm", *shlex.split(command)],
        cwd=shop,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LOCALLLM_STATE_DIR": str(tmp_path / "state")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "(1 - discount)" in (shop / "prices.py").read_text(encoding="utf-8")
    tests = subprocess.run([sys.executable, "-m", "unittest", "-q"], cwd=shop, capture_output=True, check=False)
    assert tests.returncode == 0
    assert done.stdout.startswith("Fixed:")


class TestSettings:
    """The file of the design papers, as it stands there."""

    @pytest.fixture
    def project(self, tmp_path: Path) -> Path:
        project = tmp_path / "project"
        project.mkdir()
        shutil.copy(EXAMPLES / "settings" / "localllm.toml", project)
        return project

    def test_every_key_counts_and_is_explained(self, project: Path) -> None:
        written = flat(tomllib.loads((project / "localllm.toml").read_text(encoding="utf-8")))
        loaded = loaded_here(project, trusted=True)
        assert loaded.warnings == ()
        assert loaded.withheld == ()
        assert loaded.origins.keys() == written.keys()
        holds = flat(msgspec.json.decode(msgspec.json.encode(loaded.settings)))
        assert {key: holds[key] for key in written} == written
        explained = (EXAMPLES / "settings" / "README.md").read_text(encoding="utf-8")
        assert re.findall(r"^\| `([\w.]+)` \|", explained, re.MULTILINE) == list(written)

    def test_without_trust_nothing_of_it_waits(self, project: Path) -> None:
        loaded = loaded_here(project, trusted=False)
        assert (loaded.withheld, loaded.warnings) == ((), ())
        assert set(loaded.settings.safety.dangerous_commands) == {"rm -rf", "format", "del /s"}

    def test_the_dangerous_commands_are_those_it_names_and_our_own(self, project: Path) -> None:
        policy = Policy(loaded_here(project, trusted=True).settings.safety)
        dangerous = {
            line: policy.dangerous_part(line)
            for line in ("rm -rf x", "format c:", "del /s x", "ruff format .", "sudo ls")
        }
        named = {"rm -rf x": "rm -rf", "format c:": "format", "del /s x": "del /s"}
        assert dangerous == named | {"ruff format .": "", "sudo ls": "sudo"}

    def test_a_chat_goes_by_it(self, project: Path, tmp_path: Path) -> None:
        with WireServer([says("Done.")], models=("llama3",)) as server:
            done = subprocess.run(
                [sys.executable, "-m", "localllm"],
                cwd=project,
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": str(tmp_path),
                    "LOCALLLM_STATE_DIR": str(tmp_path / "state"),
                    "LOCALLLM_LLM_LMSTUDIO_BASE_URL": server.url,
                    "COLUMNS": "200",
                },
                input="/optimize\n/exit\n",
                capture_output=True,
                text=True,
                check=False,
            )
            (body,) = server.bodies()
        assert done.returncode == 0, done.stderr
        assert (body["model"], body["temperature"]) == ("llama3", 0.1)
        assert body["messages"][1]["content"].startswith("コードを最適化してください")
        assert "The alias “analyze” is not used" in done.stdout + done.stderr


def loaded_here(project: Path, *, trusted: bool) -> Loaded:
    return load(project, environ={"HOME": str(project.parent)}, trusted=trusted)


def flat(table: dict[str, Any], above: str = "") -> dict[str, Json]:
    """The values of a settings file by their dotted keys."""
    found: dict[str, Json] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            found |= flat(cast("dict[str, Any]", value), f"{above}{name}.")
        else:
            found[above + name] = value
    return found
