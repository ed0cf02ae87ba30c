"""Answers about projects' settings files: kept for one content, shared between processes, never in the way."""

import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from localllm.base.errors import ConfigurationError
from localllm.base.paths import config_file
from localllm.base.project_state import KEPT_PROJECTS
from localllm.config.loader import Loaded, load
from localllm.config.trust import KEPT_CONTENTS, Answers, digest_of

FURTHER = '[safety]\nallow = ["run_command(make)"]\n'
SHOP = Path("/shop")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "trusted.json"


REMEMBER_MANY = """
import sys
from pathlib import Path
from localllm.config.trust import Answers
for number in range(20):
    Answers(Path(sys.argv[1])).remember(Path(f"/{sys.argv[2]}{number}"), "d", believed=True)
"""


class TestStore:
    def test_nothing_was_answered(self, file: Path) -> None:
        assert Answers(file).recall(SHOP, "d") == (None, None)
        assert not file.parent.exists()

    def test_an_answer_is_for_one_content_of_one_project(self, file: Path) -> None:
        answers = Answers(file)
        answers.remember(SHOP, "one", believed=True)
        answers.remember(SHOP, "two", believed=False)
        again = Answers(file)
        assert [again.recall(SHOP, digest)[0] for digest in ("one", "two", "three")] == [True, False, None]
        assert again.recall(Path("/other"), "one")[0] is None

    def test_an_answer_can_be_changed_and_forgotten(self, file: Path) -> None:
        answers = Answers(file)
        answers.remember(SHOP, "one", believed=False)
        answers.remember(SHOP, "one", believed=True)
        assert answers.recall(SHOP, "one")[0] is True
        assert answers.forget(SHOP)
        assert answers.recall(SHOP, "one")[0] is None
        assert not answers.forget(SHOP)

    def test_it_is_private(self, file: Path) -> None:
        Answers(file).remember(SHOP, "d", believed=True)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert {path.name for path in file.parent.iterdir()} == {"trusted.json", "trusted.lock"}

    @pytest.mark.parametrize(
        "damage", [b"", b"{", b'{"projects": []}', b'{"projects": {"/shop": {"d": "yes"}}}', b"\xff\xfe", b"[1]"]
    )
    def test_a_damaged_file_counts_as_empty_and_is_made_anew(self, file: Path, damage: bytes) -> None:
        file.parent.mkdir()
        file.write_bytes(damage)
        answer, fault = Answers(file).recall(SHOP, "d")
        assert answer is None
        assert str(file) in str(fault)
        Answers(file).remember(SHOP, "d", believed=True)
        assert Answers(file).recall(SHOP, "d") == (True, None)

    def test_a_folder_in_its_place(self, file: Path) -> None:
        file.mkdir(parents=True)
        assert Answers(file).recall(SHOP, "d")[1] is not None
        with pytest.raises(ConfigurationError) as raised:
            Answers(file).remember(SHOP, "d", believed=True)
        assert raised.value.key == "config_unwritable"

    def test_a_path_that_is_no_text(self, file: Path) -> None:
        root = Path("/caf\udce9")
        Answers(file).remember(root, "d", believed=True)
        assert Answers(file).recall(root, "d")[0] is True

    def test_the_newest_are_kept(self, file: Path) -> None:
        answers = Answers(file)
        for number in range(KEPT_CONTENTS + 2):
            answers.remember(SHOP, str(number), believed=True)
        assert [answers.recall(SHOP, digest)[0] for digest in ("1", "2")] == [None, True]
        store = {"projects": {f"/{number}": {"d": True} for number in range(KEPT_PROJECTS)}}
        file.write_bytes(msgspec.json.encode(store))
        answers.remember(SHOP, "d", believed=True)
        kept = msgspec.json.decode(file.read_bytes())["projects"]
        assert len(kept) == KEPT_PROJECTS
        assert "/0" not in kept
        assert "/1" in kept

    def test_two_processes_lose_nothing(self, file: Path) -> None:
        writers = [subprocess.Popen([sys.executable, "-c", REMEMBER_MANY, file, mark]) for mark in "ab"]
        assert [writer.wait(30) for writer in writers] == [0, 0]
        found = [Answers(file).recall(Path(f"/{mark}{number}"), "d")[0] for mark in "ab" for number in range(20)]
        assert found == [True] * 40


