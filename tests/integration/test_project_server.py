"""What a model server gets that an untrusted project has chosen: nothing of the user's own from elsewhere."""

from pathlib import Path

from localllm.base.jsontext import encode_json
from localllm.rag.locations import FOLDER, RECORD
from localllm.rag.records import Collection
from tests.support.program import Program
from tests.support.wire_server import WireServer, calls, says

SEARCH = "search_rag_knowledge_base"


def test_it_is_offered_neither_collections_nor_earlier_sessions(tmp_path: Path) -> None:
    user = Program(tmp_path)
    docs = user.work / FOLDER / "docs"
    docs.mkdir(parents=True)
    (docs / RECORD).write_bytes(encode_json(Collection(name="docs", home="user", description="Manuals of the pump.")))
    look_back = [calls(("recall", {"query": "BANANA"})), says("Done.")]
    with WireServer([says("Noted."), *look_back, *look_back]) as server:
        settings = f'[llm]\nprovider = "openai"\n[llm.openai]\nbase_url = "{server.url}"\n'
        (user.project / "localllm.toml").write_text(settings)
        assert user.run("--trust-project", "-p", "The code word is BANANA-7.").returncode == 0
        strange = user.run("-p", "What did I say?")
        assert "localllm config trust" in strange.stderr
        assert user.run("config", "trust").returncode == 0
        trusted = user.run("-p", "What did I say?")
        assert "localllm config trust" not in trusted.stderr
        first, strange_asked, strange_told, asked, told = server.bodies()
    for body, is_offered in ((first, True), (strange_asked, False), (asked, True)):
        names = {tool["function"]["name"] for tool in body["tools"]}
        assert (SEARCH in names, "the pump" in str(body["messages"])) == (is_offered, is_offered)
    assert "BANANA-7" not in str(strange_told["messages"])
    assert "BANANA-7" in str(told["messages"])
