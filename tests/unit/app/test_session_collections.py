"""What a session tells its model of collections: nothing where there are none, the guide where it begins with some."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from localllm.base.events import RunFinished
from localllm.base.jsontext import encode_json
from localllm.rag.guide import HEAD
from localllm.rag.locations import FOLDER, RECORD
from localllm.rag.records import Collection
from tests.support.wire_server import WireServer, calls, says
from tests.unit.app.test_app import app_over, played, state

__all__ = ["state"]
pytestmark = pytest.mark.anyio

SMALL, LARGE = "qwen3-8b", "qwen3-32b"


def put(tmp_path: Path, name: str, description: str = "Manuals of the pump.") -> None:
    """A collection as it lies on the disk, without its passages."""
    folder = tmp_path / "state" / "data" / FOLDER / name
    folder.mkdir(parents=True)
    (folder / RECORD).write_bytes(encode_json(Collection(name=name, home="user", description=description)))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


async def first_request(project: Path, model: str) -> dict[str, Any]:
    with WireServer([says("Fine.")], models=(model,)) as server:
        async with app_over(project, server.url) as app:
            await app.run_oneshot("What is here?")
        return server.bodies()[0]


def names(body: dict[str, Any]) -> set[str]:
    return {tool["function"]["name"] for tool in body["tools"]}


async def test_without_collections_the_request_has_no_byte_of_them(project: Path) -> None:
    for model in (SMALL, LARGE):
        body = await first_request(project, model)
        assert "rag" not in msgspec.json.encode(body).decode().replace("fragment", "")
        assert HEAD not in body["messages"][0]["content"]


async def test_with_collections_the_tools_and_the_guide_are_there(project: Path, tmp_path: Path) -> None:
    put(tmp_path, "docs")
    body = await first_request(project, LARGE)
    assert {"search_rag_knowledge_base", "list_rag_collections"} <= names(body)
    assert f"{HEAD}\n- docs: “Manuals of the pump.”\n" in body["messages"][0]["content"]


async def test_a_small_model_gets_one_tool_of_at_most_600_bytes(project: Path, tmp_path: Path) -> None:
    put(tmp_path, "docs")
    body = await first_request(project, SMALL)
    assert "list_rag_collections" not in names(body)
    tool = next(one for one in body["tools"] if one["function"]["name"] == "search_rag_knowledge_base")
    assert len(msgspec.json.encode(tool)) <= 600
    assert HEAD in body["messages"][0]["content"]


async def test_a_collection_made_meanwhile_is_announced_behind_the_request(project: Path, tmp_path: Path) -> None:
    put(tmp_path, "docs")
    with WireServer([says("one"), says("two"), says("three")], models=(LARGE,)) as server:
        async with app_over(project, server.url) as app:
            await played(app, "first")
            put(tmp_path, "laws", "Labour law.")
            await played(app, "second")
            await played(app, "third")
        one, two, three = server.bodies()
    assert two["messages"][0] == one["messages"][0]
    assert two["tools"] == one["tools"]
    assert "- laws: “Labour law.”" in two["messages"][-1]["content"]
    assert two["messages"] == three["messages"][: len(two["messages"])]
    assert "laws" not in three["messages"][-1]["content"]


async def test_a_collection_that_cannot_be_read_is_said_to_the_user(project: Path, tmp_path: Path) -> None:
    put(tmp_path, "docs")
    (tmp_path / "state" / "data" / FOLDER / "docs" / RECORD).write_text("{")
    with WireServer([says("Fine.")], models=(LARGE,)) as server:
        async with app_over(project, server.url) as app:
            events = await played(app, "hello")
    assert isinstance(events[-1], RunFinished)
    assert events[-1].status == "done"
    assert any("docs" in getattr(event, "text", "") for event in events[:-1])


async def test_the_list_of_collections_is_a_tool(project: Path, tmp_path: Path) -> None:
    put(tmp_path, "docs")
    put(tmp_path, "laws", "Labour law.")
    turns = [calls(("list_rag_collections", {})), says("Two.")]
    with WireServer(turns, models=(LARGE,)) as server:
        async with app_over(project, server.url) as app:
            await played(app, "what is there?")
        result = server.bodies()[1]["messages"][-1]["content"]
    assert "- docs (0 files, 0 passages): “Manuals of the pump.”" in result
    assert "- laws (0 files, 0 passages): “Labour law.”" in result


async def test_no_tool_writes_to_collections_or_caches_that_lie_in_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALLLM_DATA_DIR", str(project / "data"))
    monkeypatch.setenv("LOCALLLM_CACHE_DIR", str(project / "cache"))
    async with app_over(project) as app:
        for file in (f"data/{FOLDER}/docs/{RECORD}", "cache/x"):
            valid, reason = app.tool_system.validate_file_operation(file, "write")
            assert not valid
            assert "is protected" in reason
        assert app.tool_system.validate_file_operation("data/report.md", "write")[0]
