"""`localllm config`, as a user would type it."""

import json
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from localllm.base import i18n
from localllm.base.errors import ConfigurationError
from localllm.cli.config import config
from localllm.config.keys import all_settings
from localllm.config.schema import SECRET_VARIABLES
from localllm.text.sanitising import display_width

SECRET = "sk-do-not-show-me"


class Desk:
    """A project folder one works in, and a user's settings file."""

    def __init__(self, folder: Path) -> None:
        self.user = folder / "user" / "localllm.toml"
        self.project = folder / "project" / "localllm.toml"
        self.project.parent.mkdir()
        (self.project.parent / ".git").mkdir()
        self.environ = {"LOCALLLM_CONFIG_DIR": str(self.user.parent), "HOME": str(folder), "LC_ALL": "C"}

    def run(self, *arguments: str, command: click.Command = config, **environ: str) -> Result:
        return CliRunner().invoke(command, arguments, env={**self.environ, **environ}, catch_exceptions=True)

    def ok(self, *arguments: str, **environ: str) -> str:
        result = self.run(*arguments, **environ)
        assert result.exception is None, result.exception
        return result.stdout

    def error(self, *arguments: str, **environ: str) -> ConfigurationError:
        result = self.run(*arguments, **environ)
        assert isinstance(result.exception, ConfigurationError)
        assert result.exception.exit_code == 2
        return result.exception


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    for name in [name for name in os.environ if name.startswith("LOCALLLM_") or name in SECRET_VARIABLES.values()]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("COLUMNS", raising=False)
    desk = Desk(tmp_path)
    monkeypatch.chdir(desk.project.parent)
    yield desk
    i18n.set_language("en")


class TestGet:
    def test_a_value_alone(self, desk: Desk) -> None:
        desk.project.write_text('[llm]\nmodel = "llama3"\n[safety]\ndeny = ["a", "b, c"]\n')
        assert desk.ok("get", "llm.model") == "llama3\n"
        assert desk.ok("get", "llm.max_tokens") == "8192\n"
        assert desk.ok("get", "safety.auto_backup") == "true\n"
        assert desk.ok("get", "safety.deny") == '["a", "b, c"]\n'
        assert desk.ok("get", "llm.model", LOCALLLM_LLM_MODEL="other") == "other\n"

    def test_a_table(self, desk: Desk) -> None:
        desk.project.write_text('[commands.aliases]\na = "A"\n')
        assert tomllib.loads(desk.ok("get", "llm.openai"))["llm"]["openai"]["base_url"] == "http://localhost:8080"
        assert desk.ok("get", "commands.aliases") == 'commands.aliases.a = "A"\n'
        assert desk.ok("get", "commands.aliases.a") == "A\n"

    @pytest.mark.parametrize("key", ["llm.modle", "commands.aliases.none", "lm", ""])
    def test_what_there_is_not(self, desk: Desk, key: str) -> None:
        assert desk.error("get", key).code == "E1003"

    def test_the_nearest_is_named(self, desk: Desk) -> None:
        assert str(desk.error("get", "llm.modle")) == (
            "command line: unknown setting “llm.modle”. Did you mean “llm.model”?"
        )

    def test_a_secret_is_only_said_to_be_set(self, desk: Desk) -> None:
        assert desk.ok("get", "llm.openai.api_key").startswith("not set")
        assert desk.ok("get", "llm.openai.api_key", OPENAI_API_KEY=SECRET) == "set (from OPENAI_API_KEY)\n"


