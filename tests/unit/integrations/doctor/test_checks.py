"""All checks together."""

import errno
import os
from collections.abc import Iterator, Mapping, Sequence

import pytest

from localllm.base.errors import ConfigurationError
from localllm.base.i18n import Phrase
from localllm.config.loader import HeldBack, Loaded, load
from localllm.config.schema import LLMSettings, SafetySettings, Settings
from localllm.integrations.doctor.checks import CHECKS, examine
from localllm.integrations.doctor.inputs import STATUSES, Finding, Surroundings, note, ok
from localllm.llm.discovery.servers import Server
from tests.support.doctor_world import Sandbox, finds, only, surroundings

pytestmark = pytest.mark.anyio


def half(_: Surroundings) -> Iterator[Finding]:
    yield ok("half", "this much was found")
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def whole(_: Surroundings) -> Iterator[Finding]:
    yield note("whole", "still looked at")


async def test_a_check_that_fails_is_a_finding_and_not_the_end(tmp_path) -> None:
    findings = await examine(surroundings(tmp_path, llm=LLMSettings(provider="embedded")), checks=(half, whole))
    assert only(findings, "whole").status == "note"
    failed, before = (finding for finding in findings if finding.name == "half")
    assert (failed.status, before.status) == ("problem", "ok")
    assert os.strerror(errno.EIO) in failed.what


async def test_looking_for_servers_may_fail_too(tmp_path) -> None:
    async def look(_settings: LLMSettings, _environ: Mapping[str, str]) -> Sequence[Server]:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    findings = await examine(surroundings(tmp_path, look=look), checks=(whole,))
    assert only(findings, "model").status == "problem"
    assert only(findings, "whole")


async def test_a_bad_machine(tmp_path) -> None:
    here = surroundings(
        tmp_path,
        sandbox=Sandbox("none", "Landlock has version 1, 3 is needed"),
        free_space=lambda _: 0,
        environ={"PATH": "/nowhere", "HOME": "/nowhere"},
        look=finds(Server(base_url="http://localhost:1234", provider="lmstudio", state="locked", detail="a key")),
    )
    findings = await examine(here)
    order = [STATUSES.index(finding.status) for finding in findings]
    assert order == sorted(order)
    assert {finding.name for finding in findings if finding.status == "problem"} == {"space", "server"}
    assert all(finding.fix for finding in findings if finding.status in ("problem", "warning"))


async def test_a_fault_in_the_settings_is_a_problem_and_everything_else_is_still_looked_at(tmp_path) -> None:
    fault = ConfigurationError("config_bad_toml", file="localllm.toml", line=7, reason="an odd bracket")
    findings = await examine(surroundings(tmp_path, fault=fault))
    found = only(findings, "settings")
    assert found.status == "problem"
    assert "localllm.toml:7" in found.what
    assert "Correct that line" in found.fix
    assert {"model", "git", "program", "terminal", "space"} <= {finding.name for finding in findings}


async def test_what_is_said_of_settings(tmp_path) -> None:
    loaded = Loaded(
        settings=Settings(llm=LLMSettings(provider="embedded")),
        remarks=(Phrase("The environment variable {name} names no setting. {hint}", name="LOCALLLM_X", hint=""),),
        withheld=("safety.allow",),
        held_back=HeldBack(file=tmp_path, digest="", values={"safety.allow": ["x"]}),
    )
    here = surroundings(tmp_path, loaded=loaded, environ={"LOCALLLM_STATE_DIR": "/x", "HOME": "/nowhere"})
    findings = await examine(here, CHECKS[:2])
    said = "\n".join(f"{finding.status}: {finding.what}" for finding in findings)
    assert "warning: The environment variable LOCALLLM_X" in said
    assert "safety.allow" in only(findings, "trust").what
    assert "LOCALLLM_STATE_DIR" in said


async def test_a_rule_for_a_tool_there_is_not(tmp_path) -> None:
    settings = Settings(llm=LLMSettings(provider="embedded"), safety=SafetySettings(deny=("no_such_tool",)))
    findings = await examine(surroundings(tmp_path, loaded=Loaded(settings=settings)), CHECKS[:1])
    assert [finding.status for finding in findings if finding.name == "settings"] == ["problem", "ok"]


async def test_a_settings_file_with_a_fault_is_not_also_listed_as_sound(tmp_path) -> None:
    cases = {
        '[llm]\nprovider = "embedded"\n': ["ok"],
        '[llm\nprovider = "embedded"\n': ["warning"],  # ignored as a whole
        '[llm]\nprovidr = "embedded"\n': ["warning"],
        '[safety]\ndeny = ["no_such_tool"]\n': ["warning"],
    }
    project, environ = tmp_path / "project", {"HOME": str(tmp_path), "LOCALLLM_CONFIG_DIR": str(tmp_path)}
    project.mkdir()
    for text, expected in cases.items():
        (project / "localllm.toml").write_text(text)
        here = surroundings(tmp_path, loaded=load(project, environ=environ))
        found = await examine(here, CHECKS[:1])
        assert [one.status for one in found if one.name == "settings"] == expected, text
    here = surroundings(tmp_path, loaded=load(project, environ=environ, trusted=True))
    found = only(await examine(here, CHECKS[:1]), "settings")
    assert found.status == "problem"
    assert "no_such_tool" in found.what
    (tmp_path / "localllm.toml").write_text('[llm]\nprovider = "embedded"\n')
    here = surroundings(tmp_path, loaded=load(project, environ=environ))
    said = [one for one in await examine(here, CHECKS[:1]) if one.name == "settings"]
    assert [one.status for one in said] == ["warning", "ok"]
    assert str(project) not in said[1].what, "the user's own file is sound"


async def test_a_rule_that_takes_away_only_the_reading_tool_is_said(tmp_path) -> None:
    for deny, is_said in (("read_file", True), ("read_file(secrets/)", False)):
        settings = Settings(llm=LLMSettings(provider="embedded"), safety=SafetySettings(deny=(deny,)))
        findings = await examine(surroundings(tmp_path, loaded=Loaded(settings=settings)), CHECKS[:1])
        assert ("rules" in {finding.name for finding in findings}) == is_said
        if is_said:
            found = only(findings, "rules")
            assert found.status == "warning"
            assert "run_command, search_files" in found.what
            assert "read_file(.)" in found.fix
