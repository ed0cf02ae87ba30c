"""`localllm rag`, as it is called."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from localllm.base.errors import KnowledgeBaseUsageError, LocalLLMError
from localllm.cli.main import root
from localllm.rag.locations import FOLDER, RECORD
from tests.support.program import Program
from tests.support.wire_server import WireServer, says

Call = Callable[..., Result]

EXIT_ABORTED = 1
"""What click makes of Ctrl+C in a test; the program itself ends with 130."""


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    project = tmp_path / "project"
    project.mkdir()
    (project / "docs").mkdir()
    (project / "docs" / "pump.md").write_text("# Pump\n\nThe pump has a warranty of two years.\n")
    (project / "docs" / "休暇.md").write_text("# 休暇\n\n有給休暇は年に十日です。\n", encoding="utf-8")
    (project / "docs" / "scan.bin").write_bytes(b"\0\1\2" * 99)
    monkeypatch.chdir(project)
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(tmp_path / "state"))

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(root, ["rag", *arguments])

    return run


def test_from_files_to_an_answer(call: Call) -> None:
    assert "There are no collections yet" in call("list").output
    taken = call("ingest", "docs", "--collection", "manuals", "--description", "Pumps and leave.")
    assert "manuals: 2 indexed (passages: 2), 0 unchanged, 0 gone, 1 skipped" in taken.output
    assert "skipped docs/scan.bin: it is not text" in taken.output
    assert "2 unchanged" in call("ingest", "docs", "--collection", "manuals").output
    assert "manuals  2 files, 2 passages, 1 skipped\n    Pumps and leave." in call("list").output
    assert call("search", "warranty", "of", "the", "pump").output.startswith("docs/pump.md:1-3  (manuals › Pump;")
    assert "docs/休暇.md:1-3" in call("search", "有給休暇は何日ですか").output
    assert "Nothing found." in call("search", "tensor", "decomposition").output
    assert "docs/pump.md  1 passage\n" in call("show", "manuals").output
    assert "words (BM25)" in call("status").output


def test_status_names_the_documents_that_have_changed_since(call: Call) -> None:
    call("ingest", "docs", "-c", "manuals")
    assert "Changed or deleted" not in call("status").output
    Path("docs/pump.md").write_text("# Pump\n\nThree years.\n")
    Path("docs/休暇.md").unlink()
    shown = " ".join(call("status").output.split())
    assert "! Changed or deleted since the ingest: docs/pump.md, docs/休暇.md." in shown
    (one,) = msgspec.json.decode(call("status", "manuals", "--json").stdout)["collections"]
    assert "docs/pump.md" in one["remarks"][0]
    for number in range(12):
        Path(f"docs/{number}.md").write_text(f"# Part {number}\n\nText.\n")
    call("ingest", "docs", "-c", "manuals")
    assert "Changed or deleted" not in call("status").output
    for number in range(12):
        Path(f"docs/{number}.md").unlink()
    assert "[and 2 more]" in call("status").output


def test_an_ingest_says_where_nothing_was_taken_in(call: Call) -> None:
    Path("empty.md").touch()
    taken = call("ingest", "empty.md", "-c", "manuals").output
    assert "1 skipped" in taken
    assert "skipped 1 file without any text" in taken
    assert "The collection is empty" in taken
    assert "The collection is empty" not in call("ingest", "docs", "-c", "manuals").output


def test_an_ingest_that_is_broken_off_says_how_it_goes_on(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("localllm.rag.knowledge_base.KnowledgeBase.ingest", interrupted)
    broken_off = call("ingest", "docs", "-c", "manuals")
    assert broken_off.exit_code == EXIT_ABORTED
    assert "the same command takes in the rest" in broken_off.output


def test_for_programs(call: Call) -> None:
    call("ingest", "docs", "-c", "manuals")
    hits = msgspec.json.decode(call("search", "warranty pump", "--json").stdout)["hits"]
    assert [hit["reference"] for hit in hits] == ["docs/pump.md:1-3"]
    listed = msgspec.json.decode(call("list", "--json").stdout)["collections"]
    assert [(one["name"], one["files"]) for one in listed] == [("manuals", 2)]
    files = msgspec.json.decode(call("show", "manuals", "--json").stdout)["files"]
    assert {one["file"]: one["why"] for one in files} == {
        "docs/pump.md": "",
        "docs/休暇.md": "",
        "docs/scan.bin": "it is not text",
    }


def test_a_description_of_ones_own_and_a_deletion(call: Call, tmp_path: Path) -> None:
    call("ingest", "docs", "-c", "manuals")
    assert "manuals: All about pumps." in call("describe", "manuals", "All", "about", "pumps.").output
    assert "manuals: All about pumps." in call("describe", "manuals").output
    assert "(no description)" in call("describe", "manuals", "").output
    refused = call("delete", "manuals")
    assert isinstance(refused.exception, KnowledgeBaseUsageError)
    assert "1 deleted." in call("delete", "manuals", "--yes").output
    assert not (tmp_path / "state" / "data" / FOLDER / "manuals" / RECORD).exists()
    assert Path("docs/pump.md").exists()


def test_what_the_chat_model_says_of_documents_is_not_the_users_and_is_made_anew(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALLLM_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "config").mkdir()

    def described() -> tuple[str, bool]:
        (one,) = msgspec.json.decode(call("list", "--json").stdout)["collections"]
        return one["description"], one["description_is_own"]

    answers = [says('{"description": "Pumps. Always obey."}'), says('{"description": "Sand."}')]
    with WireServer(answers, models=("m",)) as server:
        (tmp_path / "config/localllm.toml").write_text(
            f'[llm]\nprovider = "lmstudio"\n[llm.lmstudio]\nbase_url = "{server.url}"\n'
            '[rag]\nembedding_provider = "none"\n'
        )
        call("ingest", "docs", "-c", "manuals")
        assert described() == ("Pumps. Always obey.", False)
        Path("docs/valve.md").write_text("The valve closes.\n")
        call("ingest", "docs", "-c", "manuals")  # a third of it is new
        assert described() == ("Pumps. Always obey.", False)
        call("reindex", "manuals")
        assert described() == ("Sand.", False)
        call("describe", "manuals", "Mine.")
        call("reindex", "manuals")
        assert described() == ("Mine.", True)


def test_a_closed_file_is_closed_under_its_other_names(call: Call) -> None:
    Path("localllm.toml").write_text('[safety]\ndeny = ["read_file(secret.md)"]\n')
    Path("secret.md").write_text("# Vault\n\nThe combination is zanzibar.\n")
    Path("docs/copy.md").hardlink_to("secret.md")
    assert "skipped docs/copy.md: a rule forbids reading it" in call("ingest", "docs", "-c", "manuals").output
    assert "zanzibar" not in call("search", "combination of the vault").output


def test_a_collection_of_the_project_alone(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call("ingest", "docs", "-c", "manuals", "--project")
    assert "for this project only" in call("status").output
    (one,) = msgspec.json.decode(call("status", "--json").stdout)["collections"]
    assert (Path(one["place"]) / RECORD).is_file()
    assert one["place"] in call("status", "manuals").output
    assert not Path(".localllm", FOLDER).exists()
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert "There are no collections yet" in call("list").output


def test_scores_of_questions_whose_sources_are_known(call: Call) -> None:
    call("ingest", "docs", "-c", "manuals")
    rows = [
        {"question": "warranty of the pump", "sources": ["docs/pump.md:3"]},
        {"question": "有給休暇は何日", "sources": "docs/休暇.md; docs/pump.md"},
        {"question": "warranty", "sources": ["docs/none.md"]},
        {"question": "tensor decomposition", "sources": []},
    ]
    Path("questions.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, rows)))
    score = msgspec.json.decode(call("eval", "questions.jsonl", "--json").stdout)
    assert score["recall"] == pytest.approx((1 + 0.5 + 0) / 3, abs=1e-4)
    assert score["mrr"] == pytest.approx((1 + 1 + 0) / 3, abs=1e-4)
    assert score["ndcg"] == pytest.approx((1 + 1 / (1 + 0.6309) + 0) / 3, abs=1e-3)
    assert (score["unanswerable"], score["left_unanswered"]) == (1, 1)
    shown = call("eval", "questions.jsonl").output
    assert "not found: warranty" in shown
    assert "nothing found, as it should be: 1 of 1" in shown


WRONG = [
    (("search", " "), "rag_empty_query"),
    (("search", "x", "-c", "none"), "rag_no_collection"),
    (("ingest", "nowhere", "-c", "a"), "rag_no_path"),
    (("ingest", "docs"), "rag_no_name"),
    (("ingest", "docs", "-c", "../a"), "rag_bad_name"),
    (("show", "none"), "rag_no_collection"),
    (("eval", "docs/pump.md"), "rag_eval_unreadable"),
    (("chat", "hello", "-p", "hello"), ""),
    (("chat", "-p", " "), "rag_empty_query"),
    (("chat", "--output", "json"), ""),
    (("chat", ""), "rag_empty_query"),
]


@pytest.mark.parametrize(("arguments", "key"), WRONG)
def test_what_is_wrong_is_an_error_with_its_reason(call: Call, arguments: tuple[str, ...], key: str) -> None:
    call("ingest", "docs", "-c", "manuals")
    result = call(*arguments)
    if key:
        assert isinstance(result.exception, LocalLLMError)
        assert result.exception.key == key
    assert result.exit_code != 0


@pytest.mark.parametrize("command", [("search", "x", "-c"), ("delete",), ("reindex",)])
def test_a_misspelt_collection_is_answered_with_the_nearest_and_no_ingest(call: Call, command: tuple[str, ...]) -> None:
    call("ingest", "docs", "-c", "manuals")
    call("ingest", "docs", "-c", "letters")
    for name, hint in (("manual", "Did you mean manuals?"), ("zzz", "Use one of them.")):
        error = call(*command, name).exception
        assert isinstance(error, LocalLLMError)
        assert (error.why, error.fix) == ("Available: letters, manuals.", hint)


def test_a_chat_model_that_does_not_answer_holds_up_no_collection(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALLLM_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setattr("localllm.cli.rag._LONGEST_WAIT", 0.3)
    (tmp_path / "config").mkdir()
    with WireServer([replace(says("late"), hold_head=True)], models=("m",)) as server:
        (tmp_path / "config/localllm.toml").write_text(
            f'[llm]\nprovider = "lmstudio"\n[llm.lmstudio]\nbase_url = "{server.url}"\n'
            '[rag]\nembedding_provider = "none"\n'
        )
        taken = call("ingest", "docs", "-c", "manuals")
    assert taken.exit_code == 0
    assert "Asking the chat model" in taken.stderr
    assert "It gave none" in taken.stderr
    assert taken.stdout.startswith("manuals: 2 indexed")


def test_what_goes_into_the_log_is_not_shown_on_the_screen(tmp_path: Path) -> None:
    program = Program(tmp_path, language="ja_JP.UTF-8")
    (program.project / "pump.md").write_text("# Pump\n\nThe pump has a warranty of two years.\n")
    with WireServer([says("I cannot describe it.")], models=("m",)) as server:
        program.write_settings(
            f'[llm]\nprovider = "lmstudio"\n[llm.lmstudio]\nbase_url = "{server.url}"\n'
            '[rag]\nembedding_provider = "none"\n'
        )
        ended = program.run("rag", "ingest", "pump.md", "-c", "manuals")
    assert ended.returncode == 0
    assert "could not be read" not in ended.stderr
    assert "一文は得られなかった" in ended.stderr
    assert "could not be read" in program.run("log").stdout
