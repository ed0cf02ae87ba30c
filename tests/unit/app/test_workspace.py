"""`set_up`: what it makes, and that it never overwrites or loses anything."""

import os
import re
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.app.init import Step, present, set_up, settings_template
from localllm.base.errors import ConfigurationError
from localllm.base.i18n import set_language
from localllm.config.editor import set_value
from localllm.config.keys import all_settings
from localllm.config.loader import load
from localllm.config.reader import file_values

STAMP = "20260102-030405"


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    set_language("en")
    yield
    set_language("en")


def done(steps: list[Step]) -> dict[str, str]:
    return {step.path.name: step.done for step in steps}


def content(folder: Path) -> dict[str, bytes | str]:
    """Everything in a folder: files with their bytes, links with where they lead."""
    return {
        str(path.relative_to(folder)): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


class TestSetUp:
    def test_an_empty_folder(self, tmp_path: Path) -> None:
        folder = tmp_path / "a" / "b"
        assert done(set_up(folder)) == {".localllm": "made", "localllm.toml": "made", "LOCALLLM.md": "made"}
        own = [".localllm/.gitignore", ".localllm/init.json"]
        assert sorted(content(folder)) == [*own, "LOCALLLM.md", "localllm.toml"]

    def test_twice_changes_nothing(self, tmp_path: Path) -> None:
        set_up(tmp_path, services=True)
        before = content(tmp_path)
        assert set(done(set_up(tmp_path, services=True)).values()) == {"kept"}
        assert content(tmp_path) == before

    def test_what_is_there_stays(self, tmp_path: Path) -> None:
        (tmp_path / "LOCALLLM.md").write_text("mine")
        (tmp_path / "compose.yaml").write_text("mine too")
        steps = done(set_up(tmp_path, services=True))
        assert (steps["LOCALLLM.md"], steps["compose.yaml"], steps["settings.yml"]) == ("added", "kept", "made")
        assert (tmp_path / "LOCALLLM.md").read_text().startswith("mine\n\n")
        assert (tmp_path / "compose.yaml").read_text() == "mine too"

    @pytest.mark.parametrize("target", ["there", "nowhere"])
    def test_links_are_left_alone(self, tmp_path: Path, target: str) -> None:
        (tmp_path / "there").write_text("outside")
        folder = tmp_path / "project"
        folder.mkdir()
        (folder / "LOCALLLM.md").symlink_to(tmp_path / target)
        assert done(set_up(folder))["LOCALLLM.md"] == "link"
        assert (tmp_path / "there").read_text() == "outside"
        assert not (tmp_path / "nowhere").exists()

    def test_a_link_in_the_place_of_a_folder_we_write_to(self, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / ".localllm").symlink_to("elsewhere")
        with pytest.raises(ConfigurationError, match="symbolic link"):
            set_up(tmp_path)
        (tmp_path / ".localllm").unlink()
        (tmp_path / "searxng").symlink_to("elsewhere")
        with pytest.raises(ConfigurationError, match="symbolic link"):
            set_up(tmp_path, services=True)
        assert list((tmp_path / "elsewhere").iterdir()) == []

    def test_things_in_the_way(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(ConfigurationError, match="Not a directory"):
            set_up(tmp_path / "file")
        with pytest.raises(ConfigurationError, match="Not a directory"):
            set_up(tmp_path / "file" / "below")
        (tmp_path / "localllm.toml").mkdir()
        with pytest.raises(ConfigurationError, match=r"localllm\.toml is in the way"):
            set_up(tmp_path)

    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/sys is of Linux")
    def test_a_folder_nobody_can_write_to(self) -> None:
        with pytest.raises(ConfigurationError):
            set_up(Path("/sys"))


class TestClear:
    def test_everything_is_renamed_and_made_anew(self, tmp_path: Path) -> None:
        set_up(tmp_path)
        (tmp_path / "LOCALLLM.md").write_text("mine")
        (tmp_path / ".localllm" / "session").write_text("log")
        (tmp_path / "other").write_text("not ours")
        set_up(tmp_path, stamp=STAMP)
        found = content(tmp_path)
        assert found[f"LOCALLLM.md.old-{STAMP}"] == b"mine"
        assert found[f".localllm.old-{STAMP}/session"] == b"log"
        assert found["other"] == b"not ours"
        assert b"Project Memory" in found["LOCALLLM.md"]
        assert ".localllm/session" not in found

    def test_names_are_never_used_twice(self, tmp_path: Path) -> None:
        for text in ("first", "second", "third"):
            (tmp_path / "LOCALLLM.md").write_text(text)
            set_up(tmp_path, stamp=STAMP)
        olds = sorted(path.read_text() for path in tmp_path.glob("LOCALLLM.md.old-*"))
        assert olds == ["first", "second", "third"]

    def test_a_link_is_renamed_and_not_what_it_leads_to(self, tmp_path: Path) -> None:
        (tmp_path / "outside").write_text("outside")
        folder = tmp_path / "project"
        folder.mkdir()
        (folder / "LOCALLLM.md").symlink_to(tmp_path / "outside")
        set_up(folder, stamp=STAMP)
        assert (folder / f"LOCALLLM.md.old-{STAMP}").is_symlink()
        assert (tmp_path / "outside").read_text() == "outside"

    def test_nothing_to_move(self, tmp_path: Path) -> None:
        assert present(tmp_path) == []
        assert set(done(set_up(tmp_path, stamp=STAMP)).values()) == {"made"}

    @pytest.mark.parametrize("limit", [1, 100])
    def test_a_failure_half_way_gives_the_old_names_back(self, tmp_path: Path, limit: int) -> None:
        """The system lets the program write no file longer than `limit` bytes: not even .gitignore, or only that."""
        set_up(tmp_path)
        (tmp_path / "LOCALLLM.md").write_text("mine")
        (tmp_path / ".localllm" / "session").write_text("log")
        before = content(tmp_path)
        code = (
            "import resource, sys; from pathlib import Path; from localllm.app.init import set_up\n"
            f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
            f"set_up(Path(sys.argv[1]), stamp={STAMP!r})"
        )
        failed = subprocess.run(
            [sys.executable, "-B", "-c", code, tmp_path], capture_output=True, text=True, check=False
        )
        assert "ConfigurationError" in failed.stderr
        after = content(tmp_path)
        assert (after["LOCALLLM.md"], after["localllm.toml"]) == (b"mine", before["localllm.toml"])
        if limit == 1:
            assert after == before
        else:  # the folder was made anew already: the old one keeps its new name, and the error says so
            assert after[f".localllm.old-{STAMP}/session"] == b"log"
            assert f".localllm.old-{STAMP}" in failed.stderr


class TestSettingsFile:
    @pytest.mark.parametrize("language", ["en", "ja"])
    def test_it_sets_nothing_and_its_examples_are_the_defaults(self, tmp_path: Path, language: str) -> None:
        set_language(language)
        text = settings_template()
        assert list(file_values(text, tmp_path, "project")) == []
        examples = re.sub(r"^# (\w+ = )", r"\1", text, flags=re.MULTILINE)
        values = {key: value for key, value, _ in file_values(examples, tmp_path, "project")}
        assert values.pop("commands.aliases.review")
        assert values.keys() >= {
            *("llm.provider", "llm.model", "llm.max_tokens", "llm.temperature", "llm.lmstudio.base_url"),
            *("llm.azure.endpoint", "llm.azure.deployment_name", "llm.gemini.base_url"),
            *("safety.require_confirmation", "safety.auto_backup", "safety.dangerous_commands"),
            *("project.include_patterns", "project.exclude_patterns", "project.memory_file"),
        }
        assert values == {key: all_settings()[key].default for key in values}
        assert max(map(len, text.splitlines())) <= 100

    def test_config_set_puts_a_value_into_its_table(self, tmp_path: Path) -> None:
        set_up(tmp_path)
        file = tmp_path / "localllm.toml"
        lines = file.read_text().splitlines()
        set_value(file, "llm.model", "qwen3")
        set_value(file, "commands.aliases.t", "run the tests")
        assert tomllib.loads(file.read_text())["llm"]["model"] == "qwen3"
        assert [line for line in file.read_text().splitlines() if line not in lines] == [
            'model = "qwen3"',
            't = "run the tests"',
        ]
        assert load(tmp_path, environ={"HOME": str(tmp_path)}).settings.llm.model == "qwen3"


class TestServices:
    def test_only_this_machine_can_reach_them_and_images_are_pinned(self, tmp_path: Path) -> None:
        set_up(tmp_path, services=True)
        compose = (tmp_path / "compose.yaml").read_text()
        ports = re.findall(r'- "(\S+:\d+:\d+)"', compose)
        assert len(ports) == 1, "nobody outside needs Valkey"
        assert all(port.startswith("127.0.0.1:") for port in ports)
        images = re.findall(r"image: (\S+)", compose)
        assert len(images) == 2
        assert [image.rpartition(":")[2] for image in images if "valkey" in image] == ["8-alpine"]
        assert all(re.search(r":\d{1,4}[.-]", image) for image in images)
        assert compose.count("healthcheck:") == 2

    def test_the_containers_user_can_read_its_settings_whatever_the_umask(self, tmp_path: Path) -> None:
        before = os.umask(0o077)
        try:
            set_up(tmp_path, services=True)
        finally:
            os.umask(before)
        modes = [
            stat.S_IMODE((tmp_path / name).stat().st_mode)
            for name in ("searxng", "searxng/settings.yml", "searxng/limiter.toml")
        ]
        assert modes == [0o755, 0o644, 0o644]
        assert stat.S_IMODE((tmp_path / "compose.yaml").stat().st_mode) == 0o600

    def test_the_key_is_new_each_time_and_git_ignores_it(self, tmp_path: Path) -> None:
        keys = set()
        for name in ("a", "b"):
            set_up(tmp_path / name, services=True)
            settings = (tmp_path / name / "searxng" / "settings.yml").read_text()
            keys |= set(re.findall(r'secret_key: "([0-9a-f]{64})"', settings))
            assert "- json" in settings
            assert "limiter: true" in settings
            limiter = tomllib.loads((tmp_path / name / "searxng" / "limiter.toml").read_text())
            assert {"127.0.0.0/8", "172.16.0.0/12"} <= {*limiter["botdetection"]["ip_lists"]["pass_ip"]}
            assert (tmp_path / name / "searxng" / ".gitignore").read_text() == "settings.yml\n"
        assert len(keys) == 2