class Place:
    """A project with a settings file, and a user."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        self.file = self.root / "localllm.toml"
        self.environ = {"LOCALLLM_CONFIG_DIR": str(folder), "LOCALLLM_STATE_DIR": str(folder / "state"), "PATH": "/bin"}
        self.answers = Answers.of_user(self.environ)

    def load(self, *, trusted: bool = False, believed: str = "", **environ: str) -> Loaded:
        return load(self.root, environ={**self.environ, **environ}, trusted=trusted, believed=believed)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


class TestLoading:
    def test_what_is_held_back_and_what_it_says(self, place: Place) -> None:
        place.file.write_text(FURTHER + "auto_backup = true\n[llm]\ntemperature = 0.5\n")
        held_back = place.load().held_back
        assert held_back is not None
        assert held_back.values == {"safety.allow": ("run_command(make)",)}
        assert held_back.file == place.file
        assert held_back.digest == digest_of(place.file.read_text())
        assert held_back.answer is None

    @pytest.mark.parametrize(
        ("project", "user", "environ"),
        [
            ("[safety]\nmode = 'auto'", "", {"LOCALLLM_SAFETY_MODE": "auto"}),
            ("[safety]\nmode = 'auto'", "[safety]\nmode = 'auto'", {}),
            ("[safety]\nmode = 'ask'", "", {}),
            ("[safety]\nnetwork_hosts = ['pypi.org']", "", {"LOCALLLM_SAFETY_NETWORK_HOSTS": "pypi.org"}),
            ("[safety]\ndeny = []", "", {}),
            ("[web]\nenabled = true", "", {}),
            ("[llm]\nprovider = 'gemini'", "[llm]\nprovider = 'gemini'", {}),
            ("[llm]\nprovider = 'ollama'", "", {}),
            ("[llm]\nmodel = 'm'", "", {}),
            ("[llm.openai]\nbase_url = 'http://127.0.0.1:9'", "", {}),
            ("[commands.aliases]\nship = '!make ship'", "[commands.aliases]\nship = '!make ship'", {}),
        ],
    )
    def test_what_changes_nothing_in_this_run_is_shown_too(
        self, place: Place, project: str, user: str, environ: dict[str, str]
    ) -> None:
        config_file(place.environ).write_text(user)
        place.file.write_text(f"[agent]\nmax_iterations = 400\n{project}\n")
        held_back = place.load(**environ).held_back
        assert held_back is not None
        assert len(held_back.values) == 2

    def test_lists_that_would_be_replaced_are_told_too(self, place: Place) -> None:
        config_file(place.environ).write_text("[safety]\ndeny = ['run_command(git push)']\n")
        place.file.write_text("[safety]\ndeny = []\nallow = ['edit_file']\n")
        loaded = place.load()
        assert loaded.withheld == ("safety.allow",)
        assert loaded.held_back is not None
        assert loaded.held_back.values == {"safety.allow": ("edit_file",), "safety.deny": ()}
        assert loaded.settings.safety.deny == ("run_command(git push)",)

    def test_yes_counts_until_the_content_changes(self, place: Place) -> None:
        place.file.write_text(FURTHER)
        place.answers.remember(place.root, digest_of(FURTHER), believed=True)
        loaded = place.load()
        assert (loaded.settings.safety.allow, loaded.withheld) == (("run_command(make)",), ())
        assert loaded.held_back is None
        place.file.write_text(FURTHER + "\n")
        loaded = place.load()
        assert loaded.settings.safety.allow == ()
        assert loaded.held_back is not None
        assert loaded.held_back.answer is None

    def test_no_is_known(self, place: Place) -> None:
        place.file.write_text(FURTHER)
        place.answers.remember(place.root, digest_of(FURTHER), believed=False)
        held_back = place.load().held_back
        assert held_back is not None
        assert held_back.answer is False
        assert place.load(trusted=True).settings.safety.allow == ("run_command(make)",)

    def test_the_digest_is_that_of_the_bytes(self, place: Place) -> None:
        data = b"\xef\xbb\xbf" + FURTHER.replace("\n", "\r\n").encode()
        place.file.write_bytes(data)
        held_back = place.load().held_back
        assert held_back is not None
        assert place.load(believed=held_back.digest).held_back is None
        place.file.write_bytes(data + b"\r\n")
        assert place.load(believed=held_back.digest).held_back is not None

    def test_nothing_is_held_back_where_another_layer_says_the_same(self, place: Place) -> None:
        place.file.write_text('[llm.openai]\nbase_url = "http://far"\n')
        assert place.load().held_back is not None
        assert place.load(LOCALLLM_LLM_OPENAI_BASE_URL="http://far").held_back is None

    def test_a_damaged_store_is_told_and_trusts_nobody(self, place: Place) -> None:
        place.file.write_text(FURTHER)
        place.answers.remember(place.root, digest_of(FURTHER), believed=True)
        store = Path(place.environ["LOCALLLM_STATE_DIR"], "trusted.json")
        store.write_bytes(store.read_bytes()[:-9])
        loaded = place.load()
        assert loaded.settings.safety.allow == ()
        assert str(store) in loaded.warnings[0]

    def test_the_store_is_not_read_where_nothing_is_held_back(self, place: Place) -> None:
        place.file.write_text("[llm]\nmodel = 'm'\n")
        store = Path(place.environ["LOCALLLM_STATE_DIR"], "trusted.json")
        store.parent.mkdir()
        store.write_bytes(b"{")
        assert place.load().warnings == ()
