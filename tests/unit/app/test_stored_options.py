"""What files in a work folder say of documents is believed only where no command can have written it."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from localllm.app.research_setup import ResearchSetup
from localllm.app.stored_options import remember_named, stored_options
from localllm.app.task_runs import run_task, task_options
from localllm.base.errors import ResearchError, ResearchUsageError
from localllm.base.paths import project_name, state_folder
from localllm.config.research_settings import ResearchSettings
from localllm.config.schema import Settings
from localllm.research.records import ResearchState
from localllm.research.run_store import HISTORY, RunStore
from localllm.research.tasks import Task, TaskStore


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project/docs").mkdir(parents=True)
    (tmp_path / "private").mkdir()
    return tmp_path / "project"


def setup_in(project: Path, work: Path, *docs: Path) -> ResearchSetup:
    settings = Settings(research=ResearchSettings(docs=tuple(map(str, docs))))
    return ResearchSetup(settings=settings, root=project, environ={}, work_folder=work)


def keep_run(work: Path, *docs: str, **options: object) -> str:
    folder = work / HISTORY / "2026-0007"
    folder.mkdir(parents=True)
    with RunStore(folder) as store:
        state = ResearchState(id=folder.name, question="Why?", today="2026-11-24")
        state.options = {"docs": list(docs), "use_web": False, **options}  # type: ignore[dict-item]
        store.save_state(state)
    return folder.name


def refused(setup: ResearchSetup, run: str) -> bool:
    try:
        stored_options(setup, run)
    except ResearchUsageError as error:
        return error.key == "research_docs_unnamed"
    return False


def test_a_run_in_the_project_searches_what_is_in_it_or_in_the_settings(project: Path) -> None:
    work, private = project / "reports", project.parent / "private"
    run = keep_run(work, str(project / "docs"), str(private / "deep"))
    assert refused(setup_in(project, work), run)
    assert not refused(setup_in(project, work, private), run)
    elsewhere = project.parent / "elsewhere"
    assert not refused(setup_in(project, elsewhere), keep_run(elsewhere, str(private)))


@pytest.mark.parametrize("folder", ["~/private", "~nobody-of-this-name/x", "../private", "docs/away", "a\0b"])
def test_no_other_spelling_leads_out(project: Path, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(project.parent))
    monkeypatch.chdir(project)
    (project / "docs/away").symlink_to(project.parent / "private")
    assert refused(setup_in(project, project / "reports"), keep_run(project / "reports", folder))


def test_a_link_to_a_work_folder_in_the_project_counts_as_in_it(project: Path) -> None:
    run = keep_run(project / "reports", str(project.parent / "private"))
    link = project.parent / "link"
    link.symlink_to(project / "reports")
    assert refused(setup_in(project, link), run)


def test_what_was_named_for_a_work_folder_before_is_searched_again(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(tmp_path_factory.mktemp("state")))
    work, private = project / "reports", project.parent / "private"
    run, setup = keep_run(work, str(private / "deep")), setup_in(project, work)
    remember_named(setup_in(project, project / "other"), docs=[str(private)])
    assert refused(setup, run)
    remember_named(setup, docs=[str(private)])
    remember_named(setup, docs=["docs"])
    assert not refused(setup, run)


@pytest.mark.parametrize("sign", ["mark", "chat", "neither"])
def test_where_it_is_run_from_makes_no_difference(
    project: Path, sign: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(tmp_path_factory.mktemp("state")))
    run = keep_run(project / "reports", str(project.parent / "private"))
    if sign == "mark":
        (project / ".git").mkdir()
    if sign == "chat":
        (state_folder() / "sessions" / project_name(project)).mkdir(parents=True)
    for elsewhere in (project.parent / "private", Path.home(), Path("/")):
        assert refused(setup_in(elsewhere, project / "reports"), run) == (sign != "neither")
        assert not refused(setup_in(elsewhere, project / "reports", project.parent / "private"), run)


@pytest.mark.parametrize("sign", ["mark", "chat"])
def test_the_documents_of_a_project_around_it_are_not_open_to_its_commands(
    project: Path, sign: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(tmp_path_factory.mktemp("state")))
    around = project.parent
    if sign == "mark":
        (around / ".git").mkdir()
    else:
        (state_folder() / "sessions" / project_name(around)).mkdir(parents=True)
    (project / ".git").mkdir()
    run = keep_run(project / "reports", str(around / "private"))
    for root in (project, around, Path("/")):
        assert refused(setup_in(root, project / "reports"), run)
    run = keep_run(around / "reports", str(around / "private"))
    assert not refused(setup_in(project, around / "reports"), run)


def test_a_run_with_options_that_are_none_is_damaged(project: Path) -> None:
    run = keep_run(project / "reports", query_count="many")
    with pytest.raises(ResearchError) as caught:
        stored_options(setup_in(project, project / "reports"), run)
    assert caught.value.key == "research_damaged"


def test_a_task_may_name_no_folder_but_the_person_who_runs_it(project: Path) -> None:
    work, private = project / "reports", str(project.parent / "private")
    task = Task(id="2026-0007", prompt="Why?", created_at="2026-11-24", options={"docs": [private]})
    with pytest.raises(ResearchUsageError, match=private):
        task_options(setup_in(project, work), task)
    assert task_options(setup_in(project, work), task, docs=(private,)).docs == (private,)


def test_nor_does_the_run_that_a_task_goes_on_with(project: Path) -> None:
    work = project / "reports"
    run = keep_run(work, str(project.parent / "private"))
    store = TaskStore(work)
    (work / "task").mkdir()
    store.file(run).write_text(
        f"id: {run}\nprompt: Why?\ncreated_at: '2026-11-24'\nruns: [{{id: {run}, started_at: '2026-11-24'}}]\n"
    )
    with pytest.raises(ResearchUsageError, match="private"):
        asyncio.run(run_task(setup_in(project, work), run))
    assert store.read(run).status == "failed"


def test_a_collection_is_searched_where_the_settings_or_the_person_name_it(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(tmp_path_factory.mktemp("state")))
    work = project / "reports"
    run, setup = keep_run(work, collections=["ca\u0301rtas"]), setup_in(project, work)
    task = Task(id="2026-0008", prompt="Why?", created_at="2026-11-24", options={"collections": ["c\u00e1rtas"]})
    for ask in (lambda: stored_options(setup, run), lambda: task_options(setup, task)):
        with pytest.raises(ResearchUsageError) as caught:
            ask()
        assert caught.value.key == "research_collection_unnamed"
    assert task_options(setup, task, collections=("mine",)).collections == ("mine",)
    of_settings = Settings(research=ResearchSettings(collections=("c\u00e1rtas",)))
    assert stored_options(msgspec.structs.replace(setup, settings=of_settings), run)
    elsewhere = project.parent / "elsewhere"
    assert task_options(setup_in(project, elsewhere), task)
    remember_named(setup, collections=["c\u00e1rtas"])
    assert stored_options(setup, run).collections
    assert task_options(setup, task).collections