class TestSet:
    def test_without_a_project_file_it_is_the_users(self, desk: Desk) -> None:
        result = desk.run("set", "llm.model", "qwen3")
        assert (result.stdout, result.stderr) == ("", f"llm.model is set in {desk.user}.\n")
        assert desk.user.read_text() == '[llm]\nmodel = "qwen3"\n'
        assert not desk.project.exists()

    def test_with_one_it_is_the_projects(self, desk: Desk) -> None:
        desk.project.write_text("# ours\n[llm]\nmodel = 'a' # why\n")
        desk.ok("set", "llm.model", "b")
        assert desk.project.read_text() == '# ours\n[llm]\nmodel = "b" # why\n'
        assert not desk.user.exists()

    def test_the_options_decide(self, desk: Desk) -> None:
        desk.ok("set", "--project", "llm.model", "p")
        desk.ok("set", "--user", "llm.model", "u")
        assert (desk.project.read_text(), desk.user.read_text()) == ('[llm]\nmodel = "p"\n', '[llm]\nmodel = "u"\n')

    def test_from_a_folder_further_down(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        (desk.project.parent / "src").mkdir()
        monkeypatch.chdir("src")
        desk.ok("set", "--project", "llm.model", "p")
        assert desk.project.exists()

    @pytest.mark.parametrize(
        ("key", "values", "expected"),
        [
            ("safety.deny", ["a", "b c"], ["a", "b c"]),
            ("safety.deny", ["a,b"], ["a", "b"]),
            ("safety.deny", ["[a,", "b]"], ["a", "b"]),
            ("safety.deny", ['["a, b"]'], ["a, b"]),
            ("safety.deny", ["[]"], []),
            (
                "safety.rules",
                ['[{tool="run_command", decision="deny", prefix="a", match=["a b"]}]'],
                [{"tool": "run_command", "decision": "deny", "prefix": "a", "match": ["a b"]}],
            ),
            ("commands.aliases.test", ["run", "the", "tests"], "run the tests"),
            ("llm.temperature", ["0.5"], 0.5),
            ("llm.model", [""], ""),
        ],
    )
    def test_values(self, desk: Desk, key: str, values: list[str], expected: object) -> None:
        desk.ok("set", key, *values)
        found: object = tomllib.loads(desk.user.read_text())
        for part in key.split("."):
            assert isinstance(found, dict)
            found = found[part]
        assert found == expected

    def test_a_negative_number_is_a_value_and_no_option(self, desk: Desk) -> None:
        assert "“llm.temperature” is -1." in str(desk.error("set", "llm.temperature", "-1"))

    def test_it_says_when_it_has_no_effect(self, desk: Desk) -> None:
        desk.project.write_text("\n[llm]\nmodel = 'a'\n")
        assert f"{desk.project}:3 sets it too" in desk.run("set", "--user", "llm.model", "b").stderr
        assert "LOCALLLM_LLM_MODEL sets it too" in desk.run("set", "llm.model", "b", LOCALLLM_LLM_MODEL="x").stderr
        assert "until you trust the project" in desk.run("set", "llm.openai.base_url", "http://gpu").stderr
        assert "no effect" not in desk.run("set", "--user", "llm.max_retries", "1").stderr

    @pytest.mark.parametrize("key", ["llm.modle", "llm", "llm.model.x", "--usr"])
    def test_unknown_keys_write_nothing(self, desk: Desk, key: str) -> None:
        assert desk.error("set", key, "x").code == "E1003"
        assert not desk.user.exists()

    @pytest.mark.parametrize(
        ("key", "value"), [("llm.azure.api_key", SECRET), ("llm.openai.base_url", f"http://u:{SECRET}@h")]
    )
    def test_secrets_are_refused_and_not_repeated(self, desk: Desk, key: str, value: str) -> None:
        result = desk.run("set", key, value)
        assert isinstance(result.exception, ConfigurationError)
        assert result.exception.code == "E1005"
        assert SECRET not in result.output + str(result.exception) + repr(result.exception)
        assert not desk.user.exists()

    def test_nothing_to_set_is_a_usage_error(self, desk: Desk) -> None:
        assert desk.run("set", "llm.model").exit_code == 2


class TestUnset:
    def test_the_line_goes(self, desk: Desk) -> None:
        desk.project.write_text("[llm]\nmodel = 'a'\nmax_tokens = 1\n")
        assert desk.run("unset", "llm.model").stderr == f"llm.model was removed from {desk.project}.\n"
        assert desk.project.read_text() == "[llm]\nmax_tokens = 1\n"

    def test_what_is_not_there(self, desk: Desk) -> None:
        assert desk.run("unset", "llm.model").stderr == f"llm.model is not in {desk.user}.\n"
        assert desk.error("unset", "llm.modle").code == "E1003"


def test_path(desk: Desk) -> None:
    desk.project.touch()
    rules = desk.user.parent.parent / ".local/state/localllm/rules.json"
    shown = f"user     {desk.user} (not there)\nproject  {desk.project}\nanswers  {rules} (not there)\n"
    assert desk.ok("path") == shown
    assert desk.ok("path", "--user") == f"{desk.user}\n"
    assert desk.ok("path", "--project") == f"{desk.project}\n"


class TestShow:
    def test_every_setting_with_its_origin(self, desk: Desk) -> None:
        desk.user.parent.mkdir()
        desk.user.write_text("[llm]\ntemperature = 1\n")
        desk.project.write_text('\n[llm]\nmodel = "llama3"\n[commands.aliases]\nanalyze = "解析して"\n')
        shown = desk.ok("show", LOCALLLM_LLM_MAX_TOKENS="5")
        for line in [
            'model = "llama3" +# project localllm.toml:3',
            "temperature = 1 +# user localllm.toml:2",
            "max_tokens = 5 +# environment LOCALLLM_LLM_MAX_TOKENS",
            "max_retries = 3 +# default",
            'analyze = "解析して" +# project localllm.toml:5',
        ]:
            assert re.search(f"^{line}$", shown, re.M), line
        names = {key.rpartition(".")[2] for key, setting in all_settings().items() if not setting.table}
        assert names <= set(re.findall(r"^(?:# )?(\w+)(?: =|:)", shown, re.M))

    def test_one_key(self, desk: Desk) -> None:
        assert desk.ok("show", "llm.max_retries") == desk.ok("get", "llm.max_retries")

    def test_the_listing_is_itself_a_settings_file(self, desk: Desk) -> None:
        shown = tomllib.loads(desk.ok("show"))
        assert shown["llm"]["lmstudio"] == {"base_url": "http://localhost:1234", "timeout": 30, "idle_timeout": 300}
        desk.project.write_text(desk.ok("show"))
        assert desk.run("show").exception is None

    def test_it_fits_the_terminal_and_leaves_nothing_out(self, desk: Desk) -> None:
        long, wide = "x" * 200, "日本語のとても長い依頼" * 20
        patterns = [f"folder/number_{number}/**/*.py" for number in range(9)]
        desk.ok("set", "--user", "llm.model", long)
        desk.ok("set", "--user", "commands.aliases.long", wide)
        desk.ok("set", "--user", "project.include_patterns", *patterns)
        for columns in ("80", "45"):
            shown = desk.ok("show", COLUMNS=columns, LOCALLLM_AGENT_LOOP_DETECTION_THRESHOLD="4")
            assert max(display_width(line) for line in shown.splitlines()) <= int(columns)
            joined = re.sub(r"\s+", "", shown)
            assert all(text in joined for text in [long, wide, *patterns])

    def test_withheld_keys_are_marked(self, desk: Desk) -> None:
        desk.project.write_text('[llm.openai]\nbase_url = "http://evil.com"\n')
        shown = desk.ok("show")
        assert "evil.com" not in shown
        where = shown.index('base_url = "http://localhost:8080"')
        assert shown[where:].splitlines()[1].startswith("    # withheld: ")

    def test_secrets_never(self, desk: Desk) -> None:
        secrets = {variable: f"{SECRET}-{variable}" for variable in SECRET_VARIABLES.values()}
        secrets["LOCALLLM_LLM_OPENAI_API_KEY"] = SECRET
        for arguments in (["show"], ["show", "--json"], ["get", "llm"], ["path"]):
            result = desk.run(*arguments, **secrets)
            assert result.exception is None
            assert SECRET not in result.output
        assert "# api_key: set (from AZURE_OPENAI_API_KEY)" in desk.run("show", **secrets).stdout
        assert "# api_key: not set" in desk.ok("show")

    def test_what_would_steer_a_terminal_is_shown_inert(self, desk: Desk) -> None:
        desk.project.write_text('[commands.aliases]\n"a\\u202e\\u001b[2J" = "\\u009b31m\\u202e\\n"\n')
        assert not re.search("[\x1b\x9b\u202e]", desk.ok("show"))

    def test_json(self, desk: Desk) -> None:
        desk.project.write_text('[llm]\nmodel = "a"\nmax_retries = 9\n')
        shown = json.loads(desk.ok("show", "--json"))
        assert shown["settings"]["llm.model"] == {
            "value": "a",
            "layer": "project",
            "from": f"{desk.project}:2",
            "withheld": False,
        }
        assert shown["settings"]["llm.max_retries"]["withheld"]
        assert shown["withheld"] == ["llm.max_retries"]
        assert shown["files"] == {"project": str(desk.project)}

    def test_warnings_go_to_stderr(self, desk: Desk) -> None:
        result = desk.run("show", "--json", LOCALLLM_NONSENSE="1")
        assert json.loads(result.stdout)["warnings"]
        assert "LOCALLLM_NONSENSE" in result.stderr

    def test_in_the_language_of_the_settings(self, desk: Desk) -> None:
        desk.project.write_text('[ui]\nlanguage = "ja"\n')
        assert "# 既定" in desk.ok("show")

    def test_a_broken_file_is_an_error_with_its_line(self, desk: Desk) -> None:
        desk.user.parent.mkdir()
        desk.user.write_text("[llm]\nmodle = 1\n")
        assert desk.error("show").what == f"{desk.user}:2: unknown setting “llm.modle”."


def test_the_roots_options_count(desk: Desk) -> None:
    @click.group()
    @click.option("--trust-project", is_flag=True)
    @click.option("--lang")
    def root(**_: object) -> None:
        """Stands for the program."""

    root.add_command(config)
    desk.project.write_text("[llm]\nmax_retries = 9\n")
    assert desk.run("config", "get", "llm.max_retries", command=root).stdout == "3\n"
    assert desk.run("--trust-project", "config", "get", "llm.max_retries", command=root).stdout == "9\n"
    assert "# 既定" in desk.run("--lang", "ja", "config", "show", command=root).stdout
