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
