"""One stage alone: what is taken back before it, and that the run it begins from stays."""

from pathlib import Path

import pytest

from localllm.base.errors import ResearchUsageError
from localllm.research.records import STAGES, Stage
from localllm.research.run_store import HISTORY, RunStore, StoredAnswer, reserve_run
from localllm.research.single_stage import copy_run, made_by, rewind
from tests.support.research_states import told_state


@pytest.mark.parametrize("stage", STAGES)
def test_what_a_stage_and_those_after_it_made_is_taken_back(stage: Stage) -> None:
    state = told_state()
    before = made_by("search", state)["sources"], made_by("process", state)["evidence"], len(state.sections)
    rewind(state, stage)
    place = STAGES.index(stage)
    assert state.next == stage
    assert (len(state.sources) > 0) == (place > STAGES.index("search"))
    assert (len(state.evidence) > 0) == (place > STAGES.index("process"))
    assert (len(state.sections) == before[2] > 0) == (place > STAGES.index("draft"))
    assert (len(state.claims) > 0) == (place > STAGES.index("validate"))
    if stage == "process":
        assert {source.state for source in state.sources} == {"found"}


def test_the_run_that_is_copied_stays(tmp_path: Path) -> None:
    name, folder = reserve_run(tmp_path / "work", 2026)
    with RunStore(folder) as store:
        store.save_state(told_state())
        store.keep_answer("key", "reader", StoredAnswer("yes", tokens=3))
    copy_run(tmp_path / "work", name, tmp_path / "one")
    copy_run(tmp_path / "work", name, tmp_path / "two", anew=True)
    counts: list[int] = []
    for work in ("one", "two", "work"):
        with RunStore(tmp_path / work / HISTORY / name) as store:
            counts.append(store.spent().requests)
            state = store.load_state()
            assert state is not None
            if work != "work":
                rewind(state, "normalise")
                store.save_state(state)
            else:
                assert state.sections
    assert counts == [1, 0, 1]


def test_what_lies_beside_a_run_is_not_copied(tmp_path: Path) -> None:
    """A command may have put links there, to the home or to what has no end."""
    name, folder = reserve_run(tmp_path / "work", 2026)
    with RunStore(folder) as store:
        store.save_state(told_state())
    (tmp_path / "private").mkdir()
    (tmp_path / "private/diary.md").touch()
    (folder / "private").symlink_to(tmp_path / "private")
    copy_run(tmp_path / "work", name, tmp_path / "other")
    assert [file.name for file in (tmp_path / "other" / HISTORY / name).iterdir()] == ["run.sqlite"]


def test_there_is_no_such_run(tmp_path: Path) -> None:
    with pytest.raises(ResearchUsageError):
        copy_run(tmp_path, "2026-0001", tmp_path / "other")
