"""Where the work folder is, and that none of its folders leads elsewhere."""

from pathlib import Path

import pytest

from localllm.app.work_folder import OWN_FOLDERS, work_folder
from localllm.app.work_layout import FOLDERS
from localllm.base.errors import ConfigurationError
from localllm.config.research_settings import ResearchSettings
from localllm.config.schema import Settings
from localllm.integrations.task_queue.research_worker import FOLDER
from localllm.research.market.agent_log import MARKET


def test_all_its_folders_are_known() -> None:
    assert set(OWN_FOLDERS) == {*FOLDERS, MARKET, FOLDER}


def test_it_is_the_one_that_was_named(tmp_path: Path) -> None:
    settings = Settings(research=ResearchSettings(work_dir=str(tmp_path / "set")))
    assert work_folder(settings) == tmp_path / "set"
    assert work_folder(settings, given=tmp_path / "given") == tmp_path / "given"
    assert work_folder(Settings(), {"LOCALLLM_DATA_DIR": str(tmp_path / "data")}).is_relative_to(tmp_path)


@pytest.mark.parametrize("name", OWN_FOLDERS)
def test_a_named_one_whose_folder_is_a_link_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).symlink_to("/")
    with pytest.raises(ConfigurationError, match=f"{name} is a link") as caught:
        work_folder(Settings(), given=tmp_path)
    assert caught.value.code == "E1036"
    assert "Remove the link" in caught.value.fix


def test_a_named_one_to_which_a_link_leads_out_of_a_project_is_refused(tmp_path: Path) -> None:
    (tmp_path / "project/.git").mkdir(parents=True)
    (tmp_path / "private/reports").mkdir(parents=True)
    (tmp_path / "project/reports").symlink_to("../private")
    for folder in ("project/reports", "project/reports/reports"):
        with pytest.raises(ConfigurationError, match="is a link") as caught:
            work_folder(Settings(), given=tmp_path / folder)
        assert caught.value.code == "E1036"
        assert caught.value.why.startswith(f"{tmp_path}/project/reports is a link")
    (tmp_path / "to-project").symlink_to("project")
    (tmp_path / "project/inner").symlink_to("docs")
    for folder in ("to-project/docs", "project/inner"):
        assert work_folder(Settings(), given=tmp_path / folder) == tmp_path / folder
