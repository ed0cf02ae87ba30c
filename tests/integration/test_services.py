"""The files of `localllm init --services`: Docker Compose takes them, and a real searx starts with them.

No container engine is run. Debian's searx comes without the settings on which SearxNG builds ours; the test has some.
"""

import json
import os
import shutil
import socket
import subprocess
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml

from localllm.app.init import set_up
from tests.support.searx import PACKAGE, PYTHON, SETTINGS, served

SCHEMA = Path("/usr/lib/python3/dist-packages/compose/config/compose_spec.json")
WEIGHTS = {"google": 1.0, "bing": 0.8, "duckduckgo": 0.9, "qwant": 0.7}
VALIDATE = "import json, sys, jsonschema; jsonschema.validate(json.load(sys.stdin), json.load(open(sys.argv[1])))"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    set_up(tmp_path, services=True)
    return tmp_path


def validate(compose: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [PYTHON, "-c", VALIDATE, str(SCHEMA)], input=json.dumps(compose), capture_output=True, text=True, check=False
    )


def test_compose_yaml_is_what_the_specification_says(folder: Path) -> None:
    compose = yaml.safe_load((folder / "compose.yaml").read_text("utf-8"))
    judged = validate(compose)
    assert judged.returncode == 0, judged.stderr
    assert validate(compose | {"services": {"searxng": {"imagine": "x"}}}).returncode != 0, "the schema says no as well"
    program = shutil.which("docker-compose")
    assert program is not None
    read = subprocess.run(
        [program, "-f", str(folder / "compose.yaml"), "config", "-q"], capture_output=True, text=True, check=False
    )
    assert read.returncode == 0, read.stderr


def test_every_mounted_file_is_there_and_every_service_has_a_health_check(folder: Path) -> None:
    compose = yaml.safe_load((folder / "compose.yaml").read_text("utf-8"))
    mounts = [mount for service in compose["services"].values() for mount in service["volumes"]]
    files = [mount.split(":")[0] for mount in mounts if mount.startswith("./")]
    assert sorted(files) == ["./searxng/limiter.toml", "./searxng/settings.yml"]
    assert all((folder / name).is_file() for name in files)
    assert {mount.split(":")[0] for mount in mounts} - {*files} == set(compose["volumes"])
    assert all("healthcheck" in service for service in compose["services"].values())


def test_a_real_searx_starts_with_the_settings(folder: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    package = folder / "packages" / "searx"
    package.mkdir(parents=True)
    for entry in PACKAGE.iterdir():
        (package / entry.name).symlink_to(entry)
    engines = [{"name": name, "engine": name, "shortcut": name[:2], "weight": 5} for name in [*WEIGHTS, "wikipedia"]]
    own = SETTINGS.format(
        port=port, folder=folder, seconds=2, engines="\n".join(f"- {json.dumps(one)}" for one in engines)
    )
    (package / "settings.yml").write_text(own)
    settings = folder / "searxng" / "settings.yml"
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(package.parent)}
    with served(folder, port, {**environ, "SEARX_SETTINGS_PATH": str(settings)}) as url:
        with urlopen(f"{url}/config", timeout=10) as answer:
            config = json.load(answer)
        assert sorted(engine["name"] for engine in config["engines"]) == sorted(WEIGHTS)
        assert all(engine["enabled"] for engine in config["engines"])
        with urlopen(f"{url}/search?q=test&format=json", timeout=30) as answer:
            found = json.load(answer)
        assert found["query"] == "test"
    written = yaml.safe_load(settings.read_text("utf-8"))
    assert {engine["name"]: engine["weight"] for engine in written["engines"]} == WEIGHTS
    assert written["search"]["default_lang"] == "ja"
