"""`localllm research --trace` as a user runs it: spans at a real receiver, and what is said where there is none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.otlp import OTLPReceiver
from tests.support.research_cli import ResearchWorld, research_world

FAST = ("--preset", "fast", "--max-search", "3")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ResearchWorld]:
    with research_world(tmp_path) as world:
        yield world


def test_a_run_is_traced_where_that_is_asked_for(world: ResearchWorld) -> None:
    with OTLPReceiver() as receiver:
        world.configure(f'[trace]\nendpoint = "{receiver.url}"\n')
        untraced = world.run("research", world.question.text, *FAST)
        assert (untraced.returncode, receiver.paths) == (0, [])
        for option in ("--trace", "--langfuse"):
            run = world.run("research", world.question.text, *FAST, option)
            assert run.returncode == 0, run.stderr
        spans = receiver.spans
    runs = [span for span in spans if span.name == "invoke_agent research"]
    calls = [span for span in spans if span.name == "chat played"]
    assert [span.attributes["gen_ai.conversation.id"][4:] for span in runs] == ["-0002", "-0003"]
    assert len(calls) == len(world.model.prompts) // 3 * 2
    assert {span.attributes["gen_ai.provider.name"] for span in calls} == {"openai"}
    assert all(span.attributes["gen_ai.usage.input_tokens"] for span in calls)
    assert all(span.attributes["server.port"] for span in calls)
    assert world.question.text.encode() not in b"".join(receiver.bodies)


@pytest.mark.parametrize(
    ("endpoint", "before", "reason"),
    [
        ("http://127.0.0.1:9", (), "Connection refused"),
        ("http://192.0.2.1:4318", ("--offline",), "offline"),
    ],
)
def test_a_receiver_that_is_not_there_fails_nothing(
    world: ResearchWorld, endpoint: str, before: tuple[str, ...], reason: str
) -> None:
    docs = world.folder / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("Nothing of it.")
    world.configure(f'[trace]\nendpoint = "{endpoint}"\nenabled = true\n')
    run = world.run(*before, "research", world.question.text, *FAST, "--docs", str(docs))
    assert run.returncode in (0, 3), run.stderr
    assert run.stdout.startswith("# ")
    assert f"{endpoint}/v1/traces" in run.stderr
    assert reason in run.stderr
    assert "Traceback" not in run.stderr


def test_what_is_no_address_is_said_before_anything_is_asked(world: ResearchWorld) -> None:
    world.configure('[trace]\nendpoint = "jaeger:4318"\n')
    run = world.run("research", world.question.text, "--trace")
    assert (run.returncode, "E7042" in run.stderr) == (2, True)
    assert world.model.prompts == []
