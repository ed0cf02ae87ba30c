"""A report's files: written whole, the same bytes for the same state, and read back by any reader of YAML."""

from pathlib import Path

import msgspec
import pytest
import yaml

from localllm.base.errors import ResearchError
from localllm.research.report.report_files import report_files, write_failure, write_report
from localllm.research.report.report_metadata import metadata_of, read_metadata, to_yaml
from tests.support.research_states import told_state

PAPER = {"task_id", "status", "start_at", "finish_at", "duration", "model", "loops", "sources", "error"}


def test_the_files_are_written_and_read_back(tmp_path: Path) -> None:
    folder = tmp_path / "2026-0007"
    folder.mkdir()
    state = told_state("ja")
    files = write_report(state, folder)
    assert [file.name for file in files] == ["report-2026-0007.md", "report-2026-0007.meta.yaml"]
    first = [file.read_bytes() for file in files]
    assert write_report(state, folder) == files == report_files(folder)
    assert [file.read_bytes() for file in files] == first
    metadata = read_metadata(files.metadata)
    assert metadata == metadata_of(state, cited=4)
    assert (metadata.task_id, metadata.status, metadata.loops, metadata.sources) == ("2026-0007", "success", 2, 4)
    assert {*files.metadata.parent.iterdir()} == {*files}


def test_any_reader_of_yaml_reads_the_metadata() -> None:
    state = told_state()
    state.title = 'A "title": # with\nbreaks \u2028 \x7f \ud83d 塔 🗼 - [x] {y}'
    state.task = "2026-0002"
    values = yaml.safe_load(to_yaml(metadata_of(state)))
    assert {*values} >= PAPER
    assert values["title"] == state.title.replace("\ud83d", "\ufffd")
    assert (values["task_id"], values["run_id"], values["error"], values["partial"]) == (
        "2026-0002",
        "2026-0007",
        None,
        False,
    )


def test_a_run_that_failed_says_why(tmp_path: Path) -> None:
    folder = tmp_path / "2026-0007"
    folder.mkdir()
    write_failure(told_state(), folder, ResearchError("research_search_dead", reasons="gone", id="2026-0007"))
    metadata = read_metadata(report_files(folder).metadata)
    assert (metadata.status, metadata.error) == ("failed", "E7008: No search succeeded.")
    assert not report_files(folder).report.exists()


def test_metadata_written_by_hand_is_read(tmp_path: Path) -> None:
    file = tmp_path / "report-2026-0001.meta.yaml"
    file.write_text(
        "# by hand\ntask_id: 2026-0001\nstatus: success\nstart_at: '2026-01-01T00:00:00'\nfinish_at: x\nduration: 1\n"
        "model: m\nloops: 1\nsources: 2\nerror: null\nrun_id: 2026-0001\nmine: 3\n"
    )
    assert read_metadata(file).start_at == "2026-01-01T00:00:00"


@pytest.mark.parametrize("text", [b"", b"task_id: 1\n", b"\xff\xfe", b"status: maybe\n"])
def test_damaged_metadata_is_an_error(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "report-2026-0001.meta.yaml"
    file.write_bytes(text)
    with pytest.raises(ResearchError) as damaged:
        read_metadata(file)
    assert damaged.value.key == "research_damaged"
    with pytest.raises(ResearchError):
        read_metadata(tmp_path / "nowhere.meta.yaml")


def test_a_report_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ResearchError) as full:
        write_report(told_state(), tmp_path / "gone" / "2026-0007")
    assert full.value.key == "research_disk"


def test_the_metadata_counts_what_was_dropped() -> None:
    state = told_state()
    state.numbers = msgspec.structs.replace(state.numbers, sentences_dropped=3, citations_dropped=2, quotes_dropped=1)
    metadata = metadata_of(state)
    assert (metadata.sentences_dropped, metadata.citations_dropped, metadata.quotes_dropped) == (3, 2, 1)
